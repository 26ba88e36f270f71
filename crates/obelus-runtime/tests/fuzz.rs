//! Fuzz tests of files: agents, requests and plans, and what a store keeps of a session's beginning.

#[path = "../../../fuzz/engine.rs"]
#[expect(dead_code, reason = "each crate uses a part of it")]
mod engine;

use std::path::Path;

use engine::{fuzz_some, lossy};
use obelus_kernel::plan;
use obelus_runtime::files::Places;
use obelus_runtime::{Activities, Agent, Request, SessionSpec};

/// A folder that does not exist: files that an input names are not read.
const NOWHERE: &str = "/nonexistent/obelus-fuzz";

#[test]
fn an_agent_is_refused_with_places_or_begins_a_session() {
    fuzz_some("agent", 400, |input| {
        let text = lossy(input);
        let _ = Places::of(&text).find("tools.find.properties");
        let file = Path::new(NOWHERE).join("agent.yaml");
        let Ok(agent) = Agent::parse(&file, &text, Path::new(NOWHERE)) else { return false };
        let spec = SessionSpec::from_agent(agent);
        let _ = (spec.policy_faults(), spec.unused_bindings(), spec.unbound_tools());
        let _ = spec.session("s", &Activities::new());
        true
    });
}

#[test]
fn a_request_is_refused_with_a_place_or_its_plan_is_checked() {
    fuzz_some("request", 1_000, |input| {
        let file = Path::new(NOWHERE).join("request");
        let Ok(request) = Request::parse(&file, &lossy(input)) else { return false };
        let Ok(spec) = SessionSpec::from_request(&file, request) else { return false };
        if let Some(planned) = spec.context.plan() {
            let _ = plan::check(&planned.calls, planned.mode, &spec.context);
        }
        let _ = spec.session("s", &Activities::new());
        true
    });
}

#[test]
fn the_stored_beginning_of_a_session_is_refused_or_read() {
    fuzz_some("genesis", 1_000, |input| {
        let Ok(spec) = serde_json::from_slice::<SessionSpec>(input) else { return false };
        let _ = spec.session("s", &Activities::new());
        true
    });
}
