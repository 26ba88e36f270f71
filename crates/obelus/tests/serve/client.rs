//! Starts the server, and speaks plain HTTP to it.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A time limit that keeps a test from hanging.
pub(crate) const AT_MOST: Duration = Duration::from_secs(120);

/// A server, killed on drop.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) store: PathBuf,
    pub(crate) token: String,
}

/// An empty folder for a test.
pub(crate) fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("serve-{name}"));
    let _ = fs::remove_dir_all(&path);
    private(&path);
    path
}

/// Creates a folder for its owner only, as the program makes the folder of a store.
pub(crate) fn private(folder: &Path) {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).expect("a folder for the test");
}

/// The binary with these arguments.
pub(crate) fn obelus(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_obelus"));
    command.args(args).current_dir(env!("CARGO_TARGET_TMPDIR")).env_remove("OBELUS_AGENTS").env("LC_ALL", "C");
    command
}

impl Server {
    /// Starts a server over a new store.
    pub(crate) fn start(name: &str, args: &[&str]) -> Self {
        Self::over(folder(name), args)
    }

    /// Starts a server over a new store, with these variables in its environment.
    pub(crate) fn with_env(name: &str, args: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::started(folder(name), args, variables, Stdio::null())
    }

    /// Starts a server over a store, whose messages go to a file.
    pub(crate) fn logged(store: PathBuf, args: &[&str], log: &Path) -> Self {
        Self::started(store, args, &[], fs::File::create(log).unwrap().into())
    }

    /// Starts a server over a store, at any free port.
    pub(crate) fn over(store: PathBuf, args: &[&str]) -> Self {
        Self::started(store, args, &[], Stdio::null())
    }

    fn started(store: PathBuf, args: &[&str], variables: &[(&str, &str)], stderr: Stdio) -> Self {
        let mut command = obelus(&["serve", "--listen", "127.0.0.1:0", "--store"]);
        command.envs(variables.iter().copied());
        let mut child = command.arg(&store).args(args).stdout(Stdio::piped()).stderr(stderr).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").unwrap_or_else(|| panic!("it said `{line}`"));
        let token = fs::read_to_string(store.join("token")).unwrap().trim().to_owned();
        Self { address: address.parse().unwrap(), child, store, token }
    }

    /// Kills it as `kill -9` does; returns its store.
    pub(crate) fn kill(mut self) -> PathBuf {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.store.clone()
    }

    /// Sends SIGTERM and waits; returns whether the exit code was 0.
    pub(crate) fn terminate(&mut self) -> bool {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        self.child.wait().unwrap().success()
    }

    /// Memory of the process, in KiB.
    pub(crate) fn memory(&self) -> u64 {
        self.status("VmRSS:")
    }

    /// Peak memory of the process, in KiB.
    pub(crate) fn peak(&self) -> u64 {
        self.status("VmHWM:")
    }

    fn status(&self, name: &str) -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// A request with the first token.
    pub(crate) fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Reply {
        self.send(method, path, &[("authorization", &format!("Bearer {}", self.token))], body)
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.call("GET", path, None)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Reply {
        self.call("POST", path, Some(body))
    }

    /// A request with these headers.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&Value>) -> Reply {
        let text = body.map(Value::to_string);
        let mut all = headers.to_vec();
        if !all.iter().any(|(name, _)| *name == "content-type") && text.is_some() {
            all.push(("content-type", "application/json"));
        }
        let mut stream = self.connect();
        write_head(&mut stream, self.address, method, path, &all, text.as_ref().map(String::len));
        stream.write_all(text.unwrap_or_default().as_bytes()).unwrap();
        Reply::read(stream)
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(AT_MOST)).unwrap();
        stream.set_write_timeout(Some(AT_MOST)).unwrap();
        stream
    }

    /// Creates a session with the agent `notes`.
    pub(crate) fn session(&self, id: &str) -> String {
        let made = self.post("/api/v1/sessions", &json!({"agent": "notes", "id": id}));
        assert_eq!(made.status, 201, "{made:?}");
        id.to_owned()
    }

    /// Sends a message and waits for the turn.
    pub(crate) fn say(&self, session: &str, text: &str) -> Value {
        let path = format!("/api/v1/sessions/{session}/messages");
        let said = self.post(&path, &json!({"text": text, "wait": true}));
        assert_eq!(said.status, 200, "{said:?}");
        said.json()
    }

    /// The events of a session after this number.
    pub(crate) fn stream(&self, session: &str, after: &str) -> Events {
        self.streamed(&format!("/api/v1/sessions/{session}/events"), &[("last-event-id", after)])
    }

    /// The events that a path streams from now on.
    pub(crate) fn stream_of(&self, path: &str) -> Events {
        let mut events = self.streamed(path, &[]);
        // The first line comes when the stream is open.
        let mut line = String::new();
        while line.trim_end() != ": open" {
            line.clear();
            assert_ne!(events.lines.read_line(&mut line).unwrap(), 0, "the stream was not opened");
        }
        events
    }

    fn streamed(&self, path: &str, headers: &[(&str, &str)]) -> Events {
        let mut stream = self.connect();
        let bearer = format!("Bearer {}", self.token);
        let mut headers = headers.to_vec();
        headers.push(("authorization", &bearer));
        write_head(&mut stream, self.address, "GET", path, &headers, None);
        let mut lines = BufReader::new(stream);
        let (status, head) = read_head(&mut lines);
        assert_eq!(status, 200, "{head:?}");
        Events { lines }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn write_head(
    stream: &mut TcpStream,
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    length: Option<usize>,
) {
    let mut head = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
    if !headers.iter().any(|(name, _)| *name == "host") {
        head.push_str(&format!("host: {address}\r\n"));
    }
    headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
    if let Some(length) = length {
        head.push_str(&format!("content-length: {length}\r\n"));
    }
    stream.write_all(format!("{head}\r\n").as_bytes()).unwrap();
}

fn read_head(lines: &mut impl BufRead) -> (u16, Vec<(String, String)>) {
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    let status = line.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_default();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        match line.trim_end().split_once(": ") {
            Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.to_owned())),
            None => return (status, headers),
        }
    }
}

