//! The external uses of a session: the programs, addresses and servers that its spec names. Nothing is started.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use obelus_kernel::session::Settings;
use obelus_runtime::SessionSpec;
use obelus_runtime::text::plain_text;
use serde_json::{Map, Value};

use crate::model::ModelSpec;

/// Something outside of the process that a session could use.
#[derive(Clone, Debug, PartialEq)]
pub struct ExternalUse {
    /// The part of the session that uses it.
    pub user: ExternalUser,
    /// The program, address or server.
    pub target: ExternalTarget,
    /// Its variables and headers in the file, as JSON texts: they may name secrets.
    pub given: Vec<String>,
}

/// A part of a session that uses something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExternalUser {
    /// An activity of this name.
    Activity(String),
    /// An MCP server of this name.
    Server(String),
    /// The browser.
    Browser,
    /// The model.
    Model,
    /// Delegates, whose saved requests are read.
    Delegates,
}

/// A program, address or server that is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExternalTarget {
    /// A program with its arguments, started in a folder.
    Program {
        /// The program and its arguments, as a JSON list.
        command: String,
        /// The folder.
        folder: PathBuf,
    },
    /// An address, or a template of one.
    Address(String),
    /// The address in a variable of the environment.
    Variable(String),
    /// Something else, as its file has it.
    Other(String),
}

/// The external uses of a session, by its spec and by later settings of its agent's file.
pub fn external_uses<'a>(spec: &SessionSpec, later: impl IntoIterator<Item = &'a Settings>) -> Vec<ExternalUse> {
    let mut uses = Vec::new();
    for lot in &spec.activities {
        for (name, binding) in &lot.bound {
            add_activity(&mut uses, name, binding, &lot.folder);
        }
    }
    if let Some(mcp) = &spec.mcp {
        for (name, server) in &mcp.servers {
            add_server(&mut uses, name, server, &mcp.folder);
        }
        if let Some(browser) = &mcp.browser {
            let target = ExternalTarget::Other(Value::Object(browser.clone()).to_string());
            uses.push(ExternalUse { user: ExternalUser::Browser, target, given: Vec::new() });
        }
    }
    if let Some(chosen) = &spec.model
        && !matches!(ModelSpec::from_value(&chosen.model), Ok(ModelSpec::Playbook(_) | ModelSpec::Replay(_)))
    {
        let target = ExternalTarget::Other(plain_text(&chosen.model));
        uses.push(ExternalUse { user: ExternalUser::Model, target, given: Vec::new() });
    }
    let mut addresses: BTreeSet<String> = spec.settings.delegates.iter().cloned().collect();
    addresses.extend(later.into_iter().flat_map(|settings| settings.delegates.iter().cloned()));
    for address in addresses {
        let target = ExternalTarget::Address(address);
        uses.push(ExternalUse { user: ExternalUser::Delegates, target, given: Vec::new() });
    }
    uses
}

fn add_activity(uses: &mut Vec<ExternalUse>, name: &str, binding: &Value, base: &Path) {
    let fields = match binding {
        Value::Object(fields) => fields,
        // The activity is bound to nothing.
        Value::Null => return,
        other => return uses.push(other_use(ExternalUser::Activity(name.to_owned()), other)),
    };
    let user = || ExternalUser::Activity(name.to_owned());
    let reconcile = fields.get("reconcile").filter(|reconcile| !reconcile.is_null());
    if let Some(command) = fields.get("exec") {
        for command in [command].into_iter().chain(reconcile) {
            uses.push(ExternalUse {
                user: user(),
                target: program(command, fields, base),
                given: given(fields, &["env"]),
            });
        }
    } else if let Some(http) = fields.get("http") {
        for request in [http].into_iter().chain(reconcile) {
            let target = ExternalTarget::Address(plain_text(&request["url"]));
            uses.push(ExternalUse { user: user(), target, given: given(fields, &["secrets"]) });
        }
    } else if let Some(portal) = fields.get("bitrix24") {
        let variable = plain_text(&portal["webhook"]).trim_start_matches('$').to_owned();
        uses.push(ExternalUse { user: user(), target: ExternalTarget::Variable(variable), given: Vec::new() });
    } else if !fields.contains_key("jq") && !fields.contains_key("operator") {
        uses.push(other_use(user(), binding));
    }
}

