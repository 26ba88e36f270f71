//! Servers for tests, and checks for leftover processes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use obelus_connect::mcp::Servers;
use obelus_kernel::Tool;
use obelus_kernel::session::Outcome;
use obelus_runtime::{Activities, Elicitor, Work};
use serde_json::{Value, json};

/// The servers of a section.
pub(crate) fn servers(section: Value) -> Servers {
    let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp");
    Servers::parse(section.as_object().unwrap(), &base).unwrap_or_else(|error| panic!("{error}"))
}

/// A file of an npm package, installed below the target folder, if it can be installed.
pub(crate) fn npm(packages: &[&str], file: &str) -> Option<PathBuf> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let name: String = packages.join("+").chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let program = folder.join("node_modules").join(file);
    if program.exists() {
        return Some(program);
    }
    std::fs::create_dir_all(&folder).ok()?;
    let npm = Command::new("npm")
        .args(["install", "--no-save", "--no-audit", "--no-fund", "--prefix"])
        .arg(&folder)
        .args(packages)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let is_there = npm.is_ok_and(|status| status.success()) && program.exists();
    assert!(is_there || std::env::var_os("CI").is_none(), "npm cannot install {packages:?}");
    if !is_there {
        eprintln!("skipped: npm cannot install {packages:?} here");
    }
    is_there.then_some(program)
}

/// Calls a tool as a session does, with the pinned definitions.
pub(crate) async fn run(servers: &Servers, pinned: &[(String, Value)], tool: &str, mut call: Value) -> Outcome {
    let pinned: BTreeMap<_, _> = pinned.iter().cloned().collect();
    let mut activities = Activities::new();
    servers.bind_into(&mut activities, &pinned);
    let schema = &pinned[tool];
    call["_tool"] = json!(tool);
    let work = Work {
        call: call.into(),
        tool: Arc::new(Tool::parse(tool, schema).unwrap()),
        scope: Vec::new(),
        key: "key".to_owned(),
        attempt: 1,
        elicitor: Elicitor::nobody(),
        slot: Arc::default(),
    };
    activities.get(tool).expect("it is bound").run(work).await
}

/// The arguments of a call.
pub(crate) fn arguments(value: Value) -> serde_json::Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other}"),
    }
}

/// The processes with this mark in their environment, including zombies of this process.
pub(crate) fn marked(mark: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let path = entry.path();
        let has_mark = std::fs::read(path.join("environ"))
            .is_ok_and(|variables| variables.windows(mark.len()).any(|part| part == mark.as_bytes()));
        if has_mark && id != std::process::id() {
            let stat = std::fs::read_to_string(path.join("stat")).unwrap_or_default();
            found.push(stat);
        }
    }
    found
}

/// The children of this process that ended and were not waited for.
pub(crate) fn zombies() -> Vec<String> {
    let me = std::process::id().to_string();
    let stats = std::fs::read_dir("/proc").unwrap().flatten();
    let stats = stats.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    stats
        .filter(|stat| {
            let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
            let mut fields = after.split_whitespace();
            fields.next() == Some("Z") && fields.next() == Some(&me)
        })
        .collect()
}

/// Waits until a condition holds; panics with `what` if it does not.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..600 {
        if holds() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("in vain: {what}");
}
