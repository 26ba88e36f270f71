//! The parts of an operator besides its tools: its working state, observing and acting.
//!
//! # Layout
//!
//! | file | subject |
//! |---|---|
//! | `record` | the working state: what is stored in it, and what never is |
//! | `no_browser` | an operator without a browser: other servers' tools are called directly, and there is no page |
//!
//! If an agent's file has a browser, that browser observes, aims and acts (`browser`).

mod no_browser;
mod record;

use obelus_runtime::Activities;

pub use record::{Recording, Refusal, record};

use crate::activity::{BindingError, BindingFields};

/// The values of `operator` in a binding.
const PARTS: [&str; 4] = ["record", "observe", "aim", "act"];

/// Binds one part of an operator.
pub(crate) fn bind(activities: &mut Activities, name: &str, fields: &BindingFields<'_>) -> Result<(), BindingError> {
    match fields.text("operator")? {
        Some("record") => drop(activities.add(name, record::RecordActivity::default())),
        Some("observe") => drop(activities.add(name, no_browser::Observe)),
        Some("aim") => drop(activities.add(name, no_browser::Aim)),
        Some("act") => drop(activities.add(name, no_browser::Act)),
        other => {
            let found = other.map_or_else(|| "nothing".to_owned(), |other| format!("`{}`", other.escape_debug()));
            return Err(fields.wrong("operator", format!("it is one of {}, not {found}", PARTS.join(", "))));
        }
    }
    Ok(())
}
