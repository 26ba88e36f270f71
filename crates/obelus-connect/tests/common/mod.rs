//! A session with tools, driven to the end of a turn.

use std::path::Path;
use std::sync::Arc;

use obelus_connect::model::{ModelSpec, open};
use obelus_kernel::session::{Approval, CallError, Input, Mode, Reply, Session, Settings};
use obelus_kernel::{Context, Time};
use obelus_runtime::{Activities, Driver, Model};
use serde_json::{Value, json};

/// A playbook of the examples.
pub(crate) fn example(name: &str) -> Arc<dyn Model> {
    let spec = ModelSpec::parse(&format!("playbook:examples/playbooks/{name}.yaml")).unwrap();
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    open(&spec, root).unwrap_or_else(|error| panic!("{error}"))
}

/// A session that sells: deals, people and letters, and `compose`, which the model carries out itself.
pub(crate) fn driver(model: Arc<dyn Model>, lazy: bool) -> Driver {
    let mut activities = Activities::new();
    activities.register("deal_get", |work| async move {
        match work.call["id"].as_i64() {
            Some(1) => Ok(json!({"id": 1, "title": "Окна", "sum": 5})),
            _ => Err(CallError::new("not_found", "нет такой сделки")),
        }
    });
    activities.register("deal_update", |work| async move { Ok(work.call["sum"].clone()) });
    activities.register("send", |work| async move { Ok(work.call["text"].clone()) });
    activities.register("people", |_| async { Ok(people()) });
    let tool = |properties: Value| json!({"x-effect": "read", "x-trust": "trusted", "properties": properties});
    let (number, text) = (json!({"type": "integer"}), json!({"type": "string"}));
    let mode = if lazy { "lazy" } else { "eager" };
    let context = json!([
        {"type": "tool", "tool": {
            "deal_get": tool(json!({"id": number})),
            "deal_update": tool(json!({"id": number, "sum": number})),
            "compose": tool(json!({"name": text, "time": text, "_output": text})),
            "send": tool(json!({"to": text, "text": text})),
            "people": tool(json!({})),
        }},
        {"type": "state", "people": people()},
        {"type": "plan", "plan": [], "mode": mode},
    ]);
    let settings = Settings {
        mode: Mode::Full,
        approval: Approval::Checked,
        repairs: 1,
        activities: activities.names(),
        ..Settings::default()
    };
    let session = Session::new("s", Context::from_value(context).unwrap(), None, Arc::new(settings)).unwrap();
    Driver::new(session, Arc::new(activities), model, || Time(0))
}

fn people() -> Value {
    json!([{"id": "anna", "name": "Анна", "time": "9:00"}, {"id": "boris", "name": "Борис", "time": "10:30"}])
}

/// The user says something, and the turn comes to rest.
pub(crate) async fn say(driver: &mut Driver, words: &str) -> Reply {
    driver.turn(Input::User { text: words.to_owned() }).await.unwrap()
}
