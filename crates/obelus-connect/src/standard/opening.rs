//! Makes the initial reads of a session.

use std::sync::Arc;
use std::time::Duration;

use obelus_kernel::policy::{Gate, Ruling, explain};
use obelus_kernel::session::Outcome;
use obelus_runtime::specs::OpeningRead;
use obelus_runtime::{Activities, Elicitor, SessionSpec, Work};
use serde_json::Value;

/// A person waits for the session, so slower reads are left to the model.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// Makes the reads at once and stores their results. A failed read loses only its result and the tools that depend on
/// it. Reads that the policy denies or asks about are skipped; in `shadow` all are (POL-1).
pub(super) async fn begin(spec: &mut SessionSpec, activities: &Activities) {
    let reads = std::mem::take(&mut spec.begin);
    let running: Vec<_> = reads.iter().enumerate().map(|(index, read)| start(spec, activities, read, index)).collect();
    for (read, running) in reads.iter().zip(running) {
        let outcome = match running {
            Some(running) => running.await.ok().flatten(),
            None => continue,
        };
        match outcome {
            // A result that does not fit is ignored.
            Some(value) => drop(spec.take_in(read, value)),
            None => spec.withhold(&read.offers),
        }
    }
}

/// Starts a read; its result is none if it fails. None if it is not allowed, or its tool has no activity.
fn start(
    spec: &SessionSpec,
    activities: &Activities,
    read: &OpeningRead,
    index: usize,
) -> Option<tokio::task::JoinHandle<Option<Value>>> {
    let tool = spec.context.tool(read.tool())?;
    let gate = Gate::new(&spec.settings.policy, spec.first_mode());
    let verdict = explain(&Value::Object(read.call.clone()), &spec.context, gate).ok()?.verdict;
    if verdict.ruling() != Ruling::Allow {
        return None;
    }
    let named = tool.fixed_name("_activity").and_then(|name| activities.get(name));
    let activity = Arc::clone(named.or_else(|| activities.get(&tool.name))?);
    let work = Work {
        call: read.call.clone().into(),
        tool: Arc::clone(tool),
        scope: Vec::new(),
        key: format!("{}:begin.{index}", spec.key),
        attempt: 1,
        elicitor: Elicitor::nobody(),
        slot: Arc::default(),
    };
    Some(tokio::spawn(async move {
        match tokio::time::timeout(TIME_LIMIT, activity.run(work)).await {
            Ok(Outcome::Value(value)) => Some(value),
            _ => None,
        }
    }))
}
