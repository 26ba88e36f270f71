//! Ids of standing consents.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

/// The id of a standing consent, such as `c1`. People may leave out the letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConsentId(pub u64);

impl fmt::Display for ConsentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "c{}", self.0)
    }
}

impl FromStr for ConsentId {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        text.strip_prefix('c').unwrap_or(text).parse().map(Self)
    }
}
