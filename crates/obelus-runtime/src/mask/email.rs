//! E-mail addresses in a text, in any alphabet.

use super::{EMAIL, replaced};

/// The signs between the two parts of an address, also as written in a URL.
const SIGNS: [&str; 3] = ["@", "＠", "%40"];

/// The text without addresses; none if it has none.
pub(super) fn masked(text: &str) -> Option<String> {
    // Most texts are short and have none; checking their bytes is fast.
    let begins_sign = |byte| SIGNS.iter().any(|sign| sign.as_bytes()[0] == byte);
    if !text.bytes().any(begins_sign) {
        return None;
    }
    let mut found: Vec<(usize, usize)> = Vec::new();
    for sign in SIGNS {
        for (at, _) in text.match_indices(sign) {
            let before = local_begins(&text[..at]);
            let after = at + sign.len();
            let length = domain_length(&text[after..]);
            if before < at && length > 0 {
                found.push((before, after + length));
            }
        }
    }
    found.sort_unstable();
    // Overlapping ones, as in `a@b.cc@d.ee`, are merged.
    let mut apart: Vec<(usize, usize)> = Vec::new();
    for (from, to) in found {
        match apart.last_mut() {
            Some(last) if from < last.1 => last.1 = last.1.max(to),
            _ => apart.push((from, to)),
        }
    }
    replaced(text, &apart, EMAIL)
}

/// The start of the part before the sign.
fn local_begins(before: &str) -> usize {
    let is_part = |c: char| c.is_alphanumeric() || "._%+-'!#$&*/=?^`{|}~".contains(c);
    let begin =
        before.rfind(|c| !is_part(c)).map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    // Characters of the sentence or URL before it do not belong to it.
    let own = before[begin..].rfind(['/', '=', '?', '&', '{', '|', '\'']).map_or(begin, |at| begin + at + 1);
    let own = &before[own..];
    before.len() - own.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '_').len()
}

/// The length of the domain at the start of a text: names with dots between them, the last one of letters.
fn domain_length(after: &str) -> usize {
    let is_part = |c: char| c.is_alphanumeric() || c == '-' || c == '.';
    let whole = &after[..after.find(|c| !is_part(c)).unwrap_or(after.len())];
    let whole = whole.trim_end_matches(['.', '-']);
    let is_name = |name: &str| !name.is_empty() && !name.starts_with('-');
    let Some((_, last)) = whole.rsplit_once('.') else { return 0 };
    let is_top = last.chars().count() >= 2 && last.chars().any(char::is_alphabetic);
    if whole.split('.').all(is_name) && is_top { whole.len() } else { 0 }
}
