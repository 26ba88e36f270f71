//! What a successful call leaves in memory beside its result.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Session;
use super::job::JobRef;
use super::turn::error_data;
use crate::call::Call;
use crate::jq::Read;
use crate::message::{Data, Message};

impl Session {
    /// Writes what the call's tool declares in `x-leaves`. The effect has happened, so whatever is wrong with a
    /// declaration is told, and takes nothing back.
    pub(super) fn write_side_writes(&mut self, at: JobRef, call: &Arc<Call>, result: &Value) {
        let Some(tool) = call.tool.clone().filter(|tool| !tool.side_writes.is_empty()) else { return };
        let Some(frozen) = self.frozen(at).cloned() else { return };
        let now = self.now.to_string().into();
        let input = [("call", Read::new(&frozen.call)), ("result", Read::new(result)), ("now", Read::new(&now))];
        let origins = self.steps[&at.step].jobs[at.job as usize].origins.clone().joined(self.own_origin(at, call));
        let instance = self.steps[&at.step].jobs[at.job as usize].instance.clone();
        for leave in &tool.side_writes {
            let was = self.context.read(&leave.to, instance.as_deref());
            let was = Read::new(was.as_deref().unwrap_or(&Value::Null));
            let left = match leave.value.one_read(&Read::of_fields(input.iter().cloned().chain([("was", was)]))) {
                Ok(Value::Null) => continue,
                Ok(value) => {
                    let path = Arc::new(leave.to.clone());
                    let mut data = Data::result(frozen.call.clone(), path, Some(self.date()), value);
                    data.instance.clone_from(&instance);
                    data.method = Some(leave.method);
                    data.origins = Some(origins.clone());
                    self.context.append(vec![Message::Data(Box::new(data))]).map_err(|fault| fault.to_string())
                }
                Err(why) => Err(why),
            };
            if let Err(why) = left {
                let message = format!("what `{}` leaves at {} cannot be written: {why}", tool.name, leave.to);
                let error = json!({"code": "leaves", "message": message});
                self.turn.tell_model(error_data((*frozen.call).clone(), error));
            }
        }
    }
}
