//! Names, and maps that are looked up by name with every read and write.

use indexmap::IndexMap;

/// The name of a kind or a field. Every call brings several, nearly all of them short: up to 23 bytes take no memory of
/// their own, and longer ones are shared.
pub type Name = smol_str::SmolStr;

/// A map in the order of insertion. Its hasher costs a fraction of the standard one for short names; like that it has a
/// seed, against names that are made to collide, and the seed does not show: nothing is ever in the order of the hashes.
pub(crate) type ByName<K, V> = IndexMap<K, V, hashbrown::DefaultHashBuilder>;
