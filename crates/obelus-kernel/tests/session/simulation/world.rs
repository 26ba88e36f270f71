//! An agent and its future events.

use std::sync::Arc;

use obelus_kernel::Context;
use obelus_kernel::session::{Session, Settings};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Value, json};

use super::plan::{Planned, plan};

/// The effect of each tool.
pub(crate) const EFFECTS: [(&str, &str); 6] = [
    ("look", "read"),
    ("make", "create"),
    ("edit", "update"),
    ("sure", "update"),
    ("wipe", "delete"),
    ("child", "create"),
];

#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) mode: &'static str,
    pub(crate) allow: Vec<&'static str>,
    pub(crate) confirm: Vec<&'static str>,
    pub(crate) refuse: Vec<&'static str>,
    pub(crate) lazy: bool,
    pub(crate) has_instances: bool,
    pub(crate) model_may_confirm: bool,
    pub(crate) checked: bool,
    pub(crate) max_requests: u32,
    pub(crate) max_calls: u32,
    pub(crate) max_parallel: u32,
    pub(crate) moves: Vec<Move>,
}

/// One event. `pick` chooses among the candidates; without candidates nothing happens.
#[derive(Clone, Debug)]
pub(crate) enum Move {
    Solve {
        pick: usize,
        calls: Vec<Planned>,
        output: bool,
        sequential: bool,
    },
    /// The model answers in a wrong format.
    Babble {
        pick: usize,
    },
    /// The request to the model fails.
    Fail {
        pick: usize,
    },
    End {
        pick: usize,
        ending: Ending,
    },
    /// An ended call ends again; unknown calls and requests get results.
    Echo {
        pick: usize,
    },
    /// The driver died while a call was running.
    Doubt {
        pick: usize,
    },
    /// A running call asks a person.
    Ask {
        pick: usize,
    },
    /// A person decides an open or decided question.
    Decide {
        pick: usize,
        decision: Verb,
    },
    User(&'static str),
    /// The user says something while a call waits, and the model claims it as consent.
    Claim(&'static str),
    Wait {
        hours: u64,
    },
    Stop,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Ending {
    Number,
    Text,
    Error,
    /// Messages at the first path that the call may write.
    Inside,
    /// A message at a path that the call may not write.
    Outside,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Verb {
    Approve,
    ApproveFirst,
    Deny,
    Edit,
    BadEdit,
    Happened,
    DidNot,
    Value,
}

fn moves() -> impl Strategy<Value = Move> {
    let pick = || 0..8usize;
    let endings = [Ending::Number, Ending::Number, Ending::Text, Ending::Error, Ending::Inside, Ending::Outside];
    let verbs = [
        Verb::Approve,
        Verb::Approve,
        Verb::Approve,
        Verb::ApproveFirst,
        Verb::Deny,
        Verb::Edit,
        Verb::BadEdit,
        Verb::Happened,
        Verb::DidNot,
        Verb::Value,
    ];
    let words = select(&["yes", "yes", "ok, but wait", "hello", "no"][..]);
    prop_oneof![
        10 => (pick(), plan(), prop::bool::weighted(0.3), prop::bool::weighted(0.3))
            .prop_map(|(pick, calls, output, sequential)| Move::Solve { pick, calls, output, sequential }),
        1 => pick().prop_map(|pick| Move::Babble { pick }),
        1 => pick().prop_map(|pick| Move::Fail { pick }),
        16 => (pick(), select(endings.to_vec())).prop_map(|(pick, ending)| Move::End { pick, ending }),
        1 => pick().prop_map(|pick| Move::Echo { pick }),
        2 => pick().prop_map(|pick| Move::Doubt { pick }),
        3 => pick().prop_map(|pick| Move::Ask { pick }),
        10 => (pick(), select(verbs.to_vec())).prop_map(|(pick, decision)| Move::Decide { pick, decision }),
        6 => words.clone().prop_map(Move::User),
        4 => words.prop_map(Move::Claim),
        1 => select(&[1, 25][..]).prop_map(|hours| Move::Wait { hours }),
        1 => Just(Move::Stop),
    ]
}

pub(crate) fn world() -> impl Strategy<Value = World> {
    let tools: Vec<&str> = EFFECTS.iter().map(|(name, _)| *name).collect();
    let some = |chance: f64| option::weighted(chance, subsequence(tools.clone(), 1..4));
    let policy = (some(0.1), some(0.3), some(0.15));
    let modes = select(&["full", "full", "full", "full", "canary", "shadow"][..]);
    let flags = (prop::bool::weighted(0.2), any::<bool>(), prop::bool::weighted(0.8), any::<bool>());
    let limits = (1..8u32, prop_oneof![1 => 1..4u32, 2 => Just(50)], prop_oneof![1 => 1..3u32, 1 => Just(16)]);
    (modes, policy, flags, limits, vec(moves(), 5..50)).prop_map(
        |(mode, (allow, confirm, refuse), (lazy, has_instances, model_may_confirm, checked), limits, moves)| World {
            mode,
            allow: allow.unwrap_or_default(),
            confirm: confirm.unwrap_or_default(),
            refuse: refuse.unwrap_or_default(),
            lazy,
            has_instances,
            model_may_confirm,
            checked,
            max_requests: limits.0,
            max_calls: limits.1,
            max_parallel: limits.2,
            moves,
        },
    )
}

impl World {
    /// The agent before its start.
    pub(crate) fn session(&self) -> Session {
        let mut settings: Settings = serde_json::from_value(json!({
            "mode": self.mode,
            "policy": {"allow": self.allow, "confirm": self.confirm, "refuse": self.refuse},
            "model_may_confirm": if self.model_may_confirm { "after_consent" } else { "never" },
            "approval": if self.checked { "checked" } else { "person" },
            "max_requests": self.max_requests,
            "max_calls": self.max_calls,
            "max_parallel": self.max_parallel,
            "max_depth": 2,
            "max_result_bytes": 1000,
        }))
        .expect("settings");
        settings.activities = ["look", "make", "edit", "sure", "wipe"].map(str::to_owned).into();
        let mut tools = json!({"muse": {"_output": {}, "_scopes": {}}});
        for (name, effect) in EFFECTS {
            tools[name] = json!({"x-effect": effect, "x-trust": "trusted", "properties": {"_scopes": {}}});
        }
        tools["edit"]["x-risky"] = json!(["sum"]);
        tools["sure"]["x-idempotent"] = true.into();
        tools["sure"]["_output"] = json!({"type": "integer"});
        tools["wipe"]["properties"]["id"] = json!({"type": "integer"});
        tools["child"]["_delegate"] = "anonymous".into();
        tools["child"]["properties"]["_scopes"] = json!({"const": ["tool"]});
        // Some paths have values from the beginning, so that a call that does not wait would run too early.
        let state = json!({"type": "state", "data": {"a": {"a": 1, "b": 1}, "b": 2, "c": {"c": null}}});
        let mut context = vec![json!({"type": "tool", "tool": tools}), state];
        if self.lazy {
            context.push(json!({"type": "plan", "plan": [], "mode": "lazy"}));
        }
        for name in super::plan::INSTANCES.into_iter().filter(|_| self.has_instances) {
            context.push(json!({"type": "data", "kind": "seen", "_instance": name, "data": {"a": 1}}));
        }
        let context = Context::from_value(Value::Array(context)).expect("a context");
        Session::new("s", context, Some(json!({"type": "string"})), Arc::new(settings)).expect("a session")
    }
}
