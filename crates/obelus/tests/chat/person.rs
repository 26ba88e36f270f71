//! A simulated person at a terminal: types, and reads the screen.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use pty_process::Size;
use pty_process::blocking::{Command, Pty};

/// A time limit that keeps a test from hanging.
const AT_MOST: Duration = Duration::from_secs(60);

/// Enough rows that nothing scrolls off the screen.
const ROWS: u16 = 200;
const COLUMNS: u16 = 80;

pub(crate) const CTRL_C: &str = "\x03";
pub(crate) const CTRL_D: &str = "\x04";
pub(crate) const CTRL_U: &str = "\x15";
pub(crate) const ENTER: &str = "\r";
pub(crate) const ESC: &str = "\x1b";
pub(crate) const TAB: &str = "\t";

/// A terminal that reports its cursor position.
#[derive(Default)]
struct Answers(Vec<String>);

impl vt100::Callbacks for Answers {
    fn unhandled_csi(
        &mut self,
        screen: &mut vt100::Screen,
        _: Option<u8>,
        _: Option<u8>,
        params: &[&[u16]],
        letter: char,
    ) {
        if letter == 'n' && params == [[6].as_slice()] {
            let (row, column) = screen.cursor_position();
            self.0.push(format!("\x1b[{};{}R", row + 1, column + 1));
        }
    }
}

pub(crate) struct Person {
    keyboard: Arc<Pty>,
    screen: Arc<Mutex<vt100::Parser<Answers>>>,
    child: Child,
}

impl Person {
    /// Starts `obelus chat` with these arguments at a terminal.
    pub(crate) fn at(harness: &Harness, args: &[&str]) -> Self {
        Self::with(harness, args, &[])
    }

    /// Like [`Person::at`], with environment variables.
    pub(crate) fn with(harness: &Harness, args: &[&str], env: &[(&str, &str)]) -> Self {
        Self::runs(harness, &[&["chat", "--agent", "harness"], args].concat(), env)
    }

