//! Patterns of names.

/// Whether a name matches a pattern, in which `*` matches any text.
pub fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, tail)) => match name.strip_prefix(head) {
            None => false,
            Some(rest) => {
                tail.is_empty()
                    || rest.char_indices().map(|(i, _)| i).chain([rest.len()]).any(|i| matches(tail, &rest[i..]))
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_matches_any_characters() {
        for (pattern, name, does) in [
            ("crm.deal.*", "crm.deal.get", true),
            ("*.get", "crm.deal.get", true),
            ("crm.*.get", "crm.deal.get", true),
            ("crm.*.get", "crm.deal.getter", false),
            ("*", "", true),
            ("crm", "crm.deal", false),
        ] {
            assert_eq!(matches(pattern, name), does, "{pattern} {name}");
        }
    }
}
