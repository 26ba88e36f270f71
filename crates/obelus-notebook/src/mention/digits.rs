//! Digits of other scripts.

/// The zeros of scripts whose digits NFKC does not change. The digits one to nine follow each zero.
const ZEROS: [u32; 65] = [
    0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50, 0xed0, 0xf20,
    0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0,
    0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0x104a0, 0x10d30, 0x10d40, 0x11066, 0x110f0, 0x11136, 0x111d0, 0x112f0,
    0x11450, 0x114d0, 0x11650, 0x116c0, 0x116d0, 0x116da, 0x11730, 0x118e0, 0x11950, 0x11bf0, 0x11c50, 0x11d50,
    0x11da0, 0x11f50, 0x16a60, 0x16ac0, 0x16b50, 0x1e140, 0x1e2f0, 0x1e4f0, 0x1e5f1, 0x1e950,
];

/// The ASCII digit with the same value.
pub(super) fn ascii_digit(letter: char) -> Option<char> {
    let code = u32::from(letter);
    let zero = ZEROS[..ZEROS.partition_point(|zero| *zero <= code)].last()?;
    char::from_digit(code - zero, 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_every_script_have_the_value_of_their_place() {
        assert!(ZEROS.is_sorted());
        for zero in ZEROS {
            let digits = (zero..zero + 10).filter_map(char::from_u32).filter_map(ascii_digit);
            assert_eq!(digits.collect::<String>(), "0123456789", "{zero:x}");
        }
        for other in ['5', '½', 'Ⅷ', '\u{65f}', '\u{66a}', '五'] {
            assert_eq!(ascii_digit(other), None, "{other}");
        }
    }
}
