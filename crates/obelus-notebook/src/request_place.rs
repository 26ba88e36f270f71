//! Where the saved requests of delegates may be read from.

/// A delegate's file must be in the agent's folder, or at an address that the settings allow.
pub fn may_be_read(path: &str, allowed: &[String]) -> Result<(), &'static str> {
    if path.contains("://") {
        let is_allowed = allowed.iter().any(|known| path == known || is_below(path, known));
        return if is_allowed { Ok(()) } else { Err("addresses must be allowed by the configuration") };
    }
    stays_inside(path)
}

/// Whether an address is below one that ends in `/`. An ambiguous address is not.
fn is_below(address: &str, upper: &str) -> bool {
    let rest = address.strip_prefix(upper).filter(|_| upper.ends_with('/') && !upper.ends_with("//"));
    rest.is_some_and(|rest| !rest.contains("..") && !rest.contains(['%', '\\', '?', '#', '@', ' ']))
}

fn stays_inside(path: &str) -> Result<(), &'static str> {
    if path.starts_with('/') || path.starts_with('\\') || path.contains(':') {
        return Err("only paths inside the agent's folder are");
    }
    if path.split(['/', '\\']).any(|part| part == "..") {
        return Err("it leads out of the agent's folder");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delegate_stays_inside_its_folder() {
        assert!(may_be_read("letters/polite.yaml", &[]).is_ok());
        for path in
            ["/etc/passwd", "../other.json", "a/../../b.json", "https://example.test/x", "C:\\x.json", "a\\..\\b"]
        {
            assert!(may_be_read(path, &[]).is_err(), "{path}");
        }
    }

    #[test]
    fn an_address_is_read_where_the_configuration_allows_it() {
        let allowed = ["https://example.test/one.json".to_owned(), "https://example.test/team/".to_owned()];
        for (address, is_allowed) in [
            ("https://example.test/one.json", true),
            ("https://example.test/one.json.evil", false),
            ("https://example.test/team/letters/polite.yaml", true),
            ("https://example.test/team", false),
            ("https://example.test/team/../one", false),
            ("https://example.test/team/%2e%2e/one", false),
            ("https://example.test/team/x?y=1", false),
            ("https://example.test.evil.test/team/x", false),
            ("http://example.test/team/x", false),
            ("file:///etc/passwd", false),
        ] {
            assert_eq!(may_be_read(address, &allowed).is_ok(), is_allowed, "{address}");
        }
        assert!(may_be_read("https://evil.test/x", &["https://".to_owned()]).is_err(), "a scheme is no address");
    }
}
