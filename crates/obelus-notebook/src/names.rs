//! Names, and maps with names as keys.

use indexmap::IndexMap;

/// The name of a kind or a field. Up to 23 bytes are stored inline; longer names are shared.
pub type Name = smol_str::SmolStr;

/// A map in the order of insertion. Its hasher is faster than the standard one for short names, and seeded against
/// collisions. The seed has no visible effect, because nothing is in the order of hashes.
pub(crate) type ByName<K, V> = IndexMap<K, V, hashbrown::DefaultHashBuilder>;

/// A parameter name normalised for comparison, without case and underscores: services that accept `STAGE_ID` also
/// accept `stage_id` and `stageId` (B24-9).
pub fn folded(name: &str) -> String {
    name.chars().filter(|letter| *letter != '_').flat_map(char::to_lowercase).collect()
}

/// Whether a service treats two names as the same.
pub fn alike(one: &str, other: &str) -> bool {
    one == other || folded(one) == folded(other)
}

/// Words in the names of tools and in addresses that pay.
pub const PAYING: [&str; 12] = [
    "pay", "pays", "payment", "payments", "purchase", "buy", "checkout", "charge", "transfer", "withdraw", "refund",
    "remit",
];

/// Whether a name contains one of these words: `bank.pay_out`, `apiToken`. A word ends at what is no letter or digit, or
/// before a capital.
pub fn has_word(name: &str, words: &[&str]) -> bool {
    let mut word = String::new();
    let mut was_lower = false;
    for letter in name.chars().chain([' ']) {
        if !letter.is_alphanumeric() || (was_lower && letter.is_uppercase()) {
            if words.contains(&word.as_str()) {
                return true;
            }
            word.clear();
        }
        if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        }
        was_lower = letter.is_lowercase();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_words_match() {
        for (text, expected) in [
            ("delete", true),
            ("itemDelete", true),
            ("delete3", false),
            ("DELETE", true),
            ("undelete", false),
            ("deleted", false),
            ("a.delete", true),
            ("", false),
        ] {
            assert_eq!(has_word(text, &["delete"]), expected, "{text}");
        }
    }

    #[test]
    fn b24_9_names_are_equal_regardless_of_case_and_underscores() {
        for other in ["STAGE_ID", "stage_id", "stageId", "StageID", "STAGEID", "_stage__id_"] {
            assert!(alike("STAGE_ID", other), "{other}");
        }
        for other in ["STAGE", "STAGE-ID", "STAGES_ID", ""] {
            assert!(!alike("STAGE_ID", other), "{other}");
        }
        assert!(alike("Ответственный_ID", "ответственныйId"));
    }
}
