//! Whether a person's own words say yes.

use serde::{Deserialize, Serialize};

/// The words that make a consent, and those that unmake it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConsentWords {
    /// A consent begins with one of these.
    pub yes: Vec<String>,
    /// With one of these it is none.
    pub but: Vec<String>,
}

impl Default for ConsentWords {
    fn default() -> Self {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect();
        Self {
            yes: words(
                "да ок подтверждаю согласен согласна одобряю разрешаю yes ok okay approve approved confirm confirmed agreed",
            ),
            but: words(
                "нет не нельзя стоп подожди подождите отмена но только кроме no not don't stop wait cancel but only except",
            ),
        }
    }
}

impl ConsentWords {
    /// Whether the message consents: a yes first, no digit, and nothing that takes it back.
    pub fn consents(&self, message: &str) -> bool {
        let lower = message.to_lowercase().replace('’', "'");
        let mut words = lower.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty());
        let first = words.clone().next().unwrap_or_default();
        self.yes.iter().any(|yes| yes.to_lowercase() == first)
            && !lower.contains(char::is_numeric)
            && !words.any(|word| self.but.iter().any(|but| but.to_lowercase() == word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_consent_is_a_plain_yes() {
        let words = ConsentWords::default();
        for yes in ["Да", "да, меняйте", "ОК!", "Подтверждаю.", "yes please", "«Да»"] {
            assert!(words.consents(yes), "{yes}");
        }
        for no in [
            "",
            "Хм",
            "да нет",
            "Да, но позже",
            "да, 200000",
            "Нет",
            "не надо",
            "yes, but wait",
            "ok, don't",
            "ok, don’t",
            "ну да",
            "данные покажи",
            "Да, только завтра",
            "да ٣",
        ] {
            assert!(!words.consents(no), "{no}");
        }
    }
}
