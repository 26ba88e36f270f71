//! The screen: written lines stay; running steps are redrawn below them.

use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use obelus_connect::bitrix24::event_words;
use obelus_kernel::session::sent_by::SentBy;
use obelus_kernel::session::{Mode, Outcome, RepeatReason, Reply, TurnEnd};
use obelus_runtime::EventBody;
use obelus_runtime::files::FileNews;
use obelus_runtime::people::{Titles, how_it_ended, result_in_words};
use obelus_runtime::sessions::StepView;
use serde_json::Value;

use super::steps::{StepContext, TurnSteps};
use super::text::{PLAIN, StyledLine, paragraphs};
use crate::cmd::people::{by_in_words, file_news};
use crate::language::{Words, fill};
use crate::local_time::local_time;
use crate::output::{DIM, RED, YELLOW};

/// The widest line; longer lines are hard to read.
const WIDEST: usize = 100;

/// The limits of the model's text in progress: bytes kept, bytes scanned for its end, and lines shown.
const MOST_WRITTEN: usize = 64 * 1024;
const WRITTEN_END: usize = 2_000;
const WRITTEN_LINES: usize = 6;

const SPINNER: [&str; 8] = ["⠋", "⠙", "⠸", "⠴", "⠦", "⠇", "⠏", "⠛"];

/// The kind of the last output; a blank line separates different kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputKind {
    Nothing,
    Prompt,
    Words,
    Steps,
    Note,
    Question,
}

/// The output of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Surface {
    /// Lines on stdout, without a terminal.
    Lines,
    /// A terminal.
    Terminal,
    /// A terminal on stderr: the result is printed elsewhere.
    Stderr,
}

/// The screen, or a plain stream of lines without a terminal.
pub(crate) struct Screen {
    surface: Surface,
    is_terminal: bool,
    has_colours: bool,
    phrases: &'static Words,
    titles: Titles,
    mode: Mode,
    steps: TurnSteps,
    /// The number of redrawn lines at the bottom.
    drawn: usize,
    thinking: bool,
    /// The model's text in progress. Its end is shown; the whole text once it is complete or broken off.
    writing: String,
    stopping: bool,
    frame: usize,
    /// The person is typing; nothing is drawn.
    is_held: bool,
    last: OutputKind,
    /// Printed when the person's decision has been accepted.
    confirmed: Option<String>,
}

/// A screen that the session's events and the conversation write to.
#[derive(Clone)]
pub(crate) struct SharedScreen(Arc<Mutex<Screen>>);

impl SharedScreen {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Screen> {
        // After a panic elsewhere, at worst one line is incomplete.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Screen {
    pub(crate) fn shared(surface: Surface, titles: Titles, mode: Mode, phrases: &'static Words) -> SharedScreen {
        let choice = match surface {
            Surface::Stderr => anstream::AutoStream::choice(&std::io::stderr()),
            Surface::Lines | Surface::Terminal => anstream::AutoStream::choice(&std::io::stdout()),
        };
        SharedScreen(Arc::new(Mutex::new(Self {
            surface,
            is_terminal: surface != Surface::Lines,
            has_colours: choice != anstream::ColorChoice::Never,
            phrases,
            titles,
            mode,
            steps: TurnSteps::default(),
            drawn: 0,
            thinking: false,
            writing: String::new(),
            stopping: false,
            frame: 0,
            is_held: false,
            last: OutputKind::Nothing,
            confirmed: None,
        })))
    }

    pub(crate) fn has_colours(&self) -> bool {
        self.has_colours
    }

    pub(crate) fn titles(&self) -> &Titles {
        &self.titles
    }

    /// Updates the steps.
    fn update_steps(&mut self, steps: &[StepView]) {
        if let Some(words) = self.confirmed.take() {
            self.note(&words);
        }
        if !steps.is_empty() && !self.stopping {
            // The answer is complete, and its calls are running.
            self.writing.clear();
        }
        let context = StepContext { phrases: self.phrases, titles: &self.titles, mode: self.mode };
        self.steps.see(steps, &context);
        if self.is_terminal {
            self.draw();
        } else {
            let steps = self.due(false);
            self.write(OutputKind::Steps, &steps);
        }
    }

