//! Checks that each type name is defined once in the workspace, so that it means one thing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Names that may be defined more than once, because they mean the same thing, each with the reason.
const PERMITTED: &[(&str, &str)] = &[];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every Rust file below a folder, except tests.
fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("readable").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && name != "tests" {
            sources(&path, into);
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
            into.push(path);
        }
    }
}

/// The types that a file defines outside of its test modules. It relies on the indentation by rustfmt.
fn types(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut is_for_tests = false;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if is_for_tests && line.starts_with("mod ") && line.ends_with('{') {
            lines.by_ref().take_while(|line| *line != "}").for_each(drop);
        }
        is_for_tests = line == "#[cfg(test)]" || (is_for_tests && line.starts_with("#["));
        found.extend(type_name(line));
    }
    found
}

/// The name of a type whose definition begins in this line. An indented `type` belongs to a trait.
fn type_name(line: &str) -> Option<&str> {
    let code = line.trim_start();
    let code = match code.strip_prefix("pub(") {
        Some(rest) => rest.split_once(") ")?.1,
        None => code.strip_prefix("pub ").unwrap_or(code),
    };
    let (kind, rest) = code.split_once(' ')?;
    let is_type = matches!(kind, "struct" | "enum" | "trait") || (kind == "type" && !line.starts_with(' '));
    let name = rest.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    Some(name).filter(|name| is_type && name.starts_with(|c: char| c.is_ascii_uppercase()))
}

#[test]
fn a_type_name_is_defined_once() {
    let mut files = Vec::new();
    for krate in fs::read_dir(root().join("crates")).expect("the crates") {
        sources(&krate.expect("readable").path().join("src"), &mut files);
    }
    sources(&root().join("xtask/src"), &mut files);
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("UTF-8");
        let place = file.strip_prefix(root()).unwrap_or(&file).display().to_string();
        types(&text).into_iter().for_each(|name| all.entry(name.to_owned()).or_default().push(place.clone()));
    }
    assert!(all.len() > 1_000, "the types were not found");
    all.retain(|_, places| places.len() > 1);
    for (name, reason) in PERMITTED {
        assert!(all.remove(*name).is_some(), "{name} is defined once now; it needs no exception ({reason})");
    }
    let repeated: Vec<String> = all.iter().map(|(name, places)| format!("{name}: {}", places.join(", "))).collect();
    assert!(repeated.is_empty(), "give each type a name of its own:\n{}", repeated.join("\n"));
}

#[test]
fn types_are_found_outside_of_test_modules() {
    let text = "pub struct A<T>(T);\npub(in crate::a) enum B {\n    C,\n}\ntype D = u8;\n\nimpl E for A {\n    type F = \
                u8;\n}\n\nmacro_rules! g {\n    () => {\n        pub struct H;\n    };\n}\n\n#[cfg(test)]\n#[path = \
                \"i.rs\"]\nmod i;\n\nfn j() {\n    struct K;\n}\n\n#[cfg(test)]\nmod tests {\n    struct L;\n}\n\ntrait \
                M {}\n";
    assert_eq!(types(text), ["A", "B", "D", "H", "K", "M"]);
}
