//! The schemas for editors accept every agent, request, playbook and vector of the repository, and reject typos. Every
//! example in the manual of playbooks is valid, for the parser and for the schema.

use std::path::{Path, PathBuf};

use obelus_connect::model::Playbook;
use serde_json::Value;

/// A path in the repository.
fn at(path: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(path)
}

/// The schema in `docs/NAME.schema.json`.
fn schema(name: &str) -> jsonschema::Validator {
    let text = std::fs::read_to_string(at(&format!("docs/{name}.schema.json"))).unwrap();
    let schema: Value = serde_json::from_str(&text).unwrap();
    assert!(jsonschema::draft202012::meta::is_valid(&schema));
    jsonschema::draft202012::new(&schema).unwrap()
}

/// The files below a folder with one of these endings.
fn files(folder: &str, ends: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![at(folder)];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if ends.iter().any(|end| path.to_string_lossy().ends_with(end)) {
                found.push(path);
            }
        }
    }
    found
}

/// The errors that a schema finds in a document.
fn breaches(schema: &jsonschema::Validator, document: &str) -> Vec<String> {
    // JSON first: the YAML parser limits the number of nodes.
    let value: Value = serde_json::from_str(document).unwrap_or_else(|_| serde_saphyr::from_str(document).unwrap());
    schema.iter_errors(&value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

#[test]
fn every_agent_request_and_vector_matches_its_schema() {
    let agents = [files("agents", &["/agent.yaml"]), files("examples", &["/agent.yaml"])].concat();
    let requests = files("examples", &["/plan.yaml", "/plan.json", "/request.yaml", "/delegates/summary.yaml"]);
    let vectors = [files("vectors", &[".json"]), files("vectors-hostile", &[".json"])].concat();
    for (name, paths, least) in [("agent", agents, 6), ("request", requests, 5), ("vectors", vectors, 20)] {
        assert!(paths.len() >= least, "{name}: {paths:?}");
        let schema = schema(name);
        for path in paths {
            let text = std::fs::read_to_string(&path).unwrap();
            assert_eq!(breaches(&schema, &text), [""; 0], "{}", path.display());
        }
    }
}

#[test]
fn a_misspelt_field_does_not_match_the_schema() {
    for (name, good, bad) in [
        ("agent", "{name: x, mode: full}", "{name: x, mode: ful}"),
        ("agent", "{name: x, limits: {calls: 5}}", "{name: x, limits: {cals: 5}}"),
        ("agent", "{name: x}", "{nam: x}"),
        ("agent", "{name: x, tools: {a: {x-effect: read}}}", "{name: x, tools: {a: {x-effct: read}}}"),
        ("agent", "{name: x, tools: {a: {x-effect: read}}}", "{name: x, tools: {a: {x-effect: reed}}}"),
        ("agent", "{name: x, policy: [{verdict: allow}]}", "{name: x, policy: [{verdict: alow}]}"),
        ("agent", "{name: x, activities: {a: {jq: .}}}", "{name: x, activities: {a: {qj: .}}}"),
        ("request", "{context: []}", "{contxt: []}"),
        ("request", "{context: [{type: state, a: 1}]}", "{context: [{type: stat, a: 1}]}"),
        ("request", "{context: [{type: plan, plan: [{_tool: a}]}]}", "{context: [{type: plan, plan: [{tool: a}]}]}"),
        ("request", "{context: [], settings: {max_calls: 1}}", "{context: [], settings: {calls: 1}}"),
        ("vectors", "[{name: a, kind: resolve, context: []}]", "[{name: a, kind: resolv, context: []}]"),
        ("vectors", "[{name: a, kind: resolve, context: []}]", "[{name: a, kind: resolve, contxt: []}]"),
    ] {
        let schema = schema(name);
        assert_eq!(breaches(&schema, good), [""; 0], "{good}");
        assert_ne!(breaches(&schema, bad), [""; 0], "{bad}");
    }
}

/// The YAML blocks of the manual, each with its line.
fn examples_of_the_manual() -> Vec<(PathBuf, String)> {
    let manual = std::fs::read_to_string(at("docs/playbook.md")).unwrap();
    let mut blocks: Vec<(PathBuf, String)> = Vec::new();
    let mut is_open = false;
    for (index, line) in manual.lines().enumerate() {
        match (is_open, line) {
            (false, "```yaml") => {
                blocks.push((format!("docs/playbook.md line {}", index + 2).into(), String::new()));
                is_open = true;
            }
            (true, "```") => is_open = false,
            (true, line) => {
                let (_, text) = blocks.last_mut().unwrap();
                text.push_str(line);
                text.push('\n');
            }
            _ => {}
        }
    }
    blocks
}

fn playbooks() -> Vec<(PathBuf, String)> {
    let files = std::fs::read_dir(at("examples/playbooks")).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = files.map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect();
    let examples = examples_of_the_manual();
    assert!(files.len() >= 3 && examples.len() >= 5, "{} files, {} examples", files.len(), examples.len());
    files.into_iter().chain(examples).collect()
}

#[test]
fn every_playbook_is_accepted_by_the_parser_and_by_the_schema() {
    let schema = schema("playbook");
    for (path, text) in playbooks() {
        if let Err(error) = Playbook::parse(&path, &text) {
            panic!("{error}");
        }
        assert_eq!(breaches(&schema, &text), [""; 0], "{}", path.display());
    }
}

#[test]
fn playbooks_refused_by_the_parser_are_refused_by_the_schema() {
    let schema = schema("playbook");
    for text in [
        "just words",
        "{otherwise: {output: 1}}",
        "[{user: a}]",
        "[{user: a, output: 1, raw: b}]",
        "[{output: 1, calls_from: '[]'}]",
        "[{answer: {calls: [{id: 1}]}}]",
        "[{answer: {say: a, words: b}}]",
        "[{answer: {}}]",
        "[{fail: {code: a}}]",
        "[{outputs: 1}]",
        "{rules: [], otherwise: {user: a, output: 1}}",
        "[{output: null}]",
    ] {
        assert!(Playbook::parse(Path::new("p.yaml"), text).is_err(), "{text}");
        assert!(!schema.is_valid(&serde_saphyr::from_str::<Value>(text).unwrap()), "{text}");
    }
}
