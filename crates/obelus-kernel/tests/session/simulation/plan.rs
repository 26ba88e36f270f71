//! Random plans, in a form from which tests compute what each call reads and writes, and for which instances it runs.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

/// A kind and the fields below it.
pub(crate) type Place = Vec<&'static str>;

#[derive(Clone, Debug)]
pub(crate) enum Param {
    Number(u8),
    Ref(Place),
    Any(Vec<Place>),
    All(Vec<Place>),
}

/// Fields that the model adds beside the parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Aside {
    RequiresConfirmation,
    Confirmed,
    Denied,
}

/// A mistake in a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Defect {
    UnknownTool,
    UnknownInstance,
    BrokenReference,
    ReadOnlyPath,
    NoObject,
}

#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub(crate) tool: &'static str,
    pub(crate) params: Vec<(&'static str, Param)>,
    pub(crate) scope: Option<Place>,
    /// Alternatives of groups, as in `_outputPath`.
    pub(crate) output: Vec<Vec<Place>>,
    pub(crate) instance: Option<&'static str>,
    pub(crate) aside: Option<Aside>,
    pub(crate) brings: bool,
    pub(crate) defect: Option<Defect>,
}

pub(crate) const INSTANCES: [&str; 2] = ["ada", "bob"];

fn place() -> impl Strategy<Value = Place> {
    let kind = prop_oneof![8 => Just("state"), 2 => Just("memo"), 1 => Just("seen")];
    (kind, vec(select(&["a", "b", "c", "d", "e"][..]), 1..3)).prop_map(|(kind, mut fields)| {
        fields.insert(0, kind);
        fields
    })
}

fn param() -> impl Strategy<Value = Param> {
    prop_oneof![
        3 => (0..3u8).prop_map(Param::Number),
        3 => place().prop_map(Param::Ref),
        2 => vec(place(), 2..4).prop_map(Param::Any),
        1 => vec(place(), 2..3).prop_map(Param::All),
    ]
}

fn call() -> impl Strategy<Value = Planned> {
    let tools = select(&["look", "look", "make", "edit", "edit", "sure", "muse", "child", "child"][..]);
    let names = select(&["a", "b", "sum"][..]);
    let asides = select(&[Aside::RequiresConfirmation, Aside::Confirmed, Aside::Denied][..]);
    let defects = select(
        &[
            Defect::UnknownTool,
            Defect::UnknownInstance,
            Defect::BrokenReference,
            Defect::ReadOnlyPath,
            Defect::NoObject,
        ][..],
    );
    (
        tools,
        vec((names, param()), 0..3),
        option::weighted(0.1, place()),
        prop_oneof![1 => Just(vec![]), 6 => vec(vec(place(), 1..3), 1..3)],
        option::weighted(0.1, select(&INSTANCES[..])),
        option::weighted(0.2, asides),
        prop::bool::weighted(0.8),
        option::weighted(0.08, defects),
    )
        .prop_map(|(tool, mut params, scope, output, instance, aside, brings, defect)| {
            // The broken reference replaces the parameter `a`.
            let broken = matches!(defect, Some(Defect::BrokenReference)).then_some("a");
            let mut taken: BTreeSet<&str> = broken.into_iter().collect();
            params.retain(|(name, _)| taken.insert(name));
            Planned { tool, params, scope, output, instance, aside, brings, defect }
        })
}

/// Calls with few variants, so that identical ones are frequent.
fn dangerous() -> impl Strategy<Value = Planned> {
    let asides = [Aside::RequiresConfirmation, Aside::Confirmed, Aside::Confirmed, Aside::Denied];
    let kind = select(&["state", "state", "seen"][..]);
    (0..2u8, kind, option::weighted(0.5, select(asides.to_vec()))).prop_map(|(id, kind, aside)| Planned {
        tool: "wipe",
        params: vec![("id", Param::Number(id))],
        scope: None,
        output: vec![vec![vec![kind, "gone"]]],
        instance: None,
        aside,
        brings: false,
        defect: None,
    })
}

/// Creations with few variants: delegates often propose the same.
fn creation() -> impl Strategy<Value = Planned> {
    (0..2u8, select(&["a", "b"][..])).prop_map(|(number, field)| Planned {
        tool: "make",
        params: vec![("a", Param::Number(number))],
        scope: None,
        output: vec![vec![vec!["state", "made", field]]],
        instance: None,
        aside: None,
        brings: false,
        defect: None,
    })
}

pub(crate) fn plan() -> impl Strategy<Value = Vec<Planned>> {
    vec(prop_oneof![4 => call(), 2 => dangerous(), 1 => creation()], 0..6)
}

fn spelt(place: &Place) -> String {
    format!("†{}", place.join("."))
}

fn joined(places: &[Place], by: &str) -> String {
    places.iter().map(spelt).collect::<Vec<_>>().join(by)
}

