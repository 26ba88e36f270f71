//! Line editors: one with history and completion for messages and commands, and a plain one for answers, which are
//! not saved.

use std::borrow::Cow;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anstyle::{AnsiColor, Style};
use obelus_kernel::session::Mode;
use reedline::{
    ColumnarMenu, Completer, CompletionResult, EditCommand, Emacs, FileBackedHistory, KeyCode, KeyModifiers,
    MenuBuilder, Prompt, PromptEditMode, PromptHistorySearch, Reedline, ReedlineEvent, ReedlineMenu, Signal, Span,
    Suggestion, default_emacs_keybindings,
};

use super::commands::completions;
use crate::output::{BOLD, DIM, YELLOW, visible};

/// The number of lines in the history.
const KEPT: usize = 1_000;

const MENU: &str = "completions";

/// The result of reading a line.
#[derive(Debug)]
pub(crate) enum Typed {
    Line(String),
    BreakOff,
    Leave,
    /// The screen was needed for something else; the typed text is still in the line.
    Interrupted,
}

/// The editors.
pub(crate) struct Editor {
    words: Reedline,
    answers: Reedline,
    /// Ids of open questions, for completion.
    open: Arc<Mutex<Vec<String>>>,
    /// Set to interrupt the reading of a line.
    interrupt: Arc<AtomicBool>,
}

/// The prompt before the line.
pub(crate) struct LinePrompt {
    pub(crate) agent: String,
    pub(crate) mode: Mode,
    /// The number of open questions as text; empty if there are none.
    pub(crate) waits: String,
    pub(crate) has_colours: bool,
}

impl Editor {
    /// Editors with the history in a file, if the file can be written.
    pub(crate) fn new(history: Option<&Path>, has_colours: bool) -> Self {
        let open: Arc<Mutex<Vec<String>>> = Arc::default();
        let interrupt: Arc<AtomicBool> = Arc::default();
        let mut keys = default_emacs_keybindings();
        let complete = ReedlineEvent::UntilFound(vec![ReedlineEvent::Menu(MENU.to_owned()), ReedlineEvent::MenuNext]);
        keys.add_binding(KeyModifiers::NONE, KeyCode::Tab, complete);
        keys.add_binding(KeyModifiers::ALT, KeyCode::Enter, ReedlineEvent::Edit(vec![EditCommand::InsertNewline]));
        let menu = ReedlineMenu::EngineCompleter(Box::new(ColumnarMenu::default().with_name(MENU).with_marker(" › ")));
        let mut words = Reedline::create()
            .with_ansi_colors(has_colours)
            .use_bracketed_paste(true)
            .with_completer(Box::new(Commands(Arc::clone(&open))))
            .with_quick_completions(true)
            .with_partial_completions(true)
            .with_menu(menu)
            .with_edit_mode(Box::new(Emacs::new(keys)))
            .with_history_exclusion_prefix(Some(" ".to_owned()))
            .with_break_signal(Arc::clone(&interrupt));
        if let Some(file) = history.filter(|file| make_private(file).is_ok())
            && let Ok(kept) = FileBackedHistory::with_file(KEPT, file.to_owned())
        {
            words = words.with_history(Box::new(kept));
        }
        // Esc leads back to the question, like Ctrl-C.
        let mut keys = default_emacs_keybindings();
        keys.add_binding(KeyModifiers::NONE, KeyCode::Esc, ReedlineEvent::CtrlC);
        let answers = Reedline::create()
            .with_ansi_colors(has_colours)
            .use_bracketed_paste(true)
            .with_edit_mode(Box::new(Emacs::new(keys)))
            // Answers are not saved: they may contain a password.
            .with_history_exclusion_prefix(Some(String::new()))
            .with_break_signal(Arc::clone(&interrupt));
        Self { words, answers, open, interrupt }
    }

    /// The flag that interrupts the reading of a line.
    pub(crate) fn interrupt(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.interrupt)
    }

    /// Sets the ids of open questions for completion.
    pub(crate) fn questions(&self, ids: Vec<String>) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = ids;
    }

    /// Reads a message or a command. Blocks.
    pub(crate) fn words(&mut self, face: &LinePrompt) -> io::Result<Typed> {
        self.interrupt.store(false, Ordering::Relaxed);
        let typed = typed(self.words.read_line(face).map_err(io::Error::other)?);
        // Save at once, in case the process is killed.
        let _ = self.words.sync_history();
        Ok(typed)
    }

    /// Reads an answer; `begin` is its initial text. Blocks.
    pub(crate) fn answer(&mut self, label: &str, begin: &str, has_colours: bool) -> io::Result<Typed> {
        self.interrupt.store(false, Ordering::Relaxed);
        self.answers.run_edit_commands(&[EditCommand::Clear, EditCommand::InsertString(begin.to_owned())]);
        let label = PromptLabel { text: label.to_owned(), has_colours };
        Ok(typed(self.answers.read_line(&label).map_err(io::Error::other)?))
    }
}

