//! A conversation with an agent, whoever is at the other end: turns, commands, and how it ends.

use std::pin::pin;
use std::time::Duration;

use anyhow::{Result, bail};
use obelus_kernel::session::{Decision, Ends, Input, Mode, Question, QuestionId, Refused, Reply, Session};
use obelus_kernel::{Message, Path, Role};
use obelus_runtime::{Driver, Event, NOT_DURABLE, system_clock};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::UnboundedSender;

use super::commands::Command;
use super::cost;
use super::events::Bindings;
use super::phrases::{Phrases, fill};
use super::screen::{Part, Screen, Shared};
use super::text::{Line, PLAIN, paragraphs};
use super::{outline, question};
use crate::output::{BOLD, DIM, Exit};

/// Between two looks of the spinner.
const FRAME: Duration = Duration::from_millis(120);

/// How long a question waits for what it would change.
const LOOKING: Duration = Duration::from_secs(5);

/// A conversation.
pub(crate) struct Talk {
    pub(crate) driver: Driver,
    pub(crate) screen: Shared,
    pub(crate) phrases: &'static Phrases,
    /// The name of the agent.
    pub(crate) agent: String,
    /// The name under which it is kept, if it is.
    pub(crate) session: Option<String>,
    /// Whether what people say is written down beforehand.
    pub(crate) plays_itself: bool,
    /// What the session wants to be told of by its portal.
    pub(super) bindings: Bindings,
    /// What was told of the requests to the model.
    is_terminal: bool,
    stop: UnboundedSender<Input>,
    signals: (Signal, Signal),
    ended: Option<Ends>,
}

/// What is to be worked on.
pub(crate) enum Work {
    /// What was under way when the journal ended.
    Resume,
    /// Words of the user.
    Say(String),
    /// What a person decided.
    Decide(QuestionId, Decision),
    /// Something that need not begin a turn.
    Tell(Input),
    /// Something that was told elsewhere.
    Told(obelus_runtime::Command),
}

/// What came of it.
pub(crate) enum Worked {
    /// It has come to rest.
    Rested,
    /// It was not taken; these words say why.
    Refused(String),
    /// The person broke off for the second time.
    Left,
}

