//! Random plans, and a simple computation of the kinds that a call uses and of the instances that it runs for.

use std::collections::BTreeSet;

use obelus_notebook::context::Context;
use obelus_notebook::expr::Expr;
use obelus_notebook::fold::Method;
use obelus_notebook::message::PlanMode;
use obelus_notebook::path::{Path, Segment};
use obelus_notebook::plan::{Check, check};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

/// A call, with its reads and writes as fields for the tests.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub(crate) params: Vec<Expr>,
    pub(crate) scope: Option<Path>,
    pub(crate) scoped_kind: Option<&'static str>,
    /// Alternatives of groups, as in an `_outputPath`.
    pub(crate) output: Vec<Vec<Path>>,
    pub(crate) method: Method,
    pub(crate) instance: Option<&'static str>,
}

impl Planned {
    pub(crate) fn reads(&self) -> impl Iterator<Item = &Path> {
        // A parameter that begins with `(` is plain text.
        self.params
            .iter()
            .filter(|expr| expr.to_string().starts_with('†'))
            .flat_map(Expr::refs)
            .map(AsRef::as_ref)
            .chain(&self.scope)
    }

    pub(crate) fn writes(&self) -> impl Iterator<Item = &Path> {
        self.output.iter().flatten()
    }

    fn touches(&self, kind: &str) -> bool {
        self.reads().chain(self.writes()).any(|path| path.kind == kind) || self.scoped_kind == Some(kind)
    }

    fn to_json(&self) -> Value {
        let mut call = Map::new();
        call.insert("_tool".into(), "t".into());
        for (index, expr) in self.params.iter().enumerate() {
            // The first is the whole parameter, the others are nested; all are references.
            let value = if index == 0 { json!(expr.to_string()) } else { json!([1, {"deep": expr.to_string()}]) };
            call.insert(format!("p{index}"), value);
        }
        let scopes: Vec<_> =
            self.scope.iter().map(Path::to_string).chain(self.scoped_kind.map(str::to_owned)).collect();
        call.insert("_scopes".into(), scopes.into());
        let group = |paths: &Vec<Path>| paths.iter().map(Path::to_string).collect::<Vec<_>>().join(" && ");
        if !self.output.is_empty() {
            call.insert("_outputPath".into(), self.output.iter().map(group).collect::<Vec<_>>().join(" || ").into());
        }
        call.insert("_outputMethod".into(), self.method.name().into());
        call.extend(self.instance.map(|name| ("_instance".into(), name.into())));
        Value::Object(call)
    }
}

const INSTANCES: [&str; 2] = ["ada", "bob"];

/// `seen` is instanced by a message, `alone` only by calls.
fn path() -> impl Strategy<Value = Path> {
    let kind = prop_oneof![6 => Just("state"), 2 => Just("memo"), 2 => Just("alone"), 1 => Just("seen")];
    let segment = prop_oneof![
        12 => select(&["a", "b", "c", "d", "e", "f", "g"][..]).prop_map(|name| Segment::Field(name.into())),
        2 => select(&["a", "b"][..]).prop_map(|name| Segment::Key(name.into())),
        2 => select(&["0", "1"][..]).prop_map(|digits| Segment::Field(digits.into())),
        2 => (-2..2i64).prop_map(Segment::Index),
    ];
    let segments = prop_oneof![1 => vec(segment.clone(), 0..2), 6 => vec(segment, 1..4)];
    (kind, segments).prop_map(|(kind, segments)| Path { kind: kind.into(), segments: segments.into() })
}

fn expr() -> impl Strategy<Value = Expr> {
    path().prop_map(|path| Expr::Ref(path.into())).prop_recursive(2, 4, 2, |inner| {
        prop_oneof![vec(inner.clone(), 2..3).prop_map(Expr::Any), vec(inner, 2..3).prop_map(Expr::All)]
    })
}

fn call() -> impl Strategy<Value = Planned> {
    let methods = vec![Method::Set, Method::Set, Method::Merge, Method::Push];
    (
        vec(expr(), 0..3),
        option::weighted(0.1, path()),
        option::weighted(0.05, select(&["state", "seen"][..])),
        vec(vec(path(), 1..3), 0..3),
        select(methods),
        option::weighted(0.2, select(&INSTANCES[..])),
    )
        .prop_map(|(params, scope, scoped_kind, output, method, instance)| Planned {
            params,
            scope,
            scoped_kind,
            output,
            method,
            instance,
        })
}

pub(crate) fn plan() -> impl Strategy<Value = Vec<Planned>> {
    vec(call(), 1..10)
}

pub(crate) fn checked(calls: &[Planned]) -> Check {
    let context = json!([
        {"type": "data", "kind": "seen", "_instance": "ada", "data": {"a": 1}},
        {"type": "data", "kind": "seen", "_instance": "bob", "data": {"a": 2}},
        {"type": "tool", "tool": {"t": {"properties": {"_scopes": {}}}}},
    ]);
    let context = Context::from_value(context).expect("the context is well formed");
    check(&calls.iter().map(|call| call.to_json().into()).collect::<Vec<_>>(), PlanMode::Eager, &context)
}

/// The instances that each call runs for; `None` is the run on global data.
pub(crate) fn runs_for(calls: &[Planned]) -> Vec<BTreeSet<Option<&'static str>>> {
    let per_instance = |call: &Planned, instanced: &BTreeSet<String>| {
        call.instance.is_some() || instanced.iter().any(|kind| call.touches(kind))
    };
    let mut instanced = BTreeSet::from(["seen".to_owned()]);
    loop {
        let known = instanced.len();
        for call in calls {
            if per_instance(call, &instanced) {
                instanced.extend(call.writes().map(|path| path.kind.to_string()));
            }
        }
        if instanced.len() == known {
            break;
        }
    }
    let runs = |call: &Planned| match call.instance {
        Some(name) => BTreeSet::from([Some(name)]),
        None if per_instance(call, &instanced) => INSTANCES.into_iter().map(Some).collect(),
        None => BTreeSet::from([None]),
    };
    calls.iter().map(runs).collect()
}

/// Whether one path is a prefix of the other. An index from the end may be any element.
pub(crate) fn one_is_prefix(a: &Path, b: &Path) -> bool {
    let text = |segment: &Segment| match segment {
        Segment::Field(name) | Segment::Key(name) => name.to_string(),
        Segment::Index(index) => index.to_string(),
    };
    let same = |(a, b): (&Segment, &Segment)| {
        let is_element = |segment: &Segment| text(segment).parse::<i64>().is_ok();
        let from_the_end = |segment: &Segment| matches!(segment, Segment::Index(index) if *index < 0);
        let either_end = from_the_end(a) || from_the_end(b);
        text(a) == text(b) || (either_end && is_element(a) && is_element(b))
    };
    a.kind == b.kind && a.segments.iter().zip(&b.segments).all(same)
}
