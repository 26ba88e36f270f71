//! Text in a drawing: escaped, measured and shortened.
//!
//! Labels come from models and other untrusted sources. Characters that are invisible, that reorder their neighbours or
//! that XML forbids are shown as escapes such as `\u{202e}`.

pub(super) use obelus_kernel::visible;

/// The visible text, cut with an ellipsis if it has more columns than this, as terminals count them.
pub(super) fn shorten(text: &str, limit: usize) -> String {
    let mut short = String::new();
    let mut used = 0;
    // Combining marks take no column, so the number of characters is limited too.
    for (index, c) in text.chars().enumerate() {
        let piece = visible(c.encode_utf8(&mut [0; 4]));
        used += piece.chars().map(columns).sum::<usize>();
        if used > limit || index >= 4 * limit {
            short.push('…');
            break;
        }
        short.push_str(&piece);
    }
    short
}

/// Escapes text for XML, for elements and quoted attributes.
pub(super) fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// The estimated width of a text at this font size, in pixels.
///
/// The estimate is generous, because the reader's font is unknown.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(ems).sum::<f64>() * size
}

/// The columns of a visible character: none for marks, two for wide scripts.
fn columns(c: char) -> usize {
    match c {
        '\u{300}'..='\u{36f}'
        | '\u{483}'..='\u{489}'
        | '\u{64b}'..='\u{65f}'
        | '\u{200c}'..='\u{200d}'
        | '\u{20d0}'..='\u{20ff}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{fe20}'..='\u{fe2f}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe4f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f000}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

fn ems(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' => 0.33,
        'f' | 'r' | 't' | '(' | ')' | '[' | ']' | '/' | '-' | '"' => 0.43,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '…' | '→' | '←' => 0.96,
        'ж' | 'ф' | 'ш' | 'щ' | 'ю' | 'ы' | 'м' => 0.86,
        '\u{400}'..='\u{42f}' => 0.76,
        'A'..='Z' | '\u{430}'..='\u{4ff}' => 0.68,
        c => match columns(c) {
            0 => 0.0,
            2 => 1.05,
            _ => 0.62,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xml_text_escapes_markup_and_drops_forbidden_characters() {
        assert_eq!(xml("<a b='c'>&\"\u{1b}\u{ffff}"), "&lt;a b=&#39;c&#39;&gt;&amp;&quot;\\u{1b}\\u{ffff}");
    }

    #[test]
    fn a_long_text_is_cut_by_its_width_on_the_screen() {
        assert_eq!(shorten(&"a".repeat(34), 34), "a".repeat(34));
        assert_eq!(shorten(&"a".repeat(35), 34), format!("{}…", "a".repeat(34)));
        assert_eq!(shorten(&"取".repeat(35), 34), format!("{}…", "取".repeat(17)));
        assert_eq!(shorten(&"\u{301}".repeat(9999), 34).chars().count(), 137);
    }

    #[test]
    fn an_escape_is_never_cut_in_two() {
        let text = format!("{}\u{202e}", "a".repeat(30));
        assert_eq!(shorten(&text, 34), format!("{}…", "a".repeat(30)));
    }

    #[test]
    fn wide_scripts_are_measured_as_wider() {
        assert!(width("取引先", 10.0) > width("abc", 10.0));
        assert!(width("жшщ", 10.0) > width("abc", 10.0));
        assert!(width("ill", 10.0) < width("abc", 10.0));
    }
}
