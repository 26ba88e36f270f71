//! A person at a terminal who answers while the agent and its browser wait.

use std::fs;
use std::io::{Read, Write};
use std::process::Child;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use pty_process::Size;
use pty_process::blocking::{Command, Pty};

use crate::harness::Harness;
use crate::support::{root, wait_for};

/// Wide enough that no word is broken.
const SIZE: (u16, u16) = (200, 1000);

/// The last key in the list of answers to a question.
const KEYS: &str = "Esc ";

/// The program's request for the position of the cursor.
const CURSOR: &[u8] = b"\x1b[6n";

/// `obelus run` or `obelus chat` at a terminal.
pub(crate) struct Person {
    keyboard: Arc<Pty>,
    shown: Arc<Mutex<Vec<u8>>>,
    child: Mutex<Child>,
    answered: AtomicUsize,
    /// The file for the whole output, to be searched at the end.
    transcript: String,
}

impl Person {
    /// Gives a task at a terminal.
    pub(crate) fn says(harness: &Harness, words: &str) -> Self {
        Self::runs(harness, &harness.saying(words))
    }

    /// Runs a command at a terminal.
    pub(crate) fn runs(harness: &Harness, args: &[String]) -> Self {
        let (pty, pts) = pty_process::blocking::open().expect("a terminal");
        pty.resize(Size::new(SIZE.0, SIZE.1)).expect("its size");
        let child = Command::new(env!("CARGO_BIN_EXE_obelus"))
            .args(args)
            .args(["--color=never", "--store", &harness.folder.path("store")])
            .current_dir(root())
            .envs(harness.environment())
            .env("TERM", "xterm-256color")
            .env_remove("OBELUS_AGENTS")
            .spawn(pts)
            .expect("obelus");
        let (keyboard, shown) = (Arc::new(pty), Arc::<Mutex<Vec<u8>>>::default());
        let (pty, seen) = (Arc::clone(&keyboard), Arc::clone(&shown));
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n @ 1..) = (&*pty).read(&mut buffer) {
                // Line editors ask for the position of the cursor.
                if buffer[..n].windows(CURSOR.len()).any(|part| part == CURSOR) {
                    let _ = (&*pty).write_all(b"\x1b[1;1R");
                }
                seen.lock().expect("nobody panics with it").extend_from_slice(&buffer[..n]);
            }
        });
        Self {
            keyboard,
            shown,
            child: Mutex::new(child),
            answered: AtomicUsize::new(0),
            transcript: harness.folder.path("screen.txt"),
        }
    }

    /// Everything that was printed.
    pub(crate) fn screen(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().expect("nobody panics with it")).into_owned()
    }

    /// Waits for the next question and returns the screen.
    #[track_caller]
    pub(crate) fn is_asked(&self) -> String {
        let asked = self.answered.fetch_add(1, Ordering::Relaxed) + 1;
        let has_ended = || {
            let mut child = self.child.lock().expect("nobody panics with it");
            child.try_wait().expect("our child").is_some()
        };
        wait_for(&format!("question {asked}"), || has_ended() || self.screen().matches(KEYS).count() >= asked);
        let screen = self.screen();
        assert!(screen.matches(KEYS).count() >= asked, "it ended and did not ask: {screen}");
        screen
    }

    /// Types a line.
    pub(crate) fn types(&self, line: &str) {
        self.presses(&format!("{line}\r"));
    }

    /// Presses keys.
    pub(crate) fn presses(&self, keys: &str) {
        (&*self.keyboard).write_all(keys.as_bytes()).expect("it listens");
    }

    /// Waits for a question and answers it by a key. Returns the screen.
    #[track_caller]
    pub(crate) fn answers(&self, key: &str) -> String {
        let screen = self.is_asked();
        self.presses(key);
        screen
    }

    /// Presses a key, waits for the label, and types a line.
    #[track_caller]
    pub(crate) fn types_after(&self, key: &str, label: &str, line: &str) {
        self.presses(key);
        wait_for(label, || self.screen().contains(label));
        self.types(line);
    }

    /// Waits for the end; returns the exit code and the output.
    #[track_caller]
    pub(crate) fn ends(self) -> (Option<i32>, String) {
        let mut status = None;
        let asked = self.answered.load(Ordering::Relaxed) + 1;
        wait_for("it ends", || {
            status = self.child.lock().expect("nobody panics with it").try_wait().expect("our child");
            let screen = self.screen();
            assert!(screen.matches(KEYS).count() < asked, "nobody is there to answer this: {screen}");
            status.is_some()
        });
        // The last output may still be in the pipe.
        thread::sleep(Duration::from_millis(50));
        (status.and_then(|status| status.code()), self.screen())
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        if let Ok(mut child) = self.child.lock() {
            let _ = child.kill().and_then(|()| child.wait());
        }
        let before = fs::read_to_string(&self.transcript).unwrap_or_default();
        let _ = fs::write(&self.transcript, before + &self.screen());
    }
}
