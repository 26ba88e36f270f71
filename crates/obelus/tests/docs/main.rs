//! Runs every command in the README and in docs/ and compares its output.
//!
//! Each document is one story: its commands run in order, in one shell, in a folder that has only what a clone has
//! (`agents`, `examples`, …). CONTRIBUTING.md describes how files, commands and exceptions are written.

mod document;
mod output;
mod recipe;
mod reference;
mod schemas;
mod shell;

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use document::{Step, steps};

/// Runs a document and reports all differences.
fn check(name: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository");
    let text = fs::read_to_string(root.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let text = with_free_port(&text);
    let steps = steps(&text).unwrap_or_else(|error| panic!("{name}, {error}"));
    let folder = empty_folder(name, &root);
    let ran = shell::run(&folder, &steps);
    let commands: Vec<_> = steps
        .iter()
        .filter_map(|step| match step {
            Step::Command(command) => Some(command),
            Step::File { .. } => None,
        })
        .collect();
    let mut problems = Vec::new();
    for (index, command) in commands.iter().enumerate() {
        let place = format!("{name}:{}: {}", command.line, command.text);
        match ran.get(index) {
            None => problems.push(format!("{place}\nwas not reached")),
            Some(ran) if command.must_succeed && ran.code != 0 => {
                problems.push(format!("{place}\nended with {}:\n{}", ran.code, ran.output));
            }
            Some(ran) if shows_nothing(command) && matches!(ran.code, 1 | 2 | 101 | 126 | 127) => {
                problems.push(format!("{place}\nended with {}:\n{}", ran.code, ran.output));
            }
            Some(ran) if !shows_nothing(command) => {
                if let Some(difference) = output::difference(&command.printed, &ran.output) {
                    problems.push(format!("{place}\n{difference}"));
                }
            }
            Some(_) => {}
        }
    }
    problems.extend(stale_pictures(&folder, &root));
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
    fs::remove_dir_all(&folder).expect("it was made here");
}

/// The port of the service that the tutorial's reader starts.
const PORT: &str = "8471";

/// The document with a free port in place of [`PORT`], which another process of the machine may use.
fn with_free_port(text: &str) -> String {
    if !text.contains(PORT) {
        return text.to_owned();
    }
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    text.replace(PORT, &port.to_string())
}

#[test]
fn a_document_is_run_with_a_port_that_is_free() {
    let _taken = TcpListener::bind(format!("127.0.0.1:{PORT}"));
    let text = with_free_port("curl http://127.0.0.1:8471/a http://127.0.0.1:8471/b");
    let ports: Vec<&str> = text.split("127.0.0.1:").skip(1).filter_map(|part| part.split('/').next()).collect();
    assert!(ports.len() == 2 && ports[0] == ports[1] && ports[0] != PORT, "{text}");
    assert_eq!(with_free_port("no port"), "no port");
}

/// The pictures made by a document in `pictures/` that differ from those in `docs/pictures/`. With `UPDATE_PICTURES=1`
/// they are written there instead.
fn stale_pictures(folder: &Path, root: &Path) -> Vec<String> {
    let Ok(made) = fs::read_dir(folder.join("pictures")) else { return Vec::new() };
    let mut stale = Vec::new();
    for picture in made.map(|entry| entry.expect("readable").path()) {
        let kept = root.join("docs/pictures").join(picture.file_name().expect("a name"));
        let drawn = fs::read(&picture).expect("readable");
        if std::env::var_os("UPDATE_PICTURES").is_some() {
            fs::write(&kept, drawn).expect("writable");
        } else if fs::read(&kept).ok() != Some(drawn) {
            stale
                .push(format!("{} is not what the command draws: run the test with UPDATE_PICTURES=1", kept.display()));
        }
    }
    stale
}

/// Whether the document shows no specific output. Then the command must not fail.
fn shows_nothing(command: &document::Command) -> bool {
    command.printed.iter().all(|line| line.trim() == "…")
}

fn empty_folder(name: &str, root: &Path) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("docs-{}", name.replace('/', "-")));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a writable folder");
    // A copy, because examples write files into their folders.
    let copied = Command::new("cp").arg("-r").arg(root.join("examples")).arg(&folder).status();
    assert!(copied.is_ok_and(|status| status.success()), "examples were not copied");
    folder
}

macro_rules! documents {
    ($($test:ident: $name:literal,)*) => {
        $(#[test] fn $test() { check($name); })*

        /// A document that is not listed would not be run.
        #[test]
        fn every_document_is_listed() {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
            let listed = [$($name),*];
            let docs = fs::read_dir(root.join("docs")).expect("docs").map(|entry| entry.expect("readable").file_name());
            let names = docs.map(|name| format!("docs/{}", name.to_string_lossy())).filter(|name| name.ends_with(".md"));
            let missing: Vec<String> = names.filter(|name| !listed.contains(&name.as_str())).collect();
            assert!(missing.is_empty(), "list them in {}: {missing:?}", file!());
        }
    };
}

documents! {
    the_readme: "README.md",
    the_readme_in_russian: "README.ru.md",
    activities: "docs/activities.md",
    agents: "docs/agents.md",
    the_http_api: "docs/api.md",
    the_reference_of_agents: "docs/agent-reference.md",
    benchmarks: "docs/benchmarks.md",
    bitrix24: "docs/bitrix24.md",
    blocks: "docs/blocks.md",
    browser: "docs/browser.md",
    chat: "docs/chat.md",
    comparison: "docs/comparison.md",
    compatibility: "docs/compatibility.md",
    concepts: "docs/concepts.md",
    console: "docs/console.md",
    crm: "docs/crm.md",
    durability: "docs/durability.md",
    mcp: "docs/mcp.md",
    models: "docs/models.md",
    operations: "docs/operations.md",
    operator: "docs/operator.md",
    plans: "docs/plans.md",
    playbook: "docs/playbook.md",
    policy: "docs/policy.md",
    rules: "docs/rules.md",
    sandbox: "docs/sandbox.md",
    scaling: "docs/scaling.md",
    security: "docs/security.md",
    server: "docs/server.md",
    the_summary: "docs/SUMMARY.md",
    the_tutorial: "docs/tutorial.md",
}
