//! `kill -9` under load: no acknowledged input is lost, clients that resume by event id see every event once, and no
//! effect happens twice.
//!
//! `OBELUS_SEED=N` repeats the moments, `OBELUS_ROUNDS=N` sets the number of kills.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Remote, Server, folder, number_of, private, wait_for};

/// Sessions, and the clients that talk to them.
const SESSIONS: usize = 64;
const CLIENTS: usize = 8;
/// Kills in a normal run; `cargo xtask test --long` has many more.
const ROUNDS: u64 = 4;

const AGENT: &str = r"
name: marker
description: Appends what it is told to a file, which may not happen twice
language: en
model: playbook:playbook.yaml
mode: full
instructions: You mark what you are told.
state:
  description: What was marked
  schema: {type: object, properties: {marks: {type: array, items: {type: string}}}}
  data: {marks: []}
tools:
  mark:
    type: object
    description: Marks a word
    properties:
      word: {type: string}
      _outputPath: {const: †state.marks}
      _outputMethod: {const: push}
      _output: {type: string}
    required: [word]
    x-effect: create
    x-trust: trusted
    x-target: []
activities:
  mark: {exec: [./mark.sh]}
";

const PLAYBOOK: &str = r#"
- name: marked
  when: 'any(.plan[]; .status == "done")'
  answer: {output: 'Marked.'}
- name: a mark
  answer:
    calls: [{_tool: mark, word: '{{ user }}'}]
"#;

