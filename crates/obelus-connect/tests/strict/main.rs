//! The composed schema against the provider's published rules for strict structured outputs: a schema that passes here
//! is accepted by the server, and an answer that follows it is parsed as the intended call.
//!
//! | file | subject |
//! |---|---|
//! | `rules` | the rules, and where they are published |
//! | `writer` | answers as a model writes them under an enforced schema |
//! | `roundtrip` | for any schema of a tool, the composed schema is strict, and answers are parsed back |
//! | `conversation` | the CRM agent in JSON, with a server that enforces the schema of the request |
#![cfg(feature = "openai")]

mod conversation;
mod roundtrip;
mod rules;
#[path = "../common/stream.rs"]
#[expect(dead_code, reason = "the ways in which a server fails are for other tests")]
mod stream;
mod writer;

use std::sync::Arc;

use obelus_kernel::dialect::Dialect;
use obelus_kernel::session::{Input, Prompt, Session, Task};
use obelus_kernel::{Context, Time};
use obelus_runtime::Agent;
use obelus_runtime::files::{AgentCatalogue, read_document};
use serde_json::{Value, json};

use rules::breaches;

/// The first prompt of an agent that answers in JSON.
fn first_prompt(
    context: Context,
    schema: Option<Value>,
    mut settings: obelus_kernel::session::Settings,
    activities: impl IntoIterator<Item = String>,
) -> Prompt {
    settings.dialect = Dialect::Json;
    settings.activities = activities.into_iter().collect();
    let mut session = Session::new("s", context, schema, Arc::new(settings)).unwrap();
    session.handle(Time(0), Input::User { text: "a".to_owned(), by: None }).unwrap();
    let mut task = session.poll();
    loop {
        match task {
            Some(Task::AskModel { id }) => return session.prompt(&id).unwrap(),
            Some(_) => task = session.poll(),
            None => panic!("the model is not asked"),
        }
    }
}

fn prompt_of(agent: Agent) -> Prompt {
    let activities: Vec<String> = agent.activities.keys().cloned().collect();
    first_prompt(agent.context, agent.schema, agent.settings, activities)
}

#[test]
fn the_schema_of_every_bundled_agent_is_strict() {
    let agents = AgentCatalogue::default().all();
    assert!(!agents.is_empty());
    for folder in agents {
        let name = folder.display().to_string();
        let prompt = prompt_of(Agent::load(&folder).unwrap());
        assert_eq!((prompt.answer.loose.clone(), breaches(&prompt.answer.schema)), (vec![], vec![]), "{name}");
        let size = rules::size(&prompt.answer.schema);
        eprintln!("{name}: {size:?}");
    }
}

#[test]
fn references_are_permitted_in_place_of_numbers_and_objects() {
    let context = json!([{"type": "tool", "tool": {"count": {"properties": {
        "n": {"type": "integer"},
        "o": {"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"], "additionalProperties": false},
    }, "required": ["n", "o"]}}}]);
    let prompt = first_prompt(Context::from_value(context).unwrap(), None, Default::default(), ["count".to_owned()]);
    assert_eq!((prompt.answer.loose.clone(), breaches(&prompt.answer.schema)), (vec![], vec![]));
    let accepts = |n: Value, o: Value| {
        let mut call = json!({"_tool": "count", "n": n, "o": o});
        let schema = &prompt.answer.schema["properties"]["calls"]["items"]["anyOf"][0];
        for name in schema["required"].as_array().unwrap() {
            let name = name.as_str().unwrap();
            if call.get(name).is_none() {
                call[name] = Value::Null;
            }
        }
        jsonschema::is_valid(&prompt.answer.schema, &json!({"say": null, "calls": [call], "output": null}))
    };
    assert!(accepts(json!(1), json!({"a": 1.5})));
    assert!(accepts(json!("†state.n"), json!("†state.o")));
    assert!(accepts(json!(1), json!({"a": "†state.x"})));
    assert!(!accepts(json!("many"), json!({"a": 1})), "other texts are not");
}

#[test]
fn the_examples_are_strict() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let mut looked_at = 0;
    for entry in std::fs::read_dir(root).unwrap() {
        for file in std::fs::read_dir(entry.unwrap().path()).into_iter().flatten() {
            let path = file.unwrap().path();
            let is_document = path.extension().is_some_and(|ending| ending == "yaml" || ending == "json");
            let Some(text) = is_document.then(|| std::fs::read_to_string(&path).ok()).flatten() else { continue };
            let Ok(document) = read_document(&path, &text) else { continue };
            let Ok(context) = Context::from_value(document["context"].clone()) else { continue };
            let schema = document.get("schema").filter(|schema| schema.is_object()).cloned();
            let names: Vec<String> =
                context.tools().filter_map(|tool| tool.fixed_name("_activity").map(str::to_owned)).collect();
            let prompt = first_prompt(context, schema, Default::default(), names);
            looked_at += 1;
            assert_eq!(
                (prompt.answer.loose.clone(), breaches(&prompt.answer.schema)),
                (vec![], vec![]),
                "{}",
                path.display()
            );
        }
    }
    assert!(looked_at > 0);
}