/// An answer of the server. The status is 0 if it closed the connection.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn read(stream: TcpStream) -> Self {
        let mut lines = BufReader::new(stream);
        let mut first = [0; 1];
        if !matches!(lines.get_ref().peek(&mut first), Ok(1)) {
            return Self { status: 0, headers: Vec::new(), body: String::new() };
        }
        let (status, headers) = read_head(&mut lines);
        let mut bytes = Vec::new();
        // A connection may be reset after an early answer.
        let _ = lines.read_to_end(&mut bytes);
        Self { status, headers, body: String::from_utf8_lossy(&bytes).into_owned() }
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The code of an error.
    #[track_caller]
    pub(crate) fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// A stream of events.
pub(crate) struct Events {
    lines: BufReader<TcpStream>,
}

/// An event: its id, if it has one, its name and its data.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    pub(crate) data: Value,
}

impl Events {
    /// The next event; `None` at the end of the stream.
    pub(crate) fn next(&mut self) -> Option<Event> {
        let (mut id, mut name) = (None, String::new());
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if let Some(value) = line.strip_prefix("id: ") {
                id = Some(value.trim_end().to_owned());
            } else if let Some(value) = line.strip_prefix("event: ") {
                name = value.trim_end().to_owned();
            } else if let Some(value) = line.strip_prefix("data: ") {
                // An event that was cut off by a kill is ignored.
                return Some(Event { id, name, data: serde_json::from_str(value).ok()? });
            }
        }
    }

    /// Reads to the end of the stream; returns whether it was ended properly.
    pub(crate) fn until_end(&mut self) -> bool {
        let mut rest = Vec::new();
        let read = self.lines.read_to_end(&mut rest);
        read.is_ok() && rest.ends_with(b"0\r\n\r\n")
    }

    /// Reads and returns events up to the first of this name.
    pub(crate) fn until(&mut self, name: &str) -> Vec<Event> {
        self.until_where(|event| event.name == name)
    }

    /// Reads and returns events up to the first match.
    pub(crate) fn until_where(&mut self, is_last: impl Fn(&Event) -> bool) -> Vec<Event> {
        let mut all = Vec::new();
        loop {
            let event = self.next().unwrap_or_else(|| panic!("the stream ended before that: {all:?}"));
            let is_last = is_last(&event);
            all.push(event);
            if is_last {
                return all;
            }
        }
    }
}

/// Waits until a condition holds.
#[track_caller]
pub(crate) fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < AT_MOST, "it never came to this: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A number from the environment.
pub(crate) fn number_of(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// A server that may end at any moment.
pub(crate) struct Remote {
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
}

impl Remote {
    /// A connection on which this request was sent.
    fn ask(&self, head: &str, body: &str) -> std::io::Result<TcpStream> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(AT_MOST))?;
        let common = format!("connection: close\r\nhost: {}\r\nauthorization: Bearer {}", self.address, self.token);
        stream.write_all(format!("{head}\r\n{common}\r\n\r\n{body}").as_bytes())?;
        Ok(stream)
    }

    /// The status and the JSON of an answer; `None` if it is incomplete.
    pub(crate) fn call(
        &self,
        method: &str,
        path: &str,
        key: Option<&str>,
        body: Option<&Value>,
    ) -> Option<(u16, Value)> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut head = format!("{method} {path} HTTP/1.1");
        if let Some(key) = key {
            head.push_str(&format!("\r\nidempotency-key: {key}"));
        }
        if !body.is_empty() {
            head.push_str(&format!("\r\ncontent-type: application/json\r\ncontent-length: {}", body.len()));
        }
        let mut text = String::new();
        self.ask(&head, &body).ok()?.read_to_string(&mut text).ok()?;
        let status = text.split(' ').nth(1)?.parse().ok()?;
        match text.split_once("\r\n\r\n")?.1 {
            "" if status == 204 => Some((status, Value::Null)),
            body => Some((status, serde_json::from_str(body).ok()?)),
        }
    }

    /// The events of a session after this number.
    pub(crate) fn stream(&self, session: &str, after: &str) -> Option<Events> {
        let head = format!("GET /api/v1/sessions/{session}/events HTTP/1.1\r\nlast-event-id: {after}");
        let mut lines = BufReader::new(self.ask(&head, "").ok()?);
        let mut line = String::new();
        lines.read_line(&mut line).ok()?;
        if !line.contains(" 200 ") {
            return None;
        }
        while !line.trim_end().is_empty() {
            line.clear();
            lines.read_line(&mut line).ok()?;
        }
        Some(Events { lines })
    }
}

impl Reply {
    /// The status of an answer whose body may never end.
    pub(crate) fn read_head_only(stream: TcpStream) -> u16 {
        read_head(&mut BufReader::new(stream)).0
    }
}