    /// Shows an event during a turn.
    pub(crate) fn event(&mut self, event: &EventBody) {
        match event {
            EventBody::AgentSaid { text } => {
                self.thinking = false;
                self.writing.clear();
                let steps = self.due(false);
                self.write(OutputKind::Steps, &steps);
                self.words(text);
            }
            EventBody::ModelAsked { .. } => {
                self.thinking = true;
                self.writing.clear();
            }
            EventBody::Writing { text } => {
                self.writing.push_str(text);
                if self.writing.len() > 2 * MOST_WRITTEN {
                    let cut = self.writing.ceil_char_boundary(self.writing.len() - MOST_WRITTEN);
                    self.writing.drain(..cut);
                }
                self.draw();
            }
            // A person at this terminal knows it.
            EventBody::CallBegan { id, edited_by: Some(by), .. } if SentBy::of(by) != SentBy::Terminal => {
                if let Some(place) = id.place() {
                    self.steps.edited(place, by_in_words(by, self.phrases));
                }
            }
            EventBody::CallEnded { id, outcome: Outcome::Value(value) } => {
                if let Some(place) = id.place() {
                    let reads = self.steps.tool(place).is_some_and(|tool| self.titles.reads(tool));
                    let value = &self.titles.pages().with_full_address(value);
                    if let Some(words) = result_in_words(value, reads, self.phrases.language) {
                        self.steps.brought(place, words);
                    }
                }
            }
            EventBody::QuestionAskedAgain { question, because: RepeatReason::ItWillLapse } => {
                let until = local_time(question.expires_at);
                self.note(&fill(self.phrases.ask.will_lapse, &[&question.id.to_string(), &until]));
            }
            EventBody::Moved { mode, is_asking, steps } => {
                self.mode = *mode;
                // The model is no longer asked once its answer has led to calls or to rest.
                self.thinking &= is_asking;
                self.update_steps(steps);
            }
            EventBody::Happened { event } => {
                let words = event_words(event, self.phrases.language);
                self.note(&fill(self.phrases.chat.happened, &[&words]));
            }
            EventBody::Files { news } => self.files(news),
            _ => {}
        }
    }

    /// Shows a notice about the session's files.
    fn files(&mut self, news: &FileNews) {
        let words = file_news(news, self.phrases);
        match news {
            FileNews::Taken { .. } => self.note(&words),
            FileNews::Refused { .. } | FileNews::Trouble { .. } => self.complain(&words),
        }
    }

    /// Begins a turn, with a message of the user or an answer to a question.
    pub(crate) fn begin(&mut self, titles: Titles, is_new: bool) {
        self.is_held = false;
        self.stopping = false;
        self.titles = titles;
        if is_new {
            self.steps.begin();
        }
        if self.is_terminal {
            self.put("\x1b[?25l");
        }
    }

    /// Sets the text to print when the decision is accepted.
    pub(crate) fn will_confirm(&mut self, words: String) {
        self.confirmed = Some(words);
    }

    /// Ends the turn: prints its steps, its text, and how it ended.
    pub(crate) fn end(&mut self, reply: Option<&Reply>) {
        self.thinking = false;
        self.confirmed = None;
        let steps = self.due(true);
        self.write(OutputKind::Steps, &steps);
        self.keep_written(reply);
        if let Some(reply) = reply.filter(|_| self.surface != Surface::Stderr) {
            match &reply.output {
                Value::Null => {}
                Value::String(words) if reply.said.contains(words) => {}
                Value::String(words) => self.words(words),
                other => self.write(OutputKind::Words, &super::outline::lines(other)),
            }
            let ending = ending(reply, self.phrases);
            self.write(OutputKind::Note, &ending);
        }
        self.stopping = false;
        if self.is_terminal {
            self.draw();
            self.put("\x1b[?25h");
        }
    }

    /// Prints the unfinished text of the model if it was broken off, so that seen text does not disappear.
    fn keep_written(&mut self, reply: Option<&Reply>) {
        let written = std::mem::take(&mut self.writing);
        let is_cut = reply.is_none_or(|reply| matches!(reply.ends, TurnEnd::Stopped | TurnEnd::Degraded));
        if is_cut && !written.trim().is_empty() {
            self.words(&written);
            self.note(self.phrases.running.cut_short);
        }
    }

    /// Prints a blank line before the prompt.
    pub(crate) fn before_prompt(&mut self) {
        self.erase();
        if self.last != OutputKind::Nothing {
            self.put("\n");
        }
    }

    /// Removes the redrawn lines and draws nothing until the next turn, because the person is typing.
    pub(crate) fn hold(&mut self) {
        self.erase();
        self.is_held = true;
        self.last = OutputKind::Prompt;
    }

    /// The person asked to stop the turn.
    pub(crate) fn stops(&mut self) {
        self.stopping = true;
        if self.is_terminal {
            self.draw();
        } else {
            self.write(OutputKind::Note, &[StyledLine::of(DIM, self.phrases.chat.stopping)]);
        }
    }

    /// Advances the spinner.
    pub(crate) fn tick(&mut self) {
        self.frame += 1;
        if self.is_terminal && !self.is_held {
            self.draw();
        }
    }

    /// All steps of the turn.
    pub(crate) fn plan(&self) -> Vec<StyledLine> {
        self.steps.all(&self.context())
    }

    fn context(&self) -> StepContext<'_> {
        StepContext { phrases: self.phrases, titles: &self.titles, mode: self.mode }
    }

