//! Links between documents have a target, also in the book of `docs/`, and the book contains every document.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the repository")
}

/// The documents of the repository, relative to its root.
fn documents() -> Vec<PathBuf> {
    let markdown = |folder: &str| {
        let entries = fs::read_dir(root().join(folder)).unwrap_or_else(|error| panic!("{folder}: {error}"));
        let names = entries.map(|entry| entry.expect("readable").file_name());
        let folder = folder.to_owned();
        names
            .map(move |name| Path::new(&folder).join(name))
            .filter(|path| path.extension().is_some_and(|of| of == "md"))
    };
    ["", "docs", "examples", "vectors"].into_iter().flat_map(markdown).collect()
}

/// The lines outside fences with their numbers, without text in backticks.
fn prose(text: &str) -> Vec<(usize, String)> {
    let mut in_fence = false;
    let mut lines = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
        } else if !in_fence {
            let words: Vec<&str> = line.split('`').step_by(2).collect();
            lines.push((number, words.join("`")));
        }
    }
    lines
}

/// The targets of `[words](target)` in a line.
fn targets(line: &str) -> Vec<&str> {
    line.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(target, _)| target)).collect()
}

/// The anchors of a document's headings, as GitHub and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut in_fence = false;
    let mut found = BTreeSet::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
        }
        let words = line.trim_start_matches('#');
        if in_fence || words.len() == line.len() || !words.starts_with(' ') {
            continue;
        }
        found.insert(anchor(words.trim()));
    }
    found
}

fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The problem of a link, if it has no target.
fn problem(document: &Path, text: &str, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, fragment) = target.split_once('#').map_or((target, None), |(path, fragment)| (path, Some(fragment)));
    // The book has the files of `docs/` alone.
    if document.starts_with("docs") && path.starts_with("../") {
        return Some("it leaves the book: name the path in the repository instead, without a link".to_owned());
    }
    let file = root().join(document.parent().expect("a folder")).join(path);
    if !path.is_empty() && !file.exists() {
        return Some("there is no such file".to_owned());
    }
    let fragment = fragment?;
    let other = if path.is_empty() { text.to_owned() } else { fs::read_to_string(&file).ok()? };
    (!anchors(&other).contains(fragment)).then(|| format!("there is no heading `#{fragment}`"))
}

#[test]
fn every_link_has_a_target() {
    let mut problems = Vec::new();
    for document in documents() {
        let text = fs::read_to_string(root().join(&document)).expect("readable");
        for (line, words) in prose(&text) {
            for target in targets(&words) {
                if let Some(why) = problem(&document, &text, target) {
                    problems.push(format!("{}:{line}: {target}: {why}", document.display()));
                }
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn the_book_lists_every_document() {
    let summary = fs::read_to_string(root().join("docs/SUMMARY.md")).expect("docs/SUMMARY.md");
    let listed: BTreeSet<&str> = summary.lines().flat_map(targets).collect();
    let names =
        documents().into_iter().filter_map(|path| Some(path.strip_prefix("docs").ok()?.to_string_lossy().into_owned()));
    let missing: Vec<String> = names.filter(|name| name != "SUMMARY.md" && !listed.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "add them to docs/SUMMARY.md: {missing:?}");
    let pages: Vec<&str> = summary.lines().flat_map(targets).collect();
    assert_eq!(pages.len(), listed.len(), "a page stands twice in docs/SUMMARY.md");
}

#[test]
fn a_link_to_a_missing_file_or_heading_is_found() {
    let here = Path::new("docs/plans.md");
    let text = "# Plans\n\n## `exec`: a program\n";
    assert_eq!(problem(here, text, "#exec-a-program"), None);
    assert_eq!(problem(Path::new("README.md"), text, "docs/plans.md"), None);
    assert!(problem(here, text, "../README.md").is_some(), "the book has no README");
    assert!(problem(here, text, "#exec").is_some());
    assert!(problem(here, text, "nowhere.md").is_some());
    assert_eq!(targets("see [a](b.md) and [c](d.md#e)"), ["b.md", "d.md#e"]);
}
