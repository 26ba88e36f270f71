//! What an operator needs besides the tools it works with: its working state, and somebody to look and to act.
//!
//! # Layout
//!
//! | file | subject |
//! |---|---|
//! | `record` | the working state: what is taken into it, and what never is |
//! | `alone` | an operator without a browser: tools of other servers pass, and there is nothing to look at |
//!
//! Where an agent's file has a browser, that browser looks, aims and acts (`browser`).

mod alone;
mod record;

use obelus_runtime::Activities;

pub use record::{Recording, Refusal, record};

use crate::activity::{BindingError, Fields};

/// What `operator` may say in a binding.
const PARTS: [&str; 4] = ["record", "observe", "aim", "act"];

/// Binds one part of an operator.
pub(crate) fn bind(activities: &mut Activities, name: &str, fields: &Fields<'_>) -> Result<(), BindingError> {
    match fields.text("operator")? {
        Some("record") => drop(activities.add(name, record::Record::default())),
        Some("observe") => drop(activities.add(name, alone::Observe)),
        Some("aim") => drop(activities.add(name, alone::Aim)),
        Some("act") => drop(activities.add(name, alone::Act)),
        other => {
            let found = other.map_or_else(|| "nothing".to_owned(), |other| format!("`{}`", other.escape_debug()));
            return Err(fields.wrong("operator", format!("it is one of {}, not {found}", PARTS.join(", "))));
        }
    }
    Ok(())
}
