//! Secrets that are typed by name, and hidden in what is shown.
//!
//! The model writes `$NAME` for a secret. Its value is looked up when it is typed, and only on the secret's sites.
//! Where a page shows the value, the name replaces it.

use std::collections::BTreeMap;

use obelus_kernel::closest;
use obelus_kernel::session::{CallError, FailureCode};
use obelus_runtime::Secret;
use url::Url;

use super::judge::ElementFacts;
use super::sites::Sites;

/// Shorter values would match ordinary words of a page.
const SHORTEST: usize = 4;

/// A secret's source, and where it may be typed.
#[derive(Clone, Debug)]
pub(super) struct SecretSource {
    /// An environment variable.
    pub(super) variable: String,
    /// The sites where it may be typed; none means the sites of the agent's file.
    pub(super) sites: Option<Sites>,
    /// Whether it may be typed into a visible field.
    pub(super) visible: bool,
}

/// The secrets of an agent, by the model's names for them.
#[derive(Clone, Debug, Default)]
pub(super) struct Secrets {
    pub(super) sources: BTreeMap<String, SecretSource>,
}

impl Secrets {
    /// The names, as the model writes them.
    pub(super) fn names(&self) -> Vec<String> {
        self.sources.keys().map(|name| format!("${name}")).collect()
    }

    /// The names of secrets that have a value and may be typed on a page.
    pub(super) fn offered(&self, page: &Url, listed: &Sites) -> Vec<String> {
        let may = |source: &SecretSource| source.sites.as_ref().unwrap_or(listed).allow(page);
        let has_value = |source: &SecretSource| Secret::from_env(&source.variable).is_some();
        let offered = self.sources.iter().filter(|(_, source)| may(source) && has_value(source));
        offered.map(|(name, _)| format!("${name}")).collect()
    }

    /// The text to type: the text itself, or the secret that it names. Both the field's frame and the page must be on
    /// the secret's sites, because both can read it. `listed` are the sites of the agent's file, without those
    /// allowed later.
    pub(super) fn typed(
        &self,
        text: &str,
        page: &Url,
        field: &ElementFacts,
        listed: &Sites,
    ) -> Result<Option<Secret>, CallError> {
        let Some(name) = text.strip_prefix("secret:").or_else(|| text.strip_prefix('$')) else { return Ok(None) };
        let Some(source) = self.sources.get(name) else {
            let known: Vec<_> = self.sources.keys().map(String::as_str).collect();
            let meant = closest(name, &known);
            if let Some(meant) = meant.filter(|_| !text.starts_with("secret:")) {
                let words = format!("there is no secret of this name; did you mean `${meant}`?");
                return Err(CallError::new("unknown_secret", words));
            }
            if text.starts_with("secret:") {
                let words =
                    format!("there is no secret of this name; those to be typed are: {}", self.names().join(", "));
                return Err(CallError::new("unknown_secret", words));
            }
            return Ok(None);
        };
        let sites = source.sites.as_ref().unwrap_or(listed);
        if !sites.allow(page) || !Url::parse(&field.frame).is_ok_and(|frame| sites.allow(&frame)) {
            let words = format!(
                "`${name}` may not be typed on this site, or into this frame of another one; the agent's file says where, under `browser.sites` or \
                 `browser.secrets.{name}.sites`"
            );
            return Err(CallError::new("secret_elsewhere", words));
        }
        if field.searches || !(field.hides || source.visible) {
            let words = format!(
                "`${name}` is typed only into a field that hides what is typed, and never into one that searches; take the \
                 field for it (`browser.secrets.{name}.visible` in the agent's file lifts the former)"
            );
            return Err(CallError::new("secret_visible", words));
        }
        let Some(secret) = Secret::from_env(&source.variable) else {
            let words =
                format!("`${name}` is not set: put it into the variable {} of the environment", source.variable);
            return Err(CallError::new(FailureCode::NoSecret, words));
        };
        if secret.expose().chars().count() < SHORTEST {
            let words = format!("`${name}` is shorter than {SHORTEST} characters, and could not be hidden on a page");
            return Err(CallError::new("short_secret", words));
        }
        Ok(Some(secret))
    }

    /// A page's text with secrets replaced by names.
    pub(super) fn hide(&self, text: String) -> String {
        let mut values: Vec<_> = self
            .sources
            .iter()
            .filter_map(|(name, source)| Some((name, Secret::from_env(&source.variable)?)))
            .filter(|(_, secret)| secret.expose().chars().count() >= SHORTEST)
            .collect();
        // Longest first, because one may begin with another.
        values.sort_by_key(|(_, secret)| std::cmp::Reverse(secret.expose().len()));
        let mut text = text;
        for (name, secret) in values {
            let value = secret.expose();
            let escaped = value.replace('\\', "\\\\").replace('"', "\\\"");
            let spaced = value.split_whitespace().collect::<Vec<_>>().join(" ");
            let percent: String = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
            for spelling in [value, &escaped, &value.replace('\'', "''"), &spaced, &percent] {
                if spelling.len() >= SHORTEST && text.contains(spelling) {
                    text = text.replace(spelling, &format!("<secret>{name}</secret>"));
                }
            }
        }
        text
    }
}