fn add_server(uses: &mut Vec<ExternalUse>, name: &str, server: &Value, base: &Path) {
    let user = ExternalUser::Server(name.to_owned());
    let Value::Object(fields) = server else { return uses.push(other_use(user, server)) };
    let target = match (fields.get("command"), fields.get("url")) {
        (Some(command), _) if !command.is_null() => program(command, fields, base),
        (_, Some(url)) => ExternalTarget::Address(plain_text(url)),
        _ => return uses.push(other_use(user, server)),
    };
    uses.push(ExternalUse { user, target, given: given(fields, &["env", "headers", "auth"]) });
}

fn program(command: &Value, fields: &Map<String, Value>, base: &Path) -> ExternalTarget {
    let folder = fields.get("cwd").and_then(Value::as_str).map_or_else(|| base.to_owned(), |cwd| base.join(cwd));
    ExternalTarget::Program { command: command.to_string(), folder }
}

/// The fields of these names.
fn given(fields: &Map<String, Value>, names: &[&str]) -> Vec<String> {
    let given = names.iter().filter_map(|name| Some((name, fields.get(*name).filter(|value| !value.is_null())?)));
    given.map(|(name, value)| format!("{name} {value}")).collect()
}

fn other_use(user: ExternalUser, value: &Value) -> ExternalUse {
    ExternalUse { user, target: ExternalTarget::Other(value.to_string()), given: Vec::new() }
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
    fn every_program_and_address_of_a_spec_is_listed() {
        let bound = map(json!({
            "run": {"exec": ["./run", "a b"], "cwd": "sub", "env": ["DB"], "reconcile": ["./look"]},
            "get": {"http": {"url": "https://a.example.test/{{ call.x }}"}, "secrets": ["T"], "reconcile": {"url": "https://b.example.test"}},
            "crm": {"bitrix24": {"webhook": "$HOOK"}},
            "strange": {"shell": "x"},
            "pure": {"jq": "."}, "look": {"operator": "observe"}, "none": null,
        }));
        let servers =
            map(json!({"one": {"command": ["srv"]}, "two": {"url": "https://c.example.test", "headers": {"X": "$S"}}}));
        let mut spec = SessionSpec {
            activities: vec![BoundActivities { folder: "/f".into(), bound }],
            mcp: Some(McpSection { servers, folder: "/m".into(), browser: Some(Map::new()), ..McpSection::default() }),
            model: Some(ChosenModel { model: "openai:m".into(), folder: "/f".into() }),
            ..SessionSpec::default()
        };
        spec.settings.delegates = vec!["https://d.example.test/".to_owned()];
        let later = Settings { delegates: vec!["https://e.example.test/".to_owned()], ..Settings::default() };
        let uses = external_uses(&spec, [&later]);
        let shown: Vec<String> = uses.iter().map(|each| format!("{:?} {:?}", each.target, each.given)).collect();
        let expected = [
            r#"Program { command: "[\"./run\",\"a b\"]", folder: "/f/sub" } ["env [\"DB\"]"]"#,
            r#"Program { command: "[\"./look\"]", folder: "/f/sub" } ["env [\"DB\"]"]"#,
            r#"Address("https://a.example.test/{{ call.x }}") ["secrets [\"T\"]"]"#,
            r#"Address("https://b.example.test") ["secrets [\"T\"]"]"#,
            r#"Variable("HOOK") []"#,
            r#"Other("{\"shell\":\"x\"}") []"#,
            r#"Program { command: "[\"srv\"]", folder: "/m" } []"#,
            r#"Address("https://c.example.test") ["headers {\"X\":\"$S\"}"]"#,
            r#"Other("{}") []"#,
            r#"Other("openai:m") []"#,
            r#"Address("https://d.example.test/") []"#,
            r#"Address("https://e.example.test/") []"#,
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_session_that_stays_in_its_process_uses_nothing() {
        let model = Some(ChosenModel { model: "playbook:p.yaml".into(), folder: "/f".into() });
        let bound = map(json!({"pure": {"jq": "."}}));
        let activities = vec![BoundActivities { folder: "/f".into(), bound }];
        assert_eq!(external_uses(&SessionSpec { model, activities, ..SessionSpec::default() }, []), []);
    }
}
