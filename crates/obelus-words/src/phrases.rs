//! Tables of phrases: each has its Russian and its English text side by side.

/// Declares the phrases of one subject: a name, the Russian text, the English text. `{}` is replaced by a value (see
/// [`fill`]). The subject becomes a struct with one field for each phrase and the constants `RU` and `EN`.
macro_rules! phrases {
    ($(#[$doc:meta])* $subject:ident { $($name:ident: $ru:literal, $en:literal;)* }) => {
        $(#[$doc])*
        pub struct $subject {
            $(#[doc = $en] pub $name: &'static str,)*
        }

        impl $subject {
            pub(crate) const RU: Self = Self { $($name: $ru,)* };
            pub(crate) const EN: Self = Self { $($name: $en,)* };
        }

        impl $crate::PhraseTable for $subject {
            fn all(&self) -> Vec<&'static str> {
                vec![$(self.$name),*]
            }
        }
    };
}

/// The phrases of one subject in one language.
pub trait PhraseTable {
    /// All phrases, in an order that is the same in every language.
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

#[cfg(test)]
pub(crate) use check::fault_of;

#[cfg(test)]
mod check;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_of_a_phrase_are_filled_in_order() {
        assert_eq!(fill("a {} b {}.", &["1", "2"]), "a 1 b 2.");
        assert_eq!(fill("{} of {}", &["{}"]), "{} of ");
    }

    #[test]
    fn words_of_the_other_language_are_detected() {
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
