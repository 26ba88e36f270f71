//! Generated events of a session in which some data is hostile.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

/// In every untrusted text, and in every text whose author had seen one.
pub(crate) const MARK: char = '☠';

#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) lazy: bool,
    /// Whether the session plans before reading.
    pub(crate) before_reading: bool,
    pub(crate) max_parallel: u32,
    pub(crate) moves: Vec<Move>,
}

/// One event. `pick` chooses among the candidates; without candidates nothing happens.
#[derive(Clone, Debug)]
pub(crate) enum Move {
    Answer {
        pick: usize,
        calls: Vec<Planned>,
        says: bool,
        ends: bool,
    },
    End {
        pick: usize,
        shape: Shape,
    },
    /// Approves plans, answers delegates and thoughts, and ends calls.
    Settle {
        picks: Vec<(usize, Shape)>,
    },
    Decide {
        pick: usize,
        approves: bool,
    },
    User,
}

/// The form of a call's result.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    Text,
    Record,
    List,
    Error,
}

#[derive(Clone, Debug)]
pub(crate) struct Planned {
    tool: &'static str,
    params: Vec<Param>,
    scope: Option<&'static str>,
    output: Option<&'static str>,
    method: &'static str,
    confirmed: bool,
}

#[derive(Clone, Debug)]
enum Param {
    Literal,
    Expr(String),
    Nested(String),
}

/// The tools and their parameters.
const TOOLS: [(&str, &[&str]); 11] = [
    ("web", &["q"]),
    ("book", &["q"]),
    ("digest", &["q"]),
    ("fetch", &["url"]),
    ("mint", &["q"]),
    ("card", &["q"]),
    ("tally", &["q"]),
    ("send", &["to", "body"]),
    ("note", &["a", "b"]),
    ("muse", &["q"]),
    ("clerk", &["q"]),
];

/// The target parameters of a tool; `None` means all of them.
pub(crate) fn targets(tool: &str) -> Option<&'static [&'static str]> {
    match tool {
        "fetch" => Some(&["url"]),
        "mint" => Some(&[]),
        "send" => Some(&["to"]),
        _ => None,
    }
}

pub(crate) fn acts(tool: &str) -> bool {
    ["mint", "send", "note"].contains(&tool)
}

/// All tools except the thought and the delegate.
pub(crate) const ACTIVITIES: [&str; 9] = ["web", "book", "card", "tally", "digest", "fetch", "mint", "send", "note"];

pub(crate) fn tools() -> Value {
    json!({"type": "tool", "tool": {
        "web": {"x-effect": "read", "x-trust": "untrusted", "properties": {"q": {}}},
        "book": {"x-effect": "read", "x-trust": "trusted", "properties": {"q": {}}},
        "digest": {"x-effect": "read", "x-trust": "trusted", "_scopes": {"type": "array"}, "properties": {"q": {}}},
        "fetch": {"x-effect": "read", "x-trust": "untrusted", "x-target": ["url"], "properties": {"url": {}}},
        "mint": {"x-effect": "create", "x-trust": "trusted", "x-target": [], "x-issued": ["id"], "properties": {"q": {}}},
        "card": {"x-effect": "read", "x-trust": {"": "untrusted", "id": "trusted"}, "properties": {"q": {}}},
        "tally": {"x-effect": "read", "x-trust": "trusted", "properties": {"q": {"type": "number"}}},
        "send": {"x-effect": "create", "x-trust": "trusted", "x-target": ["to"], "properties": {"to": {}, "body": {}}},
        "note": {"x-effect": "update", "x-trust": "trusted", "properties": {"a": {}, "b": {}}},
        "muse": {"x-trust": "trusted", "_scopes": {"type": "array"}, "_output": {}, "properties": {"q": {}}},
        "clerk": {"x-effect": "read", "x-trust": "trusted", "_delegate": "anonymous", "_scopes": {"type": "array"}, "properties": {"q": {}}},
    }})
}

