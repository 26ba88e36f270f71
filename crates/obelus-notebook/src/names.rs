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

#[cfg(test)]
mod tests {
    use super::*;

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