/// Finds the word after `"word":"` without starting another program. Without a word, because the server was killed
/// before it wrote one, the script has no effect.
const SCRIPT: &str = r#"#!/bin/sh
read -r line
word=${line#*\"word\":\"}
word=${word%%\"*}
[ -n "$word" ] || exit 1
echo "$word" >> "${0%/*}/marks"
echo "\"$word\""
"#;

/// Random moments, reproducible by their seed.
struct Moments(u64);

impl Moments {
    fn new() -> Self {
        let now = || std::time::UNIX_EPOCH.elapsed().map_or(1, |time| time.subsec_nanos().into());
        let seed = number_of("OBELUS_SEED").unwrap_or_else(now);
        eprintln!("OBELUS_SEED={seed}");
        Self(seed | 1)
    }

    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

/// The shared state of the clients while servers are replaced.
struct Storm {
    agent: PathBuf,
    token: String,
    /// The server's address; `None` between a kill and the next start.
    address: Mutex<Option<SocketAddr>>,
    acknowledged: AtomicUsize,
    doubts: AtomicUsize,
    /// Set when clients must send no new messages.
    calm: AtomicBool,
    /// Set when streams may end.
    over: AtomicBool,
}

impl Storm {
    fn remote(&self) -> Option<Remote> {
        let address = *self.address.lock().unwrap_or_else(PoisonError::into_inner);
        address.map(|address| Remote { address, token: self.token.clone() })
    }

    /// Repeats a request until a server answers it.
    fn call(&self, method: &str, path: &str, key: Option<&str>, body: Option<&Value>) -> (u16, Value) {
        let mut answer = None;
        wait_for(path, || {
            answer = self.remote().and_then(|remote| remote.call(method, path, key, body));
            // Retries while a server is starting or overloaded.
            answer.as_ref().is_some_and(|(status, _)| ![429, 503].contains(status))
        });
        answer.unwrap_or_default()
    }

    fn marks(&self) -> Vec<String> {
        let text = fs::read_to_string(self.agent.join("marks")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Sends one word to a session until it is acknowledged, and waits for the end of its turn.
    fn turn(&self, session: &str, word: &str) {
        let path = format!("/api/v1/sessions/{session}");
        let said = self.call("POST", &format!("{path}/messages"), Some(word), Some(&json!({"text": word})));
        assert_eq!(said.0, 202, "{said:?}");
        self.acknowledged.fetch_add(1, Ordering::Relaxed);
        loop {
            let (status, turn) = self.call("GET", &format!("{path}/turn?timeout=5"), None, None);
            match turn["ends"].as_str() {
                Some("output") => return,
                Some("waiting") => self.settle(session),
                _ => assert_eq!(status, 204, "{turn}"),
            }
        }
    }

    /// Answers questions about effects in doubt truthfully.
    fn settle(&self, session: &str) {
        let (_, open) = self.call("GET", &format!("/api/v1/questions?session={session}"), None, None);
        for question in open.as_array().into_iter().flatten() {
            assert_eq!(question["about"], "in_doubt", "{question}");
            let (id, word) = (question["id"].as_str().unwrap(), &question["calls"][0]["word"]);
            let happened = self.marks().iter().any(|mark| mark == word.as_str().unwrap());
            let answer =
                if happened { json!({"decision": "happened", "result": word}) } else { json!({"decision": "did_not"}) };
            self.doubts.fetch_add(1, Ordering::Relaxed);
            // An answer that was accepted before the kill may be refused as decided.
            let (status, said) =
                self.call("POST", &format!("/api/v1/questions/{id}/answer"), Some(&format!("a-{id}")), Some(&answer));
            assert!(status == 200 || said["error"]["code"] == "already_decided", "{status} {said}");
        }
    }

    /// One client: talks to its sessions in turn and returns what was acknowledged.
    fn talk(&self, sessions: &[String]) -> Vec<(String, String)> {
        let mut said = Vec::new();
        for round in 0.. {
            for session in sessions {
                if self.calm.load(Ordering::Relaxed) {
                    return said;
                }
                let word = format!("{session}-{round}");
                self.turn(session, &word);
                said.push((session.clone(), word));
            }
        }
        said
    }

    /// The numbers of all events of a session, for a client that resumes after each kill.
    fn follow(&self, session: &str) -> Vec<String> {
        let mut seen: Vec<String> = Vec::new();
        while !self.over.load(Ordering::Relaxed) {
            let last = seen.last().map_or("0-0", String::as_str);
            let Some(mut events) = self.remote().and_then(|remote| remote.stream(session, last)) else {
                std::thread::sleep(Duration::from_millis(5));
                continue;
            };
            // The stream ends when the server does.
            while let Some(event) = events.next() {
                seen.extend(event.id);
            }
        }
        seen
    }

    /// Kills the server, waits until its child processes have ended, and starts another one.
    fn restart(&self, server: Server) -> Server {
        *self.address.lock().unwrap() = None;
        let store = server.kill();
        wait_for("its programs have ended", || !is_running(&self.agent));
        let server = Server::over(store, &self.arguments());
        *self.address.lock().unwrap() = Some(server.address);
        server
    }

    fn arguments(&self) -> [&str; 4] {
        let agents = self.agent.parent().and_then(Path::to_str).unwrap();
        ["--agents", agents, "--rate", "100000"]
    }
}

/// Whether a program from this folder runs.
fn is_running(folder: &Path) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    let name = folder.join("mark.sh").display().to_string();
    lines.into_iter().any(|line| String::from_utf8_lossy(&line).contains(&name))
}

fn storm(name: &str) -> (Storm, Server) {
    let home = folder(name);
    let agent = home.join("agents/marker");
    fs::create_dir_all(&agent).unwrap();
    fs::write(agent.join("agent.yaml"), AGENT).unwrap();
    fs::write(agent.join("playbook.yaml"), PLAYBOOK).unwrap();
    fs::write(agent.join("mark.sh"), SCRIPT).unwrap();
    fs::set_permissions(agent.join("mark.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut storm = Storm {
        agent,
        token: String::new(),
        address: Mutex::new(None),
        acknowledged: AtomicUsize::new(0),
        doubts: AtomicUsize::new(0),
        calm: AtomicBool::new(false),
        over: AtomicBool::new(false),
    };
    let store = home.join("store");
    private(&store);
    let server = Server::over(store, &storm.arguments());
    storm.token.clone_from(&server.token);
    *storm.address.lock().unwrap() = Some(server.address);
    (storm, server)
}

/// All numbered events of a session.
fn timeline(server: &Server, session: &str) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    loop {
        let after = all.last().map_or("0-0", |event| event["number"].as_str().unwrap()).to_owned();
        let part = server.get(&format!("/api/v1/sessions/{session}/timeline?limit=1000&after={after}")).json();
        all.extend(part["events"].as_array().unwrap().iter().cloned());
        if part["next"].is_null() {
            return all;
        }
    }
}

#[test]
fn a_server_killed_under_load_keeps_every_turn_and_event() {
    let (storm, mut server) = storm("storm");
    let sessions: Vec<String> = (0..SESSIONS).map(|n| format!("s{n}")).collect();
    for session in &sessions {
        assert_eq!(server.post("/api/v1/sessions", &json!({"agent": "marker", "id": session})).status, 201);
    }
    let rounds = number_of("OBELUS_ROUNDS").unwrap_or(ROUNDS);
    let mut moments = Moments::new();
    let (said, seen, store) = std::thread::scope(|scope| {
        let storm = &storm;
        let clients: Vec<_> =
            sessions.chunks(SESSIONS / CLIENTS).map(|own| scope.spawn(move || storm.talk(own))).collect();
        let streams: Vec<_> = sessions.iter().map(|id| (id, scope.spawn(move || storm.follow(id)))).collect();
        for _ in 0..rounds {
            let until = storm.acknowledged.load(Ordering::Relaxed) + 30 + moments.next(100) as usize;
            wait_for("more turns", || storm.acknowledged.load(Ordering::Relaxed) >= until);
            std::thread::sleep(Duration::from_micros(moments.next(20_000)));
            let old = server;
            server = storm.restart(old);
        }
        storm.calm.store(true, Ordering::Relaxed);
        let said: Vec<_> = clients.into_iter().flat_map(|client| client.join().unwrap()).collect();
        storm.over.store(true, Ordering::Relaxed);
        // On shutdown the server sends all remaining events and closes the streams.
        assert!(server.terminate());
        let seen: BTreeMap<_, _> =
            streams.into_iter().map(|(id, stream)| (id.clone(), stream.join().unwrap())).collect();
        (said, seen, server.store.clone())
    });
    eprintln!("{rounds} kills, {} turns, {} effects in doubt", said.len(), storm.doubts.load(Ordering::Relaxed));
    let server = Server::over(store, &storm.arguments());
    check(&storm, &server, &said, &seen);
}

fn check(storm: &Storm, server: &Server, said: &[(String, String)], seen: &BTreeMap<String, Vec<String>>) {
    let marks = storm.marks();
    let distinct: BTreeSet<&String> = marks.iter().collect();
    assert_eq!(marks.len(), distinct.len(), "an effect happened twice");
    for (session, numbers) in seen {
        let words: Vec<&str> = said.iter().filter(|(id, _)| id == session).map(|(_, word)| word.as_str()).collect();
        let state = server.get(&format!("/api/v1/sessions/{session}/state")).json();
        assert_eq!(state["marks"], json!(words), "each acknowledged turn of {session}, once and in order");
        let events = timeline(server, session);
        let heard: Vec<&Value> =
            events.iter().filter(|event| event["event"] == "user_said").map(|event| &event["text"]).collect();
        assert_eq!(heard, words, "what was said to {session}");
        let told: Vec<&str> = events.iter().map(|event| event["number"].as_str().unwrap()).collect();
        assert_eq!(numbers, &told, "the events of {session}, each once");
        assert!(words.iter().all(|word| marks.iter().any(|mark| mark == word)), "each effect of {session} happened");
    }
}
