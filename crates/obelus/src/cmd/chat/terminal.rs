//! The conversation at a terminal: a person types, watches, and decides by key.

mod edit;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use crossterm::event::KeyEvent;
use obelus_kernel::session::{Decision, Question, QuestionId};
use obelus_runtime::people::QuestionView;
use obelus_runtime::{EventBody, system_clock};

use super::approve::{Pressed, ShownQuestion, Typing};
use super::commands::{ChatCommand, parse};
use super::editor::{Editor, LinePrompt, Typed};
use super::keyboard::{QuietInput, TerminalClosed, closed, forget_typed, is_closed, read_key};
use super::question;
use super::screen::{OutputKind, Surface};
use super::talk::{News, Talk};
use super::text::{PLAIN, StyledLine};
use super::work::{ChatWork, ChatWorkResult};
use crate::language::fill;
use crate::output::Exit;

/// Two Ctrl-C within this time end the conversation.
const TWICE: Duration = Duration::from_secs(5);

/// A conversation with a person at a terminal.
pub(crate) struct Terminal {
    talk: Talk,
    /// `None` while another thread uses it to read a line.
    editor: Option<Editor>,
    /// Questions that the person has postponed.
    put_off: BTreeSet<QuestionId>,
    /// The digests of questions as they were last shown here.
    shown: BTreeMap<QuestionId, String>,
    /// When Ctrl-C was pressed, unless another key followed.
    broke_off: Option<Instant>,
    /// A signal asked the process to end.
    must_end: bool,
    /// An input from elsewhere, or a rest, to be processed next.
    news: Option<News>,
    /// While it exists, typed keys are not echoed.
    _quiet: QuietInput,
}

/// The result of asking a question.
enum AskResult {
    /// The decision, and the digest of what was shown.
    Decided(Decision, String),
    Later,
    Leave,
    /// Something else came first: the question may have expired or been answered elsewhere.
    Overtaken,
    /// A signal asked the process to end.
    Ended,
}

impl Terminal {
    pub(crate) fn new(talk: Talk, editor: Editor) -> Self {
        Self {
            talk,
            editor: Some(editor),
            put_off: BTreeSet::new(),
            shown: BTreeMap::new(),
            broke_off: None,
            must_end: false,
            news: None,
            _quiet: QuietInput::begin(),
        }
    }

    /// Runs the conversation until the person leaves, or the terminal is closed.
    pub(crate) async fn converse(self, first: Option<String>) -> Result<Exit> {
        match self.until_left(first).await {
            // A reader may notice it first, with another error.
            Err(error) if error.is::<TerminalClosed>() || is_closed() => Ok(Exit::Interrupted),
            ended => ended,
        }
    }

    /// `first_input` was typed before there was a session.
    async fn until_left(mut self, first: Option<String>) -> Result<Exit> {
        if let Some(exit) = self.work(ChatWork::Resume).await? {
            return Ok(exit);
        }
        if let Some(line) = first
            && let Some(exit) = self.hear(line).await?
        {
            return Ok(exit);
        }
        loop {
            if let Some(exit) = self.ask_what_is_open().await? {
                return Ok(exit);
            }
            let next = match self.read().await? {
                Typed::Line(line) => {
                    self.broke_off = None;
                    self.hear(line).await?
                }
                Typed::Interrupted if self.must_end => Some(Exit::Interrupted),
                Typed::Interrupted => self.take_in().await?,
                Typed::BreakOff if self.breaks_off_again() => Some(Exit::Interrupted),
                Typed::BreakOff => None,
                Typed::Leave => Some(self.leave().await?),
            };
            if let Some(exit) = next {
                return Ok(exit);
            }
        }
    }

    /// Works, and asks open questions, until the session waits for no person or the person leaves; returns whether they
    /// broke off.
    pub(crate) async fn attend(mut self, work: Vec<ChatWork>) -> Result<bool> {
        match self.attend_to(work).await {
            Err(error) if error.is::<TerminalClosed>() || is_closed() => Ok(true),
            ended => ended,
        }
    }

    async fn attend_to(&mut self, work: Vec<ChatWork>) -> Result<bool> {
        for work in work {
            match self.talk.work(work).await? {
                ChatWorkResult::Rested => {}
                ChatWorkResult::Refused(words) => bail!("{words}"),
                ChatWorkResult::Left => return Ok(true),
            }
        }
        // A paused session acts on no answer: it is asked when it goes on.
        if self.talk.handle.inspect(|session| session.paused().is_some()).await? {
            return Ok(false);
        }
        Ok(self.ask_what_is_open().await? == Some(Exit::Interrupted))
    }

