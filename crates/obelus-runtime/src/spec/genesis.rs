//! Reads and changes of a genesis in its stored form. It is not read as a spec and written again for that: a newer
//! version would write other fields, and the session would have another beginning.

use serde_json::{Map, Value, json};

use super::SessionSpec;

impl SessionSpec {
    /// The key in a genesis (DUR-14); empty if it has none.
    pub fn key_in(genesis: &Value) -> &str {
        genesis["key"].as_str().unwrap_or_default()
    }

    /// The genesis of a copy, which has another key.
    pub(crate) fn with_key(mut genesis: Value, key: String) -> Value {
        genesis["key"] = key.into();
        genesis
    }

    /// A genesis without the places, commands and addresses of its agent. Of its activities there are names alone, each
    /// bound to nothing.
    pub fn without_places(mut genesis: Value, activities: impl IntoIterator<Item = String>) -> Value {
        let Value::Object(fields) = &mut genesis else { return genesis };
        fields.retain(|name, _| !["model", "mcp", "folder"].contains(&name.as_str()));
        let bound: Map<String, Value> = activities.into_iter().map(|name| (name, Value::Null)).collect();
        fields.insert("activities".to_owned(), json!([{"folder": "", "bound": bound}]));
        // The file of an agent, by which messages call it.
        if let Some(Value::String(name)) = fields.get_mut("name") {
            *name = name.rsplit('/').next().unwrap_or_default().to_owned();
        }
        genesis
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{BoundActivities, ChosenModel, McpSection};

    #[test]
    fn changes_of_a_genesis_concern_the_fields_of_the_spec() {
        let spec = SessionSpec {
            name: "/home/ann/agents/crm".to_owned(),
            folder: "/home/ann".into(),
            model: Some(ChosenModel { model: "m".into(), folder: "/home/ann".into() }),
            mcp: Some(McpSection { folder: "/home/ann".into(), ..McpSection::default() }),
            activities: vec![BoundActivities { folder: "/home/ann".into(), bound: Map::new() }],
            ..SessionSpec::default()
        };
        let genesis = SessionSpec::with_key(serde_json::to_value(&spec).unwrap(), "k1".to_owned());
        assert_eq!(SessionSpec::key_in(&genesis), "k1");
        let hidden = SessionSpec::without_places(genesis, ["step".to_owned()]);
        assert!(!hidden.to_string().contains("/home"), "{hidden}");
        let read = SessionSpec::from_genesis(hidden).unwrap();
        assert_eq!((read.key.as_str(), read.name.as_str()), ("k1", "crm"));
        assert!(read.model.is_none() && read.mcp.is_none() && read.activities[0].bound["step"].is_null());
    }
}
