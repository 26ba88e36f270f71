//! The origins of a call's values after a person's edit (ASK-3).

use std::collections::BTreeMap;

use serde_json::Value;

use super::provenance::{Place, Provenance};
use crate::call::Call;
use crate::names::folded;
use crate::origin::{Origin, Origins};
use crate::path::{Segment, value_at};

/// Values that the call had at the same path before keep their origins, also if the edit moved them within a list. The
/// others are the person's.
pub(crate) struct EditedOrigins<'a> {
    provenance: &'a Provenance<'a>,
    call: &'a Call,
    before: &'a Value,
    after: &'a Value,
    /// The places of the values that the call had, by path and value.
    known: BTreeMap<(String, String), Vec<Vec<Segment>>>,
}

impl<'a> EditedOrigins<'a> {
    /// For the parameters of a call before and after the edit.
    pub(crate) fn new(provenance: &'a Provenance<'a>, call: &'a Call, before: &'a Value, after: &'a Value) -> Self {
        let mut known: BTreeMap<_, Vec<_>> = BTreeMap::new();
        each_leaf(&mut Vec::new(), before, &mut |place, leaf| {
            known.entry((path_of(place), leaf.to_string())).or_default().push(place.to_vec());
        });
        Self { provenance, call, before, after, known }
    }

    /// The origins of a part of the edited call; none if it is absent.
    pub(crate) fn of(&self, part: Place<'_>) -> Option<Origins> {
        match part {
            Place::Call => Some(self.provenance.of_scopes(self.call).joined(&self.of_value(&[], self.after))),
            Place::Scopes => Some(self.provenance.of_scopes(self.call)),
            Place::Param(name) => Some(self.of_value(&[Segment::Key(name.into())], self.after.get(name)?)),
            Place::Path(path) => {
                let path = folded(path);
                let is_within = |other: &str| {
                    other.strip_prefix(path.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
                };
                let mut all = None;
                each_leaf(&mut Vec::new(), self.after, &mut |place, leaf| {
                    if is_within(&path_of(place)) {
                        all.get_or_insert_with(Origins::default).join(&self.of_leaf(place, leaf));
                    }
                });
                all
            }
        }
    }

    /// The origins of the value at a place of the edited parameters.
    pub(crate) fn of_value(&self, place: &[Segment], value: &Value) -> Origins {
        let mut all = Origins::default();
        each_leaf(&mut place.to_vec(), value, &mut |place, leaf| all.join(&self.of_leaf(place, leaf)));
        all
    }

    fn of_leaf(&self, place: &[Segment], leaf: &Value) -> Origins {
        if value_at(self.before, place) == Some(leaf) {
            return self.provenance.of_place(self.call, place);
        }
        let Some(places) = self.known.get(&(path_of(place), leaf.to_string())) else {
            return Origins::of(Origin::User);
        };
        places.iter().fold(Origins::default(), |all, place| all.joined(&self.provenance.of_place(self.call, place)))
    }
}

/// Visits every value with nothing below.
fn each_leaf(place: &mut Vec<Segment>, value: &Value, visit: &mut dyn FnMut(&[Segment], &Value)) {
    let mut below = |step, inner| {
        place.push(step);
        each_leaf(place, inner, visit);
        place.pop();
    };
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            fields.iter().for_each(|(name, inner)| below(Segment::Key(name.into()), inner));
        }
        Value::Array(items) if !items.is_empty() => {
            (0..).map(Segment::Index).zip(items).for_each(|(step, inner)| below(step, inner));
        }
        leaf => visit(place, leaf),
    }
}

/// A place as a dotted path in any spelling, through lists.
fn path_of(place: &[Segment]) -> String {
    let names = place.iter().filter(|step| !matches!(step, Segment::Index(_)));
    names.map(|step| folded(&step.key())).collect::<Vec<_>>().join(".")
}
