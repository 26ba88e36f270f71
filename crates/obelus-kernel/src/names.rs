//! Names, and maps with names as keys.

use indexmap::IndexMap;

/// The name of a kind or a field. Up to 23 bytes are stored inline; longer names are shared.
pub type Name = smol_str::SmolStr;

/// A map in the order of insertion. Its hasher is faster than the standard one for short names, and seeded against
/// collisions; the seed never shows, for nothing is in the order of hashes.
pub(crate) type ByName<K, V> = IndexMap<K, V, hashbrown::DefaultHashBuilder>;
