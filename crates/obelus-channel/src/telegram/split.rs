//! Splits texts to fit into messages.

/// The limit of a message in UTF-16 units, as the Bot API counts.
pub(super) const LONGEST: usize = 4096;

/// Splits a text into parts of at most `longest` units: between paragraphs if possible, else lines, else words, else
/// characters. So a surrogate pair is never split, and an address or name without spaces only if it fills a part
/// alone.
pub(super) fn split(text: &str, longest: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text.trim_matches('\n').trim_end();
    while units(rest) > longest {
        let room = &rest[..fitting(rest, longest)];
        // A split that makes the part very short is not used.
        let found = ["\n\n", "\n", " "].iter().find_map(|sign| room.rfind(sign).filter(|at| *at >= room.len() / 4));
        let at = found.filter(|at| !room[..*at].trim().is_empty()).unwrap_or(room.len());
        let part = rest[..at].trim_end();
        // Telegram refuses a message of spaces only.
        if !part.is_empty() {
            parts.push(part);
        }
        rest = rest[at..].trim_start_matches(['\n', ' ']);
    }
    if !rest.trim().is_empty() {
        parts.push(rest);
    }
    parts
}

/// The beginning of a text in progress, with an ellipsis.
pub(super) fn beginning(text: &str, longest: usize) -> String {
    if units(text) > longest {
        format!("{} …", &text[..fitting(text, longest.saturating_sub(2))])
    } else {
        text.to_owned()
    }
}

/// The length of a text in UTF-16 units.
pub(super) fn units(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// The number of bytes of a text that fit into this many units.
fn fitting(text: &str, longest: usize) -> usize {
    let mut sum = 0;
    let past = text.char_indices().find(|(_, c)| {
        sum += c.len_utf16();
        sum > longest
    });
    past.map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_end_at_paragraphs_lines_or_words() {
        assert_eq!(split("one", 10), ["one"]);
        assert!(split(" \n\n", 10).is_empty());
        assert_eq!(split("aaaa bb\n\ncc dd", 12), ["aaaa bb", "cc dd"]);
        assert_eq!(split("aaaa bb\ncc dddd", 12), ["aaaa bb", "cc dddd"]);
        assert_eq!(split("aaaa bbbb cccc", 10), ["aaaa bbbb", "cccc"]);
        assert_eq!(split("abcdefghij", 4), ["abcd", "efgh", "ij"]);
    }

    #[test]
    fn surrogate_pairs_are_not_split() {
        let text = "🙂".repeat(5);
        assert_eq!(split(&text, 3), ["🙂"; 5]);
        assert_eq!(split(&text, 4), ["🙂🙂", "🙂🙂", "🙂"]);
        assert_eq!(beginning(&text, 5), "🙂 …");
    }

    #[test]
    fn splitting_loses_only_white_space_and_every_part_fits() {
        let signs = ['a', 'b', 'я', '🙂', ' ', ' ', '\n'];
        let mut seed = 7_u32;
        let mut draw = |below: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 16) % below
        };
        for _ in 0..2_000 {
            let length = draw(120);
            let text: String = (0..length).map(|_| signs[draw(7) as usize]).collect();
            let longest = 2 + draw(30) as usize;
            let parts = split(&text, longest);
            for part in &parts {
                assert!(units(part) <= longest && !part.trim().is_empty(), "{text:?} {longest} {part:?}");
            }
            let bare = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(bare(&parts.concat()), bare(&text), "{text:?} {longest}");
        }
    }
}
