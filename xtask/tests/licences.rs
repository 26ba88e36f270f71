//! Every dependency has a licence that `deny.toml` allows, and comes from crates.io.
//!
//! `cargo deny check` checks more of that file. This test needs only cargo and the packages downloaded for the build.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The licences that `deny.toml` allows.
fn allowed() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("deny.toml")).expect("deny.toml");
    let list = text.split_once("\nallow = [").and_then(|(_, rest)| rest.split_once(']')).expect("a list").0;
    let names = list.lines().filter_map(|line| line.trim().strip_prefix('"')?.split_once('"'));
    names.map(|(name, _)| name.to_owned()).collect()
}

/// The packages built on this machine, with all features.
fn packages() -> Vec<Value> {
    let version = output(Command::new("rustc").arg("-vV"));
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("a host");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--locked", "--offline", "--all-features", "--filter-platform"]);
    let metadata: Value = serde_json::from_str(&output(cargo.arg(host).current_dir(root()))).expect("JSON");
    metadata["packages"].as_array().expect("packages").clone()
}

fn output(command: &mut Command) -> String {
    let output = command.output().expect("it can be run");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Whether an expression such as `(MIT OR Apache-2.0) AND Unicode-3.0` is satisfied by these licences. `/` is an old
/// notation for OR.
fn is_met(expression: &str, allowed: &[String]) -> bool {
    let spaced =
        expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ").replace(" WITH ", "\u{0}WITH\u{0}");
    let words: Vec<String> = spaced.split_whitespace().map(|word| word.replace('\u{0}', " ")).collect();
    let (is_met, rest) = any(&words, allowed);
    assert!(rest.is_empty(), "{expression} is no licence expression");
    is_met
}

fn any<'w>(words: &'w [String], allowed: &[String]) -> (bool, &'w [String]) {
    let (mut is_met, mut rest) = all(words, allowed);
    while rest.first().is_some_and(|word| word == "OR") {
        let (other, after) = all(&rest[1..], allowed);
        (is_met, rest) = (is_met || other, after);
    }
    (is_met, rest)
}

fn all<'w>(words: &'w [String], allowed: &[String]) -> (bool, &'w [String]) {
    let (mut is_met, mut rest) = one(words, allowed);
    while rest.first().is_some_and(|word| word == "AND") {
        let (other, after) = one(&rest[1..], allowed);
        (is_met, rest) = (is_met && other, after);
    }
    (is_met, rest)
}

fn one<'w>(words: &'w [String], allowed: &[String]) -> (bool, &'w [String]) {
    match words.split_first() {
        Some((open, rest)) if open == "(" => {
            let (is_met, rest) = any(rest, allowed);
            assert_eq!(rest.first().map(String::as_str), Some(")"), "a bracket is open");
            (is_met, &rest[1..])
        }
        Some((name, rest)) => (allowed.contains(name), rest),
        None => (false, words),
    }
}

#[test]
fn every_dependency_has_a_licence_that_deny_toml_allows() {
    let allowed = allowed();
    let all = packages();
    assert!(all.len() > 200, "only {} packages were found", all.len());
    let mut wrong = Vec::new();
    for package in all.iter().filter(|package| !package["source"].is_null()) {
        let (name, licence) = (&package["name"], package["license"].as_str());
        if !licence.is_some_and(|licence| is_met(licence, &allowed)) {
            wrong.push(format!("{name}: {licence:?}"));
        }
        let source = package["source"].as_str().unwrap_or_default();
        assert_eq!(source, "registry+https://github.com/rust-lang/crates.io-index", "{name}");
    }
    assert!(wrong.is_empty(), "deny.toml allows none of these: {wrong:#?}");
}

#[test]
fn a_licence_expression_is_matched_against_the_allowed_licences() {
    let allowed = ["MIT", "Unicode-3.0", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned);
    for (expression, met) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("GPL-3.0 OR MIT", true),
        ("MIT AND GPL-3.0", false),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
        ("(MIT OR Apache-2.0) AND BSD-3-Clause", false),
        ("GPL-3.0 OR MIT AND Unicode-3.0", true),
        ("Apache-2.0/MIT", true),
        ("Apache-2.0", false),
        ("Apache-2.0 WITH LLVM-exception OR Apache-2.0", true),
    ] {
        assert_eq!(is_met(expression, &allowed), met, "{expression}");
    }
}
