//! The first line of a new conversation. An agent with several languages uses that of the user's first message, so
//! the line is read before the session is created, unless `--lang` names the language.

use std::path::Path;

use anyhow::Result;
use obelus_kernel::session::Mode;
use obelus_runtime::SessionSpec;
use obelus_runtime::people::Titles;
use tokio::sync::mpsc;

use super::editor::{Editor, LinePrompt, Typed};
use super::keyboard::{TerminalClosed, closed};
use super::screen::{OutputKind, Screen, Surface};
use super::text::StyledLine;
use super::{greeting, lines};
use crate::cmd::run::load_agent_in;
use crate::language::{Words, chosen, words_of};

/// The lines of stdin, if it is not a terminal.
type InputLines = mpsc::Receiver<Result<String>>;

/// The user's side before there is a session.
pub(super) enum UserSide {
    /// Lines of stdin. Lines that were read ahead are not lost.
    Lines(InputLines),
    /// A terminal; without an editor while another thread reads a line with it.
    Terminal(Option<Box<Editor>>),
    /// A scripted conversation.
    Script,
}

/// What was typed before there is a session.
pub(super) enum FirstInput {
    /// A line; none if it need not be read.
    Line(Option<String>),
    /// The person left.
    Left,
}

impl UserSide {
    /// Lines of stdin.
    pub(super) fn of_lines() -> Self {
        Self::Lines(lines::stdin_lines())
    }

    /// The first line, if a new agent needs it. The greeting is shown before.
    pub(super) async fn first(
        &mut self,
        folder: &Path,
        spec: &SessionSpec,
        kept_as: Option<&str>,
    ) -> Result<FirstInput> {
        if chosen().is_some() || !speaks_several(folder) {
            return Ok(FirstInput::Line(None));
        }
        match self {
            Self::Script => Ok(FirstInput::Line(None)),
            Self::Lines(lines) => loop {
                match lines.recv().await.transpose()? {
                    Some(line) if line.trim().is_empty() => {}
                    line => return Ok(FirstInput::Line(line)),
                }
            },
            Self::Terminal(editor) => at_terminal(editor, spec, kept_as).await,
        }
    }
}

/// Whether an agent has several languages.
fn speaks_several(folder: &Path) -> bool {
    let language = |code| load_agent_in(folder, Some(code)).ok().and_then(|agent| agent.language);
    language("ru") != language("en")
}

/// Greets, and reads a line at a terminal.
async fn at_terminal(
    editor: &mut Option<Box<Editor>>,
    spec: &SessionSpec,
    kept_as: Option<&str>,
) -> Result<FirstInput> {
    let phrases: &'static Words = words_of(spec.language.as_deref());
    let mode: Mode = spec.settings.mode;
    let screen = Screen::shared(Surface::Terminal, Titles::of(&spec.context, phrases.code), mode, phrases);
    screen.lock().write(OutputKind::Note, &greeting(&spec.agent, mode, kept_as, phrases));
    let mut broke_off = false;
    loop {
        let has_colours = screen.lock().has_colours();
        let face = LinePrompt { agent: spec.agent.clone(), mode, waits: String::new(), has_colours };
        screen.lock().before_prompt();
        screen.lock().hold();
        let Some(mut reader) = editor.take() else { return Ok(FirstInput::Left) };
        let reading = tokio::task::spawn_blocking(move || {
            let typed = reader.words(&face);
            (reader, typed)
        });
        let typed = tokio::select! {
            read = reading => {
                let (reader, typed) = read?;
                *editor = Some(reader);
                typed?
            }
            () = closed() => return Err(TerminalClosed.into()),
        };
        match typed {
            Typed::Line(line) if line.trim().is_empty() => {}
            Typed::Line(line) => return Ok(FirstInput::Line(Some(line))),
            Typed::BreakOff if !broke_off => {
                broke_off = true;
                screen
                    .lock()
                    .write(OutputKind::Note, &[StyledLine::of(crate::output::DIM, phrases.chat.again_to_quit)]);
            }
            Typed::BreakOff | Typed::Leave | Typed::Interrupted => return Ok(FirstInput::Left),
        }
    }
}
