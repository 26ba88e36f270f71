//! A conversation with an agent, at a terminal or not: turns, commands, exit code.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use obelus_kernel::policy::ConsentId;
use obelus_kernel::policy::ConsentTerms;
use obelus_kernel::session::refusals::RefusalCode;
use obelus_kernel::session::sent_by::SentBy;
use obelus_kernel::session::{About, Input, Mode, Question, QuestionId, Refused, Reply, TurnEnd};
use obelus_kernel::{Message, Path, Role};
use obelus_runtime::people::{EditForm, QuestionView, StepLine, Titles, refused_in_words, terms_in_words};
use obelus_runtime::sessions::InboxId;
use obelus_runtime::{EventBody, SessionEvent, SessionHandle, Subscription};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::commands::ChatCommand;
use super::cost;
use super::screen::{OutputKind, Screen, SharedScreen, Surface};
use super::text::{PLAIN, StyledLine, paragraphs};
use super::work::{ChatWork, ChatWorkResult, SentMessage, do_work, send_inputs};
use super::{answers, question};
use crate::cli::StoreArgs;
use crate::cmd::people::{by_in_words, with_store};
use crate::language::{Words, fill};
use crate::output::{DIM, Exit};

/// The time between two frames of the spinner.
const FRAME: Duration = Duration::from_millis(120);

/// How long a question waits for the current values of its record.
const LOOKING: Duration = Duration::from_secs(5);

/// A conversation.
pub(crate) struct Talk {
    pub(crate) handle: SessionHandle,
    events: Subscription,
    pub(crate) screen: SharedScreen,
    pub(crate) phrases: &'static Words,
    /// The name of the agent.
    pub(crate) agent: String,
    /// The name under which it is stored, if it is.
    pub(crate) session: Option<String>,
    /// The folder of the store, if it was named: commands that are shown must name it too.
    pub(crate) store: StoreArgs,
    /// Whether the user's messages and answers are scripted.
    pub(crate) plays_itself: bool,
    pub(crate) surface: Surface,
    signals: (Signal, Signal),
    /// How the latest turn ended, and whether the policy refused a call of it.
    ended: Option<(TurnEnd, bool)>,
}

/// What happens in the session outside of a turn started here.
pub(crate) enum News {
    /// Running work started a turn, which rests again.
    Rested(Box<Reply>),
    /// An input came from elsewhere.
    Event(Arc<SessionEvent>),
}

/// Listens to a session while the person types.
pub(crate) struct SessionListener<'a> {
    events: &'a mut Subscription,
    screen: &'a SharedScreen,
}

impl SessionListener<'_> {
    /// Shows events until one needs the screen. It is cancel-safe.
    pub(crate) async fn news(&mut self) -> News {
        while let Some(event) = self.events.next().await {
            if event.body.is_from_outside() {
                return News::Event(event);
            }
            self.screen.lock().event(&event.body);
            if let EventBody::Rested { reply } = &event.body {
                return News::Rested(reply.clone());
            }
        }
        std::future::pending().await
    }
}

impl Talk {
    /// Must be called inside a runtime.
    pub(crate) async fn new(
        handle: SessionHandle,
        agent: String,
        session: Option<String>,
        phrases: &'static Words,
        surface: Surface,
    ) -> Result<Self> {
        let code = phrases.code;
        let pages = handle.pictures();
        let read = handle
            .inspect(move |session| (Titles::of(session.context(), code).with_pages(pages), session.settings().mode));
        let (titles, mode) = read.await?;
        Ok(Self {
            events: handle.subscribe(None),
            handle,
            screen: Screen::shared(surface, titles, mode, phrases),
            phrases,
            agent,
            session,
            store: StoreArgs::default(),
            plays_itself: false,
            surface,
            signals: (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?),
            ended: None,
        })
    }

    pub(crate) async fn mode(&self) -> Result<Mode> {
        Ok(self.handle.inspect(|session| session.settings().mode).await?)
    }

    /// The open questions.
    pub(crate) async fn open(&self) -> Result<Vec<Question>> {
        Ok(self.handle.inspect(|session| session.questions().into_iter().filter(Question::is_open).collect()).await?)
    }

    /// Waits a little for detached work: a question may be about to get its record's current values.
    pub(crate) async fn settle(&mut self) -> Result<()> {
        // A call that asks does not end before it is answered.
        if self.open().await?.iter().any(|question| question.asked_by().is_some()) {
            return Ok(());
        }
        let _ = tokio::time::timeout(LOOKING, self.handle.finished()).await;
        if let Some(reply) = self.catch_up() {
            self.rested(&reply);
        }
        Ok(())
    }

