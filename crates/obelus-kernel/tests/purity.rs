//! LOOP-5: the kernel and its dependencies do no I/O, read no clock and use no random numbers. The same holds for the
//! notebook.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "the test itself looks at files and runs cargo"
)]

use std::fs;
use std::path::Path;
use std::process::Command;

use obelus_kernel::plan::check;
use obelus_kernel::{Context, PlanMode};
use serde_json::{Map, json};

/// Crates that do I/O or provide a clock, a scheduler or random numbers. A trailing `*` matches any ending.
const IMPURE_CRATES: [&str; 24] = [
    "async-*",
    "backon",
    "chrono",
    "fastrand",
    "futures*",
    "getrandom",
    "hyper*",
    "jiff*",
    "mio",
    "native-tls",
    "opentelemetry*",
    "polling",
    "quanta",
    "rand",
    "rand_*",
    "reqwest",
    "rusqlite",
    "rustls*",
    "smol",
    "socket2",
    "time",
    "tokio*",
    "uuid",
    "web-time",
];

/// `ahash`, the hasher of `jsonschema`, gets its seed from the system. Validators only look names up in its tables and
/// iterate over the value instead, so the seed has no visible effect; the last test below checks that.
const EXCEPTIONS: [(&str, &str); 1] = [("getrandom", "ahash")];

/// Names in code that mean I/O, a clock, a thread, or an order that differs between runs.
const IMPURE_WORDS: [&str; 19] = [
    "std::env",
    "std::fs",
    "std::io",
    "std::net",
    "std::os",
    "std::process",
    "std::thread",
    "std::time",
    "SystemTime",
    "Instant",
    "HashMap",
    "HashSet",
    "RandomState",
    "thread_local",
    "print",
    "println",
    "eprint",
    "eprintln",
    "dbg",
];

fn is_impure(name: &str) -> bool {
    IMPURE_CRATES.iter().any(|known| match known.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == *known,
    })
}

/// Every crate below the kernel, with the crate that depends on it.
fn dependencies() -> Vec<(String, String)> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--package", "obelus-kernel", "--edges", "normal", "--prefix", "depth", "--locked", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut way: Vec<&str> = Vec::new();
    let mut found = Vec::new();
    // A line has the depth, the name and the version: `2ahash v0.8.12`.
    for line in str::from_utf8(&output.stdout).expect("cargo prints UTF-8").lines() {
        let (name, _) = line.split_once(' ').expect("a version follows the name");
        let (depth, name) = name.split_at(name.find(|c: char| !c.is_ascii_digit()).expect("a name follows the depth"));
        way.truncate(depth.parse().expect("the depth is a number"));
        found.extend(way.last().map(|user| (name.to_owned(), (*user).to_owned())));
        way.push(name);
    }
    found
}

#[test]
fn dependencies_of_the_kernel_do_no_io() {
    let dependencies = dependencies();
    let known = ("serde_json".to_owned(), "obelus-kernel".to_owned());
    assert!(dependencies.contains(&known), "this is not the list of dependencies: {dependencies:?}");
    for (name, user) in dependencies {
        let excepted = EXCEPTIONS.contains(&(name.as_str(), user.as_str()));
        assert!(!is_impure(&name) || excepted, "the kernel depends on `{name}`, through `{user}`");
    }
}

#[test]
fn an_impure_crate_is_detected_by_its_name() {
    for name in ["tokio", "tokio-util", "async-std", "rand", "rand_core", "getrandom", "time", "hyper-util"] {
        assert!(is_impure(name), "{name}");
    }
    for name in ["serde_json", "uuid-simd", "thiserror", "randomness", "timeless"] {
        assert!(!is_impure(name), "{name}");
    }
}

/// The impure names in a source, each with its line. Comments and `Duration` do not count.
fn impure_words(source: &str) -> Vec<(usize, &'static str)> {
    let code: Vec<_> = source.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let code = without_groups(&code.join("\n")).replace("std::time::Duration", "Duration");
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    for (number, line) in (1..).zip(code.lines()) {
        let stands_alone = |word: &str| {
            let around = |at: usize| (&line[..at], &line[at + word.len()..]);
            line.match_indices(word)
                .map(|(at, _)| around(at))
                .any(|(a, b)| !a.ends_with(is_name) && !b.starts_with(is_name))
        };
        found.extend(IMPURE_WORDS.iter().filter(|word| stands_alone(word)).map(|word| (number, *word)));
    }
    found
}

