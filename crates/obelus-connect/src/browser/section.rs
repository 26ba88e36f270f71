//! The section `browser` of an agent's file.
//!
//! ```yaml
//! browser:
//!   server: browser                  # the MCP server; started automatically if `mcp` has none of this name
//!   sites: [shop.example.test, '*.example.test']
//!   secrets: {SHOP_PASSWORD: $SHOP_PASSWORD}         # or {from, sites, visible}
//!   shots: FOLDER                    # pictures of pages
//!   uploads: FOLDER                  # files that may be given to pages
//!   pass: ['POST https://shop.example.test/graphql']   # sent without asking
//!   drop: ['POST https://*.counter.example.test/*']    # never sent and not reported
//!   sockets: false                   # whether pages may open web sockets
//!   most: 200000                     # characters of a page that are shown
//!   headed: false                    # whether to show the browser on the screen
//!   arguments: []                    # further arguments of the automatically started server
//! ```

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::guard::{GuardRules, pattern};
use super::secrets::{SecretSource, Secrets};
use super::sites::Sites;
use crate::activity::secret_name::register;
use crate::activity::{BindingError, BindingFields};

/// The fields of the section.
const KNOWN: [&str; 11] =
    ["server", "sites", "secrets", "shots", "uploads", "pass", "drop", "sockets", "most", "headed", "arguments"];

/// The default limit of characters shown of a page.
const MOST: usize = 200_000;

/// The smallest limit.
const LEAST: usize = 1_000;

/// The section `browser` of an agent's file.
#[derive(Clone, Debug)]
pub struct BrowserSection {
    pub(super) server: String,
    pub(super) sites: Sites,
    pub(super) secrets: Secrets,
    pub(super) shots: Option<PathBuf>,
    pub(super) uploads: Option<PathBuf>,
    pub(super) rules: GuardRules,
    pub(super) most: usize,
    pub(super) headed: bool,
    pub(super) arguments: Vec<String>,
}

impl BrowserSection {
    /// Reads the section; relative paths begin at `base`. Nothing is started.
    ///
    /// ```
    /// # use obelus_connect::browser::BrowserSection;
    /// # use serde_json::json;
    /// let section = json!({"sites": ["shop.example.test"], "secrets": {"PASSWORD": "$SHOP_PASSWORD"}});
    /// let section = BrowserSection::parse(section.as_object().unwrap(), "agents".as_ref())?;
    /// assert_eq!(section.server(), "browser");
    ///
    /// let wrong = json!({"sites": ["shop.example.test/cart"]});
    /// assert!(BrowserSection::parse(wrong.as_object().unwrap(), "agents".as_ref()).is_err());
    /// # Ok::<(), obelus_connect::activity::BindingError>(())
    /// ```
    pub fn parse(section: &Map<String, Value>, base: &Path) -> Result<Self, BindingError> {
        let fields = BindingFields::of("browser", section, &KNOWN)?;
        let sites = fields.texts("sites")?;
        let sites = Sites::parse(&sites).map_err(|problem| fields.wrong("sites", problem))?;
        let patterns = |name: &str| -> Result<Vec<String>, BindingError> {
            let all = fields.texts(name)?;
            all.iter().map(|text| pattern(text).map_err(|problem| fields.wrong(name, problem))).collect()
        };
        let folder = |name: &str| Ok::<_, BindingError>(fields.text(name)?.map(|folder| base.join(folder)));
        let switch = |name: &str| match fields.get(name) {
            None => Ok(false),
            Some(Value::Bool(on)) => Ok(*on),
            other => Err(fields.mistyped(name, "true or false", other)),
        };
        let most = match fields.get("most") {
            None => MOST,
            Some(value) => {
                let most = value.as_u64().and_then(|most| usize::try_from(most).ok()).filter(|most| *most >= LEAST);
                most.ok_or_else(|| fields.wrong("most", format!("it must be a number from {LEAST}; it is {value}")))?
            }
        };
        let server = fields.text("server")?.unwrap_or("browser");
        if server.is_empty() {
            return Err(fields.wrong("server", "it must be the name of a server under `mcp`; it is empty"));
        }
        Ok(Self {
            server: server.to_owned(),
            sites,
            secrets: secrets(&fields)?,
            shots: folder("shots")?,
            uploads: folder("uploads")?,
            rules: GuardRules { pass: patterns("pass")?, drop: patterns("drop")?, sockets: switch("sockets")? },
            most,
            headed: switch("headed")?,
            arguments: fields.texts("arguments")?,
        })
    }

    /// The name of its MCP server.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The names of secrets, as the model writes them.
    pub fn secrets(&self) -> Vec<String> {
        self.secrets.names()
    }
}

