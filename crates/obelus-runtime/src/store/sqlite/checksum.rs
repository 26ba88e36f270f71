//! Checksums that detect damage.

/// One step: a bijection of the sum for each word, and of the word for each sum. One changed word is always detected,
/// several with a chance of failure of about 2⁻⁶⁴.
fn step(sum: u64, word: u64) -> u64 {
    let sum = (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    sum ^ (sum >> 32)
}

/// The checksum of a text, eight bytes at a time.
pub(super) fn of_text(text: &str) -> u64 {
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let sum = words.iter().fold(step(0, text.len() as u64), |sum, word| step(sum, u64::from_le_bytes(*word)));
    step(sum, u64::from_le_bytes(last))
}

/// The checksum of a text's sum and its numbers.
pub(super) fn with_numbers(text: u64, numbers: &[i64]) -> i64 {
    numbers.iter().fold(text, |sum, number| step(sum, number.cast_unsigned())).cast_signed()
}

/// The checksum of records of form 2: FNV-1a over a text and its number.
pub(super) fn of_form_2(seq: i64, text: &str) -> i64 {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let start = seq.to_le_bytes().iter().fold(0xcbf2_9ce4_8422_2325, step);
    text.as_bytes().iter().fold(start, step).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_changed_byte_and_number_changes_the_sum() {
        let text = "{\"ended\":{\"id\":\"0.1\",\"outcome\":{\"value\":12}}}";
        let whole = with_numbers(of_text(text), &[1, 2, 3]);
        for at in 0..text.len() {
            for bit in 0..7 {
                let mut bytes = text.as_bytes().to_vec();
                bytes[at] ^= 1 << bit;
                let spoilt = String::from_utf8(bytes).unwrap();
                assert_ne!(with_numbers(of_text(&spoilt), &[1, 2, 3]), whole, "bit {bit} of byte {at}");
            }
        }
        assert_ne!(of_text("a"), of_text("a\0"), "what fills the last word is no text");
        for numbers in [[2, 2, 3], [1, 3, 3], [1, 2, 2], [2, 1, 3]] {
            assert_ne!(with_numbers(of_text(text), &numbers), whole);
        }
    }
}
