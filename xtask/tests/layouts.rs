//! Compares the table of files in the documentation of a module (`//! | file | …`) with the files of its folder.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The Rust files below a folder.
fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

/// The words in backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The differences between the tables of a module and the files of its folder. A module without a table of files has
/// none. Files may also be named in a table of parts, or in the text of a row.
fn differences(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).expect("UTF-8");
    let rows: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("//! |")).collect();
    let Some(head) = rows.iter().position(|row| row.starts_with(" file ")) else { return Vec::new() };
    let is_root = file.ends_with("lib.rs") || file.ends_with("main.rs");
    let folder = if is_root { file.parent().expect("a folder").to_owned() } else { file.with_extension("") };
    let modules = text.lines().filter_map(|line| line.strip_suffix(';')?.rsplit_once("mod ")).map(|(_, name)| name);
    let is_test = |name: &&str| text.contains(&format!("#[cfg(test)]\nmod {name};"));
    let has_file = |name: &&str| folder.join(format!("{name}.rs")).exists();
    let files: BTreeSet<&str> = modules.filter(|name| has_file(name) && !is_test(name)).collect();
    let named = rows[head..].iter().flat_map(|row| quoted(row.split('|').next().unwrap_or_default()));
    let missing = named.filter(|name| !files.contains(name)).map(|name| format!("there is no file `{name}`"));
    let mentioned: BTreeSet<&str> = rows.iter().flat_map(|row| quoted(row)).collect();
    let unlisted = files.difference(&mentioned).map(|name| format!("`{name}` is not in the table"));
    missing.chain(unlisted).map(|what| format!("{}: {what}", file.display())).collect()
}

#[test]
fn every_layout_table_names_exactly_the_files_of_its_folder() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates"), &mut files);
    let wrong: Vec<String> = files.iter().flat_map(|file| differences(file)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