fn secrets(fields: &BindingFields<'_>) -> Result<Secrets, BindingError> {
    let mut secrets = Secrets::default();
    let map = match fields.get("secrets") {
        None => return Ok(secrets),
        Some(Value::Object(map)) => map,
        other => return Err(fields.mistyped("secrets", "a map of names to variables, as in {PASSWORD: $NAME}", other)),
    };
    let is_name =
        |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    for (name, value) in map {
        let field = format!("secrets.{name}");
        if !is_name(name) {
            return Err(fields.wrong(&field, "a name is made of letters, digits and underscores"));
        }
        let (variable, sites, visible) = match value {
            Value::String(variable) => (variable.as_str(), None, false),
            Value::Object(source) => {
                let Some(variable) = source.get("from").and_then(Value::as_str) else {
                    return Err(fields.wrong(&field, "`from` must be a variable of the environment, such as $NAME"));
                };
                if let Some(stray) = source.keys().find(|key| !matches!(key.as_str(), "from" | "sites" | "visible")) {
                    let problem = format!("`{stray}` is unknown; there are `from`, `sites` and `visible`");
                    return Err(fields.wrong(&field, problem));
                }
                let visible = match source.get("visible") {
                    None => false,
                    Some(Value::Bool(visible)) => *visible,
                    Some(_) => return Err(fields.wrong(&field, "`visible` must be true or false")),
                };
                let sites = source.get("sites").map(|sites| {
                    let texts =
                        sites.as_array().map(|sites| sites.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
                    texts.flatten().ok_or_else(|| fields.wrong(&field, "`sites` must be a list of texts"))
                });
                (variable, sites.transpose()?, visible)
            }
            other => return Err(fields.mistyped(&field, "a variable of the environment, such as $NAME", Some(other))),
        };
        let Some(variable) = variable.strip_prefix('$').filter(|variable| is_name(variable)) else {
            let problem =
                "a secret does not stand in a file: put it into a variable of the environment, and write $NAME here";
            return Err(fields.wrong(&field, problem));
        };
        let sites = sites.map(|sites| Sites::parse(&sites).map_err(|problem| fields.wrong(&field, problem)));
        drop(register(variable));
        let source = SecretSource { variable: variable.to_owned(), sites: sites.transpose()?, visible };
        secrets.sources.insert(name.clone(), source);
    }
    Ok(secrets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(section: Value) -> Result<BrowserSection, BindingError> {
        BrowserSection::parse(section.as_object().unwrap(), Path::new("/agents"))
    }

    #[test]
    fn a_section_is_read() {
        let section = parse(json!({
            "server": "web", "sites": ["shop.example.test"], "shots": "shots", "uploads": "/files", "sockets": true,
            "secrets": {"A": "$ONE", "B": {"from": "$TWO", "sites": ["bank.example.test"]}},
            "pass": ["POST https://shop.example.test/graphql"], "most": 5000,
        }))
        .unwrap();
        assert_eq!((section.server(), section.secrets()), ("web", vec!["$A".to_owned(), "$B".to_owned()]));
        assert_eq!(section.shots.as_deref(), Some(Path::new("/agents/shots")));
        assert_eq!(section.uploads.as_deref(), Some(Path::new("/files")));
        assert!(section.rules.sockets && section.rules.pass.len() == 1 && section.most == 5000);
        assert_eq!(parse(json!({})).unwrap().server(), "browser");
    }

    #[test]
    fn an_invalid_section_is_refused_with_the_reason() {
        for (section, field, why) in [
            (json!({"site": ["a.test"]}), "site", "did you mean `sites`?"),
            (json!({"sites": ["a.test/b"]}), "sites", "`a.test/b`"),
            (json!({"sites": "a.test"}), "sites", "a list of texts"),
            (json!({"secrets": {"A": "hush"}}), "secrets.A", "does not stand in a file"),
            (json!({"secrets": {"A": {"sites": []}}}), "secrets.A", "`from`"),
            (json!({"secrets": {"A": {"from": "$A", "site": []}}}), "secrets.A", "`site` is unknown"),
            (json!({"secrets": {"A": {"from": "$A", "visible": 1}}}), "secrets.A", "true or false"),
            (json!({"secrets": {"a b": "$A"}}), "secrets.a b", "letters"),
            (json!({"pass": ["POST"]}), "pass", "a method and an address"),
            (json!({"most": 10}), "most", "from 1000"),
            (json!({"sockets": "yes"}), "sockets", "true or false"),
            (json!({"server": ""}), "server", "the name of a server"),
        ] {
            let error = parse(section.clone()).unwrap_err();
            assert_eq!((error.binding.as_str(), error.field), ("browser", format!("`{field}`")), "{section}");
            assert!(error.problem.contains(why), "{section}: {}", error.problem);
        }
    }
}
