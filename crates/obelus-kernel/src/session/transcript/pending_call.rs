//! Calls for the transcript before they become entries. The text of a call costs more than its other bookkeeping, and
//! only a request and a checkpoint read it.

use obelus_notebook::dotted::below;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::call::Call;
use crate::tool::Tool;
use obelus_notebook::call_json::CallJson;
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
        if has_declared_path {
            entry.at.extend(call.writes().next().map(ToString::to_string));
        }
        let mut shown = params_alone(&entry.call, &call);
        if leaves_out_details && let Some(tool) = &call.tool {
            shown = without_details(shown, tool, "");
        }
        entry.call = shown.into();
        TranscriptEvent::Call(Box::new(entry))
    }
}

/// A call without the parameters that its tool declares as details.
fn without_details(value: Value, tool: &Tool, place: &str) -> Value {
    let Value::Object(fields) = value else { return value };
    let mut shown = Map::new();
    for (name, value) in fields {
        let place = below(place, &name);
        if !tool.is_detail(&place) {
            shown.insert(name, without_details(value, tool, &place));
        }
    }
    Value::Object(shown)
}

/// A call without remarks: its tool, its instance and its parameters.
pub(in crate::session) fn params_alone(shown: &Value, call: &Call) -> Value {
    let stays = |name: &str| CallJson::is_of_action(name) && !call.is_control_field(name);
    let fields: Map<String, Value> = shown
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, value)| stays(name) && !value.is_null())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    Value::Object(fields)
}
