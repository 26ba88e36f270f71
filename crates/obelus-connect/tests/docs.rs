//! What is written about playbooks holds: every playbook of the repository and every example of its manual
//! is one, for the reader and for the schema that editors use.

use std::path::{Path, PathBuf};

use obelus_connect::model::Playbook;
use serde_json::Value;

/// A place in the repository.
fn at(path: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(path)
}

fn schema() -> jsonschema::Validator {
    let text = std::fs::read_to_string(at("docs/playbook.schema.json")).unwrap();
    let schema: Value = serde_json::from_str(&text).unwrap();
    assert!(jsonschema::draft202012::meta::is_valid(&schema));
    jsonschema::draft202012::new(&schema).unwrap()
}

/// The manual's YAML, each block under the line it stands at.
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
fn every_playbook_is_one_for_the_reader_and_for_the_schema() {
    let schema = schema();
    for (path, text) in playbooks() {
        if let Err(error) = Playbook::parse(&path, &text) {
            panic!("{error}");
        }
        let value: Value = serde_saphyr::from_str(&text).unwrap();
        let breaches: Vec<String> = schema.iter_errors(&value).map(|error| error.to_string()).collect();
        assert_eq!(breaches, [""; 0], "{}", path.display());
    }
}

#[test]
fn what_the_reader_refuses_the_schema_refuses_too() {
    let schema = schema();
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