/// The lines with a hidden secret, except in fields that hide their value themselves.
pub(super) fn hidden_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| line.contains("<secret>"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets() -> Secrets {
        Secret::provide("TEST_BROWSER_PASSWORD", Secret::new("hush \"4711\""));
        Secret::provide("TEST_BROWSER_PIN", Secret::new("42"));
        let source = |variable: &str, sites: Option<&str>| SecretSource {
            variable: variable.to_owned(),
            sites: sites.map(|site| Sites::parse(&[site]).unwrap()),
            visible: sites.is_some(),
        };
        let sources = [
            ("PASSWORD", source("TEST_BROWSER_PASSWORD", None)),
            ("BANK", source("TEST_BROWSER_PASSWORD", Some("bank.example.test"))),
            ("PIN", source("TEST_BROWSER_PIN", None)),
            ("NOWHERE", source("TEST_BROWSER_NOT_SET", None)),
        ];
        Secrets { sources: sources.into_iter().map(|(name, source)| (name.to_owned(), source)).collect() }
    }

    #[test]
    fn a_secret_is_typed_by_name_only_on_its_site() {
        let listed = Sites::parse(&["shop.example.test"]).unwrap();
        let typed = |text: &str, page: &str| {
            let field = ElementFacts { hides: true, frame: page.to_owned(), ..ElementFacts::default() };
            let typed = secrets().typed(text, &Url::parse(page).unwrap(), &field, &listed);
            typed.map(|secret| secret.map(|secret| secret.expose().to_owned())).map_err(|error| error.code)
        };
        let (shop, bank) = ("https://shop.example.test/login", "https://bank.example.test/");
        assert_eq!(typed("$PASSWORD", shop).unwrap().as_deref(), Some("hush \"4711\""));
        assert_eq!(typed("secret:PASSWORD", shop).unwrap().as_deref(), Some("hush \"4711\""));
        assert_eq!(typed("$PASSWORD", bank).unwrap_err(), "secret_elsewhere");
        assert_eq!(typed("$BANK", bank).unwrap().as_deref(), Some("hush \"4711\""));
        assert_eq!(typed("$BANK", shop).unwrap_err(), "secret_elsewhere");
        assert_eq!(typed("$PASSWORT", shop).unwrap_err(), "unknown_secret");
        assert_eq!(typed("secret:OTHER", shop).unwrap_err(), "unknown_secret");
        assert_eq!(typed("$NOWHERE", shop).unwrap_err(), "no_secret");
        assert_eq!(typed("$PIN", shop).unwrap_err(), "short_secret");
        for plain in ["$20", "PASSWORD", "about $PASSWORD", "", "$"] {
            assert_eq!(typed(plain, shop).unwrap(), None, "{plain}");
        }
    }

    #[test]
    fn a_secret_goes_only_into_a_hidden_field_of_its_own_site() {
        let listed = Sites::parse(&["shop.example.test"]).unwrap();
        let (shop, bank) = ("https://shop.example.test/login", "https://bank.example.test/");
        let code = |text: &str, page: &str, field: ElementFacts| {
            secrets().typed(text, &Url::parse(page).unwrap(), &field, &listed).err().map(|error| error.code)
        };
        let field = |frame: &str, hides: bool, searches: bool| ElementFacts {
            frame: frame.to_owned(),
            hides,
            searches,
            ..ElementFacts::default()
        };
        assert_eq!(code("$PASSWORD", shop, field(shop, true, false)), None);
        for (text, page, field, expected) in [
            ("$PASSWORD", shop, field(bank, true, false), Some("secret_elsewhere")),
            ("$PASSWORD", bank, field(shop, true, false), Some("secret_elsewhere")),
            ("$PASSWORD", shop, field("", true, false), Some("secret_elsewhere")),
            ("$PASSWORD", shop, field("data:text/html,x", true, false), Some("secret_elsewhere")),
            ("$PASSWORD", shop, field(shop, false, false), Some("secret_visible")),
            ("$PASSWORD", shop, field(shop, true, true), Some("secret_visible")),
            ("$BANK", bank, field(bank, false, false), None),
            ("$BANK", bank, field(bank, false, true), Some("secret_visible")),
        ] {
            assert_eq!(code(text, page, field.clone()), expected.map(FailureCode::from), "{text} {page} {field:?}");
        }
    }

    #[test]
    fn opr_15_a_secret_is_offered_only_where_it_may_be_typed() {
        let listed = Sites::parse(&["shop.example.test"]).unwrap();
        let offered = |page: &str| secrets().offered(&Url::parse(page).unwrap(), &listed);
        assert_eq!(offered("https://shop.example.test/"), ["$PASSWORD", "$PIN"]);
        assert_eq!(offered("https://bank.example.test/"), ["$BANK"]);
        assert!(offered("https://other.example.test/").is_empty());
    }

    #[test]
    fn a_page_shows_the_name_of_a_secret() {
        let page = "- textbox \"Pw\" [ref=e1]: \"hush \\\"4711\\\"\"\n- text: hush \"4711\" and 42\n- /url: /?p=hush+%224711%22";
        let hidden = secrets().hide(page.to_owned());
        assert!(!hidden.contains("4711") && hidden.contains("<secret>"), "{hidden}");
        assert!(hidden.contains("and 42"));
        assert_eq!(hidden_lines(&hidden).count(), 3);
    }
}
