//! What never changes in a session.

use std::sync::Arc;

use jsonschema::Validator;
use serde_json::Value;

/// The constants of the session.
pub(super) struct SessionConstants {
    pub(super) id: String,
    /// Of a delegate, the id of the session at the top.
    pub(super) root: Option<String>,
    /// The schema of the result.
    pub(super) schema: Option<Value>,
    pub(super) validator: Option<Arc<Validator>>,
    /// Whether state is carried from turn to turn.
    pub(super) persistent: bool,
    /// How many delegates are above this one.
    pub(super) depth: u32,
}

impl SessionConstants {
    /// The id by which effects are identified: that of the session at the top.
    pub(super) fn root_id(&self) -> &str {
        self.root.as_ref().unwrap_or(&self.id)
    }
}