    /// Shows all pending events; returns the reply if the session has come to rest.
    pub(crate) fn catch_up(&mut self) -> Option<Box<Reply>> {
        let mut rested = None;
        while let Some(event) = self.events.try_next() {
            rested = show(&self.screen, &event).or(rested);
        }
        rested
    }

    /// The session has ended a turn that was started elsewhere.
    pub(crate) fn rested(&mut self, reply: &Reply) {
        self.ended = Some(end_of(reply));
        self.screen.lock().end(Some(reply));
    }

    /// The listener, and the signals to break off and to end.
    pub(crate) fn apart(&mut self) -> (SessionListener<'_>, &mut Signal, &mut Signal) {
        (SessionListener { events: &mut self.events, screen: &self.screen }, &mut self.signals.0, &mut self.signals.1)
    }

    /// Runs a turn to its end. Then says why a message that may be meant as an answer has not answered a question.
    pub(crate) async fn work(&mut self, work: ChatWork) -> Result<ChatWorkResult> {
        let sent = SentMessage::before(&self.handle, work.message()).await?;
        let worked = self.run_turn(work).await?;
        if let (Some(sent), ChatWorkResult::Rested) = (sent, &worked)
            && let Some(words) = sent.left_open(&self.handle, self.phrases.language).await?
        {
            self.screen.lock().note(&words);
        }
        Ok(worked)
    }

    /// Runs a turn to its end. Ctrl-C stops the turn; a second Ctrl-C ends the conversation at once.
    async fn run_turn(&mut self, work: ChatWork) -> Result<ChatWorkResult> {
        let paused = self.handle.inspect(|session| session.paused().map(str::to_owned)).await?;
        if let (Some(by), Some(session)) = (paused, self.session.clone()) {
            return self.note_while_paused(work, &by, &session).await;
        }
        let code = self.phrases.code;
        let decided = if let ChatWork::Decide { question, .. } = &work { Some(question.clone()) } else { None };
        let pages = self.handle.pictures();
        let read = self.handle.inspect(move |session| {
            let about = decided.and_then(|id| session.question(&id)).map(|question| question.about);
            (Titles::of(session.context(), code).with_pages(pages), about)
        });
        let (titles, about) = read.await?;
        self.screen.lock().begin(titles, matches!(work, ChatWork::Say(_)));
        let mut rested = None;
        if let ChatWork::Watch(first) = &work {
            rested = show(&self.screen, first);
        }
        let Self { handle, events, signals, screen, .. } = self;
        let (interrupt, terminate) = signals;
        let mut frames = tokio::time::interval(FRAME);
        let mut breaks = 0;
        let worked = {
            let mut working = pin!(do_work(handle, work));
            loop {
                tokio::select! {
                    worked = &mut working => break Some(worked),
                    Some(event) = events.next() => {
                        rested = show(screen, &event).or(rested);
                        continue;
                    }
                    _ = interrupt.recv() => breaks += 1,
                    _ = terminate.recv() => breaks += 2,
                    _ = frames.tick() => {
                        screen.lock().tick();
                        continue;
                    }
                }
                if breaks > 1 {
                    break None;
                }
                let stopping = handle.clone();
                // The turn's end shows whether it was taken.
                tokio::spawn(async move { stopping.stop().await });
                screen.lock().stops();
            }
        };
        let rested = self.catch_up().or(rested);
        let worked = self.worked(worked, about, rested.as_deref())?;
        if matches!(worked, ChatWorkResult::Rested) && rested.is_none() {
            self.report_paused().await?;
        }
        Ok(worked)
    }

    /// Says that the turn was paused from elsewhere. A command says it at its end.
    async fn report_paused(&self) -> Result<()> {
        let paused = self.handle.inspect(|session| session.paused().map(str::to_owned)).await?;
        if let (Some(by), Some(session), true) = (paused, &self.session, self.surface != Surface::Stderr) {
            let named = with_store(session, &self.store);
            let words = fill(self.phrases.sessions.paused_by, &[session, &by_in_words(&by, self.phrases), &named]);
            self.screen.lock().note(&words);
        }
        Ok(())
    }

    /// Shows how the work ended; without an end it was left.
    fn worked(
        &mut self,
        worked: Option<Result<(), Refused>>,
        about: Option<About>,
        rested: Option<&Reply>,
    ) -> Result<ChatWorkResult> {
        match worked {
            None => {
                self.screen.lock().end(None);
                Ok(ChatWorkResult::Left)
            }
            Some(Ok(())) => {
                if let Some(reply) = rested {
                    self.ended = Some(end_of(reply));
                }
                self.screen.lock().end(rested);
                Ok(ChatWorkResult::Rested)
            }
            Some(Err(refused)) => {
                self.screen.lock().end(None);
                let words = refused_in_words(&refused, about, self.phrases.language);
                if refused.code == RefusalCode::NotDurable {
                    bail!("{words}")
                } else {
                    Ok(ChatWorkResult::Refused(words))
                }
            }
        }
    }

