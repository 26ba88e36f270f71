//! What a session and its delegates remember together: effects that need a person, and denied ones.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::policy::Reason;

/// The shared past of a session and its delegates. Effects are identified by tool and parameters.
#[derive(Clone, Default)]
pub(in crate::session) struct SharedPast {
    /// Effects that need a person: why. They happened, or may have, without a result, or were not approved in a plan.
    pub(super) happened: BTreeMap<String, Reason>,
    /// Denied effects.
    pub(super) denied: BTreeMap<String, DeniedEffect>,
}

/// An effect that a person denied.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::session) struct DeniedEffect {
    /// The session or delegate whose call was denied.
    pub(super) session: String,
    /// Whether the user has written since.
    pub(super) has_words_since: bool,
}
