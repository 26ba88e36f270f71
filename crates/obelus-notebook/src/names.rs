//! Names, and maps with names as keys.

use indexmap::IndexMap;

/// The name of a kind or a field. Up to 23 bytes are stored inline; longer names are shared.
pub type Name = smol_str::SmolStr;

/// A map in the order of insertion. Its hasher is faster than the standard one for short names, and seeded against
/// collisions; the seed never shows, for nothing is in the order of hashes.
pub(crate) type ByName<K, V> = IndexMap<K, V, hashbrown::DefaultHashBuilder>;

/// The form in which names of parameters are compared, without case and underscores: services that take `STAGE_ID`
/// take `stage_id` and `stageId` too (B24-9).
pub fn folded(name: &str) -> String {
    name.chars().filter(|letter| *letter != '_').flat_map(char::to_lowercase).collect()
}

/// Whether two names are one to the service that takes them.
pub fn alike(one: &str, other: &str) -> bool {
    one == other || folded(one) == folded(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b24_9_case_and_underscores_tell_no_names_apart() {
        for other in ["STAGE_ID", "stage_id", "stageId", "StageID", "STAGEID", "_stage__id_"] {
            assert!(alike("STAGE_ID", other), "{other}");
        }
        for other in ["STAGE", "STAGE-ID", "STAGES_ID", ""] {
            assert!(!alike("STAGE_ID", other), "{other}");
        }
        assert!(alike("Ответственный_ID", "ответственныйId"));
    }
}
