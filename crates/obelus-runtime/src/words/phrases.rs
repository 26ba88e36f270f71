//! Tables of phrases: each has its Russian and its English text side by side.

/// Declares the phrases of one subject: a name, the Russian text, the English text. `{}` is replaced by a value (see
/// [`fill`]). The subject becomes a struct with one field for each phrase and the constants `RU` and `EN`.
#[macro_export]
macro_rules! phrases {
    ($(#[$doc:meta])* $subject:ident { $($name:ident: $ru:literal, $en:literal;)* }) => {
        $(#[$doc])*
        pub(crate) struct $subject {
            $(pub(crate) $name: &'static str,)*
        }

        impl $subject {
            pub(crate) const RU: Self = Self { $($name: $ru,)* };
            pub(crate) const EN: Self = Self { $($name: $en,)* };
        }

        impl $crate::people::PhraseTable for $subject {
            fn all(&self) -> Vec<&'static str> {
                vec![$(self.$name),*]
            }
        }
    };
}

/// The phrases of one subject in one language.
pub trait PhraseTable {
    /// All of them, in their order, which is the same in every language.
    fn all(&self) -> Vec<&'static str>;
}

/// Replaces each `{}` of a phrase by the next value.
pub fn fill(phrase: &str, with: &[&str]) -> String {
    let mut filled = String::new();
    let mut with = with.iter();
    let mut parts = phrase.split("{}");
    filled.push_str(parts.next().unwrap_or_default());
    for part in parts {
        filled.push_str(with.next().unwrap_or(&""));
        filled.push_str(part);
    }
    filled
}

/// What is wrong with the two texts of a phrase: words of the other language, or other values to fill in.
pub fn fault_of(russian: &str, english: &str) -> Option<String> {
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

/// Names of keys, modes, verbs and values, which are the same in every language.
const NAMES: [&str; 14] = [
    "JSON", "Esc", "Enter", "Tab", "MCP", "shadow", "canary", "full", "inbox", "happened", "did-not", "true", "false",
    "null",
];

/// The text without commands, names and placeholders.
fn prose(text: &str) -> String {
    let mut in_command = false;
    let is_prose = |word: &&str| {
        let plain = word.trim_matches(|c: char| !c.is_alphanumeric());
        in_command |= plain == "obelus";
        if in_command && !plain.chars().any(is_cyrillic) {
            // A command ends with its clause.
            in_command = !word.ends_with(['.', ':', ';', ',', ')']);
            return false;
        }
        in_command = false;
        let is_letter = plain.chars().count() == 1;
        !(is_letter || NAMES.contains(&plain) || plain.contains(['.', '_']) || word.contains(['/', '-', '†', '{']))
    };
    text.split([' ', '|']).filter(is_prose).collect::<Vec<_>>().join(" ")
}

fn is_cyrillic(c: char) -> bool {
    ('\u{400}'..='\u{4ff}').contains(&c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phrase_is_filled_in_order() {
        assert_eq!(fill("a {} b {}.", &["1", "2"]), "a 1 b 2.");
        assert_eq!(fill("{} of {}", &["{}"]), "{} of ");
    }

    #[test]
    fn words_of_the_other_language_are_found() {
        assert_eq!(fault_of("Ответить: obelus answer {} value. Esc — позже", "To answer: {}"), None);
        for (russian, english) in [
            ("Готово", "Готово"),
            ("Готово, done", "Done"),
            ("Done", "Finished"),
            ("obelus inbox, then look", "See `obelus inbox`"),
            ("Готово: {}", "Done"),
        ] {
            assert!(fault_of(russian, english).is_some(), "{russian} / {english}");
        }
    }
}
