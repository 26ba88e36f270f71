//! E-mail addresses in a text, those in other alphabets included.

use super::{EMAIL, replaced};

/// The signs that stand between the two halves of an address, as it is written and as it stands in a URL.
const SIGNS: [&str; 3] = ["@", "＠", "%40"];

/// The text without addresses; none, if there are none in it.
pub(super) fn masked(text: &str) -> Option<String> {
    // Most texts are short and have none: one look at their bytes tells.
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
    // Of two that share letters, as in `a@b.cc@d.ee`, one stands for both.
    let mut apart: Vec<(usize, usize)> = Vec::new();
    for (from, to) in found {
        match apart.last_mut() {
            Some(last) if from < last.1 => last.1 = last.1.max(to),
            _ => apart.push((from, to)),
        }
    }
    replaced(text, &apart, EMAIL)
}

/// Where the half before the sign begins.
fn local_begins(before: &str) -> usize {
    let is_part = |c: char| c.is_alphanumeric() || "._%+-'!#$&*/=?^`{|}~".contains(c);
    let begin =
        before.rfind(|c| !is_part(c)).map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    // What stands before it in a sentence or a URL is no part of it.
    let own = before[begin..].rfind(['/', '=', '?', '&', '{', '|', '\'']).map_or(begin, |at| begin + at + 1);
    let own = &before[own..];
    before.len() - own.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '_').len()
}

/// The bytes of the domain that a text begins with: names with a dot between them, the last one made of letters.
fn domain_length(after: &str) -> usize {
    let is_part = |c: char| c.is_alphanumeric() || c == '-' || c == '.';
    let whole = &after[..after.find(|c| !is_part(c)).unwrap_or(after.len())];
    let whole = whole.trim_end_matches(['.', '-']);
    let is_name = |name: &str| !name.is_empty() && !name.starts_with('-');
    let Some((_, last)) = whole.rsplit_once('.') else { return 0 };
    let is_top = last.chars().count() >= 2 && last.chars().any(char::is_alphabetic);
    if whole.split('.').all(is_name) && is_top { whole.len() } else { 0 }
}