    /// The text for a postponed question: where to answer it later.
    pub(crate) fn put_off(&self, question: &QuestionId) -> String {
        let ask = &self.phrases.ask;
        match (self.surface, &self.session) {
            (Surface::Stderr, Some(session)) => {
                let id = InboxId::new(session, question).to_string();
                fill(ask.put_off_kept, &[&id, &with_store("", &self.store)])
            }
            (Surface::Stderr, None) => ask.put_off_lost.to_owned(),
            (Surface::Lines | Surface::Terminal, _) => ask.put_off.to_owned(),
        }
    }

    /// Changes the mode, and prints its meaning.
    pub(crate) async fn change_mode(&mut self, mode: Mode) -> Result<ChatWorkResult> {
        let worked = self.work(ChatWork::Send(Input::Mode { mode })).await?;
        let lines = self.mode_lines().await?;
        self.screen.lock().write(OutputKind::Note, &lines);
        Ok(worked)
    }

    /// Attaches a picture to the next message, and says so.
    pub(crate) async fn attach(&mut self, path: &std::path::Path) {
        match self.handle.attach(path).await {
            Ok(()) => {
                self.screen.lock().write(OutputKind::Note, &[StyledLine::of(DIM, self.phrases.chat.picture_taken)]);
            }
            Err(error) => self.screen.lock().complain(&crate::output::visible(&error.in_words(self.phrases.language))),
        }
    }

    /// The mode, and what it permits.
    pub(crate) async fn mode_lines(&self) -> Result<Vec<StyledLine>> {
        Ok(answers::mode(self.mode().await?, self.phrases))
    }

    /// The output of a command that changes nothing.
    pub(crate) async fn shown(&self, command: &ChatCommand) -> Result<Vec<StyledLine>> {
        match command {
            ChatCommand::Plan => self.plan().await,
            ChatCommand::State => self.state().await,
            ChatCommand::Inbox => self.inbox().await,
            ChatCommand::Consents => self.consents().await,
            ChatCommand::Cost => {
                Ok(cost::lines(self.handle.inspect(obelus_kernel::session::Session::spent).await?, self.phrases))
            }
            ChatCommand::Help => Ok(self.help()),
            ChatCommand::Why(path) => self.why(path).await,
            ChatCommand::Mode(_) => self.mode_lines().await,
            ChatCommand::Approve(_)
            | ChatCommand::Deny(..)
            | ChatCommand::Revoke(_)
            | ChatCommand::Image(_)
            | ChatCommand::Quit => Ok(Vec::new()),
        }
    }

    async fn plan(&self) -> Result<Vec<StyledLine>> {
        let steps = self.screen.lock().plan();
        if !steps.is_empty() {
            return Ok(steps);
        }
        let (titles, phrases) = (self.screen.lock().titles().clone(), self.phrases);
        Ok(self.handle.inspect(move |session| answers::plan(session, &titles, phrases)).await?)
    }

    async fn state(&self) -> Result<Vec<StyledLine>> {
        let phrases = self.phrases;
        Ok(self.handle.inspect(move |session| answers::state(session, phrases)).await?)
    }

    /// The standing consents that may be given along with an approval, with their texts.
    pub(crate) async fn offers(&self, id: &QuestionId) -> Result<Vec<(ConsentTerms, String)>> {
        let (id, language) = (id.clone(), self.phrases.language);
        let offers = self.handle.inspect(move |session| {
            let offers = session.consent_offers(&id).into_iter();
            offers.map(|terms| (terms.clone(), terms_in_words(&terms, session, language))).collect()
        });
        Ok(offers.await?)
    }

    /// The standing consents.
    async fn consents(&self) -> Result<Vec<StyledLine>> {
        let phrases = self.phrases;
        Ok(self.handle.inspect(move |session| answers::consents(session, phrases)).await?)
    }

    /// Revokes a standing consent.
    pub(crate) async fn revoke(&self, number: u64) {
        let revoked = self.handle.revoke(number, SentBy::TERMINAL).await;
        let mut screen = self.screen.lock();
        match revoked {
            Ok(()) => screen.note(&fill(self.phrases.chat.revoked, &[&ConsentId(number).to_string()])),
            Err(refused) => screen.complain(&refused_in_words(&refused, None, self.phrases.language)),
        }
    }