    /// Handles Ctrl-C: returns whether it is the second in a row; otherwise tells the person what a second one does.
    fn breaks_off_again(&mut self) -> bool {
        let is_again = self.broke_off.is_some_and(|before| before.elapsed() < TWICE);
        self.broke_off = Some(Instant::now());
        if !is_again {
            self.talk.screen.lock().note(self.talk.phrases.chat.again_to_quit);
        }
        is_again
    }

    async fn leave(&mut self) -> Result<Exit> {
        if self.talk.surface == Surface::Stderr {
            return self.talk.exit().await;
        }
        let phrases = self.talk.phrases;
        let words = match &self.talk.session {
            Some(session) => fill(phrases.chat.bye_kept, &[session]),
            None => phrases.chat.bye.to_owned(),
        };
        self.talk.screen.lock().note(&words);
        self.talk.exit().await
    }

    /// Handles a message or a command.
    async fn hear(&mut self, line: String) -> Result<Option<Exit>> {
        if line.trim().is_empty() {
            return Ok(None);
        }
        match parse(&line, self.talk.phrases) {
            None => return self.work(ChatWork::Say(line)).await,
            Some(Err(words)) => self.talk.screen.lock().complain(&words),
            Some(Ok(ChatCommand::Quit)) => return Ok(Some(self.leave().await?)),
            Some(Ok(ChatCommand::Approve(id))) => return self.decide(id, Decision::Approve { only: None }).await,
            Some(Ok(ChatCommand::Deny(id, reason))) => {
                let reason = reason.unwrap_or_else(|| self.talk.phrases.ask.no_reason.to_owned());
                return self.decide(id, Decision::Deny { reason }).await;
            }
            Some(Ok(ChatCommand::Inbox)) if !self.talk.open().await?.is_empty() => self.put_off.clear(),
            Some(Ok(ChatCommand::Mode(Some(mode)))) => {
                let worked = self.talk.change_mode(mode).await?;
                return Ok(self.after(worked));
            }
            Some(Ok(ChatCommand::Image(path))) => self.talk.attach(&path).await,
            Some(Ok(ChatCommand::Revoke(number))) => self.talk.revoke(number).await,
            Some(Ok(command)) => {
                let shown = self.talk.shown(&command).await?;
                self.talk.screen.lock().write(OutputKind::Note, &shown);
            }
        }
        Ok(None)
    }

    /// Decides a question named in a command.
    async fn decide(&mut self, id: String, decision: Decision) -> Result<Option<Exit>> {
        let Some(question) = self.talk.open().await?.into_iter().find(|question| question.id.to_string() == id) else {
            let words = fill(self.talk.phrases.errors.no_question, &[&id]);
            self.talk.screen.lock().complain(&words);
            return Ok(None);
        };
        let words = ShownQuestion::new(&question, self.talk.phrases).confirmed(&decision);
        self.talk.screen.lock().will_confirm(words);
        let digest = self.shown.get(&question.id).cloned().unwrap_or_else(|| question.digest());
        self.work(ChatWork::Decide { question: question.id, decision, digest }).await
    }

    async fn work(&mut self, work: ChatWork) -> Result<Option<Exit>> {
        let worked = self.talk.work(work).await?;
        Ok(self.after(worked))
    }

    fn after(&mut self, worked: ChatWorkResult) -> Option<Exit> {
        match worked {
            ChatWorkResult::Rested => None,
            ChatWorkResult::Refused(words) => {
                self.talk.screen.lock().complain(&words);
                None
            }
            ChatWorkResult::Left => Some(Exit::Interrupted),
        }
    }

