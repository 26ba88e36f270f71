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
            "call_json",
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
            "request_place",
            "picture",
            "observation",
        ],
    ),
    ("memory", &["fold", "origin", "message", "tool", "context"]),
    (
        "offer",
        &[
            "call",
            "call_texts",
            "describe",
            "edited",
            "transcript_entry",
            "dialect",
            "compose",
            "requested",
            "grounding",
        ],
    ),
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
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// The top-level module that a file belongs to.
fn module_of(file: &Path, source: &Path) -> String {
    let first = file.strip_prefix(source).unwrap().components().next().unwrap();
    first.as_os_str().to_str().unwrap().trim_end_matches(".rs").to_owned()
}

/// The code without comments and texts; lines stay where they are.
fn code_of(text: &str) -> String {
    let (mut code, mut rest) = (String::new(), text);
    while let Some(c) = rest.chars().next() {
        let skipped = match c {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '"' => end_of_text(rest),
            // Not a lifetime: a character in quotes may be a quote.
            '\'' if rest.starts_with("'\"'") || rest.starts_with("'\\") => 3 + usize::from(rest.starts_with("'\\")),
            'r' if !code.ends_with(|c: char| c.is_alphanumeric() || c == '_') && is_raw(rest) => end_of_raw(rest),
            _ => {
                code.push(c);
                rest = &rest[c.len_utf8()..];
                continue;
            }
        };
        let (left_out, more) = rest.split_at(skipped.min(rest.len()));
        code.extend(left_out.chars().filter(|c| *c == '\n'));
        rest = more;
    }
    code
}

/// The length of a text in quotes.
fn end_of_text(text: &str) -> usize {
    let mut is_escaped = true;
    let end = text.char_indices().find(|(_, c)| {
        let ends = *c == '"' && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        ends
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}

fn is_raw(text: &str) -> bool {
    text[1..].trim_start_matches('#').starts_with('"')
}

/// The length of a raw text.
fn end_of_raw(text: &str) -> usize {
    let marks = text[1..].chars().take_while(|c| *c == '#').count();
    let (begin, end) = (marks + 2, format!("\"{}", "#".repeat(marks)));
    text[begin..].find(&end).map_or(text.len(), |at| begin + at + end.len())
}

/// The code with empty lines in place of its inner modules, tests among them.
fn without_inner(code: &str) -> String {
    let mut is_inner = false;
    let line = |line: &str| {
        let begins = !line.starts_with(' ') && line.contains("mod ") && line.ends_with('{');
        let is_left_out = is_inner || begins;
        is_inner = is_left_out && line != "}";
        if is_left_out { "\n".to_owned() } else { format!("{line}\n") }
    };
    code.lines().map(line).collect()
}

/// The names that follow each `crate::`, with the line; `crate::{a::b, c}` has several. In a file of a top-level
/// module `super::` is the crate, except in its inner modules.
fn used(text: &str, is_top_level: bool) -> Vec<(usize, String)> {
    let code = code_of(text);
    let outer = if is_top_level { without_inner(&code) } else { String::new() };
    let mut found = Vec::new();
    for (root, code) in [("crate::", code), ("super::", outer)] {
        for (at, _) in code.match_indices(root) {
            let line = code[..at].matches('\n').count() + 1;
            let rest = &code[at + root.len()..];
            match rest.strip_prefix('{') {
                None => found.push((line, first_name(rest))),
                Some(list) => found.extend(members(list).iter().map(|member| (line, first_name(member)))),
            }
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
    for (line, name) in used(text, !file.contains('/')) {
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
    assert_eq!(found("use super::session::Mode;\npub mod a {\n    use super::Fold;\n}"), 1);
    assert_eq!(found("mod tests {\n    use super::Fold;\n}\nuse super::session::Mode;"), 1);
    assert_eq!(found("const A: &str = \"http://a\"; use crate::session::Mode;"), 1, "that is no comment");
    assert_eq!(found("const A: &str = \"crate::session\"; // crate::session"), 0);
    assert_eq!(
        found("const A: &str = r#\"a \" crate::session\"#;\nconst B: char = '\"'; use crate::session::Mode;"),
        1
    );
    assert_eq!(
        offences("fold/inner.rs", "fold", "use super::session::X;", &exported).len(),
        0,
        "that is of the folder"
    );
}

/// The parts of a session: each owns its data, and does not know the session. `delegate` is left out: it is a map of
/// sessions.
const PARTS: [&str; 12] = [
    "consents",
    "file_rules",
    "graph_run",
    "inbox",
    "memory",
    "pending_messages",
    "scheduler",
    "spent",
    "state_projection",
    "task_queue",
    "transcript",
    "turn",
];

/// The lines of a part that name the session. Its tests may.
fn names_session(text: &str) -> Vec<usize> {
    let outer = without_inner(&code_of(text));
    let is_name = |line: &str| line.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| word == "Session");
    (1..).zip(outer.lines()).filter(|(_, line)| is_name(line)).map(|(number, _)| number).collect()
}

#[test]
fn no_part_of_a_session_knows_the_session() {
    let folder = sources()[1].join("session");
    let mut found = Vec::new();
    for part in PARTS {
        let mut all = vec![folder.join(format!("{part}.rs"))];
        if folder.join(part).is_dir() {
            files(&folder.join(part), &mut all);
        }
        for file in all {
            let lines = names_session(&fs::read_to_string(&file).unwrap());
            found.extend(lines.iter().map(|line| format!("{}:{line}", file.strip_prefix(&folder).unwrap().display())));
        }
    }
    assert!(found.is_empty(), "these name `Session`:\n{}", found.join("\n"));
    assert_eq!(
        names_session("/// A Session.\nuse super::{Refused, Session};\nmod tests {\n    use super::Session;\n}"),
        [2]
    );
}
