//! The challenge of a server that refuses a request: where its metadata are, and which scopes it requires.

/// The limit of scopes.
const MOST_SCOPES: usize = 100;

/// The longest scope.
const LONGEST_SCOPE: usize = 200;

/// The parameters of `Bearer` in `WWW-Authenticate`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::mcp) struct Challenge {
    /// The address of the resource's metadata.
    pub(super) metadata: Option<String>,
    /// The scopes that the request needs.
    pub(super) scopes: Vec<String>,
    pub(super) error: Option<String>,
}

impl Challenge {
    /// Reads the values of the header. Invalid parts are ignored.
    pub(in crate::mcp) fn parse<'a>(values: impl Iterator<Item = &'a str>) -> Self {
        let mut challenge = Self::default();
        for value in values {
            let mut is_ours = false;
            let mut rest = value;
            while let Some(word) = next_word(&mut rest) {
                match word {
                    ChallengeToken::Scheme(scheme) => is_ours = scheme.eq_ignore_ascii_case("bearer"),
                    ChallengeToken::Param(name, text) if is_ours => challenge.take(name, text),
                    ChallengeToken::Param(..) => {}
                }
            }
        }
        challenge
    }

    /// Whether the token is valid but its scopes are insufficient.
    pub(in crate::mcp) fn wants_more(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }

    fn take(&mut self, name: &str, text: String) {
        match name.to_ascii_lowercase().as_str() {
            "resource_metadata" => self.metadata = Some(text),
            "scope" => self.scopes = scopes_of(text.split(' ')),
            "error" => self.error = Some(text),
            _ => {}
        }
    }
}

/// The valid scopes (RFC 6749, 3.3), without duplicates.
pub(super) fn scopes_of<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut scopes: Vec<String> = Vec::new();
    for text in texts.filter(|text| is_scope(text)).take(MOST_SCOPES) {
        if !scopes.iter().any(|scope| scope == text) {
            scopes.push(text.to_owned());
        }
    }
    scopes
}

pub(super) fn is_scope(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
    !text.is_empty() && text.len() <= LONGEST_SCOPE && text.bytes().all(fits)
}

enum ChallengeToken<'a> {
    Scheme(&'a str),
    Param(&'a str, String),
}

/// Takes the next scheme or parameter from the text.
fn next_word<'a>(rest: &mut &'a str) -> Option<ChallengeToken<'a>> {
    *rest = rest.trim_start_matches([' ', '\t', ',']);
    if rest.is_empty() {
        return None;
    }
    let end = rest.find([' ', '\t', ',', '=', '"']).unwrap_or(rest.len());
    let (name, after) = rest.split_at(end);
    let Some(value) = after.trim_start().strip_prefix('=') else {
        // Skips a stray quote, to avoid an endless loop.
        *rest = after.strip_prefix('"').unwrap_or(after);
        return Some(ChallengeToken::Scheme(name));
    };
    let value = value.trim_start();
    let Some(quoted) = value.strip_prefix('"') else {
        let end = value.find([' ', '\t', ',']).unwrap_or(value.len());
        *rest = &value[end..];
        return Some(ChallengeToken::Param(name, value[..end].to_owned()));
    };
    let (mut text, mut letters) = (String::new(), quoted.char_indices());
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => {
                *rest = &quoted[at + 1..];
                return Some(ChallengeToken::Param(name, text));
            }
            '\\' => text.extend(letters.next().map(|(_, letter)| letter)),
            letter => text.push(letter),
        }
    }
    *rest = "";
    Some(ChallengeToken::Param(name, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Challenge {
        Challenge::parse(std::iter::once(text))
    }

    #[test]
    fn parameters_after_bearer_are_read() {
        let said = parse(
            "Basic realm=\"a, Bearer scope=x\", bearer realm=x, scope=\"a b a\\\"c\", resource_metadata = \"https://h/m\" , \
             error=insufficient_scope",
        );
        assert_eq!(said.metadata.as_deref(), Some("https://h/m"));
        assert_eq!(said.scopes, ["a", "b"], "what cannot be a scope is passed over");
        assert!(said.wants_more());
        assert_eq!(parse("Digest scope=\"a\""), Challenge::default());
        assert_eq!(parse("Bearer"), Challenge::default());
        assert_eq!(parse("Bearer scope=\"a b"), parse("Bearer scope=\"a b\""));
    }

    proptest! {
        #[test]
        fn any_challenge_is_parsed_to_its_end(text in "(Bearer )?[a-z=\", \\\\é]{0,60}") {
            let said = parse(&text);
            prop_assert!(said.scopes.iter().all(|scope| is_scope(scope)));
        }
    }

    #[test]
    fn fuzz_any_challenge_is_read() {
        crate::fuzz::fuzz("challenge", |input| {
            let challenge = parse(&crate::fuzz::lossy(input));
            let _ = challenge.wants_more();
            true
        });
    }
}