impl Talk {
    /// Must be called inside a runtime.
    pub(crate) fn new(
        mut driver: Driver,
        agent: String,
        session: Option<String>,
        phrases: &'static Phrases,
        is_terminal: bool,
    ) -> Result<Self> {
        let screen = Screen::shared(is_terminal, driver.session(), phrases);
        let watching = screen.clone();
        let stop = driver.inlet();
        let bindings = Bindings::default();
        let bound = bindings.clone();
        let watch = move |event: Event<'_>| {
            if let Event::Moved(session) = &event {
                bound.see(session);
            }
            watching.lock().event(&event);
        };
        Ok(Self {
            driver: driver.watched_by(watch),
            bindings,
            screen,
            phrases,
            agent,
            session,
            plays_itself: false,
            is_terminal,
            stop,
            signals: (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?),
            ended: None,
        })
    }

    pub(crate) fn session(&self) -> &Session {
        self.driver.session()
    }

    pub(crate) fn mode(&self) -> Mode {
        self.session().settings().mode
    }

    /// The questions that wait.
    pub(crate) fn open(&self) -> Vec<Question> {
        self.session().questions().into_iter().filter(Question::is_open).collect()
    }

    /// Waits a little for what is not waited for otherwise: a question may be about to learn what it would change.
    pub(crate) async fn settle(&mut self) {
        // A call that asks does not end before it is answered.
        if self.driver.is_asked() {
            return;
        }
        if let Ok(Some(reply)) = tokio::time::timeout(LOOKING, self.driver.finish()).await {
            self.rested(&reply);
        }
    }

    /// It has come to rest anew while nobody worked at a turn.
    pub(crate) fn rested(&mut self, reply: &Reply) {
        self.ended = Some(reply.ends);
        self.screen.lock().end(Some(reply));
    }

    /// The driver, and the signals to break off and to end.
    pub(crate) fn apart(&mut self) -> (&mut Driver, &mut Signal, &mut Signal) {
        (&mut self.driver, &mut self.signals.0, &mut self.signals.1)
    }

    /// Works until it has come to rest. Ctrl-C stops the turn; a second one is for when even that takes too long.
    pub(crate) async fn work(&mut self, work: Work) -> Result<Worked> {
        let is_new = matches!(work, Work::Say(_));
        self.screen.lock().begin(self.driver.session(), is_new);
        let Self { driver, signals, screen, stop, .. } = self;
        let (interrupt, terminate) = signals;
        let mut frames = tokio::time::interval(FRAME);
        let mut breaks = 0;
        let worked = {
            let mut working = pin!(do_work(driver, work));
            loop {
                tokio::select! {
                    worked = &mut working => break Some(worked),
                    _ = interrupt.recv() => breaks += 1,
                    _ = terminate.recv() => breaks += 2,
                    _ = frames.tick() => {
                        screen.lock().tick();
                        continue;
                    }
                }
                if breaks > 1 || stop.send(Input::Stop).is_err() {
                    break None;
                }
                screen.lock().stops();
            }
        };
        match worked {
            None => {
                self.screen.lock().end(None);
                Ok(Worked::Left)
            }
            Some(Ok(reply)) => {
                if let Some(reply) = &reply {
                    self.ended = Some(reply.ends);
                }
                self.screen.lock().end(reply.as_ref());
                Ok(Worked::Rested)
            }
            Some(Err(refused)) => {
                self.screen.lock().end(None);
                if refused.code == NOT_DURABLE {
                    bail!("{refused}; nothing was done about it");
                }
                Ok(Worked::Refused(refused.to_string()))
            }
        }
    }

    /// Changes the mode, and says what it means.
    pub(crate) async fn change_mode(&mut self, mode: Mode) -> Result<Worked> {
        let worked = self.work(Work::Tell(Input::Mode { mode })).await?;
        let lines = self.mode_lines();
        self.screen.lock().write(Part::Note, &lines);
        Ok(worked)
    }

    /// Takes a picture for the next words, and says so.
    pub(crate) fn attach(&mut self, path: &std::path::Path) {
        match self.driver.attach(path) {
            Ok(()) => self.screen.lock().write(Part::Note, &[Line::of(DIM, self.phrases.picture_taken)]),
            Err(error) => self.screen.lock().complain(&crate::output::visible(&error.to_string())),
        }
    }

    /// The mode, and what it permits.
    pub(crate) fn mode_lines(&self) -> Vec<Line> {
        let mode = self.mode();
        let words = fill(self.phrases.mode_is, &[mode.name(), self.phrases.mode_means(mode)]);
        vec![Line::of(super::editor::colour(mode), words)]
    }

    /// What a command shows that changes nothing.
    pub(crate) fn shown(&self, command: &Command) -> Vec<Line> {
        match command {
            Command::Plan => self.plan(),
            Command::State => self.state(),
            Command::Inbox => self.inbox(),
            Command::Cost => self.cost(),
            Command::Help => self.help(),
            Command::Why(path) => self.why(path),
            Command::Mode(_) => self.mode_lines(),
            Command::Approve(_) | Command::Deny(..) | Command::Image(_) | Command::Quit => Vec::new(),
        }
    }

    fn plan(&self) -> Vec<Line> {
        let steps = self.screen.lock().plan();
        if !steps.is_empty() {
            return steps;
        }
        let Some(plan) = self.session().context().plan().filter(|plan| !plan.calls.is_empty()) else {
            return vec![Line::of(DIM, self.phrases.no_plan)];
        };
        let screen = self.screen.lock();
        let titles = screen.titles();
        let title = |call: &serde_json::Value| titles.tool(call["_tool"].as_str().unwrap_or_default());
        let line =
            |(index, call): (usize, _)| Line::of(DIM, format!("{index:>2} · ")).shown(PLAIN, &title(call)).hanging(5);
        (1..).zip(plan.calls.iter().map(|call| &**call)).map(line).collect()
    }

    fn state(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        for (kind, view) in self.session().context().views().filter(|(kind, _)| *kind != "error") {
            let Some(value) = view.read(&[], None) else { continue };
            // The state is what the session keeps up, too: what waits, what is planned, what was confirmed.
            let value = if kind == "state" { self.session().state() } else { value.into_owned() };
            lines.push(Line::of(BOLD, format!("†{kind}")));
            lines.extend(outline::lines(&value).into_iter().map(|line| line.indented("  ")));
        }
        if lines.is_empty() { vec![Line::of(DIM, self.phrases.no_state)] } else { lines }
    }

    /// The questions that wait, whole.
    pub(crate) fn inbox(&self) -> Vec<Line> {
        let open = self.open();
        if open.is_empty() {
            return vec![Line::of(DIM, self.phrases.nothing_waits)];
        }
        let screen = self.screen.lock();
        open.iter().flat_map(|one| question::lines(one, screen.titles(), self.phrases)).collect()
    }

    fn cost(&self) -> Vec<Line> {
        cost::lines(self.session().spent(), self.phrases)
    }

    fn help(&self) -> Vec<Line> {
        let line = |(name, words): &(&str, &str)| {
            Line::of(PLAIN, "  ").own(BOLD, format!("{name:<26}")).own(DIM, *words).hanging(28)
        };
        let mut lines: Vec<Line> = self.phrases.help.iter().map(line).collect();
        lines.push(Line::new());
        lines.push(Line::of(PLAIN, "  ").own(DIM, self.phrases.help_keys).hanging(2));
        lines
    }

    fn why(&self, path: &Path) -> Vec<Line> {
        match self.session().why(&path.to_string(), None) {
            Ok(why) => super::why::lines(&why, self.screen.lock().titles(), self.phrases),
            Err(fault) => vec![Line::new().shown(PLAIN, &fault.to_string())],
        }
    }

    /// The latest words of both sides, for whoever comes back.
    pub(crate) fn latest_words(&self) -> Vec<Line> {
        let texts: Vec<_> = self
            .session()
            .context()
            .messages()
            .iter()
            .filter_map(|message| match message {
                Message::Text(text) if matches!(text.role, Role::User | Role::Assistant) => Some(text),
                _ => None,
            })
            .collect();
        let from = texts.iter().rposition(|text| text.role == Role::User).unwrap_or(texts.len());
        texts[from..]
            .iter()
            .flat_map(|text| {
                let mark = if text.role == Role::User { "› " } else { "  " };
                paragraphs(DIM, &text.text, mark)
            })
            .collect()
    }

    /// How the command ends when the conversation does.
    pub(crate) fn exit(&self) -> Exit {
        match self.ended {
            _ if !self.open().is_empty() => Exit::Waiting,
            Some(Ends::Degraded | Ends::Limit) if !self.is_terminal => Exit::Failed,
            _ => Exit::Done,
        }
    }
}

async fn do_work(driver: &mut Driver, work: Work) -> Result<Option<Reply>, Refused> {
    // What has lapsed meanwhile cannot be answered any more.
    if driver.session().timeout().is_some_and(|due| due <= system_clock()) {
        driver.tell(Input::Tick).await?;
    }
    match work {
        Work::Resume => driver.resume().await,
        Work::Say(text) => driver.turn(Input::User { text }).await.map(Some),
        Work::Decide(question, decision) => {
            let by = "a person at the terminal".to_owned();
            driver.turn(Input::Decide { question, decision, by }).await.map(Some)
        }
        Work::Tell(input) => driver.tell(input).await,
        Work::Told(told) => driver.turn_told(told).await,
    }
}
