//! Fuzz tests of the kernel's decoders: policies, and inputs as journals have them.

#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "seeds are files, and a run may have a time")]

#[path = "../../../fuzz/engine.rs"]
#[expect(dead_code, reason = "each crate uses a part of it")]
mod engine;

use std::sync::Arc;

use engine::{fuzz, lossy};
use obelus_kernel::policy::{Gate, Policy, explain};
use obelus_kernel::session::{Input, Mode, Session, Settings};
use obelus_kernel::{Context, Time};
use serde_json::json;

fn context() -> Context {
    let tools = json!({
        "read": {"x-effect": "read", "properties": {"q": {}}},
        "make": {"x-effect": "create", "x-trust": "trusted", "properties": {"q": {}}},
        "drop": {"x-effect": "delete", "properties": {"id": {"type": "integer"}}},
    });
    Context::from_value(json!([{"type": "tool", "tool": tools}])).expect("tools")
}

fn session() -> Session {
    let activities = ["read", "make", "drop"].map(str::to_owned).into();
    let settings = Settings { mode: Mode::Full, activities, persistent: true, ..Settings::default() };
    Session::new("s", context(), None, Arc::new(settings)).expect("a session")
}

#[test]
fn a_policy_is_refused_or_judges_every_call() {
    let context = context();
    let known: Vec<_> = context.tools().map(AsRef::as_ref).collect();
    fuzz("policy", |input| {
        let Ok(policy) = serde_json::from_slice::<Policy>(input) else { return false };
        let _ = policy.faults_of_examples(&known);
        for tool in ["read", "make", "drop"] {
            let call =
                json!({"_tool": tool, "q": "x", "id": 1, "_from": ["untrusted:read"], "_outputPath": "†state.a"});
            let _ = explain(&call, &context, Gate::new(&policy, Mode::Full));
        }
        true
    });
}

#[test]
fn any_inputs_of_a_journal_leave_a_session_that_can_be_checkpointed() {
    fuzz("input", |input| {
        let mut session = session();
        let (mut now, mut taken) = (0, 0);
        for line in lossy(input).lines() {
            let Ok(read) = serde_json::from_str::<Input>(line) else { continue };
            now += 1;
            taken += u64::from(session.handle(Time(now), read).is_ok());
            while session.poll().is_some() {}
        }
        let _ = session.snapshot();
        if let Some(kept) = session.checkpoint() {
            assert!(self::session().restore(&kept, Arc::new(|| Ok(Vec::new()))).is_ok(), "{kept}");
        }
        taken > 0
    });
}
