//! Origins of results that calls of a plan will have, as far as they follow from the plan (PLAN-11).
//!
//! A result will have the origins of its tool and of its call's inputs. What a delegate will read itself is not known
//! in advance.

use super::provenance::Provenance;
use crate::call::{Call, Scope};
use crate::context::Context;
use crate::fold::Method;
use crate::origin::{Origin, Origins};
use crate::path::{Path, Segment};
use crate::tool::Tool;
use obelus_notebook::plan::Check;

/// The origins of the inputs of a plan's calls.
pub(super) struct PlannedOrigins<'a> {
    check: &'a Check,
    context: &'a Context,
    by_model: &'a dyn Fn(&Tool) -> bool,
    /// The origins of each call's inputs, by index.
    made_of: Vec<Origins>,
}

impl<'a> PlannedOrigins<'a> {
    /// Processes a checked plan wave by wave. Literals have the origin of the person or model that runs it.
    pub(super) fn new(
        check: &'a Check,
        context: &'a Context,
        literal: &Origins,
        by_model: &'a dyn Fn(&Tool) -> bool,
    ) -> Self {
        let mut planned = Self { check, context, by_model, made_of: vec![Origins::default(); check.calls.len()] };
        for &index in check.waves.iter().flatten() {
            let mut made_of = Origins::default();
            for instance in planned.readers(index) {
                let of_path = |path: &Path| planned.of_path(index, path, instance);
                let provenance = Provenance { planned: Some(&of_path), ..Provenance::new(context, instance, literal) };
                made_of.join(&provenance.of_call(&check.calls[index]));
                made_of.join(&planned.of_scoped_kinds(index));
            }
            planned.made_of[index] = made_of;
        }
        planned
    }

    /// The instances for which a call runs.
    pub(super) fn readers(&self, index: usize) -> Vec<Option<&'a str>> {
        self.check.readers(index, self.context)
    }

    /// The origins of a path that a call will read, if calls of the plan write there.
    pub(super) fn of_path(&self, reader: usize, path: &Path, instance: Option<&str>) -> Option<Origins> {
        let feeds = |edge: &&obelus_notebook::plan::Edge| edge.path.kind == path.kind && edge.path.covers(path);
        let mut writers = self.check.graph.edges_into(reader).iter().filter(feeds).peekable();
        writers.peek()?;
        let mut all = Origins::default();
        let mut is_replaced = false;
        for edge in writers {
            let call = &self.check.calls[edge.from];
            all.join(&self.of_result(edge.from, path));
            is_replaced |= call.output_method == Method::Set && call.writes().any(|written| written.covers(path));
        }
        if !is_replaced {
            all.join(&self.context.origins(path, instance));
        }
        Some(all)
    }

    /// The origins of whole kinds in a call's scopes that the plan writes. Such scopes do not order calls.
    pub(super) fn of_scoped_kinds(&self, reader: usize) -> Origins {
        let mut all = Origins::default();
        for scope in &self.check.calls[reader].scopes {
            let Scope::Kind(kind) = scope else { continue };
            let kind = Path::root(kind.as_str());
            for (writer, call) in self.check.calls.iter().enumerate() {
                if writer != reader && call.all_writes().any(|written| written.kind == kind.kind) {
                    all.join(&self.of_result(writer, &kind));
                }
            }
        }
        all
    }

    /// The origins of what a call will write at a path, above it or below it.
    fn of_result(&self, writer: usize, path: &Path) -> Origins {
        let (call, made_of) = (&self.check.calls[writer], &self.made_of[writer]);
        let Some(tool) = &call.tool else { return made_of.clone() };
        if call.delegate.is_some() || (self.by_model)(tool) {
            return made_of.clone().joined(&Origins::of(Origin::Model));
        }
        let mut all = Origins::default();
        for (written, takes_errors) in writes(call).filter(|(written, _)| written.overlaps(path)) {
            all.join(&tool.origins_of_part(&below(written, path), made_of));
            if takes_errors {
                all.join(made_of);
                all.join(tool.error_origin());
            }
        }
        if tool.side_writes.iter().any(|side| side.to.overlaps(path)) {
            all.join(made_of);
            all.join(tool.origin());
        }
        all
    }
}

/// The paths that a call may write, and whether its error may go there.
fn writes(call: &Call) -> impl Iterator<Item = (&Path, bool)> {
    let alternatives = call.output_path.as_ref().map_or(&[][..], |path| &path.alternatives);
    let last = alternatives.len().saturating_sub(1);
    let each = alternatives.iter().enumerate();
    each.flat_map(move |(index, group)| group.iter().map(move |path| (&**path, last > 0 && index == last)))
}

/// The dotted path from the written to the read path; empty for the whole. Elements have no names.
fn below(written: &Path, read: &Path) -> String {
    let rest = read.segments.get(written.segments.len()..).unwrap_or_default();
    let is_element = |segment: &Segment| matches!(segment, Segment::Index(_)) || crate::path::is_digits(&segment.key());
    let names = rest.iter().filter(|segment| !is_element(segment)).map(|segment| segment.key().into_owned());
    names.collect::<Vec<_>>().join(".")
}