/// Expands `std::{fs, io::{self, Read}}` to `std::fs, std::io::{self, Read}`.
fn without_groups(code: &str) -> String {
    let Some((before, group)) = code.split_once("std::{") else { return code.to_owned() };
    let mut result = format!("{before}std::");
    let mut depth = 1;
    let mut rest = group.char_indices();
    for (_, c) in rest.by_ref() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        match c {
            _ if depth == 0 => break,
            ',' if depth == 1 => result.push_str(", std::"),
            // Moves whitespace before `std::`, so that the name follows it directly, on the same line.
            c if c.is_whitespace() && result.ends_with("std::") => result.insert(result.len() - "std::".len(), c),
            c => result.push(c),
        }
    }
    result + &without_groups(rest.as_str())
}

fn each_source(folder: &Path, visit: &mut impl FnMut(&Path, &str)) {
    for entry in fs::read_dir(folder).expect("the folder is readable") {
        let path = entry.expect("the entry is readable").path();
        if path.is_dir() {
            each_source(&path, visit);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            visit(&path, &fs::read_to_string(&path).expect("the source is readable"));
        }
    }
}

#[test]
fn sources_of_kernel_and_notebook_do_no_io() {
    let mut seen = 0;
    let mut found = Vec::new();
    for name in ["obelus-notebook", "obelus-kernel"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src");
        each_source(&folder, &mut |path, source| {
            seen += 1;
            let words = impure_words(source).into_iter();
            found.extend(words.map(|(line, word)| format!("{}:{line}: {word}", path.display())));
        });
    }
    assert!(seen > 100, "only {seen} sources were found");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn an_impure_source_is_detected() {
    for (source, word) in [
        ("use std::fs;", "std::fs"),
        ("use std::{fmt, fs};", "std::fs"),
        ("use std::{\n    fmt::{self, Write},\n    net::TcpStream,\n};", "std::net"),
        ("let now = std::time::Instant::now();", "Instant"),
        ("let table: HashMap<u8, u8> = HashMap::new();", "HashMap"),
        ("    println!(\"{x}\");", "println"),
        ("std::thread::spawn(work);", "std::thread"),
    ] {
        assert!(impure_words(source).iter().any(|(_, found)| *found == word), "{source}");
    }
    for source in ["// std::fs is not for us", "use std::time::Duration;", "struct Instance;", "fn footprint() {}"] {
        assert_eq!(impure_words(source), [], "{source}");
    }
}

/// Each validator of a schema keeps its properties in hash tables with a new seed.
#[test]
fn the_same_plan_has_the_same_faults_in_the_same_order() {
    let names: Vec<_> = (0..40).map(|index| format!("p{index}")).collect();
    let properties: Map<_, _> = names.iter().map(|name| (name.clone(), json!({"type": "string"}))).collect();
    let mut call: Map<_, _> = names.iter().rev().map(|name| (name.clone(), json!(1))).collect();
    call.extend([("_tool".to_owned(), json!("t")), ("x".to_owned(), json!(1)), ("y".to_owned(), json!(1))]);
    let plan = [call.into()];
    for tool in [
        json!({"properties": properties, "required": ["a", "b", "c"]}),
        json!({"properties": properties, "additionalProperties": false}),
        json!({"properties": properties, "unevaluatedProperties": false}),
        json!({"properties": properties, "patternProperties": {"^[px]": {"minimum": 2}, "1$": {"enum": [2, 3]}}}),
        json!({"allOf": [{"properties": properties}, {"$ref": "#/$defs/d"}], "$defs": {"d": {"properties": properties}}}),
    ] {
        let faults = || {
            let context = Context::from_value(json!([{"type": "tool", "tool": {"t": tool}}])).unwrap();
            check(&plan, PlanMode::Eager, &context).to_json()["errors"].clone()
        };
        let first = faults();
        assert!(first.as_array().unwrap().len() >= 40, "{first}");
        for _ in 0..20 {
            assert_eq!(first, faults());
        }
    }
}
