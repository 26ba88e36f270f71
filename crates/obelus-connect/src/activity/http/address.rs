//! URL templates. Values of a call cannot change the host or add parts to the path.

use minijinja::Value as Given;
use obelus_kernel::session::CallError;
use reqwest::Url;

use super::template::{NOTHING, TextTemplate};

/// A URL template with a fixed host.
pub(super) struct AddressTemplate {
    template: TextTemplate,
    /// Scheme, host and port.
    origin: Url,
}

impl AddressTemplate {
    /// Reads a template; an error says what would be correct.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let template = TextTemplate::url(text)?;
        let fixed = template.fixed();
        let whole = fixed == text;
        let (scheme, rest) = fixed.split_once("://").unwrap_or_default();
        if !["http", "https"].contains(&scheme) {
            return Err("it must begin with http:// or https://, written out".to_owned());
        }
        let end = rest.find(['/', '\\', '?', '#']);
        if end.is_none() && !whole {
            return Err("the host must be written out and end with a /; values belong after it".to_owned());
        }
        let host = &rest[..end.unwrap_or(rest.len())];
        if host.contains('@') {
            return Err("a URL must not contain a password; send it in a header, with {{ env.NAME }}".to_owned());
        }
        let origin = format!("{scheme}://{host}");
        let origin = Url::parse(&origin).map_err(|error| format!("`{host}` is not a host: {error}"))?;
        let address = Self { template, origin };
        if whole {
            address.url(text)?;
        }
        Ok(address)
    }

    /// The URL for a call.
    pub(super) fn render(&self, given: &Given) -> Result<Url, CallError> {
        let text = self.template.render(given)?;
        self.url(&text).map_err(|problem| CallError::new("bad_url", problem))
    }

    fn url(&self, text: &str) -> Result<Url, String> {
        let path = text.split(['?', '#']).next().unwrap_or_default();
        // The first three parts are the scheme and the host.
        for part in path.split(['/', '\\']).skip(3) {
            // `%2e` counts as a dot too, so encoding does not help.
            if [".", ".."].contains(&part.to_ascii_lowercase().replace("%2e", ".").as_str()) {
                return Err(format!("`{part}` as a part of the path would change the address"));
            }
            // Otherwise `DELETE /users/{{ call.id }}` without an id would mean all users.
            if !part.is_empty() && part.chars().all(|letter| letter == NOTHING) {
                return Err("a value that makes a part of the path is empty".to_owned());
            }
        }
        let url = Url::parse(&text.replace(NOTHING, "")).map_err(|error| format!("it is not a URL: {error}"))?;
        let named = url.username().is_empty() && url.password().is_none();
        if url.origin() != self.origin.origin() || !named {
            return Err(format!("it is not on {}", self.origin));
        }
        Ok(url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use minijinja::value::Serde;
    use serde_json::{Value, json};

    fn render(template: &str, call: &Value) -> Result<String, String> {
        let given = minijinja::context! { call => Given::from(Serde(call)) };
        let url = AddressTemplate::parse(template).unwrap().render(&given);
        url.map(|url| url.to_string()).map_err(|error| error.message)
    }

    #[test]
    fn a_value_stays_one_segment_of_the_url() {
        for (template, x, url) in [
            ("http://h/a/{{ call.x }}", json!("1/../../admin?x=1#"), "http://h/a/1%2F..%2F..%2Fadmin%3Fx%3D1%23"),
            ("http://h/a?q={{ call.x }}", json!("a&b=c d+é"), "http://h/a?q=a%26b%3Dc%20d%2B%C3%A9"),
            ("http://h/a?q={{ call.x }}", json!("\\@evil\r\n:80"), "http://h/a?q=%5C%40evil%0D%0A%3A80"),
            ("http://h/a?q={{ call.x }}", json!("%2F"), "http://h/a?q=%252F"),
            ("http://h/a?q={{ call.x }}", json!(null), "http://h/a?q="),
            ("http://h/a?q={{ call.x }}&n=1", json!(2.5), "http://h/a?q=2.5&n=1"),
            ("http://h/{{ call.x }}.json", json!(true), "http://h/true.json"),
            ("http://h/{{ call.x | join(',') }}", json!(["a/b", "c"]), "http://h/a%2Fb%2Cc"),
            ("http://h/?q={{ call.x | tojson }}", json!("a#b"), "http://h/?q=%22a%23b%22"),
            ("http://h/?q={{ call.x | urlencode }}", json!("a#b"), "http://h/?q=a%23b"),
            ("http://h/?q={{ call.x | e }}", json!("a#b"), "http://h/?q=a%23b"),
            ("http://h/?q={{ call.x | upper }}{{ '/' ~ call.x }}", json!("a&"), "http://h/?q=A%26%2Fa%26"),
            ("http://h/?q={{ call.x | replace('a', '&') }}", json!("ab"), "http://h/?q=%26b"),
            ("http://h/{% set y %}{{ call.x }}{% endset %}{{ y }}", json!("a/b"), "http://h/a%2Fb"),
            ("http://h/{% if call.y %}no{% endif %}", json!(""), "http://h/"),
            ("http://h/{{ call.x | safe }}", json!("a/b?c=1"), "http://h/a/b?c=1"),
        ] {
            assert_eq!(render(template, &json!({"x": x})), Ok(url.to_owned()), "{template} {x}");
        }
    }

    #[test]
    fn a_value_cannot_change_the_host_or_path() {
        for (template, x, problem) in [
            ("http://h/a/{{ call.x }}/b", json!(".."), "would change the address"),
            ("http://h/a/{{ call.x }}{{ call.x }}", json!("."), "would change the address"),
            ("http://h/a/{{ call.x | safe }}", json!("%2E%2e/b"), "would change the address"),
            ("http://h/a\\{{ call.x }}", json!(".."), "would change the address"),
            ("http://h/users/{{ call.x }}", json!(""), "is empty"),
            ("http://h/users/{{ call.x }}", json!(null), "is empty"),
            ("http://h/users/{{ call.y }}", json!(1), "undefined"),
            ("http://h/{{ call.x }}", json!([1]), "join"),
            ("http://h/{{ call.x }}", json!({"a": 1}), "no place in an address"),
        ] {
            let error = render(template, &json!({"x": x})).unwrap_err();
            assert!(error.contains(problem), "{template} {x}: {error}");
        }
    }

    #[test]
    fn the_host_must_be_written_out() {
        for (template, problem) in [
            ("{{ call.url }}", "begin with http"),
            ("ftp://h/", "begin with http"),
            ("http://{{ call.host }}/", "written out"),
            ("http://h{{ call.x }}/", "written out"),
            ("http://u:p@h/", "password"),
            ("http:///x", "not a host"),
            ("http://h/{{ call.x", "syntax error"),
            ("http://h/{{ kall.x }}", "`kall` is not defined"),
            ("http://h/{{ env.TOKEN }}", "only headers"),
            ("http://h/a/../b", "change the address"),
        ] {
            let error = AddressTemplate::parse(template).err().unwrap_or_default();
            assert!(error.contains(problem), "{template}: {error}");
        }
    }
}