    fn due(&mut self, all: bool) -> Vec<StyledLine> {
        let context = StepContext { phrases: self.phrases, titles: &self.titles, mode: self.mode };
        self.steps.write(all, &context)
    }

    /// Prints the agent's text.
    fn words(&mut self, words: &str) {
        self.write(OutputKind::Words, &paragraphs(PLAIN, words, ""));
    }

    /// Prints a note.
    pub(crate) fn note(&mut self, text: &str) {
        let lines: Vec<StyledLine> = text.lines().map(|line| StyledLine::new().shown(DIM, line)).collect();
        self.write(OutputKind::Note, &lines);
    }

    /// Prints an error about what was typed.
    pub(crate) fn complain(&mut self, text: &str) {
        self.write(OutputKind::Note, &[StyledLine::of(YELLOW, "! ").shown(PLAIN, text).hanging(2)]);
    }

    /// Prints lines that stay.
    pub(crate) fn write(&mut self, part: OutputKind, lines: &[StyledLine]) {
        if lines.is_empty() {
            return;
        }
        let mut text = self.erasing();
        // Different kinds of output are separated by a blank line.
        let apart = self.last != OutputKind::Nothing
            && (self.last != part || part == OutputKind::Words || part == OutputKind::Question);
        if apart {
            text.push('\n');
        }
        self.last = part;
        let (columns, _) = size();
        for line in lines {
            if self.is_terminal {
                line.wrap(columns.min(WIDEST)).iter().for_each(|line| text.push_str(&self.ended(line)));
            } else {
                text.push_str(&self.ended(line));
            }
        }
        self.put(&text);
        if !self.is_held {
            self.draw();
        }
    }

    fn ended(&self, line: &StyledLine) -> String {
        format!("{}\n", if self.has_colours { line.styled() } else { line.plain() })
    }

    /// Draws the running steps.
    fn draw(&mut self) {
        if !self.is_terminal || self.is_held {
            return;
        }
        let (columns, rows) = size();
        let spinner = SPINNER[self.frame % SPINNER.len()];
        let mut lines = self.steps.live(&self.context(), spinner);
        if self.stopping {
            lines.push(StyledLine::of(YELLOW, format!("   {spinner} ")).own(DIM, self.phrases.chat.stopping));
        } else if self.thinking && !self.writing.trim().is_empty() {
            let width = columns.saturating_sub(6).clamp(10, WIDEST);
            let end = self.writing.ceil_char_boundary(self.writing.len().saturating_sub(WRITTEN_END));
            let written: Vec<StyledLine> =
                paragraphs(DIM, &self.writing[end..], "   ").iter().flat_map(|line| line.wrap(width)).collect();
            lines.extend_from_slice(&written[written.len().saturating_sub(WRITTEN_LINES)..]);
        } else if self.thinking {
            lines.push(StyledLine::of(DIM, format!("   {spinner} {}", self.phrases.chat.thinking)));
        }
        let most = rows.saturating_sub(3).max(1);
        let lines = &lines[lines.len().saturating_sub(most)..];
        let mut text = self.erasing();
        if !lines.is_empty() && self.last != OutputKind::Steps {
            text.push('\n');
            self.drawn = 1;
        }
        for line in lines {
            text.push_str(&self.ended(&line.cut(columns.saturating_sub(1).min(WIDEST))));
        }
        self.drawn += lines.len();
        self.put(&text);
    }

    fn erase(&mut self) {
        let text = self.erasing();
        self.put(&text);
    }

    /// The codes that erase the redrawn lines.
    fn erasing(&mut self) -> String {
        match std::mem::take(&mut self.drawn) {
            0 => String::new(),
            n => format!("\x1b[{n}A\r\x1b[J"),
        }
    }

    fn put(&self, text: &str) {
        // A closed pipe is not an error.
        let _ = match self.surface {
            Surface::Stderr => std::io::stderr().lock().write_all(text.as_bytes()),
            Surface::Lines | Surface::Terminal => {
                let mut out = std::io::stdout().lock();
                out.write_all(text.as_bytes()).and_then(|()| out.flush())
            }
        };
    }
}

/// Why a turn ended without a result, and what to do; the steps are already printed.
fn ending(reply: &Reply, phrases: &Words) -> Vec<StyledLine> {
    let Some(how) = how_it_ended(reply, phrases.language) else { return Vec::new() };
    let mark = if reply.ends == TurnEnd::Degraded { RED } else { YELLOW };
    let mut lines = vec![StyledLine::of(mark, "! ").shown(PLAIN, &how.what).hanging(2)];
    lines.extend(how.advice.map(|advice| StyledLine::of(PLAIN, "  ").own(DIM, advice).hanging(2)));
    lines
}

/// Columns and rows.
fn size() -> (usize, usize) {
    match crossterm::terminal::size() {
        Ok((columns, rows)) if columns > 0 && rows > 0 => (columns.into(), rows.into()),
        _ => (80, 24),
    }
}