    /// Runs any command at a terminal.
    pub(crate) fn runs(harness: &Harness, args: &[&str], env: &[(&str, &str)]) -> Self {
        let (pty, pts) = pty_process::blocking::open().expect("a terminal");
        pty.resize(Size::new(ROWS, COLUMNS)).expect("its size");
        let env: BTreeMap<_, _> = env.iter().copied().collect();
        let child = Command::new(env!("CARGO_BIN_EXE_obelus"))
            .args(args)
            .current_dir(&harness.0)
            .env("OBELUS_HOME", harness.0.join("home"))
            .env("TERM", "xterm-256color")
            .env_remove("NO_COLOR")
            .env_remove("OBELUS_AGENTS")
            .envs(env)
            .spawn(pts)
            .expect("obelus");
        let size = |n| NonZeroU16::new(n).expect("not zero");
        let parser = vt100::Parser::new_with_callbacks(size(ROWS), size(COLUMNS), 0, Answers::default());
        let (keyboard, screen) = (Arc::new(pty), Arc::new(Mutex::new(parser)));
        let (pty, drawn) = (Arc::clone(&keyboard), Arc::clone(&screen));
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n @ 1..) = (&*pty).read(&mut buffer) {
                let mut parser = drawn.lock().expect("nobody panics with it");
                parser.process(&buffer[..n]);
                let answers: String = parser.callbacks_mut().0.drain(..).collect();
                drop(parser);
                (&*pty).write_all(answers.as_bytes()).expect("it listens");
            }
        });
        Self { keyboard, screen, child }
    }

    fn parser(&self) -> MutexGuard<'_, vt100::Parser<Answers>> {
        self.screen.lock().expect("nobody panics with it")
    }

    /// Everything on the screen.
    pub(crate) fn screen(&self) -> String {
        self.parser().screen().contents()
    }

    /// The screen with its colours.
    pub(crate) fn colours(&self) -> String {
        self.parser().screen().contents_formatted()
    }

    /// Presses keys.
    pub(crate) fn types(&self, keys: &str) -> &Self {
        (&*self.keyboard).write_all(keys.as_bytes()).expect("it listens");
        self
    }

    /// Waits until something is on the screen.
    #[track_caller]
    pub(crate) fn sees(&self, text: &str) -> &Self {
        self.sees_times(text, 1)
    }

    /// Waits until a text is on the screen a number of times.
    #[track_caller]
    pub(crate) fn sees_times(&self, text: &str, times: usize) -> &Self {
        self.waits_for(&format!("`{text}` {times} times"), |screen| screen.matches(text).count() >= times)
    }

    #[track_caller]
    pub(crate) fn waits_for(&self, what: &str, is_so: impl Fn(&str) -> bool) -> &Self {
        let begun = Instant::now();
        while !is_so(&self.screen()) {
            assert!(begun.elapsed() < AT_MOST, "never seen: {what}\n{}", self.screen());
            thread::sleep(Duration::from_millis(10));
        }
        self
    }

    /// Waits until the prompt has appeared a number of times.
    #[track_caller]
    pub(crate) fn prompted(&self, times: usize) -> &Self {
        self.sees_times(" › ", times).waits_for("an empty line to type in", |screen| {
            let last = screen.trim_end().lines().last().and_then(|line| line.split_once('›'));
            // The right side may show the number of open questions.
            last.is_some_and(|(_, typed)| typed.trim().is_empty() || typed.starts_with("     "))
        })
    }

    /// Waits for the end and returns the exit code and the screen.
    #[track_caller]
    pub(crate) fn exit(mut self) -> (Option<i32>, String) {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("our child") {
                // The last output may still be in the pipe.
                thread::sleep(Duration::from_millis(50));
                return (status.code(), self.screen());
            }
            assert!(begun.elapsed() < AT_MOST, "it does not end\n{}\n{}", self.screen(), self.threads());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// What the threads of the process wait for, to debug a hanging test.
    fn threads(&self) -> String {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id())).into_iter().flatten().flatten();
        let waits = |task: fs::DirEntry| {
            let read = |name: &str| fs::read_to_string(task.path().join(name)).unwrap_or_default();
            format!("{}: {}", read("comm").trim(), read("wchan").trim())
        };
        tasks.map(waits).collect::<Vec<_>>().join("\n")
    }

    /// Kills the process.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("our child");
        self.child.wait().expect("our child");
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a message in the session `s`, waits for a text, and closes the terminal of a process that ignores SIGHUP.
/// Returns the exit code.
#[track_caller]
pub(crate) fn closes_the_terminal(harness: &Harness, words: &str, until: &str) -> Option<i32> {
    let (mut pty, pts) = pty_process::blocking::open().expect("a terminal");
    pty.resize(Size::new(ROWS, COLUMNS)).expect("its size");
    let run = format!("trap '' HUP; exec {} chat --agent harness --session s", env!("CARGO_BIN_EXE_obelus"));
    let mut child = Command::new("sh")
        .args(["-c", &run])
        .current_dir(&harness.0)
        .env("OBELUS_HOME", harness.0.join("home"))
        .env("TERM", "xterm-256color")
        .spawn(pts)
        .expect("obelus");
    let size = |n| NonZeroU16::new(n).expect("not zero");
    let mut parser = vt100::Parser::new_with_callbacks(size(ROWS), size(COLUMNS), 0, Answers::default());
    let mut buffer = [0; 4096];
    let mut is_said = false;
    while !parser.screen().contents().contains(until) {
        let n = pty.read(&mut buffer).expect("it writes");
        parser.process(&buffer[..n]);
        let answers: String = parser.callbacks_mut().0.drain(..).collect();
        pty.write_all(answers.as_bytes()).expect("it listens");
        if !is_said && parser.screen().contents().contains(" › ") {
            is_said = true;
            pty.write_all(format!("{words}\r").as_bytes()).expect("it listens");
        }
    }
    drop(pty);
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(15) {
        if let Some(status) = child.try_wait().expect("our child") {
            return status.code();
        }
        thread::sleep(Duration::from_millis(20));
    }
    child.kill().and_then(|()| child.wait().map(drop)).expect("our child");
    panic!("it goes on without its terminal");
}

