//! Amounts of money.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An amount of money in the price's currency, in whole billionths, so that sums are exact and reproducible. It is
/// serialised as a plain number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "f64", into = "f64")]
pub struct Money(u64);

const BILLION: f64 = 1e9;

impl Money {
    /// The sum of two amounts.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl From<f64> for Money {
    /// The nearest amount, at least zero.
    fn from(amount: f64) -> Self {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates, and that is meant")]
        Self((amount * BILLION).round() as u64)
    }
}

impl From<Money> for f64 {
    #[expect(clippy::cast_precision_loss, reason = "nine million with all billionths is more than a session costs")]
    fn from(money: Money) -> Self {
        money.0 as f64 / BILLION
    }
}

impl fmt::Display for Money {
    /// With enough digits to show a small amount.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let amount = f64::from(*self);
        if amount == 0.0 || amount >= 1.0 { write!(f, "{amount:.2}") } else { write!(f, "{amount:.4}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_stored_and_read_back_exactly() {
        let mut sum = Money::default();
        let mut kept = Money::default();
        for tokens in 0..1000_u32 {
            let cost = Money::from(f64::from(tokens) * 1.25 / 1e6);
            sum.0 += cost.0;
            let text = serde_json::to_string(&cost).unwrap();
            kept.0 += serde_json::from_str::<Money>(&text).unwrap().0;
        }
        assert_eq!(sum, kept);
        assert_eq!(sum, Money(624_375_000));
        assert_eq!((Money::from(-1.0), Money::from(f64::NAN)), (Money(0), Money(0)));
    }
}
