//! The process is killed repeatedly: nothing is lost, and nothing is done twice.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

/// The number of calls in the plan (requirement: 200).
const CALLS: usize = 200;

struct Harness {
    folder: PathBuf,
}

impl Harness {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("obelus-kill-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        // Each call appends its number to a file. Every third call is declared idempotent.
        let calls: Vec<String> = (0..CALLS)
            .map(|i| {
                let after = if i == 0 { "0".to_owned() } else { format!("†state.v{}", i - 1) };
                let tool = if is_harmless(i) { "touch" } else { "mark" };
                format!("      - {{_tool: {tool}, id: {i}, after: {after}, _outputPath: †state.v{i}}}\n")
            })
            .collect();
        let plan = format!(
            "context:\n  - type: tool\n    tool:\n      mark: {{type: object, properties: {{id: {{type: integer}}, after: {{}}}}, \
             x-effect: create, x-trust: trusted, x-target: []}}\n      touch: {{type: object, properties: {{id: {{type: integer}}, after: {{}}}}, \
             x-effect: create, x-idempotent: true, x-trust: trusted, x-target: []}}\n  - type: plan\n    plan:\n{}\
             activities:\n  mark: {{exec: [./mark.sh]}}\n  touch: {{exec: [./mark.sh]}}\nsettings: {{mode: full, max_calls: 1000}}\n",
            calls.concat()
        );
        fs::write(folder.join("plan.yaml"), plan).unwrap();
        // The number is all digits after `"id":`, found without starting another program.
        let script = "#!/bin/sh\nread -r line\nid=${line#*\\\"id\\\":}\nid=${id%%[!0-9]*}\n\
                      echo \"$id\" >> \"${0%/*}/marks\"\necho \"$id\"\n";
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

    /// Answers as a person who checked whether the call happened.
    fn answer(&self, question: &Value) -> Command {
        let id = question["call"]["id"].as_u64().unwrap() as usize;
        let name = question["id"].as_str().unwrap();
        let result = id.to_string();
        if self.marks().contains(&id) {
            self.obelus(&["answer", name, "happened", "--result", &result, "--json"])
        } else {
            self.obelus(&["answer", name, "did-not", "--json"])
        }
    }
}

fn is_harmless(id: usize) -> bool {
    id % 3 == 2
}

/// Random moments, reproducible with `OBELUS_SEED=N`.
struct Moments(u64);

impl Moments {
    fn new() -> Self {
        let now = || std::time::UNIX_EPOCH.elapsed().map_or(1, |time| time.subsec_nanos().into());
        let seed = std::env::var("OBELUS_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(now);
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

impl Drop for Harness {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The context without times.
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
fn a_process_killed_at_any_moment_runs_every_effect_and_repeats_only_idempotent_ones() {
    let undisturbed = Harness::new("calm");
    let expected = timeless(&document(&undisturbed.run().output().unwrap()));

    let harness = Harness::new("storm");
    let mut moments = Moments::new();
    let (mut kills, mut asked) = (0, 0);
    // Runs a command until it ends or until it is killed.
    let mut live = |mut command: Command| {
        // Output goes to files, because pipes are not read meanwhile.
        let (said, complained) = (harness.folder.join("out"), harness.folder.join("err"));
        command.stdout(fs::File::create(&said).unwrap()).stderr(fs::File::create(&complained).unwrap());
        let mut child = command.spawn().unwrap();
        // Kill after a random number of marks and a random delay, so that every point is hit on any machine.
        let (marks, moment) = (harness.marks().len() + moments.next(30) as usize, moments.next(8_000));
        while harness.marks().len() < marks && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_micros(moment));
        let is_over = child.try_wait().unwrap().is_some();
        if !is_over {
            child.kill().unwrap();
            kills += 1;
        }
        let status = child.wait().unwrap();
        let output = Output { status, stdout: fs::read(&said).unwrap(), stderr: fs::read(&complained).unwrap() };
        // Children of a killed process run a little longer.
        std::thread::sleep(Duration::from_millis(if is_over { 0 } else { 100 }));
        assert!(kills < 2000, "it never ends");
        is_over.then_some(output)
    };
    let last = loop {
        let Some(output) = live(harness.run()) else { continue };
        match output.status.code() {
            Some(0) => break output,
            Some(3) => {}
            other => panic!("{other:?}: {}", String::from_utf8_lossy(&output.stderr)),
        }
        for question in harness.inbox() {
            assert_eq!(question["about"], "in_doubt");
            asked += 1;
            live(harness.answer(&question));
        }
    };
    let mut times = vec![0; CALLS];
    harness.marks().into_iter().for_each(|id| times[id] += 1);
    for (id, times) in times.into_iter().enumerate() {
        assert!(times == 1 || (times > 1 && is_harmless(id)), "call {id} happened {times} times, after {kills} kills");
    }
    assert!(kills > 3, "only {kills} kills");
    eprintln!("{kills} kills, {asked} questions");
    assert_eq!(timeless(&document(&last)), expected);
}

#[test]
fn a_second_process_is_told_who_holds_the_store() {
    let harness = Harness::new("held");
    let store = Path::new(&harness.folder).join("store");
    let held = obelus_runtime::SqliteStore::open(&store).unwrap();
    let output = harness.run().output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains(&format!("process {}", std::process::id())), "{words}");
    drop(held);
    assert_eq!(harness.obelus(&["sessions", "list"]).output().unwrap().status.code(), Some(0));
}
