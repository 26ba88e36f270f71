//! A portal, a folder, and the agent that works there.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use obelus_sandbox::{Portal, SandboxOptions};
use serde_json::{Value, json};

use crate::support::{Folder, Ran, command, copy, root, run};

/// The secret that must not appear anywhere.
pub(crate) const TOKEN: &str = "RecognisableT0ken4711";

/// A running portal, and the folder with the agent, its sessions and its playbook.
pub(crate) struct Office {
    pub(crate) folder: Folder,
    pub(crate) portal: Portal,
    _runtime: tokio::runtime::Runtime,
}

impl Office {
    /// A portal without limits that drops this share of its answers.
    pub(crate) fn open(name: &str, drop_answers: f64) -> Self {
        Self::with(name, SandboxOptions { drop_answers, ..SandboxOptions::default() })
    }

    /// A portal without limits whose data has the dates of this moment.
    pub(crate) fn open_at(name: &str, now: SystemTime) -> Self {
        Self::with(name, SandboxOptions { now: Some(now), ..SandboxOptions::default() })
    }

    fn with(name: &str, options: SandboxOptions) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("threads");
        let options = SandboxOptions { rate: false, token: TOKEN.to_owned(), ..options };
        let portal = runtime.block_on(Portal::start(options)).expect("a free port");
        let folder = Folder::new(&format!("crm-{name}"));
        copy(&root().join("agents/crm"), Path::new(&folder.path("crm")));
        // Pauses for a real portal are switched off.
        let office = Office { folder, portal, _runtime: runtime };
        office.edit(
            "crm/agent.yaml",
            "webhook: $BITRIX_WEBHOOK_URL",
            "webhook: $BITRIX_WEBHOOK_URL, rate: off, settle: 1",
        );
        office
    }

    /// Changes a file of the agent; the replaced text must exist.
    pub(crate) fn edit(&self, file: &str, from: &str, to: &str) {
        let path = self.folder.path(file);
        let text = fs::read_to_string(&path).expect("readable");
        assert!(text.contains(from), "no `{from}` in {file}");
        fs::write(&path, text.replacen(from, to, 1)).expect("writable");
    }

    /// Sets the playbook's rules.
    pub(crate) fn model(&self, rules: &str) {
        self.folder.file("model.yaml", rules);
    }

    /// The binary in this office.
    pub(crate) fn obelus(&self, args: &[&str]) -> Command {
        let mut command = command(args);
        command.env("BITRIX_WEBHOOK_URL", self.portal.base_url()).args(["--store", &self.folder.path("store")]);
        command
    }

    /// A conversation in the session `s`, not yet started.
    pub(crate) fn chat(&self, mode: &str) -> Command {
        let (agent, model) = (self.folder.path("crm"), format!("playbook:{}", self.folder.path("model.yaml")));
        self.obelus(&["chat", "--agent", &agent, "--model", &model, "--mode", mode, "--session", "s"])
    }

    /// Says these lines in a conversation.
    pub(crate) fn says(&self, mode: &str, lines: &str) -> Ran {
        run(&mut self.chat(mode), lines.as_bytes())
    }

    /// Answers a question of the session.
    pub(crate) fn answers(&self, question: &str, words: &[&str]) -> Ran {
        let id = format!("s:{question}");
        run(&mut self.obelus(&[&["answer", &id], words].concat()), b"")
    }

    /// The session's state file.
    pub(crate) fn state(&self) -> Value {
        let text = fs::read_to_string(self.folder.path("store/states/s.json")).expect("the state's file");
        serde_json::from_str(&text).expect("JSON")
    }

    /// Calls a method of the portal as another user.
    pub(crate) fn portal_says(&self, method: &str, params: &Value) -> Value {
        let base = self.portal.base_url();
        let (authority, path) = base.strip_prefix("http://").and_then(|rest| rest.split_once('/')).expect("a URL");
        // The portal may drop this answer too.
        for _ in 0..50 {
            let body = params.to_string();
            let mut stream = TcpStream::connect(authority).expect("it listens");
            write!(
                stream,
                "POST /{path}{method} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\
                 Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            )
            .expect("it reads");
            let mut answer = String::new();
            let _ = stream.read_to_string(&mut answer);
            if let Some(answer) = answer.split_once("\r\n\r\n").and_then(|(_, body)| serde_json::from_str(body).ok()) {
                return answer;
            }
        }
        panic!("the portal does not answer {method}");
    }

    /// All rows of a list, page by page.
    pub(crate) fn rows(&self, method: &str, params: &Value) -> Vec<Value> {
        let (mut found, mut params) = (Vec::new(), params.clone());
        loop {
            let mut page = self.portal_says(method, &params);
            let rows = if page["result"].is_array() { &mut page["result"] } else { &mut page["result"]["tasks"] };
            found.append(rows.as_array_mut().expect("rows"));
            params["start"] = page["next"].take();
            if params["start"].is_null() {
                return found;
            }
        }
    }

    /// All deals whose title begins with these words: id and title.
    pub(crate) fn deals(&self, words: &str) -> Vec<(String, String)> {
        let text = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
        let rows = self.rows("crm.deal.list", &json!({"filter": {"%TITLE": words}, "select": ["ID", "TITLE"]}));
        rows.iter().map(|row| (text(row, "ID"), text(row, "TITLE"))).collect()
    }
}
