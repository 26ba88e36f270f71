//! Observing, aiming and acting as activities.

use std::sync::Arc;
use std::time::Duration;

use obelus_kernel::session::Outcome;
use obelus_runtime::{Activity, ActivityFuture, Work};
use serde_json::Value;

use super::page::Failed;
use super::{Browser, Class};

/// The time limit of a step: it makes several browser calls, each of which may load a page.
const TIME_LIMIT: Duration = Duration::from_secs(300);

/// The part of the browser that a binding `{operator: …}` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OperatorPart {
    Observe,
    Aim,
    /// The tool's name is the kind of action.
    Act,
    /// A tool of the server, called directly.
    Direct,
}

/// A part of the browser, as an activity.
pub(super) struct BrowserActivity {
    pub(super) browser: Arc<Browser>,
    pub(super) part: OperatorPart,
}

impl Activity for BrowserActivity {
    fn run(&self, work: Work) -> ActivityFuture {
        let (browser, part) = (Arc::clone(&self.browser), self.part);
        Box::pin(async move {
            let class = Class::ALL.into_iter().find(|class| class.name() == work.tool.name);
            let result = match (part, class) {
                (OperatorPart::Direct, _) => {
                    let words = "the browser is used through `observe`, `aim` and what acts, so that what is done is judged \
                                 and guarded";
                    Err(Failed::new("refused", words))
                }
                (OperatorPart::Observe, _) => {
                    let whole = work.call.get("whole") == Some(&Value::Bool(true));
                    browser.observe(work.call.get("at").and_then(Value::as_str), whole, &work.slot).await
                }
                (OperatorPart::Aim, _) => browser.aim(&work.call).await,
                (OperatorPart::Act, Some(class)) => browser.act(class, &work.call).await,
                (OperatorPart::Act, None) => {
                    let names = Class::ALL.map(Class::name).join(", ");
                    let words = format!("a tool that acts has the name of what it does: one of {names}");
                    Err(Failed::new("bad_tool", words))
                }
            };
            match result {
                Ok(value) => Outcome::Value(value),
                Err(Failed { error, doubt: true }) if part == OperatorPart::Act => {
                    Outcome::Lost { message: error.message }
                }
                Err(Failed { error, .. }) => Outcome::Error(error),
            }
        })
    }

    fn time_limit(&self) -> Option<Duration> {
        Some(TIME_LIMIT)
    }
}
