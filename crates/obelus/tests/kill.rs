//! The plug is pulled, again and again, and nothing is lost and nothing done twice.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

/// How many calls the plan has.
const CALLS: usize = 12;

struct Desk {
    folder: PathBuf,
}

impl Desk {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("obelus-kill-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        // Each call appends its number to a file; nothing makes a second time harmless.
        let calls: Vec<String> = (0..CALLS)
            .map(|i| {
                let after = if i == 0 { "0".to_owned() } else { format!("†state.v{}", i - 1) };
                format!("      - {{_tool: mark, id: {i}, after: {after}, _outputPath: †state.v{i}}}\n")
            })
            .collect();
        let plan = format!(
            "context:\n  - type: tool\n    tool:\n      mark: {{type: object, properties: {{id: {{type: integer}}, after: {{}}}}, \
             x-effect: create, x-trust: trusted, x-target: []}}\n  - type: plan\n    plan:\n{}activities:\n  mark: {{exec: [./mark.sh]}}\n",
            calls.concat()
        );
        fs::write(folder.join("plan.yaml"), plan).unwrap();
        let script = "#!/bin/sh\nid=$(sed -n 's/.*\"id\":\\([0-9]*\\).*/\\1/p')\necho \"$id\" >> \"$(dirname \"$0\")/marks\"\necho \"$id\"\n";
        fs::write(folder.join("mark.sh"), script).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(folder.join("mark.sh"), mode).unwrap();
        Self { folder }
    }

    fn obelus(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_obelus"));
        command.args(args).arg("--store").arg(self.folder.join("store")).current_dir(&self.folder);
        command.stdin(Stdio::null());
        command
    }

    fn run(&self) -> Command {
        self.obelus(&["plan", "run", "plan.yaml", "--session", "s", "--json"])
    }

    fn marks(&self) -> Vec<usize> {
        let text = fs::read_to_string(self.folder.join("marks")).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    fn inbox(&self) -> Vec<Value> {
        let output = self.obelus(&["inbox", "--json"]).output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap().as_array().cloned().unwrap()
    }

    /// A person looks whether it happened, and says so.
    fn answer(&self, question: &Value) -> Output {
        let id = question["call"]["id"].as_u64().unwrap() as usize;
        let name = question["id"].as_str().unwrap();
        let result = id.to_string();
        match self.marks().contains(&id) {
            true => self.obelus(&["answer", name, "happened", "--result", &result, "--json"]).output().unwrap(),
            false => self.obelus(&["answer", name, "did-not", "--json"]).output().unwrap(),
        }
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The context without what depends on the time of day.
fn timeless(document: &Value) -> Vec<Value> {
    let messages = document["context"].as_array().cloned().unwrap();
    let without = |mut message: Value| {
        if let Value::Object(fields) = &mut message {
            fields.remove("_date");
        }
        message
    };
    messages.into_iter().map(without).collect()
}

fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn killed_at_any_moment_every_effect_happens_once() {
    let undisturbed = Desk::new("calm");
    let expected = timeless(&document(&undisturbed.run().output().unwrap()));

    let desk = Desk::new("storm");
    let mut kills = 0;
    let last = loop {
        let mut child = desk.run().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // Ever later moments, so that every stretch of the work is cut somewhere, and the end is reached.
        std::thread::sleep(Duration::from_millis(15 + 12 * kills));
        let is_over = child.try_wait().unwrap().is_some();
        if !is_over {
            child.kill().unwrap();
            kills += 1;
        }
        let output = child.wait_with_output().unwrap();
        // What a killed process had started goes on by itself for a moment.
        std::thread::sleep(Duration::from_millis(150));
        if is_over && output.status.code() == Some(0) {
            break output;
        }
        if is_over {
            for question in desk.inbox() {
                assert_eq!(question["about"], "in_doubt");
                desk.answer(&question);
            }
        }
        assert!(kills < 500, "it never ends");
    };
    let mut marks = desk.marks();
    marks.sort_unstable();
    assert_eq!(marks, (0..CALLS).collect::<Vec<_>>(), "after {kills} kills");
    assert!(kills > 0);
    assert_eq!(timeless(&document(&last)), expected);
}

#[test]
fn a_second_process_is_told_who_holds_the_store() {
    let desk = Desk::new("held");
    let store = Path::new(&desk.folder).join("store");
    let held = obelus_runtime::Store::open(&store).unwrap();
    let output = desk.run().output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains(&format!("process {}", std::process::id())), "{words}");
    drop(held);
    assert_eq!(desk.run().output().unwrap().status.code(), Some(0));
}