    /// Asks all open questions, one after the other.
    async fn ask_what_is_open(&mut self) -> Result<Option<Exit>> {
        loop {
            let open = self.talk.open().await?;
            self.put_off.retain(|id| open.iter().any(|question| question.id == *id));
            let is_due = |question: &Question| !self.put_off.contains(&question.id);
            let Some(due) = open.into_iter().find(is_due) else { return Ok(None) };
            self.talk.settle().await?;
            let Some(asked) = self.talk.open().await?.into_iter().find(|open| open.id == due.id) else { continue };
            let next = match self.ask(&asked).await? {
                AskResult::Decided(decision, digest) => {
                    let offers = self.talk.offers(&asked.id).await?;
                    let words = ShownQuestion::new(&asked, self.talk.phrases).with_offers(offers).confirmed(&decision);
                    self.talk.screen.lock().will_confirm(words);
                    self.work(ChatWork::Decide { question: asked.id.clone(), decision, digest }).await?
                }
                AskResult::Later => {
                    self.put_off.insert(asked.id.clone());
                    let words = self.talk.put_off(&asked.id);
                    self.talk.screen.lock().note(&words);
                    None
                }
                AskResult::Overtaken => self.take_in().await?,
                AskResult::Leave => Some(self.leave().await?),
                AskResult::Ended => Some(Exit::Interrupted),
            };
            if let Some(exit) = next {
                return Ok(Some(exit));
            }
        }
    }

    fn overtaken(&self) -> AskResult {
        if self.must_end { AskResult::Ended } else { AskResult::Overtaken }
    }

    /// Handles what came while the person was typing: an input from elsewhere, or an expiry.
    async fn take_in(&mut self) -> Result<Option<Exit>> {
        match self.news.take() {
            Some(News::Event(event)) => {
                // The event of a service describes itself.
                if !matches!(event.body, EventBody::Happened { .. }) {
                    self.talk.screen.lock().note(self.talk.phrases.chat.told_elsewhere);
                }
                self.work(ChatWork::Watch(event)).await
            }
            Some(News::Rested(reply)) => {
                self.talk.rested(&reply);
                Ok(None)
            }
            // Questions have expired, or are about to.
            None => self.work(ChatWork::Resume).await,
        }
    }

    /// Asks one question until it is decided or postponed.
    async fn ask(&mut self, question: &Question) -> Result<AskResult> {
        let view = self.talk.view(question).await?;
        let asked = ShownQuestion::new(question, self.talk.phrases).with_offers(self.talk.offers(&question.id).await?);
        let asked = asked.with_details(view.has_details()).with_result_needed(!view.result_read_by.is_empty());
        // Keys typed before the question was shown are not an answer to it.
        forget_typed();
        self.show(&view, &asked, false);
        self.shown.insert(question.id.clone(), view.digest.clone());
        loop {
            let Some((key, more)) = self.key().await? else { return Ok(self.overtaken()) };
            match asked.key(key, &more) {
                Pressed::Decided(decision) => return Ok(AskResult::Decided(decision, view.digest)),
                Pressed::Details => self.show(&view, &asked, true),
                Pressed::Edit => match self.edit(question).await? {
                    Some(answered) => return Ok(answered),
                    None => self.show(&view, &asked, false),
                },
                Pressed::Later => return Ok(AskResult::Later),
                Pressed::Leave => return Ok(AskResult::Leave),
                // A run has nothing else to continue with.
                Pressed::BreakOff if self.talk.surface == Surface::Stderr || self.breaks_off_again() => {
                    return Ok(AskResult::Ended);
                }
                Pressed::BreakOff => return Ok(AskResult::Later),
                Pressed::Nothing(words) => self.talk.screen.lock().complain(&words),
                Pressed::Type(typing) => match self.type_answer(&asked, typing, &view.digest).await? {
                    Some(answered) => return Ok(answered),
                    None => {
                        let line = asked.key_line();
                        self.talk.screen.lock().write(OutputKind::Note, &[line]);
                    }
                },
            }
            self.broke_off = None;
        }
    }

    /// Shows a question, and the keys that answer it.
    fn show(&self, view: &QuestionView, asked: &ShownQuestion<'_>, with_details: bool) {
        let mut lines = question::lines(view, with_details);
        lines.push(asked.key_line());
        self.talk.screen.lock().write(OutputKind::Question, &lines);
    }