impl Planned {
    /// The call in the model's notation. The comment identifies the call and is not part of what a person approves.
    pub(crate) fn to_json(&self, tag: &str, lazy: bool) -> Value {
        let mut call = Map::new();
        call.insert("_tool".into(), self.tool.into());
        call.insert("comment".into(), tag.into());
        for (name, param) in &self.params {
            let value = match param {
                Param::Number(number) => json!(number),
                Param::Ref(place) => spelt(place).into(),
                Param::Any(places) => joined(places, " || ").into(),
                Param::All(places) => joined(places, " && ").into(),
            };
            call.insert((*name).into(), value);
        }
        if let Some(place) = &self.scope {
            call.insert("_scopes".into(), json!([spelt(place)]));
        }
        if !self.output.is_empty() {
            let groups: Vec<_> = self.output.iter().map(|group| joined(group, " && ")).collect();
            call.insert("_outputPath".into(), groups.join(" || ").into());
        }
        call.extend(self.instance.map(|name| ("_instance".into(), name.into())));
        call.extend(self.aside.map(|aside| match aside {
            Aside::RequiresConfirmation => ("requires_confirmation".into(), true.into()),
            Aside::Confirmed => ("confirmed".into(), true.into()),
            Aside::Denied => ("confirmation_decision".into(), "deny".into()),
        }));
        if self.tool == "muse" && self.brings && !lazy {
            call.insert("_output".into(), json!({"thought": 1}));
        }
        match self.defect {
            Some(Defect::UnknownTool) => call.insert("_tool".into(), "unheard_of".into()),
            Some(Defect::UnknownInstance) => call.insert("_instance".into(), "ghost".into()),
            Some(Defect::BrokenReference) => call.insert("a".into(), "†state..".into()),
            Some(Defect::ReadOnlyPath) => call.insert("_outputPath".into(), "†input.a".into()),
            Some(Defect::NoObject) => return json!(tag),
            None => None,
        };
        Value::Object(call)
    }

    pub(crate) fn is_forgotten(&self) -> bool {
        self.output.is_empty()
    }

    fn writes(&self) -> impl Iterator<Item = &Place> {
        let can = !matches!(self.defect, Some(Defect::NoObject | Defect::ReadOnlyPath));
        self.output.iter().flatten().filter(move |_| can)
    }

    fn reads(&self) -> Vec<&Place> {
        let mut places: Vec<&Place> = self.scope.iter().collect();
        for (_, param) in &self.params {
            match param {
                Param::Number(_) => {}
                Param::Ref(place) => places.push(place),
                Param::Any(all) | Param::All(all) => places.extend(all),
            }
        }
        places
    }

    /// The paths that must be final before the call runs, whatever their values.
    fn needs(&self) -> Vec<&Place> {
        let mut places: Vec<&Place> = self.scope.iter().collect();
        for (_, param) in &self.params {
            match param {
                Param::Number(_) => {}
                Param::Ref(place) => places.push(place),
                // A call does not wait for later alternatives.
                Param::Any(all) => places.extend(all.first()),
                Param::All(all) => places.extend(all),
            }
        }
        places
    }

    fn own_instance(&self) -> Option<&'static str> {
        match self.defect {
            Some(Defect::UnknownInstance) => Some("ghost"),
            Some(Defect::NoObject) => None,
            _ => self.instance,
        }
    }

    fn touches(&self, kind: &str) -> bool {
        self.defect.is_none_or(|defect| !matches!(defect, Defect::NoObject))
            && (self.reads().into_iter().any(|place| place[0] == kind) || self.writes().any(|place| place[0] == kind))
    }
}

/// The kinds that have instances in a plan.
fn instanced(calls: &[Planned], world_has_instances: bool) -> BTreeSet<&'static str> {
    let mut kinds: BTreeSet<&str> = world_has_instances.then_some("seen").into_iter().collect();
    loop {
        let known = kinds.len();
        for call in calls {
            if call.own_instance().is_some() || kinds.iter().any(|kind| call.touches(kind)) {
                kinds.extend(call.writes().map(|place| place[0]));
            }
        }
        if kinds.len() == known {
            return kinds;
        }
    }
}

/// Calls, with their instances, that must have ended before call `reader` of the plan runs for `instance`.
pub(crate) fn feeders(
    calls: &[Planned],
    reader: usize,
    instance: Option<&str>,
    world_has_instances: bool,
) -> Vec<(usize, Option<String>)> {
    let kinds = instanced(calls, world_has_instances);
    let mut found = Vec::new();
    for (index, call) in calls.iter().enumerate().filter(|(index, _)| *index != reader) {
        let meets = |write: &Place, read: &Place| write.iter().zip(read).all(|(a, b)| a == b);
        if !call.writes().any(|write| calls[reader].needs().into_iter().any(|read| meets(write, read))) {
            continue;
        }
        let for_each = call.own_instance().is_none() && kinds.iter().any(|kind| call.touches(kind));
        match call.own_instance() {
            Some(own) if Some(own) == instance => found.push((index, Some(own.to_owned()))),
            Some(_) => {}
            None if for_each => found.extend(instance.map(|name| (index, Some(name.to_owned())))),
            None => found.push((index, None)),
        }
    }
    found
}
