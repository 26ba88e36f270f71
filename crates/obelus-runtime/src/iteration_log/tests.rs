use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use obelus_kernel::Context;
use obelus_kernel::session::{CallError, Settings, Solution};

use super::*;
use crate::Secret;

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("obelus-log-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    folder
}

fn session() -> Session {
    let messages = json!([
        {"type": "state", "data": {"goals": [], "done": []}},
        {"type": "tool", "tool": {"crm.contact.list": {
            "x-trust": "trusted", "x-effect": "read", "_activity": "portal", "properties": {"filter": {}}}}},
    ]);
    let settings = json!({"mode": "full", "kept": {"goals": "goals"}, "persistent": true, "follow_up": "after_reads"});
    let mut settings: Settings = serde_json::from_value(settings).unwrap();
    settings.activities = ["portal".to_owned()].into();
    Session::new("s", Context::from_value(messages).unwrap(), None, Arc::new(settings)).unwrap()
}

/// A session with its log, and a fake model.
struct Harness {
    session: Session,
    log: IterationLog,
    outcome: Outcome,
}

impl Harness {
    fn tell(&mut self, input: Input) {
        let at = Time(1_714_557_600_000);
        self.log.log_input(at, &input);
        self.session.handle(at, input).unwrap();
        while let Some(task) = self.session.poll() {
            match task {
                obelus_kernel::session::Task::AskModel { id } => {
                    if self.log.is_answered() {
                        assert!(self.log.end_iteration(&self.session, self.session.state(), None).is_none());
                    }
                    let has_read = self.session.context().view("results").is_some();
                    let call = json!({"_tool": "crm.contact.list", "filter": {"EMAIL": "anna@example.test"}});
                    let solution = Solution {
                        thought: Some("Надо найти Анну".to_owned()),
                        say: Some("Смотрю".to_owned()),
                        calls: if has_read { Vec::new() } else { vec![call.into()] },
                        sequential: true,
                        keeps_results: true,
                        ..Solution::default()
                    };
                    self.tell(Input::Answer { id, answer: Answer::Solution { solution, tokens: 7 } });
                }
                obelus_kernel::session::Task::Call(start) => {
                    self.log.began(&start);
                    self.tell(Input::Ended { id: start.id, outcome: self.outcome.clone() });
                }
                obelus_kernel::session::Task::Rest(reply) => {
                    assert!(self.log.end_iteration(&self.session, self.session.state(), Some(&reply)).is_none());
                }
                _ => {}
            }
        }
    }
}

fn logged(name: &str, words: &str, outcome: Outcome) -> Vec<Value> {
    let folder = folder(name);
    let log = IterationLog::open(&folder, "s", Rotation::default()).unwrap();
    let mut harness = Harness { session: session(), log, outcome };
    harness.log.begin(&harness.session);
    harness.tell(Input::User { text: words.to_owned(), by: None });
    let text = fs::read_to_string(folder.join("logs/s.jsonl")).unwrap();
    fs::remove_dir_all(folder).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn an_iteration_is_one_line_with_everything_in_it() {
    let found = Outcome::Value(json!([{"ID": "7", "NAME": "Анна", "PHONE": [{"VALUE": "+7 916 123-45-67"}]}]));
    let lines = logged("line", "Найди Анну, 8 916 123-45-67", found);
    let expected = json!({
        "time": "2024-05-01T10:00:00Z", "session": "s", "iteration": 1, "mode": "full",
        "told": [{"user": "Найди Анну, [phone]"}],
        "model": [{
            "thought": "Надо найти Анну", "assistant": "Смотрю", "output": null, "tokens": 7,
            "action": [{"_tool": "crm.contact.list", "filter": {"EMAIL": "[email]"}}]}],
        "requests": [{
            "method": "crm.contact.list", "params": {"filter": {"EMAIL": "[email]"}}, "attempt": 1,
            "answer": [{"ID": "7", "NAME": "Анна", "PHONE": [{"VALUE": "[phone]"}]}]}],
        "state": {"goals": ["Найди Анну, [phone]"]}, "ends": "asks_again",
    });
    assert_eq!(lines[0], expected);
    assert_eq!((lines.len(), &lines[1]["iteration"], &lines[1]["ends"]), (2, &json!(2), &json!("output")));
    assert_eq!(lines[1]["state"], json!({}), "what has not changed is not told again");
}

#[test]
fn errors_and_secrets_in_them_are_logged_without_the_secrets() {
    let secret = Secret::new("https://portal.example.test/rest/1/lkj98hgf76dsa/");
    let error = CallError::new("unreachable", format!("{}crm.contact.list: no route", secret.expose()));
    let lines = logged("secret", "Найди", Outcome::Error(error));
    assert_eq!(lines[0]["requests"][0]["error"]["message"], "***/crm.contact.list: no route");
    assert!(!lines.iter().any(|line| line.to_string().contains("lkj98hgf76dsa")));
}

#[test]
fn the_beginning_of_a_very_long_answer_is_logged() {
    let lines = logged("long", "Найди", Outcome::Value(json!(["x".repeat(3 * LONGEST_ANSWER)])));
    let answer = &lines[0]["requests"][0]["answer"];
    assert_eq!(answer["bytes"], 3 * LONGEST_ANSWER + 4);
    assert_eq!(answer["begins"].as_str().unwrap().len(), LONGEST_ANSWER);
}