    /// Reads a line for an answer until it is valid; `None` if the person gives up.
    async fn type_answer(
        &mut self,
        asked: &ShownQuestion<'_>,
        typing: Typing,
        digest: &str,
    ) -> Result<Option<AskResult>> {
        let ask = &self.talk.phrases.ask;
        let (label, mut begin) = match &typing {
            Typing::Reason => (ask.reason, String::new()),
            Typing::Numbers => (ask.numbers, String::new()),
            Typing::Answer => (ask.answer, String::new()),
            Typing::Consent => (ask.which_consent, String::new()),
            Typing::Result => (ask.result, String::new()),
        };
        if typing == Typing::Consent {
            let mut lines = vec![StyledLine::of(PLAIN, ask.consents)];
            lines.extend(asked.offer_lines());
            self.talk.screen.lock().write(OutputKind::Note, &lines);
        }
        loop {
            let line = match self.read_answer(label, &begin).await? {
                Typed::Line(line) => line,
                Typed::Interrupted => return Ok(Some(self.overtaken())),
                Typed::BreakOff => return Ok(None),
                Typed::Leave => return Ok(Some(AskResult::Leave)),
            };
            match asked.typed(&typing, &line) {
                Ok(Some(decision)) => return Ok(Some(AskResult::Decided(decision, digest.to_owned()))),
                Ok(None) => {
                    self.talk.screen.lock().note(ask.nothing_edited);
                    return Ok(None);
                }
                Err(words) => {
                    self.talk.screen.lock().complain(&words);
                    begin = line;
                }
            }
        }
    }

    /// Reads a message or a command while background work continues. If that work needs the screen, the line is
    /// interrupted and continued later.
    async fn read(&mut self) -> Result<Typed> {
        let open = self.talk.open().await?;
        let Some(mut editor) = self.editor.take() else { return Ok(Typed::Leave) };
        let waits = match open.len() {
            0 => String::new(),
            n => fill(
                self.talk.phrases.chat.waits,
                &[&self.talk.phrases.count(self.talk.phrases.counts.questions, n as u64)],
            ),
        };
        let has_colours = self.talk.screen.lock().has_colours();
        let face = LinePrompt { agent: self.talk.agent.clone(), mode: self.talk.mode().await?, waits, has_colours };
        editor.questions(open.into_iter().map(|question| question.id.to_string()).collect());
        let interrupt = editor.interrupt();
        self.make_room();
        let reading = tokio::task::spawn_blocking(move || {
            let typed = editor.words(&face);
            (editor, typed)
        });
        let (editor, typed) = self.meanwhile(reading, &interrupt).await?;
        self.editor = Some(editor);
        Ok(typed?)
    }

    async fn read_answer(&mut self, label: &str, begin: &str) -> Result<Typed> {
        let Some(mut editor) = self.editor.take() else { return Ok(Typed::Leave) };
        let (label, begin, interrupt) = (label.to_owned(), begin.to_owned(), editor.interrupt());
        let has_colours = self.talk.screen.lock().has_colours();
        self.talk.screen.lock().hold();
        let reading = tokio::task::spawn_blocking(move || {
            let typed = editor.answer(&label, &begin, has_colours);
            (editor, typed)
        });
        let (editor, typed) = self.meanwhile(reading, &interrupt).await?;
        self.editor = Some(editor);
        Ok(typed?)
    }

    /// Prints a blank line before the prompt.
    fn make_room(&mut self) {
        let mut screen = self.talk.screen.lock();
        screen.before_prompt();
        screen.hold();
    }

    /// Waits for the keyboard while the session's detached work continues.
    async fn meanwhile<T>(&mut self, mut reading: tokio::task::JoinHandle<T>, interrupt: &AtomicBool) -> Result<T> {
        let due = self.talk.handle.inspect(obelus_kernel::session::Session::timeout).await?;
        let wait = due.map_or(Duration::from_secs(u32::MAX.into()), |due| {
            Duration::from_millis(u64::try_from(due.0 - system_clock().0).unwrap_or(0))
        });
        let mut lapse = std::pin::pin!(tokio::time::sleep(wait));
        let (mut listener, interrupted, terminated) = self.talk.apart();
        tokio::select! {
            read = &mut reading => return Ok(read?),
            () = &mut lapse => {}
            () = closed() => return Err(TerminalClosed.into()),
            news = listener.news() => self.news = Some(news),
            _ = interrupted.recv() => self.must_end = true,
            _ = terminated.recv() => self.must_end = true,
        }
        interrupt.store(true, Ordering::Relaxed);
        Ok(reading.await?)
    }

    /// The next key, and the keys that arrived with it; `None` if something else comes first.
    async fn key(&mut self) -> Result<Option<(KeyEvent, Vec<KeyEvent>)>> {
        static GIVE_UP: AtomicBool = AtomicBool::new(false);
        GIVE_UP.store(false, Ordering::Relaxed);
        let reading = tokio::task::spawn_blocking(|| read_key(&GIVE_UP));
        Ok(self.meanwhile(reading, &GIVE_UP).await??)
    }
}