fn typed(signal: Signal) -> Typed {
    match signal {
        Signal::Success(line) => Typed::Line(line),
        Signal::CtrlC => Typed::BreakOff,
        Signal::CtrlD => Typed::Leave,
        _ => Typed::Interrupted,
    }
}

/// Creates the file if needed and makes it readable by its owner only. So is its folder if it is missing: it will be
/// that of the store.
fn make_private(file: &Path) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let opened = OpenOptions::new().append(true).create(true).mode(0o600).open(file)?;
    opened.set_permissions(fs::Permissions::from_mode(0o600))
}

struct Commands(Arc<Mutex<Vec<String>>>);

impl Completer for Commands {
    fn complete(&mut self, line: &str, pos: usize) -> CompletionResult {
        let open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (start, words) = completions(&line[..pos], &open);
        let suggestion = |value: String| Suggestion {
            append_whitespace: start == 0,
            value,
            span: Span::new(start, pos),
            ..Suggestion::default()
        };
        CompletionResult::fresh(words.into_iter().map(suggestion).collect::<Vec<_>>())
    }
}

/// The colour of a mode, warmer for modes that permit more.
pub(crate) fn colour(mode: Mode) -> Style {
    match mode {
        Mode::Shadow => AnsiColor::Blue.on_default(),
        Mode::Canary => AnsiColor::Yellow.on_default(),
        Mode::Full => AnsiColor::Magenta.on_default(),
    }
}

fn styled(style: Style, text: &str, has_colours: bool) -> String {
    if has_colours { format!("{style}{text}{style:#}") } else { text.to_owned() }
}

impl Prompt for LinePrompt {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        let agent = styled(DIM, &visible(&self.agent), self.has_colours);
        let mode = styled(colour(self.mode), self.mode.name(), self.has_colours);
        format!("{agent} {mode}").into()
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        styled(YELLOW, &self.waits, self.has_colours).into()
    }

    fn render_prompt_indicator(&self, _: PromptEditMode) -> Cow<'_, str> {
        styled(BOLD, " › ", self.has_colours).into()
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        "  ".into()
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        format!(" ({}) › ", search.term).into()
    }
}

struct PromptLabel {
    text: String,
    has_colours: bool,
}

impl Prompt for PromptLabel {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        styled(BOLD, &format!("  {}", self.text), self.has_colours).into()
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        "".into()
    }

    fn render_prompt_indicator(&self, _: PromptEditMode) -> Cow<'_, str> {
        styled(BOLD, " › ", self.has_colours).into()
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        "  ".into()
    }

    fn render_prompt_history_search_indicator(&self, _: PromptHistorySearch) -> Cow<'_, str> {
        " › ".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_history_file_is_private() {
        let folder = std::env::temp_dir().join(format!("obelus-history-{}", std::process::id()));
        let file = folder.join("history");
        fs::create_dir_all(&folder).unwrap();
        fs::write(&file, "said before\n").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        make_private(&file).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_to_string(&file).unwrap(), "said before\n");
        fs::remove_dir_all(folder).unwrap();
    }

    /// The first chat creates the folder of the store.
    #[test]
    fn the_folder_of_a_new_history_is_private() {
        let folder = std::env::temp_dir().join(format!("obelus-first-chat-{}", std::process::id()));
        make_private(&folder.join("store/chat_history")).unwrap();
        for made in [&folder, &folder.join("store")] {
            assert_eq!(fs::metadata(made).unwrap().permissions().mode() & 0o777, 0o700, "{}", made.display());
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_prompt_shows_the_mode() {
        let face =
            |has_colours| LinePrompt { agent: "notes".into(), mode: Mode::Canary, waits: String::new(), has_colours };
        assert_eq!(face(false).render_prompt_left(), "notes canary");
        assert!(face(true).render_prompt_left().contains("canary"));
    }
}
