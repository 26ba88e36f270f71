//! The modules of the notebook and the kernel depend on each other in one direction: each uses only those before it in
//! [`LAYERS`].

#![expect(clippy::disallowed_methods, reason = "the test itself reads files")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The layers from the top, each with its modules in order. The notebook holds all but the last two.
///
/// Tools belong to memory: a message defines a tool, and the context holds what messages define.
const LAYERS: [(&str, &[&str]); 6] = [
    (
        "values",
        &[
            "sent_by",
            "call_fields",
            "money",
            "consent_id",
            "wording",
            "shorten",
            "fault",
            "names",
            "canonical",
            "path",
            "expr",
            "template",
            "schema",
            "time",
            "glob",
            "visible",
            "quote",
            "jq",
            "mention",
            "dotted",
        ],
    ),
    ("memory", &["fold", "origin", "message", "tool", "context"]),
    ("offer", &["call", "dialect", "compose", "requested", "grounding"]),
    ("plan", &["plan", "steps"]),
    ("policy", &["policy"]),
    ("session", &["session"]),
];

/// The sources of the notebook and of the kernel.
fn sources() -> [PathBuf; 2] {
    ["obelus-notebook", "obelus-kernel"]
        .map(|name| Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src"))
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        match path.is_dir() {
            true => files(&path, found),
            false => found.push(path),
        }
    }
}

/// The top-level module that a file belongs to.
fn module_of(file: &Path, source: &Path) -> String {
    let first = file.strip_prefix(source).unwrap().components().next().unwrap();
    first.as_os_str().to_str().unwrap().trim_end_matches(".rs").to_owned()
}

/// The names that follow each `crate::`, with the line; `crate::{a::b, c}` has several.
fn used(text: &str) -> Vec<(usize, String)> {
    let code: Vec<&str> = text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let code = code.join("\n");
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let line = code[..at].matches('\n').count() + 1;
        let rest = &code[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            None => found.push((line, first_name(rest))),
            Some(list) => found.extend(members(list).iter().map(|member| (line, first_name(member)))),
        }
    }
    found
}

/// The members of a list, up to its closing brace.
fn members(list: &str) -> Vec<String> {
    let (mut depth, mut all) = (0, vec![String::new()]);
    for c in list.chars() {
        match c {
            '}' if depth == 0 => break,
            ',' if depth == 0 => all.push(String::new()),
            _ => {
                depth += i32::from(c == '{') - i32::from(c == '}');
                all.last_mut().unwrap().push(c);
            }
        }
    }
    all.retain(|member| !member.trim().is_empty());
    all
}

fn first_name(text: &str) -> String {
    text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// The module of each name that `lib.rs` exports. Names from the notebook are left out.
fn exported(lib: &str) -> BTreeMap<String, String> {
    let mut exported = BTreeMap::new();
    for statement in lib.split(';') {
        let Some((_, path)) = statement.split_once("pub use ") else { continue };
        let Some((module, names)) = path.split_once("::") else { continue };
        if module == "obelus_notebook" {
            continue;
        }
        for name in members(names.trim_start_matches('{')) {
            exported.insert(first_name(&name), module.to_owned());
        }
    }
    exported
}

/// The forbidden dependencies in a file.
fn offences(file: &str, module: &str, text: &str, exported: &BTreeMap<String, String>) -> Vec<String> {
    let order: Vec<&str> = LAYERS.iter().flat_map(|(_, modules)| *modules).copied().collect();
    let place = |module: &str| order.iter().position(|known| *known == module);
    let Some(own) = place(module) else { return vec![format!("{file}: the module `{module}` is in no layer")] };
    let mut found = Vec::new();
    for (line, name) in used(text) {
        let used = exported.get(&name).unwrap_or(&name);
        match place(used) {
            Some(other) if other <= own => {}
            Some(_) => found.push(format!("{file}:{line}: `{module}` uses `{used}`, which is below it")),
            None => found.push(format!("{file}:{line}: `{used}` is in no layer")),
        }
    }
    found
}

#[test]
fn no_module_uses_one_below_it() {
    let mut found = Vec::new();
    for source in sources() {
        let mut all = Vec::new();
        files(&source, &mut all);
        let exported = exported(&fs::read_to_string(source.join("lib.rs")).unwrap());
        for file in all.iter().filter(|file| module_of(file, &source) != "lib") {
            let name = file.strip_prefix(&source).unwrap().display().to_string();
            found.extend(offences(&name, &module_of(file, &source), &fs::read_to_string(file).unwrap(), &exported));
        }
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn a_forbidden_use_is_detected_in_every_form() {
    let exported = exported("mod call;\npub use call::{Call, Scope};\nmod fold;\npub use fold::Method;");
    let found = |text: &str| offences("fold.rs", "fold", text, &exported).len();
    assert_eq!(found("use crate::path::Path;\n// crate::session\nfn f(_: crate::Method) {}"), 0);
    assert_eq!(found("use crate::session::{Mode, Policy};"), 1);
    assert_eq!(found("use crate::{path::{Path, Segment},\n    session::Mode, Call};"), 2);
    assert_eq!(found("fn f(_: crate::Scope) {}"), 1);
    assert_eq!(found("use crate::nowhere::X;"), 1);
}
