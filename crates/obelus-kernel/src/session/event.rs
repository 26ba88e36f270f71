//! What a service tells of its own accord: data that nobody asked for, believed by nobody.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Refused, Session};
use crate::fold::Method;
use crate::message::{Data, Message};
use crate::origin::{Origin, Origins};
use crate::path::Path;

/// The kind in which events are kept, oldest first.
pub(super) const KIND: &str = "events";

/// Ids that are remembered, to know an event that comes a second time.
const MOST_IDS: usize = 1_000;

impl Session {
    /// An event has come. It is kept once, shown with the next request, and sets nothing to work: it is no wish, no
    /// words of the user and no consent, whatever it says.
    pub(super) fn take_event(&mut self, id: String, event: Value) -> Result<(), Refused> {
        if self.projection.events.contains(&id) {
            return Ok(());
        }
        let path = Arc::new(Path::root(KIND));
        let call = Arc::new(json!({"_tool": "event", "id": id}));
        let kept = json!({"at": *self.date(), "event": event});
        let mut data = Data::result(call, path, Some(self.date()), kept);
        data.method = Some(Method::Push);
        data.origins = Some(Origins::of(Origin::Tool { name: "event".into(), trusted: false }));
        let appended = self.context.append(vec![Message::Data(Box::new(data))]);
        appended.map_err(|fault| Refused::new("bad_event", fault.to_string()))?;
        self.projection.events.push_back(id);
        if self.projection.events.len() > MOST_IDS {
            self.projection.events.pop_front();
        }
        Ok(())
    }
}
