//! The keyboard of a terminal: single keys, echo, and detection of a closed terminal.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossterm::event::{self, Event, KeyEvent, KeyEventKind};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{InputModes, LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr};

/// How often the reader of keys checks whether to give up.
const LOOK: Duration = Duration::from_millis(100);

/// How often it is checked whether the terminal is still open.
const CHECK: Duration = Duration::from_secs(1);

/// The terminal was closed. A reader of it may block or spin for ever, so it is not waited for.
#[derive(Debug)]
pub(super) struct TerminalClosed;

impl std::fmt::Display for TerminalClosed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the terminal was closed")
    }
}

impl std::error::Error for TerminalClosed {}

/// Waits until the terminal is closed.
pub(super) async fn closed() {
    while !is_closed() {
        tokio::time::sleep(CHECK).await;
    }
}

pub(super) fn is_closed() -> bool {
    let stdin = io::stdin();
    let mut watched = [PollFd::new(&stdin, PollFlags::empty())];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    poll(&mut watched, Some(&at_once)).is_ok() && watched[0].revents().intersects(gone)
}

/// Reads a key in raw mode.
pub(super) fn read_key(give_up: &AtomicBool) -> io::Result<Option<(KeyEvent, Vec<KeyEvent>)>> {
    enable_raw_mode()?;
    let read = (|| {
        let mut first = None;
        while first.is_none() && !give_up.load(Ordering::Relaxed) {
            first = if event::poll(LOOK)? { pressed(event::read()?) } else { None };
        }
        let mut more = Vec::new();
        while event::poll(Duration::ZERO)? {
            more.extend(pressed(event::read()?));
        }
        Ok(first.map(|first| (first, more)))
    })();
    disable_raw_mode()?;
    read
}

fn pressed(event: Event) -> Option<KeyEvent> {
    match event {
        Event::Key(key) if key.kind == KeyEventKind::Press => Some(key),
        _ => None,
    }
}

/// Drops typed keys that have not been read.
pub(super) fn forget_typed() {
    let _ = tcflush(io::stdin(), QueueSelector::IFlush);
    while event::poll(Duration::ZERO).unwrap_or(false) {
        let _ = event::read();
    }
}

/// Switches echo and line mode off, so that typed keys do not appear until they are read. Ctrl-C stays a signal.
pub(super) struct QuietInput(Option<Termios>);

impl QuietInput {
    pub(super) fn begin() -> Self {
        let before = tcgetattr(io::stdin()).ok();
        if let Some(before) = &before {
            let mut quiet = before.clone();
            quiet.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON);
            // Enter must arrive as it is typed: after a line feed the editor drops the lines that were typed ahead.
            quiet.input_modes.remove(InputModes::ICRNL);
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &quiet);
        }
        Self(before)
    }
}

impl Drop for QuietInput {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
    }
}
