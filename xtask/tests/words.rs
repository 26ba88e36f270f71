//! Checks that texts for users of agents come from one table, `crates/obelus-words`, in Russian and in English.
//!
//! Authors of agents read English: help, errors of files, `agents`, `plan check`, `eval`, `vectors`.

use std::fs;
use std::path::{Path, PathBuf};

/// Places with Russian letters outside the table, and why.
const RUSSIAN: [(&str, &str); 13] = [
    ("obelus-sandbox/src/", "the practice portal speaks as a portal does, from a table of its own"),
    ("obelus-notebook/src/mention/", "reads numbers, dates, names, and a yes and a no that people write"),
    ("obelus-notebook/src/quote.rs", "knows letters that look alike"),
    ("obelus-connect/src/operator/record/answer.rs", "reads what an item of a plan is about"),
    ("obelus-connect/src/operator/record/words.rs", "reads which element a text names"),
    ("obelus-runtime/src/mask/phone.rs", "reads the names of fields with telephone numbers"),
    ("obelus-runtime/src/view/form.rs", "reads a typed yes and no"),
    ("obelus-runtime/src/view/golden.rs", "has questions for tests"),
    ("obelus-runtime/src/view/sample.rs", "has questions for tests"),
    ("obelus-draw/src/text.rs", "knows how wide letters are"),
    ("obelus/src/cmd/agents/pin.rs", "reads a typed yes"),
    ("obelus/src/cmd/chat/approve.rs", "reads keys of a Russian keyboard"),
    ("obelus/src/cmd/remote/talk.rs", "reads a typed yes and no"),
];

/// Commands with English texts only, because their readers are authors of agents, and why. With a part of a literal the
/// entry is for that literal alone.
const ENGLISH: [(&str, &str, &str); 7] = [
    ("agents.rs", "", "shows and checks files of agents"),
    ("agents/", "", "pins and logs in for the author of an agent"),
    ("eval.rs", "", "measures an agent"),
    ("plan.rs", "", "checks and draws files of plans"),
    ("plan/load.rs", "", "errors of files"),
    ("resolve.rs", "", "evaluates an expression of a file"),
    ("host.rs", "it maps names to what they do", "errors of files"),
];

/// Functions and macros that print to people or create errors that are printed.
const PRINTERS: [&str; 15] = [
    "output::note(",
    "output::answer(",
    "output::warning(",
    "output::error(",
    "println!(",
    "eprintln!(",
    "bail!(",
    "anyhow!(",
    ".context(",
    ".with_context(",
    ".complain(",
    ".note(",
    "Line::of(",
    ".own(",
    "write!(",
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates")
}

/// The Rust sources below a folder without tests, by their paths from `crates`.
fn sources(folder: &Path, into: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("readable").path();
        let name = path.strip_prefix(crates()).expect("below it").to_string_lossy().into_owned();
        if path.is_dir() && !name.ends_with("/tests") {
            sources(&path, into);
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") && !name.ends_with("testing.rs") {
            into.push((name, without_tests(&fs::read_to_string(&path).expect("UTF-8"))));
        }
    }
}

/// A source without its test modules, with the same line numbers. It relies on the indentation by rustfmt.
fn without_tests(text: &str) -> String {
    let mut lines = text.lines();
    let mut kept = String::new();
    while let Some(line) = lines.next() {
        kept.push_str(line);
        kept.push('\n');
        if line == "#[cfg(test)]" && lines.next().is_some_and(|next| next.ends_with('{')) {
            kept.push('\n');
            for _ in lines.by_ref().take_while(|line| *line != "}") {
                kept.push('\n');
            }
        }
    }
    kept
}

