//! Makes untrusted text safe to show.

/// The text with escapes such as `\u{202e}` for all characters that are invisible, control a terminal, reorder text or
/// are not allowed in XML.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if misleads(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

/// Whether a character is invisible or misleading.
pub(crate) fn misleads(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
            | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{3164}' | '\u{ffa0}'
            | '\u{200b}' | '\u{200e}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fff9}'..='\u{fffb}'
            // The blank Braille pattern, and format characters of shorthand, music and hieroglyphs.
            | '\u{2800}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{13430}'..='\u{1343f}'
            | '\u{e0000}'..='\u{e007f}' | '\u{e0100}'..='\u{e01ef}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misleading_characters_are_shown_as_escapes() {
        assert_eq!(visible("a\u{202e}b\0c\nd"), "a\\u{202e}b\\u{0}c\\nd");
        assert_eq!(visible("a\u{2800}b\u{1d173}c"), "a\\u{2800}b\\u{1d173}c");
        assert_eq!(visible("†state.сделка 取引 👩‍💻"), "†state.сделка 取引 👩‍💻");
    }
}
