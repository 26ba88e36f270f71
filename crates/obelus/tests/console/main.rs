//! The console in a real browser, against `obelus serve` with a practice portal and offline agents.
//!
//! The tests are in `console/tests`, because Node drives the browser. They need Node, Chromium and the packages of the
//! console, which `cargo xtask console` installs and builds. If one of them is missing, these tests print that and
//! pass, because the server works without the console.

#[path = "../../../obelus-connect/tests/browser/installed.rs"]
mod browser;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

fn console() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../console")
}

fn is_there(program: &str) -> bool {
    let mut asked = Command::new(program);
    asked.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    asked.status().is_ok_and(|status| status.success())
}

/// Whether Node and the packages of the console are installed.
fn has_packages() -> bool {
    let is_ready = is_there("node") && console().join("node_modules/openapi-typescript").is_dir();
    if !is_ready {
        eprintln!("left out: node or the packages of the console are not there (`cargo xtask console`)");
    }
    is_ready
}

/// Whether everything that the browser's tests need is installed.
fn is_ready() -> bool {
    let has_browser = std::env::var_os("OBELUS_CHROMIUM").is_some() || BROWSERS.iter().any(|name| is_there(name));
    let is_built = console().join("dist/index.html").is_file();
    if !has_browser || !is_built {
        eprintln!("left out: the console is not built (`cargo xtask console`), or there is no Chromium");
    }
    has_packages() && has_browser && is_built
}

/// Files run one after the other, except the longest, which runs beside them. Each has its own browser and server.
static TURN: Mutex<()> = Mutex::new(());

/// Runs one file of tests in the browser.
fn run(file: &str) {
    run_with(file, &[]);
}

/// The same, with variables of the environment.
fn run_with(file: &str, environment: &[(&str, &Path)]) {
    if !is_ready() {
        return;
    }
    let _turn = (file != "screens").then(|| TURN.lock().unwrap_or_else(PoisonError::into_inner));
    let shots = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../console-shots");
    let mut node = Command::new("node");
    node.args(["--test", "--test-reporter=spec"]).arg(format!("tests/{file}.test.mjs")).current_dir(console());
    node.env("OBELUS_BIN", env!("CARGO_BIN_EXE_obelus")).env("OBELUS_SHOTS", shots);
    node.envs(environment.iter().copied());
    let output = node.output().expect("node runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_conversation_of_the_demo_works_in_a_browser() {
    run("tour");
}

#[test]
fn questions_are_answered_by_keys_and_after_the_server_was_killed() {
    run("inbox");
}

#[test]
fn hostile_texts_are_shown_as_text() {
    run("hostile");
}

#[test]
fn web_forms_and_effects_in_doubt_are_decided_on_their_cards() {
    run("cards");
}

#[test]
fn agents_are_tried_with_a_form_and_pictures_are_shown() {
    run("agents");
}

#[test]
fn what_the_operator_sees_is_shown_while_it_works() {
    let (Some(installed), true) = (browser::installed(), is_there("python3")) else {
        eprintln!("left out: Playwright MCP, Chromium or python3 is not there");
        return;
    };
    run_with("operator", &[("OBELUS_PLAYWRIGHT_MCP", &installed.cli), ("OBELUS_CHROMIUM", &installed.chromium)]);
}

#[test]
fn tokens_of_a_models_server_and_answers_in_telegram_are_shown() {
    run("peers");
}

#[test]
fn sessions_of_thousands_of_events_are_drawn_in_part() {
    run("large");
}

#[test]
fn a_long_session_is_replayed_once_and_a_plan_of_500_steps_is_drawn_in_part() {
    run("long");
}

#[test]
fn screens_are_accessible_and_small() {
    run("screens");
}

#[test]
fn what_opens_on_the_screens_is_accessible_and_can_be_hit() {
    run("parts");
}

#[test]
fn the_types_of_the_api_are_those_of_the_program() {
    if !has_packages() {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (description, made) = (folder.join("openapi.json"), folder.join("schema.d.ts"));
    let described = Command::new(env!("CARGO_BIN_EXE_obelus")).args(["serve", "--openapi"]).output().expect("it runs");
    assert!(described.status.success(), "{}", String::from_utf8_lossy(&described.stderr));
    fs::write(&description, described.stdout).expect("a file");
    let mut npm = Command::new("npm");
    npm.args(["run", "--silent", "types", "--"]).arg(&description).arg("-o").arg(&made).current_dir(console());
    let output = npm.output().expect("npm runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read = |path: &Path| fs::read_to_string(path).expect("a file");
    let is_fresh = read(&made) == read(&console().join("src/lib/schema.d.ts"));
    assert!(is_fresh, "console/src/lib/schema.d.ts is not what the program describes: `cargo xtask console types`");
}
