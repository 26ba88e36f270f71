//! Every fuzz target has seeds, and every folder of seeds a target and a line in `fuzz/README.md`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The names after `fuzz("` and `fuzz_some("` in the sources below a folder.
fn add_targets(folder: &Path, targets: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("readable").path()) {
        if entry.is_dir() {
            add_targets(&entry, targets);
        } else if entry.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&entry).expect("UTF-8");
            for call in ["fuzz(\"", "fuzz_some(\""] {
                let named = text.split(call).skip(1).filter_map(|rest| rest.split_once('"'));
                targets.extend(named.map(|(name, _)| name.to_owned()));
            }
        }
    }
}

#[test]
fn every_fuzz_target_has_seeds_and_is_listed() {
    let mut targets = BTreeSet::new();
    add_targets(&root().join("crates"), &mut targets);
    let folders = fs::read_dir(root().join("fuzz/corpus")).expect("the corpus");
    let seeds: BTreeSet<String> =
        folders.map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned()).collect();
    assert_eq!(targets, seeds);
    let list = fs::read_to_string(root().join("fuzz/README.md")).expect("the list");
    let unlisted: Vec<&String> = seeds.iter().filter(|name| !list.contains(&format!("`{name}`"))).collect();
    assert!(unlisted.is_empty(), "fuzz/README.md does not name {unlisted:?}");
}
