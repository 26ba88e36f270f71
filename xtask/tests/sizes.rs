//! Limits the length of files, of functions and of the kernel.

use std::fs;
use std::path::{Path, PathBuf};

/// The most lines of a file.
const MOST_OF_FILE: usize = 500;
/// The most lines of a function outside of tests.
const MOST_OF_FUNCTION: usize = 60;
/// The most lines of the kernel, including tests in its sources.
const MOST_OF_KERNEL: usize = 18_000;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every Rust file below a folder.
fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("readable").path();
        if path.is_dir() && !path.ends_with("target") {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

/// Name and length of each function. It relies on the indentation by rustfmt.
fn functions(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let indent = &line[..line.len() - code.len()];
        let Some(name) = function_name(code) else { continue };
        let end = format!("{indent}}}");
        let is_one_line = line.ends_with('}') || line.ends_with(';');
        let length = lines[start..].iter().position(|line| *line == end).filter(|_| !is_one_line);
        found.push((name.to_owned(), length.map_or(1, |length| length + 1)));
    }
    found
}

fn function_name(code: &str) -> Option<&str> {
    let mut words =
        code.split_whitespace().skip_while(|word| word.starts_with("pub") || matches!(*word, "async" | "const"));
    let name = words.next().filter(|word| *word == "fn").and_then(|_| words.next())?;
    name.split(['(', '<']).next()
}

#[test]
fn no_file_has_more_than_500_lines_and_no_function_more_than_60() {
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    sources(&root().join("xtask"), &mut files);
    assert!(files.len() > 300, "the sources were not found");
    let mut long = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("UTF-8");
        let name = file.strip_prefix(root()).unwrap_or(&file).display().to_string();
        let lines = text.lines().count();
        if lines > MOST_OF_FILE {
            long.push(format!("{name} has {lines} lines"));
        }
        // Tables of cases may be long.
        let is_test = name.contains("/tests/") || name.ends_with("tests.rs");
        for (function, lines) in functions(&text).into_iter().filter(|_| !is_test) {
            if lines > MOST_OF_FUNCTION {
                long.push(format!("{name}: {function} has {lines} lines"));
            }
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn the_kernel_has_at_most_18_000_lines() {
    let mut files = Vec::new();
    sources(&root().join("crates/obelus-kernel/src"), &mut files);
    let lines: usize = files.iter().map(|file| fs::read_to_string(file).expect("UTF-8").lines().count()).sum();
    assert!((5_000..=MOST_OF_KERNEL).contains(&lines), "the kernel has {lines} lines");
}

/// A session routes between parts that own their data.
#[test]
fn a_session_has_at_most_15_fields() {
    let text = fs::read_to_string(root().join("crates/obelus-kernel/src/session.rs")).expect("UTF-8");
    let (_, fields) = text.split_once("pub struct Session {").expect("the session");
    let is_field = |line: &&str| line.contains(": ") && !line.trim_start().starts_with("//");
    let count = fields.lines().take_while(|line| *line != "}").filter(is_field).count();
    assert!((5..=15).contains(&count), "a session has {count} fields");
}

#[test]
fn the_length_of_functions_is_measured() {
    let text = "pub(crate) fn a() {\n    x();\n}\n\nimpl B {\n    async fn b(&self) {\n        y();\n\n    }\n}\n";
    assert_eq!(functions(text), [("a".to_owned(), 3), ("b".to_owned(), 4)]);
}
