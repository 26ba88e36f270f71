//! Finds words of the other language in a phrase.

/// The error in the two texts of a phrase: words of the other language, a missing translation, or a different number of
/// values.
pub(crate) fn fault_of(russian: &str, english: &str) -> Option<String> {
    let holes = |text: &str| text.split('|').next().unwrap_or_default().matches("{}").count();
    let prose = prose(russian);
    if english.chars().any(is_cyrillic) {
        Some(format!("Russian in English: {english}"))
    } else if prose.chars().any(|c| c.is_ascii_alphabetic()) {
        Some(format!("English in Russian: {russian} ({prose})"))
    } else if russian != english && !russian.chars().any(is_cyrillic) {
        Some(format!("not translated: {russian}"))
    } else if holes(russian) != holes(english) {
        Some(format!("other values: {russian} / {english}"))
    } else {
        None
    }
}

/// Names of keys, modes, verbs, parameters and values, which are the same in every language.
const NAMES: [&str; 25] = [
    "JSON", "Esc", "Enter", "Tab", "MCP", "shadow", "canary", "full", "inbox", "happened", "did-not", "true", "false",
    "null", "limit", "all", "stdin", "UTF", "PNG", "JPEG", "WebP", "GIF", "Restate", "restate", "URL",
];

/// The text without commands, names and placeholders.
fn prose(text: &str) -> String {
    let mut in_command = false;
    let is_prose = |word: &&str| {
        let plain = word.trim_matches(|c: char| !c.is_alphanumeric());
        in_command |= plain == "obelus";
        if in_command && !plain.chars().any(is_cyrillic) {
            // The command ends at the end of its clause.
            in_command = !word.ends_with(['.', ':', ';', ',', ')']);
            return false;
        }
        in_command = false;
        let is_letter = plain.chars().count() == 1;
        !(is_letter
            || NAMES.contains(&plain)
            || plain.contains(['.', '_'])
            || word.contains(['/', '-', '†', '{'])
            || plain.ends_with(|c: char| c.is_ascii_digit()))
    };
    // Text in backticks is a name.
    let unquoted = text.split('`').step_by(2).collect::<Vec<_>>().join(" ");
    unquoted.split([' ', '|']).filter(is_prose).collect::<Vec<_>>().join(" ")
}

fn is_cyrillic(c: char) -> bool {
    ('\u{400}'..='\u{4ff}').contains(&c)
}
