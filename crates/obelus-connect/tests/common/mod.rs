//! A session with tools.

mod live;

use std::path::Path;
use std::sync::Arc;

use obelus_connect::model::{ModelSpec, open};
use obelus_kernel::Context;
use obelus_kernel::session::options::Approval;
use obelus_kernel::session::{CallError, Mode, Reply, Settings};
use obelus_runtime::{Activities, Connections, Model, SessionSpec};
use serde_json::{Value, json};

pub(crate) use live::Live;

/// A playbook from the examples.
pub(crate) fn example(name: &str) -> Arc<dyn Model> {
    let spec = ModelSpec::parse(&format!("playbook:examples/playbooks/{name}.yaml")).unwrap();
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    open(&spec, root).unwrap_or_else(|error| panic!("{error}"))
}

/// A session of a sales agent: deals, people and letters, and `compose`, which the model carries out itself.
pub(crate) async fn live(model: Arc<dyn Model>, lazy: bool) -> Live {
    live_with(model, lazy, json!({"type": "state", "people": people()})).await
}

/// As [`live`], with another message in memory.
pub(crate) async fn live_with(model: Arc<dyn Model>, lazy: bool, memory: Value) -> Live {
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
        memory,
        {"type": "plan", "plan": [], "mode": mode},
    ]);
    let settings = Settings { mode: Mode::Full, approval: Approval::Checked, repairs: 1, ..Settings::default() };
    let spec = SessionSpec { context: Context::from_value(context).unwrap(), settings, ..SessionSpec::default() };
    Live::new(Connections { model, ..Connections::new(activities) }, spec).await
}

pub(crate) fn people() -> Value {
    json!([{"id": "anna", "name": "Анна", "time": "9:00"}, {"id": "boris", "name": "Борис", "time": "10:30"}])
}

/// Sends a message and waits until the turn rests.
pub(crate) async fn say(live: &Live, words: &str) -> Reply {
    live.say(words).await
}
