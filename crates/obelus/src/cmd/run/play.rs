//! Runs a session until it rests, and asks people if there are any.

use std::pin::pin;

use anyhow::{Result, bail};
use obelus_kernel::session::refusals::RefusalCode;
use obelus_kernel::session::{Decision, Input, Question, QuestionId, Refused, Reply, Session, TurnEnd};
use obelus_runtime::people::{QuestionView, refused_in_words};
use obelus_runtime::sessions::InboxId;
use obelus_runtime::{EventBody, Host, SessionEvent, SessionHandle, Subscription};
use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::super::chat::{ChatWork, SentMessage, attend};
use super::super::holder::GuestServer;
use super::super::people::{Narrator, RunningCalls, by_in_words, with_store};
use super::ShowOptions;
use super::last_words::LastWords;
use crate::command_error::Declined;
use crate::language::{fill, words_of, words_of_session};
use crate::output::{self, Exit, visible};

/// A session and its surroundings.
pub(crate) struct SessionRun {
    pub(crate) host: Host,
    pub(crate) handle: SessionHandle,
}

/// How a command starts a session.
pub(crate) enum Begin {
    /// With an input.
    With(Input),
    /// Resume unfinished work, then with an input, unless it was already taken.
    GoingOn(Option<Input>),
    /// With an input for a paused session.
    Resumed(Input),
}

impl Begin {
    /// The question that a person answers, and how.
    fn decision(&self) -> Option<(&QuestionId, &Decision)> {
        let (Begin::With(input) | Begin::GoingOn(Some(input)) | Begin::Resumed(input)) = self else { return None };
        decision_of(input)
    }

    /// The question that a person approves.
    fn approved_question(&self) -> Option<QuestionId> {
        let (Begin::With(input) | Begin::GoingOn(Some(input)) | Begin::Resumed(input)) = self else { return None };
        approved_question(input)
    }
}

/// The question that an input answers, and how.
fn decision_of(input: &Input) -> Option<(&QuestionId, &Decision)> {
    match input {
        Input::Decide { question, decision, .. } => Some((question, decision)),
        _ => None,
    }
}

/// The question whose calls an input lets run.
pub(crate) fn approved_question(input: &Input) -> Option<QuestionId> {
    use Decision::{Approve, Consent, DidNot, Edit};
    let starts = |decision: &Decision| matches!(decision, Approve { .. } | Consent { .. } | Edit { .. } | DidNot);
    decision_of(input).filter(|(_, decision)| starts(decision)).map(|(question, _)| question.clone())
}

/// Runs a session until it rests, and prints the result. A stored session can be answered from elsewhere meanwhile.
pub(crate) async fn play(stage: SessionRun, begin: Begin, shown: ShowOptions) -> Result<Exit> {
    let SessionRun { host, handle } = stage;
    let has_people = shown.has_people();
    // Only sessions of a store have a folder.
    let session = host.folder().map(|_| handle.id().to_owned());
    let served = host.folder().and_then(|folder| match GuestServer::open(host.clone(), folder) {
        Ok(holder) => {
            let (over, is_over) = tokio::sync::oneshot::channel();
            Some((over, tokio::spawn(holder.serve(is_over))))
        }
        Err(error) => {
            output::warning(&fill(words_of(None).running.not_answerable, &[&format!("{error:#}")]));
            None
        }
    });
    let answered = begin.approved_question();
    let mut watch = Watch::new(handle.clone(), shown.clone(), session.clone(), &begin).await?;
    let ended = turns(&mut watch, begin, has_people).await;
    if let Some((over, served)) = served {
        drop(over);
        served.await?;
    }
    let ended = match ended {
        // Somebody may have resumed it while this process stopped listening.
        Ok(None) => handle.finished().await.map(|reply| reply.map(|reply| (reply, false))).map_err(Into::into),
        ended => ended,
    };
    let (reply, is_interrupted) = match ended {
        Ok(Some(ended)) => ended,
        Ok(None) => {
            let exit = report_paused(&handle, false, &shown).await;
            host.close().await;
            return exit;
        }
        Err(error) => {
            host.close().await;
            return Err(error);
        }
    };
    let (name, as_shown, last_words, language) =
        (session, shown.clone(), watch.words.into_reply(), watch.narrator.phrases.language);
    let known = watch.known;
    let exit = handle.inspect(move |session| {
        as_shown.end(session, &reply, last_words, name.as_deref(), &known);
        as_shown.exit(session, &reply, answered.as_ref())
    });
    let exit = exit.await?;
    // A conversation at the terminal has said it.
    if let Some(sent) = watch.sent.filter(|_| !shown.as_json && !has_people)
        && let Some(words) = sent.left_open(&handle, language).await?
    {
        output::note(&words);
    }
    // A turn that was paused may also rest: it ended, or asks something.
    if !shown.as_json && handle.inspect(|session| session.paused().is_some()).await? {
        report_paused(&handle, false, &shown).await?;
    }
    host.close().await;
    Ok(if is_interrupted { Exit::Interrupted } else { exit })
}

