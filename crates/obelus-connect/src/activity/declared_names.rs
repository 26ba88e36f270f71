//! The variables of the environment that an agent's file names as secrets. They belong to the agent: another agent in
//! the same process may name others.

use std::collections::BTreeSet;
use std::sync::Arc;

use obelus_runtime::SessionSpec;
use serde_json::{Map, Value};
#[cfg(any(feature = "exec", feature = "mcp"))]
use tokio::process::Command;

use super::secret_name::{is_ordinary, looks_secret};

/// The names. They are read from the whole file before anything is started, so that the order of its parts does not
/// matter.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeclaredNames(Arc<BTreeSet<String>>);

impl DeclaredNames {
    /// The names of a session: those of its activities, MCP servers, browser and model.
    pub(crate) fn of(spec: &SessionSpec) -> Self {
        let mut names = BTreeSet::new();
        spec.activities.iter().for_each(|lot| add_bindings(&mut names, &lot.bound));
        if let Some(mcp) = &spec.mcp {
            add_servers(&mut names, &mcp.servers);
            add_dollars(&mut names, mcp.browser.as_ref().and_then(|browser| browser.get("secrets")));
        }
        add_dollars(&mut names, spec.model.as_ref().and_then(|chosen| chosen.model.get("headers")));
        Self(Arc::new(names))
    }

    /// The names of bindings alone.
    pub(crate) fn of_bindings(bindings: &Map<String, Value>) -> Self {
        let mut names = BTreeSet::new();
        add_bindings(&mut names, bindings);
        Self(Arc::new(names))
    }

    /// The names of MCP servers alone.
    #[cfg(feature = "mcp")]
    pub(crate) fn of_servers(servers: &Map<String, Value>) -> Self {
        let mut names = BTreeSet::new();
        add_servers(&mut names, servers);
        Self(Arc::new(names))
    }

    /// Whether a program does not get a variable of the environment of Obelus: it looks like a secret, or its agent
    /// names it as one, and the program's own binding does not name it (`passed`).
    fn withholds(&self, name: &str, passed: &[String]) -> bool {
        let is_secret = || looks_secret(name) || self.0.contains(name) && !is_ordinary(name);
        !passed.iter().any(|passed| passed == name) && is_secret()
    }

    /// Takes the withheld variables from a program.
    #[cfg(any(feature = "exec", feature = "mcp"))]
    pub(crate) fn withhold(&self, command: &mut Command, passed: &[String]) {
        for (name, _) in std::env::vars_os() {
            // A name that is not valid text cannot be named in a binding.
            if self.withholds(&name.to_string_lossy(), passed) {
                command.env_remove(&name);
            }
        }
    }
}

fn add_bindings(names: &mut BTreeSet<String>, bindings: &Map<String, Value>) {
    for binding in bindings.values() {
        add_listed(names, &binding["env"]);
        add_listed(names, &binding["secrets"]);
        let portal = &binding["bitrix24"];
        let variables = ["webhook", "application_token"].into_iter().filter_map(|field| portal[field].as_str());
        names.extend(variables.map(|name| name.strip_prefix('$').unwrap_or(name).to_owned()));
    }
}

fn add_servers(names: &mut BTreeSet<String>, servers: &Map<String, Value>) {
    for server in servers.values() {
        add_listed(names, &server["env"]);
        ["env", "headers", "auth"].into_iter().for_each(|field| add_dollars(names, server.get(field)));
    }
}

/// Adds the names of a list, or the fields of an object that are `true`.
fn add_listed(names: &mut BTreeSet<String>, value: &Value) {
    match value {
        Value::Array(items) => names.extend(items.iter().filter_map(Value::as_str).map(str::to_owned)),
        Value::Object(fields) => {
            let passed = fields.iter().filter(|(_, value)| **value == Value::Bool(true));
            names.extend(passed.map(|(name, _)| name.clone()));
        }
        _ => {}
    }
}

