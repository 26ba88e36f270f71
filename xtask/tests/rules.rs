//! Checks that `docs/rules.md` lists every rule id in the repository.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Text files that may name a rule.
const EXTENSIONS: [&str; 9] = ["rs", "md", "json", "yaml", "yml", "jinja", "toml", "py", "html"];

/// Folders with files that are not part of the project.
const SKIPPED: [&str; 3] = [".git", "target", "node_modules"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The ids of the list, in its order.
fn listed() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("docs/rules.md")).unwrap();
    let id = |line: &str| Some(line.strip_prefix("| ")?.split_once(" |")?.0.to_owned());
    text.lines().filter_map(id).filter(|id| id.contains('-')).collect()
}

fn families(ids: &[String]) -> BTreeSet<&str> {
    ids.iter().filter_map(|id| Some(id.split_once('-')?.0)).collect()
}

/// The rule ids in a text: a family, `-`, a number, with no letter or digit beside them.
fn named<'t>(text: &'t str, families: &BTreeSet<&str>) -> Vec<&'t str> {
    let words = text.split(|sign: char| !sign.is_ascii_alphanumeric() && sign != '-');
    let is_id = |word: &&str| {
        word.split_once('-').is_some_and(|(family, number)| {
            families.contains(family) && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    words.filter(is_id).collect()
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_symlink() || SKIPPED.contains(&name.as_ref()) {
            continue;
        }
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|end| EXTENSIONS.iter().any(|known| *known == end)) {
            found.push(path);
        }
    }
}

#[test]
fn every_rule_id_in_the_repository_is_listed() {
    let ids = listed();
    let families = families(&ids);
    let mut paths = Vec::new();
    files(&root(), &mut paths);
    let mut unlisted: BTreeMap<String, PathBuf> = BTreeMap::new();
    let mut count = 0;
    for path in paths {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        for id in named(&text, &families) {
            count += 1;
            if !ids.iter().any(|known| known == id) {
                unlisted.insert(id.to_owned(), path.clone());
            }
        }
    }
    assert!(count > 500, "only {count} ids were found: the search is broken");
    assert_eq!(unlisted, BTreeMap::new(), "add these to docs/rules.md");
}

#[test]
fn the_list_numbers_each_family_without_gaps_or_repetitions() {
    let ids = listed();
    for family in families(&ids) {
        let prefix = format!("{family}-");
        let numbers: Vec<usize> = ids.iter().filter_map(|id| id.strip_prefix(&prefix)?.parse().ok()).collect();
        assert_eq!(numbers, (1..=numbers.len()).collect::<Vec<_>>(), "{family}");
    }
}

#[test]
fn ids_are_found_as_whole_words() {
    let ids = ["AB-1".to_owned(), "C24-2".to_owned()];
    let text = "AB-1, (C24-23) AB-x XAB-3 AB-4a UTF-8 `AB-9`";
    assert_eq!(named(text, &families(&ids)), ["AB-1", "C24-23", "AB-9"]);
}