/// Runs one turn and asks its questions; returns its reply, and whether the person broke off. None if the session was
/// paused meanwhile.
async fn turns(watch: &mut Watch, begin: Begin, has_people: bool) -> Result<Option<(Reply, bool)>> {
    let handle = watch.handle.clone();
    let begun = match begin {
        Begin::With(input) if has_people => return attended(watch, vec![ChatWork::Send(input)]).await,
        Begin::GoingOn(then) if has_people => {
            return attended(watch, [ChatWork::Resume].into_iter().chain(then.map(ChatWork::Send)).collect()).await;
        }
        Begin::With(input) => watch.send(input).await?,
        Begin::Resumed(input) => {
            handle.tell(input).await?;
            watch.until(handle.finished()).await?
        }
        Begin::GoingOn(then) => {
            let rested = watch.until(rested_or_paused(&handle)).await?;
            match then {
                Some(input) => watch.send(input).await?,
                None => rested,
            }
        }
    };
    let Some(reply) = begun else {
        return if is_paused(&handle).await? { Ok(None) } else { bail!("{}", words_of(None).running.not_begun) };
    };
    if has_people && reply.ends == TurnEnd::Waiting {
        return attended(watch, Vec::new()).await;
    }
    let reply = watch.until(handle.finished()).await.ok().flatten().unwrap_or(reply);
    Ok(Some((reply, false)))
}

/// The same with a person at the terminal, who sees the steps and answers there.
async fn attended(watch: &mut Watch, work: Vec<ChatWork>) -> Result<Option<(Reply, bool)>> {
    let handle = watch.handle.clone();
    let phrases = watch.narrator.phrases;
    let is_interrupted = attend(&handle, watch.session.clone(), watch.shown.store.clone(), phrases, work).await?;
    // The conversation has shown these events.
    while let Some(event) = watch.events.try_next() {
        watch.words.take(&event);
    }
    if !is_interrupted && is_paused(&handle).await? {
        return Ok(None);
    }
    let is_asked = is_asked(&handle).await?;
    let finished = if is_interrupted || is_asked {
        // Calls that wait for a person, or were left, are not waited for.
        None
    } else {
        watch.stoppable(handle.finished()).await.ok().flatten()
    };
    let Some(reply) = (match finished {
        Some(reply) => Some(reply),
        None => handle.inspect(Session::reply).await?,
    }) else {
        std::process::exit(Exit::Interrupted as i32);
    };
    Ok(Some((reply, is_interrupted)))
}

/// Gives the session an input, and waits until the turn rests or is paused.
async fn send_and_wait(handle: &SessionHandle, input: Input) -> Result<Option<Reply>, Refused> {
    handle.tell(input).await?;
    rested_or_paused(handle).await
}

/// Waits until the turn rests, or until it is paused and nothing runs. A paused turn has no reply yet.
pub(crate) async fn rested_or_paused(handle: &SessionHandle) -> Result<Option<Reply>, Refused> {
    if handle.read_at_rest(Session::is_at_rest).await? { handle.rested().await } else { handle.finished().await }
}

/// Whether somebody paused the session in the middle of its turn.
async fn is_paused(handle: &SessionHandle) -> Result<bool, Refused> {
    handle.inspect(|session| session.paused().is_some() && !session.is_at_rest()).await
}

/// Says who paused a session, how it goes on, and whether it took an input meanwhile.
pub(crate) async fn report_paused(handle: &SessionHandle, is_taken: bool, shown: &ShowOptions) -> Result<Exit> {
    let read = |session: &Session| (session.paused().map(str::to_owned), words_of_session(session));
    let (by, phrases) = handle.inspect(read).await?;
    let (by, id) = (by.unwrap_or_default(), visible(handle.id()));
    let by_whom = by_in_words(&by, phrases);
    let named = with_store(handle.id(), &shown.store);
    let note = if is_taken {
        fill(phrases.sessions.noted, &[&by_whom, &named])
    } else {
        fill(phrases.sessions.paused_by, &[&id, &by_whom, &named])
    };
    output::note(&note);
    if shown.as_json {
        output::json(&json!({"paused": by, "taken": is_taken}));
    }
    Ok(Exit::Waiting)
}

async fn open_questions(handle: &SessionHandle) -> Result<Vec<Question>, Refused> {
    handle.inspect(|session| session.questions().into_iter().filter(Question::is_open).collect()).await
}

/// Whether a running call waits for a person: it does not end before it is answered.
async fn is_asked(handle: &SessionHandle) -> Result<bool, Refused> {
    Ok(open_questions(handle).await?.iter().any(|question| question.asked_by().is_some()))
}

