//! Numbers with their exact value.

/// A decimal number of any length: `digits` × 10^`exponent`, without zeros at either end of the digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decimal {
    is_negative: bool,
    digits: String,
    exponent: i64,
}

impl Decimal {
    /// The number with these digits before and after its point.
    pub(crate) fn new(is_negative: bool, whole: &str, fraction: &str) -> Self {
        let all = format!("{whole}{fraction}");
        let digits = all.trim_end_matches('0');
        let exponent = (all.len() - digits.len()) as i64 - fraction.len() as i64;
        let digits = digits.trim_start_matches('0');
        if digits.is_empty() {
            Self { is_negative: false, digits: String::new(), exponent: 0 }
        } else {
            Self { is_negative, digits: digits.to_owned(), exponent }
        }
    }

    /// Parses a number in the form of JSON.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (is_negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let is_plain = !whole.is_empty() && whole.bytes().chain(fraction.bytes()).all(|digit| digit.is_ascii_digit());
        is_plain.then(|| Self::new(is_negative, whole, fraction).shifted(i64::from(exponent)))
    }

    /// The number times a power of ten.
    pub(super) fn shifted(mut self, zeros: i64) -> Self {
        if !self.digits.is_empty() {
            self.exponent += zeros;
        }
        self
    }

    /// Its value, if it is an integer, not negative, and within the range of `u128`.
    pub(super) fn count(&self) -> Option<u128> {
        if self.digits.is_empty() {
            return Some(0);
        }
        let zeros = u32::try_from(self.exponent).ok().filter(|_| !self.is_negative)?;
        self.digits.parse::<u128>().ok()?.checked_mul(10_u128.checked_pow(zeros)?)
    }
}

impl From<u128> for Decimal {
    fn from(count: u128) -> Self {
        Self::new(false, &count.to_string(), "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_equal_in_every_form() {
        for (one, other) in [
            ("320000", "320000.0"),
            ("320000", "3.2e5"),
            ("0.5", "00.50"),
            ("-0", "0"),
            ("1e21", "1000000000000000000000"),
            ("12.50", "12.5"),
        ] {
            assert_eq!(Decimal::parse(one), Decimal::parse(other), "{one} {other}");
        }
        for (one, other) in [("320", "320000"), ("-5", "5"), ("0.1", "0.10000000000000001"), ("1e2", "1e3")] {
            assert_ne!(Decimal::parse(one), Decimal::parse(other), "{one} {other}");
        }
        assert!(["", "-", "a", "1.x", "1e", "0x1"].iter().all(|text| Decimal::parse(text).is_none()));
    }

    #[test]
    fn only_whole_numbers_are_counts() {
        assert_eq!(Decimal::new(false, "2", "").shifted(6).count(), Some(2_000_000));
        assert_eq!(Decimal::new(false, "1", "5").shifted(6).count(), Some(1_500_000));
        assert_eq!(Decimal::new(false, "1", "5").count(), None);
        assert_eq!(Decimal::new(true, "1", "").count(), None);
        assert_eq!(Decimal::new(false, &"9".repeat(60), "").count(), None);
    }
}