    /// The open questions, in full.
    pub(crate) async fn inbox(&self) -> Result<Vec<StyledLine>> {
        let open = self.open().await?;
        if open.is_empty() {
            return Ok(vec![StyledLine::of(DIM, self.phrases.chat.nothing_waits)]);
        }
        let mut lines = Vec::new();
        for one in &open {
            lines.extend(question::lines(&self.view(one).await?, true));
        }
        Ok(lines)
    }

    /// A question for people.
    pub(crate) async fn view(&self, question: &Question) -> Result<QuestionView> {
        let (question, pages, language) = (question.clone(), self.handle.pictures(), self.phrases.language);
        let read = self.handle.inspect(move |session| QuestionView::with_pages(session, &question, pages, language));
        Ok(read.await?)
    }

    /// A question as an edit would change it, or why the edit is invalid.
    pub(crate) async fn edited(
        &self,
        question: &QuestionId,
        params: &serde_json::Map<String, serde_json::Value>,
    ) -> Result<Result<QuestionView, String>> {
        let (id, params, pages) = (question.clone(), params.clone(), self.handle.pictures());
        let language = self.phrases.language;
        let read = self.handle.inspect(move |session| QuestionView::edited(session, &id, &params, pages, language));
        Ok(read.await?.map_err(|refused| refused_in_words(&refused, None, language)))
    }

    /// The editable fields of a question's call.
    pub(crate) async fn form(&self, question: &Question) -> Result<Option<EditForm>> {
        let (question, language) = (question.clone(), self.phrases.language);
        Ok(self.handle.inspect(move |session| EditForm::of(session, &question, language)).await?)
    }

    fn help(&self) -> Vec<StyledLine> {
        let mut lines = answers::help(&answers::help_rows(self.phrases));
        lines.push(StyledLine::new());
        lines.push(StyledLine::of(PLAIN, "  ").own(DIM, self.phrases.chat.help_keys).hanging(2));
        lines
    }

    async fn why(&self, path: &Path) -> Result<Vec<StyledLine>> {
        let (path, titles, phrases) = (path.clone(), self.screen.lock().titles().clone(), self.phrases);
        Ok(self.handle.inspect(move |session| answers::why(session, &path, &titles, phrases)).await?)
    }

    /// The latest messages of both sides, for a person who comes back.
    pub(crate) async fn latest_words(&self) -> Result<Vec<StyledLine>> {
        let read = self.handle.inspect(|session| {
            let texts = session.context().messages().iter().filter_map(|message| match message {
                Message::Text(text) if matches!(text.role, Role::User | Role::Assistant) => {
                    Some((text.role == Role::User, text.text.to_string()))
                }
                _ => None,
            });
            texts.collect::<Vec<(bool, String)>>()
        });
        let texts = read.await?;
        let from = texts.iter().rposition(|(is_user, _)| *is_user).unwrap_or(texts.len());
        let lines = |(is_user, text): &(bool, String)| paragraphs(DIM, text, if *is_user { "› " } else { "  " });
        Ok(texts[from..].iter().flat_map(lines).collect())
    }

    /// Gives an input to a paused session, which takes it but starts nothing, so there is no wait (DUR-11).
    async fn note_while_paused(&mut self, work: ChatWork, by: &str, session: &str) -> Result<ChatWorkResult> {
        if matches!(work, ChatWork::Resume | ChatWork::Watch(_)) {
            return Ok(ChatWorkResult::Rested);
        }
        match send_inputs(&self.handle, work).await {
            Ok(()) => {
                let named = with_store(session, &self.store);
                self.screen.lock().note(&fill(self.phrases.sessions.noted, &[&by_in_words(by, self.phrases), &named]));
                Ok(ChatWorkResult::Rested)
            }
            Err(refused) => Ok(ChatWorkResult::Refused(refused_in_words(&refused, None, self.phrases.language))),
        }
    }

    pub(crate) async fn exit(&self) -> Result<Exit> {
        if self.handle.inspect(|session| session.paused().is_some()).await? {
            return Ok(Exit::Waiting);
        }
        Ok(match self.ended {
            _ if !self.open().await?.is_empty() => Exit::Waiting,
            Some((TurnEnd::Degraded | TurnEnd::Limit, _) | (_, true)) if self.surface == Surface::Lines => Exit::Failed,
            _ => Exit::Done,
        })
    }
}

/// How a turn ended, and whether the policy refused a call of it.
fn end_of(reply: &Reply) -> (TurnEnd, bool) {
    (reply.ends, reply.calls.iter().any(|call| StepLine::is_left_undone(call.status, call.error.as_deref())))
}

/// Shows an event; returns the reply if the session has come to rest.
fn show(screen: &SharedScreen, event: &SessionEvent) -> Option<Box<Reply>> {
    screen.lock().event(&event.body);
    match &event.body {
        EventBody::Rested { reply } => Some(reply.clone()),
        _ => None,
    }
}