impl Planned {
    /// The call in the model's notation. `word` is its literal and identifies the proposal.
    pub(crate) fn call(&self, word: &str, brings: Option<Value>) -> Value {
        let names = TOOLS.iter().find(|(name, _)| *name == self.tool).map_or(&[][..], |(_, names)| names);
        let mut call = json!({"_tool": self.tool, "tag": word});
        for (name, param) in names.iter().zip(&self.params) {
            call[name] = match param {
                Param::Literal => word.into(),
                Param::Expr(text) => text.as_str().into(),
                Param::Nested(text) => json!({"in": [text]}),
            };
        }
        if let Some(path) = self.output {
            call["_outputPath"] = path.into();
            call["_outputMethod"] = self.method.into();
        }
        if let Some(scope) = self.scope.filter(|_| ["digest", "muse", "clerk"].contains(&self.tool)) {
            call["_scopes"] = json!([scope, "tool"]);
        }
        if self.confirmed {
            call["confirmed"] = true.into();
        }
        if let Some(output) = brings.filter(|_| self.tool == "muse") {
            call["_output"] = output;
        }
        call
    }
}

fn place() -> impl Strategy<Value = &'static str> {
    select(vec!["†state.a", "†state.b", "†state.a.id", "†state.b.x", "†state.l", "†state.l[0]", "†state.l[-1]"])
}

fn param() -> impl Strategy<Value = Param> {
    let expr = prop_oneof![
        6 => place().prop_map(str::to_owned),
        1 => (place(), place()).prop_map(|(a, b)| format!("{a} || {b}")),
        1 => (place(), place()).prop_map(|(a, b)| format!("{a} && {b}")),
    ];
    prop_oneof![3 => Just(Param::Literal), 6 => expr.clone().prop_map(Param::Expr), 1 => expr.prop_map(Param::Nested)]
}

fn planned() -> impl Strategy<Value = Planned> {
    let output = select(vec![
        "†state.a",
        "†state.b",
        "†state.l",
        "†state.l",
        "†state.a.id",
        "†state.l[0]",
        "†state.l[-1]",
        "†state.a && †state.b",
        "†state.a || †state.b",
    ]);
    let method = select(vec!["set", "set", "set", "merge", "assign", "push", "concat"]);
    let scope = option::of(select(vec!["state", "text", "†state.a", "input"]));
    let tool = select(TOOLS.map(|(name, _)| name).to_vec());
    let parts = (tool, vec(param(), 2), scope, option::weighted(0.9, output), method, prop::bool::weighted(0.1));
    parts.prop_map(|(tool, params, scope, output, method, confirmed)| Planned {
        tool,
        params,
        scope,
        output,
        method,
        confirmed,
    })
}

fn next() -> impl Strategy<Value = Move> {
    let shape = select(vec![Shape::Text, Shape::Text, Shape::Record, Shape::List, Shape::Error]);
    prop_oneof![
        6 => (0..4_usize, vec(planned(), 0..5), any::<bool>(), prop::bool::weighted(0.1))
            .prop_map(|(pick, calls, says, ends)| Move::Answer { pick, calls, says, ends }),
        4 => (0..4_usize, shape.clone()).prop_map(|(pick, shape)| Move::End { pick, shape }),
        3 => (0..4_usize, prop::bool::weighted(0.7)).prop_map(|(pick, approves)| Move::Decide { pick, approves }),
        6 => vec((0..4_usize, shape), 4..24).prop_map(|picks| Move::Settle { picks }),
        1 => Just(Move::User),
    ]
}

pub(crate) fn world() -> impl Strategy<Value = World> {
    let parts = (0..3_u8, select(vec![1, 2, 16]), vec(next(), 4..40));
    parts.prop_map(|(planning, max_parallel, moves)| World {
        lazy: planning > 0,
        before_reading: planning > 1,
        max_parallel,
        moves,
    })
}
