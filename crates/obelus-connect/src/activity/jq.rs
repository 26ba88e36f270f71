//! Pure filters as activities.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use obelus_kernel::jq::Filter;
use obelus_kernel::session::{CallError, Outcome};
use obelus_runtime::{Activity, ActivityFuture, Work};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, oneshot};

use super::binding::{BindingError, Fields};
use super::messages;

/// The number of concurrent runs of one filter. A filter that never ends cannot be stopped, so this limits how many
/// threads it can occupy.
const MOST_AT_ONCE: usize = 4;

/// The stack of a filter's thread. A stack overflow would end the whole program; unused stack costs nothing.
const STACK: usize = 32 * 1024 * 1024;

/// A filter over `{call, tool, scope}`.
pub(super) struct Jq {
    filter: Arc<Filter>,
    running: Arc<Semaphore>,
    limit: Option<Duration>,
}

impl Jq {
    pub(super) fn parse(fields: &Fields<'_>) -> Result<Self, BindingError> {
        let limit = fields.own_time_limit()?;
        let text = fields.text("jq")?.ok_or_else(|| fields.mistyped("jq", "a filter", None))?;
        let filter = Filter::compile(text).map_err(|problem| {
            fields.wrong("jq", format!("{problem}; it must be a jq filter over {{call, tool, scope}}"))
        })?;
        Ok(Self { filter: Arc::new(filter), running: Arc::new(Semaphore::new(MOST_AT_ONCE)), limit })
    }
}

impl Activity for Jq {
    fn run(&self, work: Work) -> ActivityFuture {
        let filter = Arc::clone(&self.filter);
        let running = Arc::clone(&self.running);
        Box::pin(async move {
            let result = evaluate(filter, running, work).await.map_err(|problem| CallError::new("jq", problem));
            result.and_then(messages::outcome_of).unwrap_or_else(Outcome::Error)
        })
    }

    fn time_limit(&self) -> Option<Duration> {
        self.limit
    }
}

/// Runs a filter on its own thread and not on the runtime's blocking pool: at shutdown the runtime waits for that pool,
/// and an endless filter would keep the program from ending.
async fn evaluate(filter: Arc<Filter>, running: Arc<Semaphore>, work: Work) -> Result<Value, String> {
    let permit = running.acquire_owned().await.map_err(|error| error.to_string())?;
    let (sender, receiver) = oneshot::channel();
    let run = move || {
        let input = json!({"call": &*work.call, "tool": work.tool.schema, "scope": work.scope});
        // The call may have been abandoned.
        let _ = sender.send(filter.one(&input));
        drop(permit);
    };
    let thread = thread::Builder::new().name("jq".to_owned()).stack_size(STACK);
    thread.spawn(run).map_err(|error| format!("no thread: {error}"))?;
    receiver.await.unwrap_or_else(|_| Err("the filter failed; this is a mistake in the program".to_owned()))
}
