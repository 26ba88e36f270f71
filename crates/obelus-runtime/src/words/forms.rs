//! What is said of a form in which a person changes a call.

use super::Language;
use crate::phrases;

phrases! {
    /// What a field takes, where something else was typed.
    FormWords {
        text: "Здесь нужен текст.", "This takes a text.";
        integer: "Здесь нужно целое число, например 12.", "This takes a whole number, such as 12.";
        number: "Здесь нужно число, например 12 или 12,5.", "This takes a number, such as 12 or 12.5.";
        boolean: "Здесь нужно «да» или «нет».", "This takes yes or no.";
        date: "Здесь нужна дата, например 2026-12-31 или 31.12.2026.", "This takes a day, such as 2026-12-31 or 31.12.2026.";
        date_time:
            "Здесь нужны дата и время, например 2026-12-31 10:30.",
            "This takes a day and a time, such as 2026-12-31 10:30.";
        choice: "Здесь нужно одно из значений: {}.", "This takes one of: {}.";
        json: "Здесь нужно значение в виде JSON.", "This takes a value as JSON.";
    }
}

impl Language {
    /// What is said of forms.
    pub(crate) fn forms(self) -> &'static FormWords {
        match self {
            Language::Russian => &FormWords::RU,
            Language::English => &FormWords::EN,
        }
    }
}
