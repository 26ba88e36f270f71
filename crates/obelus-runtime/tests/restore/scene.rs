//! A session in a store that gets its inputs one by one.

use std::sync::Arc;

use obelus_kernel::session::{Input, Mode, Session, Settings, Task};
use obelus_kernel::{Context, Time};
use obelus_runtime::engine::{Record, SessionFactory, advance};
use obelus_runtime::{MemoryStore, Store};
use serde_json::{Value, json};

/// The parameters of a session. Another value stands for another version of the program.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    /// Calls of a turn; each uses the result of the one before.
    pub(crate) calls: usize,
    /// A parameter of the second call.
    pub(crate) second: &'static str,
    pub(crate) is_trusted: bool,
    /// Whether the context has an instance.
    pub(crate) has_instance: bool,
}

impl Default for Made {
    fn default() -> Self {
        Self { calls: 3, second: "words", is_trusted: true, has_instance: false }
    }
}

impl Made {
    pub(crate) fn session(&self) -> Session {
        let mut tool =
            json!({"type": "object", "properties": {"n": {}, "words": {}}, "x-effect": "create", "x-target": []});
        if self.is_trusted {
            tool["x-trust"] = "trusted".into();
        }
        let call = |i: usize| {
            let words = if i == 1 { self.second } else { "words" };
            let before = if i == 0 { json!(0) } else { json!(format!("†state.v{}", i - 1)) };
            json!({"_tool": "step", "n": before, "words": words, "_outputPath": format!("†state.v{i}")})
        };
        let plan: Value = (0..self.calls).map(call).collect();
        let mut messages = vec![json!({"type": "tool", "tool": {"step": tool}}), json!({"type": "plan", "plan": plan})];
        if self.has_instance {
            messages.push(json!({"type": "state", "data": {"n": 1}, "_instance": "one"}));
        }
        let settings = Settings { mode: Mode::Full, activities: ["step".to_owned()].into(), ..Settings::default() };
        Session::new("s", Context::from_value(messages.into()).unwrap(), None, Arc::new(settings)).unwrap()
    }

    pub(crate) fn session_factory(&self) -> SessionFactory {
        let made = self.clone();
        Arc::new(move || Ok(made.session()))
    }
}

/// The end of a call.
pub(crate) fn ended(id: &str) -> Input {
    serde_json::from_value(json!({"ended": {"id": id, "outcome": {"value": 7}}})).unwrap()
}

/// The time of a record.
pub(crate) fn clock(seq: u64) -> i64 {
    1_768_467_600_000 + i64::try_from(seq).unwrap() * 1_000
}

pub(crate) struct Scene {
    pub(crate) store: Arc<dyn Store>,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let store = MemoryStore::new();
        store.create("s", Time(0), &json!({}), Vec::new()).unwrap();
        Self { store: Arc::new(store) }
    }

    pub(crate) fn records(&self) -> Vec<Record> {
        self.store.load("s", 0, None).unwrap().records
    }

    pub(crate) fn append(&self, records: Vec<Record>) {
        let appended = self.store.append("s", self.records().len() as u64, records);
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(appended).unwrap();
    }

    /// Gives an input to the session and appends it to the journal.
    pub(crate) fn advance(&self, session: &mut Session, input: Input) -> Vec<Task> {
        let at = Time(clock(self.records().len() as u64 + 1));
        let advanced = advance(session, at, input.clone()).unwrap();
        self.append(vec![Record { digest: Some(advanced.digest), ..Record::new(at, input) }]);
        advanced.tasks
    }

    /// Plays this many turns; every call ends.
    pub(crate) fn turns(&self, made: Made, turns: usize) -> Session {
        let mut session = made.session();
        for _ in 0..turns {
            let mut tasks = self.advance(&mut session, Input::RunPlan);
            while let Some(task) = tasks.pop() {
                if let Task::Call(start) = task {
                    tasks = self.advance(&mut session, ended(&start.id.to_string()));
                }
            }
            assert!(session.is_at_rest());
        }
        session
    }
}
