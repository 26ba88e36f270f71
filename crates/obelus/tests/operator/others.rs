//! The same agent with servers unrelated to the web, on a machine without a browser.

use std::fs;
use std::process::Command;

use crate::harness::Harness;
use crate::installed;
use crate::support::{Ran, root, run};

/// A harness with these servers and no browser.
struct Workshop {
    harness: Harness,
    servers: String,
}

impl Workshop {
    fn open(name: &str, rules: &str, servers: &str) -> Self {
        let harness = Harness::without_a_browser(name, rules);
        let servers = harness.folder.file("servers.yaml", servers);
        Self { harness, servers }
    }

    fn obelus(&self, args: &[&str]) -> Command {
        let mut command = self.harness.obelus(args);
        command.env("OBELUS_PLAYWRIGHT_MCP", self.harness.folder.path("nothing"));
        command.env("NOTES_FILE", self.harness.folder.path("notes.json"));
        command
    }

    fn says(&self, words: &str) -> Ran {
        let args = self.harness.saying(words);
        let mut command = self.obelus(&args.iter().map(String::as_str).collect::<Vec<_>>());
        run(command.args(["--json", "--mcp", &self.servers]), b"")
    }
}

#[test]
fn the_operator_adds_numbers_with_the_everything_server() {
    let Some(server) = installed::everything() else { return };
    let servers = format!("everything:\n  command: [node, '{server}']\n  tools: {{get-sum: {{x-effect: read}}}}\n");
    let workshop = Workshop::open("everything", include_str!("playbooks/everything.yaml"), &servers);
    let ran = workshop.says("Сложи 1907 и 35").exits(0);
    assert_eq!(ran.json()["end"], "done", "{}", ran.stdout);
    assert_eq!(ran.json()["solution"]["output"], "Вышло 1942.");
    assert_eq!(workshop.harness.facts(), ["сумма 1942"]);

    // The effect of this tool is not declared, so a person is asked.
    let asked = workshop.says("Повтори вслух: доброе утро").exits(3);
    let question = &asked.json()["waiting"][0];
    assert_eq!(question["call"]["_tool"], "everything.echo", "{question}");
    let ran = run(&mut workshop.obelus(&["answer", "s:q1", "approve", "--json"]), b"").exits(0);
    assert_eq!(ran.json()["solution"]["output"], "Он сказал: доброе утро.", "{}", ran.stdout);
}

#[test]
fn the_operator_writes_notes_and_asks_before_it_removes_one() {
    let folder = root().join("examples/mcp-notes");
    let own = fs::read_to_string(folder.join("agent.yaml")).expect("readable");
    let (_, servers) = own.split_once("\nmcp:\n").expect("the example has a server");
    let servers = servers.replace("server.py", folder.join("server.py").to_str().expect("UTF-8"));
    let workshop = Workshop::open("notes", include_str!("playbooks/notes.yaml"), &servers);
    let notes = || fs::read_to_string(workshop.harness.folder.path("notes.json")).unwrap_or_default();
    workshop.says("Запиши: купить чайник Ермак").exits(3);
    assert!(!notes().contains("Ермак"), "a person has not agreed yet");
    let ran = run(&mut workshop.obelus(&["answer", "s:q1", "approve", "--json"]), b"").exits(0);
    assert_eq!((&ran.json()["end"], notes().contains("купить чайник Ермак")), (&"done".into(), true), "{}", ran.stdout);

    let asked = workshop.says("Удали заметку 1").exits(3);
    assert_eq!(asked.json()["waiting"][0]["call"]["_tool"], "notes.remove", "{}", asked.stdout);
    let ran = run(&mut workshop.obelus(&["answer", "s:q2", "deny", "--json"]), b"").exits(0);
    assert_eq!(ran.json()["end"], "denied", "{}", ran.stdout);
    assert!(notes().contains("Ермак"));
}

#[test]
fn pol_8_the_bundled_agent_pins_the_tools_of_its_browser() {
    let harness = Harness::without_a_browser("pinned", "");
    if crate::installed::browser().is_none() {
        return;
    }
    let ran = crate::support::run(&mut harness.obelus(&["agents", "pin", "operator", "--check"]), b"");
    ran.exits(0).says("tools are pinned");
}
