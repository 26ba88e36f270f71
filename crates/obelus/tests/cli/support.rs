//! Runs the binary and checks its output.

use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// A time limit that keeps a test from hanging.
const AT_MOST: Duration = Duration::from_secs(120);

/// The result of a command.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// Asserts the exit code, and that nothing panicked.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.status.code(), Some(code), "{}\nstdout: {}\nstderr: {}", self.status, self.stdout, self.stderr);
        for text in [&self.stdout, &self.stderr] {
            assert!(!text.contains("panicked") && !text.contains("RUST_BACKTRACE"), "{text}");
        }
        self
    }

    /// Asserts that stdout contains a text.
    #[track_caller]
    pub(crate) fn prints(self, part: &str) -> Self {
        assert!(self.stdout.contains(part), "no `{part}` in stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }

    /// Asserts that stderr contains a text.
    #[track_caller]
    pub(crate) fn says(self, part: &str) -> Self {
        assert!(self.stderr.contains(part), "no `{part}` in stderr: {}\nstdout: {}", self.stderr, self.stdout);
        self
    }

    /// Asserts that stdout is empty.
    #[track_caller]
    pub(crate) fn prints_nothing(self) -> Self {
        assert_eq!(self.stdout, "", "stderr: {}", self.stderr);
        self
    }

    /// Stdout is one JSON document and nothing else.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        let read = serde_json::from_str(&self.stdout);
        read.unwrap_or_else(|error| panic!("{error} in stdout: {}\nstderr: {}", self.stdout, self.stderr))
    }
}

/// Runs the binary with these arguments in the root of the repository, without a terminal.
pub(crate) fn obelus(args: &[&str]) -> Ran {
    run(&mut command(args), b"")
}

/// As [`obelus`], with something on stdin.
pub(crate) fn obelus_reading(stdin: impl AsRef<[u8]>, args: &[&str]) -> Ran {
    run(&mut command(args), stdin.as_ref())
}

/// The binary with these arguments, not yet started.
pub(crate) fn command(args: &[&str]) -> Command {
    program(env!("CARGO_BIN_EXE_obelus"), args)
}

/// A program in the root of the repository, without variables that change the binary's behaviour.
pub(crate) fn program(program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args).current_dir(root());
    for name in [
        "NO_COLOR",
        "CLICOLOR",
        "CLICOLOR_FORCE",
        "OBELUS_AGENTS",
        "OPENAI_API_BASE",
        "OPENAI_API_KEY",
        "RUST_BACKTRACE",
    ] {
        command.env_remove(name);
    }
    command
}

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command, stdin: &[u8]) -> Ran {
    let mut child = start(command);
    let mut input = child.stdin.take().expect("a pipe");
    let stdin = stdin.to_owned();
    // The command need not read its stdin.
    let feed = thread::spawn(move || drop(input.write_all(&stdin)));
    let ran = end(child);
    feed.join().expect("it only writes");
    ran
}

/// Starts a command with a pipe for each of its streams.
pub(crate) fn start(command: &mut Command) -> Child {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Waits for a command that was started.
pub(crate) fn end(mut child: Child) -> Ran {
    let stdout = collect(child.stdout.take().expect("a pipe"));
    let stderr = collect(child.stderr.take().expect("a pipe"));
    let status = wait(&mut child);
    let text = |bytes: thread::JoinHandle<Vec<u8>>| {
        String::from_utf8(bytes.join().expect("it only reads")).expect("the binary writes UTF-8")
    };
    Ran { status, stdout: text(stdout), stderr: text(stderr) }
}

fn wait(child: &mut Child) -> ExitStatus {
    let mut status = None;
    wait_for("the command ends", || {
        status = child.try_wait().expect("it is our child");
        status.is_some()
    });
    status.expect("it was waited for")
}

fn collect(mut from: impl Read + Send + 'static) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).expect("a pipe can be read");
        bytes
    })
}

/// Waits until a condition holds.
#[track_caller]
pub(crate) fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < AT_MOST, "it never came to this: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Runs the binary at a terminal; the screen is in `stdout`. Keys are typed when a text before them appears. `None`
/// without the program `script`, which makes the terminal.
pub(crate) fn at_a_terminal(args: &[&str], typed: &[(&str, &str)]) -> Option<Ran> {
    if program("script", &["--version"]).output().is_err() {
        eprintln!("skipped: there is no `script` to make a terminal with");
        return None;
    }
    let quoted: Vec<String> = args.iter().map(|arg| format!("'{arg}'")).collect();
    let line = format!("'{}' {} --color=never", env!("CARGO_BIN_EXE_obelus"), quoted.join(" "));
    let mut child = start(&mut program("script", &["-qec", &line, "/dev/null"]));
    let keyboard = Arc::new(Mutex::new(child.stdin.take().expect("a pipe")));
    let mut from = child.stdout.take().expect("a pipe");
    let screen = Arc::new(Mutex::new(Vec::new()));
    let (seen, answers) = (Arc::clone(&screen), Arc::clone(&keyboard));
    let reader = thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(n @ 1..) = from.read(&mut buffer) {
            // Line editors ask for the position of the cursor.
            if buffer[..n].windows(4).any(|part| part == b"\x1b[6n") {
                let _ = answers.lock().expect("nobody panics with it").write_all(b"\x1b[1;1R");
            }
            seen.lock().expect("nobody panics with it").extend_from_slice(&buffer[..n]);
        }
    });
    let shown = || String::from_utf8_lossy(&screen.lock().expect("nobody panics with it")).into_owned();
    let mut read = 0;
    for (asked, keys) in typed {
        wait_for(asked, || shown()[read..].contains(asked));
        read = shown().len();
        keyboard.lock().expect("nobody panics with it").write_all(keys.as_bytes()).expect("it listens");
    }
    let status = wait(&mut child);
    reader.join().expect("it only reads");
    Some(Ran { status, stdout: shown(), stderr: String::new() })
}

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// An empty folder for a test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder for the test");
        Self(path)
    }

    /// The path of a file in it.
    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("UTF-8").to_owned()
    }

    /// Writes a file in it.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder for the file");
        fs::write(&path, content).expect("a file for the test");
        self.path(name)
    }
}

impl AsRef<OsStr> for Folder {
    fn as_ref(&self) -> &OsStr {
        self.0.as_os_str()
    }
}

/// The value of an expression in a context.
pub(crate) fn find(context: &Value, expr: &str) -> Value {
    obelus_reading(context.to_string(), &["resolve", "-", expr, "--json"]).exits(0).json()["value"].clone()
}

/// Copies a folder.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("readable") {
        let entry = entry.expect("readable");
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(from, to).expect("a copy");
        }
    }
}