/// The string and character literals of a source, each with its position. Comments are skipped.
fn literals(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let raw = rest.strip_prefix('r').map(|rest| rest.len() - rest.trim_start_matches('#').len());
        let raw = raw.filter(|hashes| rest[1 + hashes..].starts_with('"') && !text[..at].ends_with(is_name));
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if let Some(hashes) = raw {
            let begin = at + 2 + hashes;
            let end = format!("\"{}", "#".repeat(hashes));
            let length = text[begin..].find(&end).unwrap_or(text.len() - begin);
            found.push((at, text[begin..begin + length].to_owned()));
            at = begin + length + end.len();
        } else if let Some(inner) = rest.strip_prefix('"') {
            let length = quoted(inner, '"');
            found.push((at, rest[1..=length].to_owned()));
            at += length + 2;
        } else if let Some(length) = character(rest) {
            found.push((at, rest[1..length - 1].to_owned()));
            at += length;
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    found
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The length of a literal up to its closing quote.
fn quoted(rest: &str, close: char) -> usize {
    let mut is_escaped = false;
    let end = rest.char_indices().find(|(_, c)| {
        let ends = *c == close && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        ends
    });
    end.map_or(rest.len(), |(at, _)| at)
}

/// The length of a character literal; none for a lifetime.
fn character(rest: &str) -> Option<usize> {
    let inner = rest.strip_prefix('\'')?;
    let length = quoted(inner, '\'');
    let is_one = inner.starts_with('\\') || inner.chars().nth(1) == Some('\'');
    (is_one && length < 12).then_some(length + 2)
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

fn is_russian(text: &str) -> bool {
    text.chars().any(|c| ('\u{400}'..='\u{4ff}').contains(&c))
}

/// Whether a literal has two adjacent English words. Values, options and names in backticks do not count.
fn is_english(literal: &str) -> bool {
    let mut plain = String::new();
    for (index, part) in literal.split('`').enumerate() {
        plain.push_str(if index % 2 == 0 { part } else { "{}" });
    }
    let is_word = |word: &str| {
        let word = word.trim_matches(|c: char| c.is_ascii_punctuation() && !matches!(c, '{' | '}' | '-' | '_'));
        word.len() > 1 && word.chars().all(|c| c.is_ascii_alphabetic() || c == '\'')
    };
    let words: Vec<&str> = plain.split_whitespace().collect();
    words.windows(2).any(|pair| is_word(pair[0]) && is_word(pair[1]))
}

/// The literals passed to printers, each with its line.
fn printed(text: &str) -> Vec<(usize, String)> {
    let literals = literals(text);
    let is_inside = |at: usize| literals.iter().any(|(begin, text)| (*begin..*begin + text.len()).contains(&at));
    let mut spans = Vec::new();
    for printer in PRINTERS {
        for (at, _) in text.match_indices(printer).filter(|(at, _)| !is_inside(*at)) {
            let begin = at + printer.len();
            let mut depth = 1;
            let end = text[begin..].char_indices().find(|(offset, c)| {
                let counts = !is_inside(begin + offset);
                depth += i32::from(counts && *c == '(') - i32::from(counts && *c == ')');
                depth == 0
            });
            spans.push(begin..begin + end.map_or(0, |(offset, _)| offset));
        }
    }
    let is_printed = |at: &usize| spans.iter().any(|span| span.contains(at));
    literals
        .iter()
        .filter(|(at, _)| is_printed(at))
        .map(|(at, literal)| (line_of(text, *at), literal.clone()))
        .collect()
}

#[test]
fn russian_text_occurs_only_in_the_table_of_words() {
    let mut all = Vec::new();
    for entry in fs::read_dir(crates()).expect("the crates") {
        let folder = entry.expect("readable").path().join("src");
        if folder.is_dir() && !folder.ends_with("obelus-words/src") {
            sources(&folder, &mut all);
        }
    }
    assert!(all.len() > 300, "the sources were not found");
    let mut used = Vec::new();
    let mut wrong = Vec::new();
    for (name, text) in &all {
        for (at, literal) in literals(text).into_iter().filter(|(_, literal)| is_russian(literal)) {
            match RUSSIAN.iter().find(|(known, _)| name.starts_with(known)) {
                Some((known, _)) => used.push(*known),
                None => wrong.push(format!("{name}:{}: {literal}", line_of(text, at))),
            }
        }
    }
    assert!(wrong.is_empty(), "put these into crates/obelus-words, with their English:\n{}", wrong.join("\n"));
    let unused: Vec<&str> = RUSSIAN.iter().map(|(known, _)| *known).filter(|known| !used.contains(known)).collect();
    assert!(unused.is_empty(), "no Russian is left in {unused:?}: take them from the list");
}

#[test]
fn commands_print_only_sentences_of_the_table() {
    let folder = crates().join("obelus/src/cmd");
    let mut all = Vec::new();
    sources(&folder, &mut all);
    assert!(all.len() > 40, "the commands were not found");
    let mut used = Vec::new();
    let mut wrong = Vec::new();
    for (name, text) in &all {
        let name = name.trim_start_matches("obelus/src/cmd/");
        for (line, literal) in printed(text).into_iter().filter(|(_, literal)| is_english(literal)) {
            match ENGLISH.iter().position(|(known, part, _)| name.starts_with(known) && literal.contains(part)) {
                Some(index) => used.push(index),
                None => wrong.push(format!("{name}:{line}: {literal}")),
            }
        }
    }
    assert!(wrong.is_empty(), "take these from crates/obelus-words, in both languages:\n{}", wrong.join("\n"));
    let unused: Vec<_> = (0..ENGLISH.len()).filter(|index| !used.contains(index)).map(|index| ENGLISH[index]).collect();
    assert!(unused.is_empty(), "nothing is printed there: take these from the list: {unused:?}");
}

#[test]
fn a_sentence_outside_the_table_is_detected() {
    let text = "// note: \"в комментарии\"\nfn f<'a>(x: &'a str) {\n    output::note(\"it is done\");\n    \
                output::note(&format!(\"{x}: {}\", say('ж', \"y)\")));\n    let r = r#\"это \"так\"\"#;\n}\n\n\
                #[cfg(test)]\nmod tests {\n    const X: &str = \"тест\";\n}\n";
    let text = without_tests(text);
    let russian: Vec<_> = literals(&text).into_iter().filter(|(_, literal)| is_russian(literal)).collect();
    let russian: Vec<_> = russian.iter().map(|(at, literal)| (line_of(&text, *at), literal.as_str())).collect();
    assert_eq!(russian, [(4, "ж"), (5, "это \"так\"")]);
    let english: Vec<_> = printed(&text).into_iter().filter(|(_, literal)| is_english(literal)).collect();
    assert_eq!(english, [(3, "it is done".to_owned())]);
    for literal in ["{}: {}", "--site: {}", "{BOLD}{name:<16}{BOLD:#} {}", "obelus", "{id} `some words`"] {
        assert!(!is_english(literal), "{literal}");
    }
    for literal in ["the store", "no answer, again", "{}: it's gone"] {
        assert!(is_english(literal), "{literal}");
    }
}

#[test]
fn the_console_names_a_denial_as_the_table_of_words_does() {
    let console = crates().join("../console/src");
    for table in ["parts/question/words.ts", "screens/inbox/words.ts", "screens/timeline/words.ts"] {
        let text = fs::read_to_string(console.join(table)).expect("a table");
        assert!(text.to_lowercase().contains("denied: ['отклонено', 'denied']"), "{table}");
        assert!(!text.to_lowercase().contains("отказ"), "{table}");
    }
    let own = fs::read_to_string(crates().join("obelus-words/src/sessions.rs")).expect("a table");
    assert!(own.contains("was_denied: \"отклонено\", \"denied\";"), "the word of the table has changed");
}
