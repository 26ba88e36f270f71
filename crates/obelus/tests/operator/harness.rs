//! The environment of a task: two sites, a folder, the bundled agent in it, and a playbook that reads the agent's
//! observations.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::installed;
use crate::site::{PASSWORD, Site};
use crate::support::{Folder, Ran, command, copy, root, run};

/// The beginning of all playbooks: definitions.
const COMMON: &str = include_str!("playbooks/common.yaml");

/// The end of all playbooks: goals, plans, and defaults after the task's own rules.
const LAST: &str = include_str!("playbooks/last.yaml");

/// One browser at a time, because it takes half a gigabyte and the machine may have two cores.
static BROWSER: Mutex<()> = Mutex::new(());

/// The environment of a task. The session is always called `s`.
pub(crate) struct Harness {
    pub(crate) folder: Folder,
    /// The site on which the agent may work.
    pub(crate) site: Site,
    /// A site on which it may not.
    pub(crate) other: Site,
    _alone: MutexGuard<'static, ()>,
}

impl Harness {
    /// A harness with the rules of a task; `None` if no browser can be installed.
    pub(crate) fn open(name: &str, rules: &str) -> Option<Self> {
        installed::browser()?;
        let harness = Self::without_a_browser(name, rules);
        let sites = format!("sites: ['{}'], secrets: {{SHOP_PASSWORD: $SHOP_PASSWORD}}", harness.site.host());
        harness.edit("\nbrowser: {}\n", &format!("\nbrowser: {{{sites}}}\n"));
        Some(harness)
    }

    /// A harness with the unchanged agent.
    pub(crate) fn without_a_browser(name: &str, rules: &str) -> Self {
        let alone = BROWSER.lock().unwrap_or_else(PoisonError::into_inner);
        let other = Site::open("http://127.0.0.1:9");
        let site = Site::open(&other.url(""));
        let folder = Folder::new(&format!("operator-{name}"));
        copy(&root().join("agents/operator"), Path::new(&folder.path("operator")));
        folder.file("model.yaml", format!("{COMMON}{rules}{LAST}"));
        Harness { folder, site, other, _alone: alone }
    }

    /// Edits the agent's file. The replaced text must exist.
    pub(crate) fn edit(&self, from: &str, to: &str) {
        let path = self.folder.path("operator/agent.yaml");
        let text = fs::read_to_string(&path).expect("readable");
        assert!(text.contains(from), "no `{from}` in the agent's file");
        fs::write(&path, text.replacen(from, to, 1)).expect("writable");
    }

    /// Sets the number of steps in one turn.
    pub(crate) fn limit_steps(&self, most: u32) {
        let text = fs::read_to_string(self.folder.path("operator/agent.yaml")).expect("readable");
        let line = text.lines().find(|line| line.trim_start().starts_with("max_steps:")).expect("it has a limit");
        let (name, _) = line.split_once(':').expect("a field");
        self.edit(line, &format!("{name}: {most}"));
    }

    /// The binary with the harness's store and environment.
    pub(crate) fn obelus(&self, args: &[&str]) -> Command {
        let mut command = command(args);
        command.args(["--store", &self.folder.path("store")]);
        command.envs(self.environment());
        command
    }

    /// The environment variables of the binary.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        let mut found = vec![("OBELUS_HOME", self.folder.path("home")), ("SHOP_PASSWORD", PASSWORD.to_owned())];
        if let Some(installed) = installed::browser() {
            let path = |path: &Path| path.to_str().expect("UTF-8").to_owned();
            found.push(("OBELUS_PLAYWRIGHT_MCP", path(&installed.cli)));
            found.push(("OBELUS_CHROMIUM", path(&installed.chromium)));
        }
        found
    }

    /// The arguments of a command that gives a task.
    pub(crate) fn saying(&self, words: &str) -> Vec<String> {
        let (agent, model) = (self.folder.path("operator"), format!("playbook:{}", self.folder.path("model.yaml")));
        ["run", &agent, "--say", words, "--session", "s", "--model", &model].map(str::to_owned).to_vec()
    }

    /// Gives a task without a terminal; the output is JSON.
    pub(crate) fn says(&self, words: &str) -> Ran {
        let mut args = self.saying(words);
        args.push("--json".to_owned());
        self.kept(run(&mut self.obelus(&args.iter().map(String::as_str).collect::<Vec<_>>()), b""))
    }

    /// Answers a question from another process.
    pub(crate) fn answers(&self, question: &str, words: &[&str]) -> Ran {
        let id = format!("s:{question}");
        self.kept(run(&mut self.obelus(&[&["answer", &id], words].concat()), b""))
    }

    /// The open questions.
    pub(crate) fn inbox(&self) -> Vec<Value> {
        let ran = run(&mut self.obelus(&["inbox", "--json"]), b"").exits(0);
        ran.json().as_array().cloned().expect("a list")
    }

    /// The only open question.
    #[track_caller]
    pub(crate) fn question(&self) -> Value {
        let mut open = self.inbox();
        assert_eq!(open.len(), 1, "{open:?}");
        open.remove(0)
    }

    /// The content of the state file.
    pub(crate) fn state(&self) -> Value {
        let text = fs::read_to_string(self.folder.path("store/states/s.json")).expect("the state's file");
        serde_json::from_str(&text).expect("JSON")
    }

    /// The stored facts.
    pub(crate) fn facts(&self) -> Vec<String> {
        let state = self.state();
        let facts = state["facts"].as_array().into_iter().flatten();
        facts.map(|fact| fact["fact"].as_str().expect("a text").to_owned()).collect()
    }

    /// Keeps the output of a command, to be searched at the end.
    fn kept(&self, ran: Ran) -> Ran {
        let said = format!("{}\n{}\n", ran.stdout, ran.stderr);
        let path = self.folder.path("terminal.txt");
        let before = fs::read_to_string(&path).unwrap_or_default();
        fs::write(path, before + &said).expect("writable");
        ran
    }
}
