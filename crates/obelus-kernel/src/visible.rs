//! Text from models and from the world, shown so that what a person reads is what is there.

/// The text with every character that would hide or mislead shown as an escape such as `\u{202e}`.
pub fn visible(text: &str) -> String {
    text.chars().map(shown).collect()
}

pub(crate) fn shown(c: char) -> String {
    if misleads(c) { c.escape_default().to_string() } else { c.to_string() }
}

/// Whether a character is invisible, steers a terminal, reorders text, or is not allowed in XML.
pub(crate) fn misleads(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
            | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{3164}' | '\u{ffa0}'
            | '\u{200b}' | '\u{200e}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}' | '\u{e0100}'..='\u{e01ef}')
}