/// Shows the events of a session, and handles Ctrl-C and SIGTERM: the first one stops the turn and all running work;
/// a second one ends the wait.
struct Watch {
    narrator: Narrator,
    begun: RunningCalls,
    handle: SessionHandle,
    events: Subscription,
    shown: ShowOptions,
    /// The name under which it is stored, if it is.
    session: Option<String>,
    /// The question that the command answers. Opening the session may ask it first.
    decides: Option<QuestionId>,
    words: LastWords,
    /// The questions that were open before the command answered one.
    known: Vec<QuestionId>,
    /// The message that the command sends.
    sent: Option<SentMessage>,
    interrupt: Signal,
    terminate: Signal,
    times: u32,
}

impl Watch {
    async fn new(handle: SessionHandle, shown: ShowOptions, session: Option<String>, begin: &Begin) -> Result<Self> {
        let decides = begin.decision().map(|(question, _)| question.clone());
        let words = match begin {
            Begin::With(Input::User { text, .. }) | Begin::GoingOn(Some(Input::User { text, .. })) => {
                Some(text.clone())
            }
            _ => None,
        };
        let (interrupt, terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let events = handle.subscribe(None);
        let known = if decides.is_some() { open_questions(&handle).await? } else { Vec::new() };
        let known = known.into_iter().map(|question| question.id).collect();
        let sent = SentMessage::before(&handle, words.as_deref()).await?;
        let read =
            move |session: &Session| (Narrator::about_to_hear(session, words.as_deref()), RunningCalls::of(session));
        let (narrator, begun) = handle.inspect(read).await?;
        let narrator = narrator.with_pages(handle.pictures());
        Ok(Self {
            narrator,
            begun,
            handle,
            events,
            shown,
            session,
            decides,
            words: LastWords::default(),
            known,
            sent,
            interrupt,
            terminate,
            times: 0,
        })
    }

    /// Waits for something, and shows events until then.
    async fn until<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        let done = loop {
            tokio::select! {
                biased;
                Some(event) = self.events.next() => self.show(&event),
                done = &mut work => break done,
                _ = self.interrupt.recv() => self.stop(),
                _ = self.terminate.recv() => self.stop(),
            }
        };
        while let Some(event) = self.events.try_next() {
            self.show(&event);
        }
        // The events of an input arrive together: nothing follows this message.
        if let Some(text) = self.words.take_latest() {
            self.show_body(&EventBody::AgentSaid { text });
        }
        done
    }

    /// Gives the session an input, and waits until the turn rests. A refusal is in the session's language.
    async fn send(&mut self, input: Input) -> Result<Option<Reply>> {
        let handle = self.handle.clone();
        let accepted = self.until(send_and_wait(&handle, input)).await;
        let refused = match accepted {
            Ok(reply) => return Ok(reply),
            Err(refused) => refused,
        };
        // The words for an unfit answer name the right ones.
        let about = match self.decides.clone() {
            Some(id) => self.handle.inspect(move |session| session.question(&id).map(|asked| asked.about)).await?,
            None => None,
        };
        let language = self.narrator.phrases.language;
        let words = refused_in_words(&refused, about, language);
        if refused.code == RefusalCode::QuestionChanged && !self.shown.as_json {
            self.show_changed().await?;
        }
        Err(Declined { code: refused.code.to_string(), words, language }.into())
    }

    /// Shows the question that the command answers, as it is now.
    async fn show_changed(&self) -> Result<()> {
        let Some(id) = self.decides.clone() else { return Ok(()) };
        let (language, name) = (self.narrator.phrases.language, self.session.clone().unwrap_or_default());
        let view = self.handle.inspect(move |session| {
            let question = session.question(&id).filter(Question::is_open)?;
            Some(QuestionView::of(session, &question, language).under(InboxId::new(&name, &id).to_string()))
        });
        if let Some(view) = view.await? {
            output::note(&self.narrator.question(&view, false));
            output::note(&self.narrator.how_to_answer(&view, &view.id, &self.shown.store));
        }
        Ok(())
    }

    fn show(&mut self, event: &SessionEvent) {
        if let Some(text) = self.words.take(event) {
            self.show_body(&EventBody::AgentSaid { text });
        }
        if let EventBody::QuestionAsked { question } = &event.body {
            self.begun.asked(question);
        }
        match &event.body {
            EventBody::AgentSaid { .. } => {}
            EventBody::QuestionAsked { question } if self.decides.as_ref() == Some(&question.id) => {}
            body => self.show_body(body),
        }
    }

    fn show_body(&mut self, event: &EventBody) {
        self.shown.event(event, &self.narrator, &mut self.begun, self.session.as_deref());
    }

    /// Waits for something that is shown elsewhere.
    async fn stoppable<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                _ = self.interrupt.recv() => self.stop(),
                _ = self.terminate.recv() => self.stop(),
            }
        }
    }

    fn stop(&mut self) {
        self.times += 1;
        if self.times > 1 {
            std::process::exit(Exit::Interrupted as i32);
        }
        let handle = self.handle.clone();
        // The turn's end shows whether it was taken.
        tokio::spawn(async move { handle.stop().await });
    }
}
