//! Limits the public names of the crates for embedders: few at the roots, the others in modules by subject.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The most names at the root of a crate.
const MOST_AT_ROOT: usize = 40;
/// The most names in one of its modules.
const MOST_IN_MODULE: usize = 40;
/// The most names of each crate altogether.
const MOST_OF_CRATE: [(&str, usize); 2] = [("obelus-kernel", 140), ("obelus-runtime", 152)];

/// The files of a crate with `pub use` lines for embedders, each with its module.
const FILES: [(&str, &[(&str, &str)]); 2] = [
    (
        "obelus-kernel",
        &[
            ("lib.rs", ""),
            ("policy.rs", "policy"),
            ("session.rs", "session"),
            ("session/ids.rs", "session::ids"),
            ("session/plan_graph.rs", "session::plan_graph"),
            ("session/report_error.rs", "session::report_error"),
        ],
    ),
    ("obelus-runtime", &[("lib.rs", "")]),
];

/// The names that `pub use` brings into each module of a file, and the public items of the file itself. It relies on
/// the indentation by rustfmt.
fn names(text: &str, module: &str) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut place = module.to_owned();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(path) = line.trim_start().strip_prefix("pub use ") {
            let mut path = path.to_owned();
            while !path.ends_with(';') {
                path.push_str(lines.next().expect("a statement has an end"));
            }
            found.entry(place.clone()).or_default().extend(last_names(path.trim_end_matches(';')));
        } else if let Some(name) = line.strip_prefix("pub mod ").and_then(|rest| rest.strip_suffix(" {")) {
            place = if module.is_empty() { name.to_owned() } else { format!("{module}::{name}") };
        } else if line == "}" {
            place = module.to_owned();
        } else if let Some(name) = item_name(line) {
            found.entry(place.clone()).or_default().push(name);
        }
    }
    found
}

/// The names at the end of a path, or in the braces that end it.
fn last_names(path: &str) -> Vec<String> {
    let all = path.split_once('{').map_or(path, |(_, list)| list.trim_end_matches('}'));
    let name = |part: &str| part.trim().rsplit([':', ' ']).next().unwrap_or_default().to_owned();
    all.split(',').map(name).filter(|name| !name.is_empty()).collect()
}

/// The name of a public item at the beginning of its line.
fn item_name(line: &str) -> Option<String> {
    let (kind, rest) = line.strip_prefix("pub ")?.split_once(' ')?;
    let is_item = matches!(kind, "struct" | "enum" | "trait" | "fn" | "type" | "const" | "static");
    is_item.then(|| rest.split(['(', '<', ':', ' ', ';']).next().unwrap_or_default().to_owned())
}

#[test]
fn the_public_api_has_few_names() {
    for ((krate, files), (_, most)) in FILES.iter().zip(MOST_OF_CRATE) {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates").join(krate).join("src");
        let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (file, module) in *files {
            let text = fs::read_to_string(source.join(file)).expect("a source");
            names(&text, module).into_iter().for_each(|(module, names)| all.entry(module).or_default().extend(names));
        }
        for (module, names) in &all {
            let limit = if module.is_empty() { MOST_AT_ROOT } else { MOST_IN_MODULE };
            assert!(names.len() <= limit, "{krate}::{module} has {} names: {names:?}", names.len());
        }
        let count: usize = all.values().map(Vec::len).sum();
        assert!(count > 80, "{krate}: the names were not found: {all:?}");
        assert!(count <= most, "{krate} has {count} public names, {most} are the most");
    }
}

#[test]
fn names_are_counted_by_module() {
    let text = "mod a;\npub mod b;\nuse x::y;\npub use a::{A, B as C};\npub(crate) use a::D;\n\npub mod group {\n    \
                pub use crate::a::{\n        E, F,\n    };\n    pub use crate::a::G;\n}\n\n/// H.\n#[derive(Clone)]\npub \
                struct H {\n    pub field: u8,\n}\n\nimpl H {\n    pub fn method(&self) {}\n}\n\npub use a::I;\n";
    let found = names(text, "");
    assert_eq!(found[""], ["A", "C", "H", "I"]);
    assert_eq!(found["group"], ["E", "F", "G"]);
}
