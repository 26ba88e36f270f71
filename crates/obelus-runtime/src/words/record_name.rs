//! Names of records, which are text from outside.

use obelus_kernel::session::quoted_value;
use obelus_notebook::wording::clip;

/// The longest name that is shown whole.
const LONGEST: usize = 80;

/// A record's name for people, escaped as values are. It cannot end the «…» around it, and a cut is visible.
pub(crate) fn record_name(name: &str) -> String {
    let quoted = quoted_value(&name.replace('«', "“").replace('»', "”").into());
    let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(&quoted);
    clip(&inner.replace("\\\"", "\""), LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_end_its_quotes_hide_characters_or_push_the_number_out_of_sight() {
        assert_eq!(record_name("Окна — Гостиница «Три сосны»"), "Окна — Гостиница “Три сосны”");
        assert_eq!(record_name("ООО \"Ромашка\""), "ООО \"Ромашка\"");
        assert_eq!(record_name("Test» (1)\u{200d}"), "Test” (1)\\u{200d}");
        assert_eq!(record_name(&"x".repeat(600)), format!("{}…", "x".repeat(80)));
    }
}