/// Posts a form.
#[track_caller]
pub(crate) fn posts(address: &str, path: &str, form: &str) {
    let mut stream = std::net::TcpStream::connect(address).expect("it listens");
    let head = format!("POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
    let kind = "Content-Type: application/x-www-form-urlencoded";
    write!(stream, "{head}{kind}\r\nContent-Length: {}\r\n\r\n{form}", form.len()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    assert!(answer.contains(" 200 "), "{answer}");
}

/// A folder with an agent and the files that it writes.
pub(crate) struct Harness(pub(crate) PathBuf);

impl Harness {
    pub(crate) fn new(name: &str, language: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("chat-{name}"));
        let _ = fs::remove_dir_all(&folder);
        let agent = folder.join("agents/harness");
        fs::create_dir_all(&agent).expect("a folder");
        fs::write(agent.join("agent.yaml"), AGENT.replace("LANGUAGE", language)).expect("an agent");
        fs::write(agent.join("playbook.yaml"), PLAYBOOK).expect("a playbook");
        Self(folder)
    }

    /// A harness with the notes example instead; `None` without Python for its server.
    pub(crate) fn with_notes(name: &str, language: &str) -> Option<Self> {
        if std::process::Command::new("python3").arg("--version").output().is_err() {
            eprintln!("skipped: there is no `python3` to run the server of the example");
            return None;
        }
        let harness = Self::new(name, language);
        let example = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/mcp-notes"));
        for file in ["agent.yaml", "playbook.yaml", "server.py", "mcp.lock"] {
            let text = fs::read_to_string(example.join(file)).expect("the example");
            let text = text.replace("name: mcp-notes", &format!("name: harness\nlanguage: {language}"));
            fs::write(harness.0.join("agents/harness").join(file), text).expect("a file");
        }
        fs::write(harness.0.join("agents/harness/notes.json"), r#"[{"number": 1, "text": "buy milk"}]"#)
            .expect("notes");
        Some(harness)
    }

    /// The changes made by the agent.
    pub(crate) fn changed(&self) -> String {
        fs::read_to_string(self.0.join("agents/harness/changed")).unwrap_or_default()
    }

    /// Runs another command on the same store, which succeeds.
    #[track_caller]
    pub(crate) fn obelus(&self, args: &[&str]) -> String {
        self.obelus_ends(0, args)
    }

    /// Runs another command on the same store, which ends with this exit code.
    #[track_caller]
    pub(crate) fn obelus_ends(&self, code: i32, args: &[&str]) -> String {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_obelus"));
        let ran = command.args(args).current_dir(&self.0).env("OBELUS_HOME", self.0.join("home")).output();
        let ran = ran.expect("obelus");
        let told = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(code), "{told}");
        told
    }

    /// A model server that writes some words and then sends nothing more; returns its address.
    pub(crate) fn silent_model(words: &'static str) -> String {
        let server = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}/v1", server.local_addr().expect("an address"));
        thread::spawn(move || {
            let mut open = Vec::new();
            for mut stream in server.incoming().flatten() {
                let mut buffer = [0; 65536];
                let _ = stream.read(&mut buffer);
                let content = serde_json::json!(format!("{{\"say\": \"{words}"));
                let chunk = format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":{content}}}}}]}}\n\n");
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
                let _ = stream.write_all(format!("{head}{chunk}").as_bytes());
                open.push(stream);
            }
        });
        address
    }

    /// Lets the slow step continue.
    pub(crate) fn open_the_gate(&self) {
        fs::write(self.0.join("agents/harness/gate"), "").expect("a gate");
    }
}

impl Drop for Harness {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// `look` waits until the gate is opened; `change` writes a line for each call.
const AGENT: &str = r#"
name: harness
language: LANGUAGE
model: playbook:playbook.yaml
mode: full
tools:
  look:
    type: object
    x-title: {ru: Посмотреть сделки, en: Look at the deals}
    x-effect: read
    x-trust: trusted
    properties: {what: {}}
  change:
    type: object
    x-title: {ru: Изменить сделку, en: Change a deal}
    x-effect: update
    x-trust: trusted
    x-target: []
    x-risky: [sum]
    properties:
      id: {type: integer, x-title: {ru: Сделка, en: Deal}}
      sum: {type: integer, minimum: 0, x-title: {ru: Сумма, en: Amount}}
    required: [id]
activities:
  look: {exec: [sh, -c, 'while [ ! -e gate ]; do sleep 0.05; done; echo "[1,2,3]"']}
  change: {exec: [sh, -c, 'grep -o "\"sum\":[0-9][0-9]*" >> changed; echo "{\"title\": \"Окна\"}"']}
"#;

const PLAYBOOK: &str = r#"
- name: look
  user: look
  when: '[.plan[] | select(.tool == "look")] == []'
  answer:
    say: Looking, this takes a moment.
    calls:
      - {_tool: look, what: deals, _outputPath: †state.first}
      - {_tool: look, what: †state.first, _outputPath: †state.second}
- name: several
  user: several
  answer:
    calls:
      - {_tool: change, id: 1, sum: 11, _outputPath: †state.a}
      - {_tool: change, id: 2, sum: 12, _outputPath: †state.b}
    output: Both decided.
- name: changed, or not to be changed
  user: amount
  when: any(.plan[]; .tool == "change" and (.status == "done" or .status == "denied"))
  answer: {output: The deal is settled.}
- name: change
  user: 'amount (?<sum>\d+)'
  answer:
    say: Your yes is needed.
    calls: [{_tool: change, id: 7, sum: '{{ m.sum | int }}', comment: "as you said\e[2J", _outputPath: †state.one}]
- name: rest
  answer: {output: "There are three deals.\e[2J"}
"#;