/// Adds each `$NAME` and `${NAME}` in the texts of a value.
fn add_dollars(names: &mut BTreeSet<String>, value: Option<&Value>) {
    match value {
        Some(Value::String(text)) => add_dollars_of(names, text),
        Some(Value::Array(items)) => items.iter().for_each(|item| add_dollars(names, Some(item))),
        Some(Value::Object(fields)) => fields.values().for_each(|field| add_dollars(names, Some(field))),
        _ => {}
    }
}

fn add_dollars_of(names: &mut BTreeSet<String>, text: &str) {
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('$') {
        // `$$` is a dollar.
        if let Some(after) = after.strip_prefix('$') {
            rest = after;
            continue;
        }
        let after = after.strip_prefix('{').unwrap_or(after);
        let end = after.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(after.len());
        if end > 0 {
            names.insert(after[..end].to_owned());
        }
        rest = &after[end..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use obelus_runtime::specs::{BoundActivities, ChosenModel, McpSection};
    use serde_json::json;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn every_part_of_an_agent_declares_the_variables_that_it_names() {
        let bound = map(json!({
            "run": {"exec": ["sh", "-c", "echo $SCRIPT"], "env": ["RUN"]},
            "set": {"exec": ["true"], "env": {"SET_PASSED": true, "SET": "$TEXT"}},
            "get": {"http": {"url": "https://a.example.test"}, "secrets": ["GET"]},
            "crm": {"bitrix24": {"webhook": "$HOOK", "application_token": "APPLICATION"}},
            "none": null,
        }));
        let servers = map(json!({
            "one": {"command": ["srv", "$ARGUMENT"], "env": {"A": "x $ONE/$$DOLLAR", "ONE_PASSED": true}},
            "two": {"url": "https://c.example.test", "headers": {"X": "$TWO"}, "auth": {"client_secret": "$AUTH"}},
            "three": {"command": ["srv"], "env": ["THREE"]},
        }));
        let browser = map(json!({"secrets": {"A": "$SITE", "B": {"from": "$OTHER", "sites": ["x.test"]}}}));
        let spec = SessionSpec {
            activities: vec![BoundActivities { folder: "/f".into(), bound }],
            mcp: Some(McpSection { servers, browser: Some(browser), ..McpSection::default() }),
            model: Some(ChosenModel {
                model: json!({"openai": "m", "headers": {"X-Team": "team ${TEAM}"}}),
                folder: "/f".into(),
            }),
            ..SessionSpec::default()
        };
        let names: Vec<String> = DeclaredNames::of(&spec).0.iter().cloned().collect();
        let expected = [
            "APPLICATION",
            "AUTH",
            "GET",
            "HOOK",
            "ONE",
            "ONE_PASSED",
            "OTHER",
            "RUN",
            "SET_PASSED",
            "SITE",
            "TEAM",
            "THREE",
            "TWO",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn a_program_gets_the_declared_variables_of_its_own_binding_only() {
        let declared = DeclaredNames::of_bindings(&map(json!({"a": {"env": ["OWN"]}, "b": {"secrets": ["URL"]}})));
        for (name, by_its_own, by_others) in [
            ("OWN", false, true),
            ("URL", true, true),
            ("PLAIN", false, false),
            ("OPENAI_API_KEY", true, true),
            ("BITRIX_WEBHOOK_URL", true, true),
            ("BITRIX_APPLICATION_TOKEN", true, true),
            ("TELEGRAM_BOT_TOKEN", true, true),
            ("OBELUS_TOKEN", true, true),
        ] {
            let withheld = |passed: &[String]| declared.withholds(name, passed);
            assert_eq!((withheld(&["OWN".to_owned()]), withheld(&[])), (by_its_own, by_others), "{name}");
            assert_eq!(DeclaredNames::default().withholds(name, &[]), looks_secret(name), "another agent: {name}");
        }
    }

    #[test]
    fn the_ordinary_environment_is_for_every_program_whoever_names_it() {
        let named = ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "PYTHONPATH", "HTTPS_PROXY", "no_proxy", "DISPLAY"];
        let declared = DeclaredNames::of_bindings(&map(json!({"a": {"env": named}})));
        assert_eq!(named.into_iter().find(|name| declared.withholds(name, &[])), None);
    }
}
