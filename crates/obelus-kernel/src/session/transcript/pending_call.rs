//! Calls for the transcript before they become entries. The text of a call costs more than its other bookkeeping, and
//! only a request and a checkpoint read it.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::call::Call;
use crate::tool::Tool;
use obelus_notebook::transcript_entry::{CallEntry, TranscriptEvent};

/// An ended call, whose entry is made later.
#[derive(Clone, Debug)]
pub(in crate::session) struct PendingCall {
    /// The entry, still with the whole call, and without its path if that is the declared one.
    pub(in crate::session) entry: CallEntry,
    pub(in crate::session) call: Arc<Call>,
    pub(in crate::session) has_declared_path: bool,
    pub(in crate::session) leaves_out_details: bool,
}

impl PendingCall {
    /// The event for the model.
    pub(super) fn event(self) -> TranscriptEvent {
        let Self { mut entry, call, has_declared_path, leaves_out_details } = self;
        entry.at.extend(call.writes().next().filter(|_| has_declared_path).map(ToString::to_string));
        let details = call.tool.as_deref().filter(|_| leaves_out_details);
        entry.call = Arc::new(without_details(params_alone(&entry.call, &call), details, ""));
        TranscriptEvent::Call(Box::new(entry))
    }
}

/// A call without the parameters that its tool declares as details.
fn without_details(value: Value, tool: Option<&Tool>, place: &str) -> Value {
    let Some(tool) = tool else { return value };
    let Value::Object(fields) = value else { return value };
    let below = |name: &str| if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
    let told = fields.into_iter().map(|(name, value)| (below(&name), name, value));
    let told = told.filter(|(place, ..)| !tool.is_detail(place));
    told.map(|(place, name, value)| (name, without_details(value, Some(tool), &place))).collect()
}

/// A call without remarks: its tool, its instance and its parameters.
pub(in crate::session) fn params_alone(shown: &Value, call: &Call) -> Value {
    let stays = |name: &str| {
        if name.starts_with('_') { matches!(name, "_tool" | "_instance") } else { call.aside(name).is_none() }
    };
    let fields: Map<String, Value> = shown
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, value)| stays(name) && !value.is_null())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    Value::Object(fields)
}
