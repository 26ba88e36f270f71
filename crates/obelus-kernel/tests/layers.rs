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
            "control_field",
            "call_json",
            "money",
            "consent_id",
            "wording",
            "shorten",
            "fault",
            "failure_code",
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
    ("memory", &["fold", "origin", "message", "tool", "context", "shape"]),
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
    without_modules(code, "mod ")
}

/// The code with empty lines in place of its tests.
fn without_tests(code: &str) -> String {
    without_modules(code, "mod tests ")
}

/// The code with empty lines in place of the inner modules whose first line has this text.
fn without_modules(code: &str, named: &str) -> String {
    let mut is_inner = false;
    let line = |line: &str| {
        let begins = !line.starts_with(' ') && line.contains(named) && line.ends_with('{');
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

/// The module of each name that `lib.rs` or `session.rs` has. Names from the notebook are left out.
fn exported(text: &str) -> BTreeMap<String, String> {
    let mut exported = BTreeMap::new();
    for statement in code_of(text).split(';') {
        let mut lines = statement.split_inclusive('\n').skip_while(|line| use_of(line).is_none());
        let Some(first) = lines.next().and_then(use_of) else { continue };
        let path = lines.fold(first.to_owned(), |path, line| path + line);
        let Some((module, names)) = path.trim_start_matches("super::").split_once("::") else { continue };
        if module == "obelus_notebook" {
            continue;
        }
        for name in members(names.trim_start_matches('{')) {
            exported.insert(first_name(&name), module.to_owned());
        }
    }
    exported
}

/// The path of a line with `use`, up to the line's end.
fn use_of(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("pub use ").or_else(|| line.strip_prefix("use "))
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

/// The parts of a session: each owns its data, and does not know the session. `delegates` is left out: it is a map of
/// sessions.
const PARTS: [&str; 15] = [
    "consents",
    "early_calls",
    "file_rules",
    "graph_run",
    "inbox",
    "memory",
    "past",
    "pending_messages",
    "previews",
    "scheduler",
    "spent",
    "state_projection",
    "task_queue",
    "transcript",
    "turn",
];

/// The uses of one part by another that are allowed, each with its reason.
const ALLOWED: [(&str, &str, &str); 3] = [
    ("inbox", "past", "a checkpoint stores them as one object"),
    ("state_projection", "inbox", "it gives the confirmations of open questions their keys"),
    ("turn", "spent", "the usage of a turn is counted like that of the session"),
];

/// The lines of a part that name the session. Its tests may.
fn names_session(text: &str) -> Vec<usize> {
    let code = without_tests(&code_of(text));
    let is_name = |line: &str| words(line).any(|word| word == "Session");
    (1..).zip(code.lines()).filter(|(_, line)| is_name(line)).map(|(number, _)| number).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

/// The path that a text begins with, including its list.
fn path(text: &str) -> &str {
    let mut depth = 0;
    let end = text.find(|c: char| {
        let is_in_path = depth > 0 || c.is_alphanumeric() || "_:{*".contains(c);
        depth += i32::from(c == '{') - i32::from(c == '}');
        !is_in_path
    });
    &text[..end.unwrap_or(text.len())]
}

/// The words of all paths that begin in the module `session`, each with its line. Tests of a part may use all. Below a
/// part's own file, `super::super::` is the session.
fn used_of_session(text: &str, is_below: bool) -> Vec<(usize, String)> {
    let code = without_tests(&code_of(text));
    let outer = if is_below { String::new() } else { without_inner(&code) };
    let mut found = Vec::new();
    for (root, code) in [("session::", &code), ("super::super::", &code), ("super::", &outer)] {
        for (at, _) in code.match_indices(root) {
            let line = code[..at].matches('\n').count() + 1;
            found.extend(words(path(&code[at + root.len()..])).map(|word| (line, word.to_owned())));
        }
    }
    found
}

/// The uses in a file of a part of another part, or of a file that knows the session.
fn offences_of_part(
    file: &str,
    text: &str,
    exported: &BTreeMap<String, String>,
    knows_session: &dyn Fn(&str) -> bool,
) -> Vec<String> {
    let part = file.split(['/', '.']).next().unwrap_or_default();
    let is_allowed = |used: &str| ALLOWED.iter().any(|(user, allowed, _)| (*user, *allowed) == (part, used));
    let mut found: Vec<String> =
        names_session(text).iter().map(|line| format!("{file}:{line}: it names `Session`")).collect();
    for (line, word) in used_of_session(text, file.contains('/')) {
        let used = exported.get(&word).unwrap_or(&word).as_str();
        if PARTS.contains(&used) && used != part && !is_allowed(used) {
            found.push(format!("{file}:{line}: the part `{part}` uses the part `{used}`"));
        } else if !PARTS.contains(&used) && knows_session(used) {
            found.push(format!("{file}:{line}: `{used}` knows the session"));
        }
    }
    found.dedup();
    found
}

#[test]
fn no_part_of_a_session_knows_the_session_or_another_part() {
    let source = sources()[1].clone();
    let folder = source.join("session");
    let exported = exported(&fs::read_to_string(source.join("session.rs")).unwrap());
    let text_of = |module: &str| fs::read_to_string(folder.join(format!("{module}.rs")));
    let knows_session = |module: &str| text_of(module).is_ok_and(|text| !names_session(&text).is_empty());
    let mut found = Vec::new();
    for part in PARTS {
        let mut all = vec![folder.join(format!("{part}.rs"))];
        if folder.join(part).is_dir() {
            files(&folder.join(part), &mut all);
        }
        for path in all.iter().filter(|path| !path.ends_with("tests.rs")) {
            let name = path.strip_prefix(&folder).unwrap().display().to_string();
            found.extend(offences_of_part(&name, &fs::read_to_string(path).unwrap(), &exported, &knows_session));
        }
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

/// The types that a text defines, outside of its tests.
fn types_of(text: &str) -> Vec<String> {
    let code = without_tests(&code_of(text));
    let words: Vec<&str> = words(&code).collect();
    let pairs = words.windows(2).filter(|pair| matches!(pair[0], "struct" | "enum"));
    pairs.map(|pair| pair[1].to_owned()).collect()
}

/// The types for which a text has an `impl`, each with the line. Of `impl Trait for Type`, the type.
fn implemented(text: &str) -> Vec<(usize, String)> {
    let code = without_tests(&code_of(text));
    let of = |(number, line): (usize, &str)| {
        let rest = line.strip_prefix("impl")?;
        let after_generics = || rest.strip_prefix('<').map_or(Some(rest), |rest| Some(rest.split_once("> ")?.1));
        let name = rest.split_once(" for ").map(|(_, name)| name).or_else(after_generics)?;
        Some((number, first_name(name)))
    };
    (1..).zip(code.lines()).filter_map(of).collect()
}

#[test]
fn only_a_part_has_methods_of_its_types() {
    let folder = sources()[1].join("session");
    let mut all = Vec::new();
    files(&folder, &mut all);
    let texts = all.iter().map(|path| (module_of(path, &folder), path, fs::read_to_string(path).unwrap()));
    let texts: Vec<_> = texts.collect();
    let is_part = |module: &str| PARTS.contains(&module) || module == "delegates";
    let owners: BTreeMap<String, &str> = texts
        .iter()
        .filter(|(module, ..)| is_part(module))
        .flat_map(|(module, _, text)| types_of(text).into_iter().map(|name| (name, module.as_str())))
        .collect();
    assert_eq!(owners.get("Job"), Some(&"scheduler"), "the types were not found");
    let mut found = Vec::new();
    for (module, path, text) in &texts {
        for (line, name) in implemented(text) {
            if let Some(owner) = owners.get(&name).filter(|owner| *owner != module) {
                found.push(format!("{}:{line}: `{name}` belongs to the part `{owner}`", path.display()));
            }
        }
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn types_and_their_methods_are_found_in_every_form() {
    let text =
        "/// A struct of one.\npub(super) struct One<'a>(&'a str);\nenum Two {}\nmod tests {\n    struct Three;\n}";
    assert_eq!(types_of(text), ["One", "Two"]);
    let text =
        "impl One {\n}\nimpl<'a> Two<'a> {}\nimpl From<&One> for Three {}\n// impl Four {}\nfn f(_: impl Five) {}";
    let found = [(1, "One"), (3, "Two"), (4, "Three")].map(|(line, name)| (line, name.to_owned()));
    assert_eq!(implemented(text), found);
}

#[test]
fn a_use_of_the_session_or_another_part_is_detected_in_every_form() {
    let exported = exported("pub mod a {\n    pub use super::inbox::Form;\n}\npub use inbox::{About,\n    Question};");
    let knows_session = |module: &str| module == "judge";
    let found = |file: &str, text: &str| offences_of_part(file, text, &exported, &knows_session).len();
    assert_eq!(found("memory.rs", "use super::ids::JobRef;\n// super::inbox\nfn f(_: super::input::Input) {}"), 0);
    assert_eq!(
        found("memory.rs", "/// A Session.\nuse super::{Refused, Session};\nmod tests {\n    use super::Session;\n}"),
        1
    );
    assert_eq!(found("memory.rs", "use super::inbox::Inbox;"), 1);
    assert_eq!(found("memory.rs", "use super::{ids::JobRef,\n    scheduler::{Job, Status}};"), 1);
    assert_eq!(found("memory.rs", "fn f(_: crate::session::Question) {}\nfn g(_: super::a::Form) {}"), 2);
    assert_eq!(found("memory.rs", "use crate::{fault::Fault, session::turn::Turn};"), 1);
    assert_eq!(
        found("memory.rs", "mod inner {\n    use super::inbox::Own;\n    use super::super::inbox::About;\n}"),
        1
    );
    assert_eq!(found("memory.rs", "use super::judge::f;"), 1);
    assert_eq!(found("memory/results.rs", "use super::turn::Own;\nuse super::super::turn::Turn;"), 1);
    assert_eq!(found("inbox/question.rs", "use crate::session::inbox::About;\nuse crate::session::Question;"), 0);
    assert_eq!(found("turn.rs", "use super::spent::Spent;\nmod tests {\n    use crate::session::inbox::About;\n}"), 0);
}
