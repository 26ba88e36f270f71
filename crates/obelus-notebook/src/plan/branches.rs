//! Branches of a plan: calls that run only if an earlier call wrote certain alternatives.

use std::collections::{BTreeMap, BTreeSet};

use super::check::Check;
use super::template::RunsFor;
use crate::call::Call;
use crate::expr::Expr;
use crate::path::Path;

/// The alternatives that each call of a plan needs.
#[derive(Debug, Default)]
pub(super) struct Branches(BTreeMap<usize, Needs>);

/// By call with alternatives: the alternatives of which one must be written.
type Needs = BTreeMap<usize, BTreeSet<usize>>;

impl Branches {
    /// Finds the branches of a plan whose waves are known.
    pub(super) fn of(check: &Check) -> Self {
        let mut branches = Self::default();
        if !check.calls.iter().any(chooses) {
            return branches;
        }
        for &index in check.waves.iter().flatten() {
            let mut needs = Needs::new();
            check.calls[index].exprs(&mut |expr| {
                if let Some(more) = branches.needs_of(check, index, expr) {
                    both(&mut needs, more);
                }
            });
            if !needs.is_empty() {
                branches.0.insert(index, needs);
            }
        }
        branches
    }

    /// Whether two calls never run both, because they need different alternatives of one call.
    pub(super) fn are_exclusive(&self, a: usize, b: usize) -> bool {
        let (Some(a), Some(b)) = (self.0.get(&a), self.0.get(&b)) else { return false };
        a.iter().any(|(choice, wants)| b.get(choice).is_some_and(|others| wants.is_disjoint(others)))
    }

    /// The alternatives that an expression needs to have a value. `None` if it depends on none.
    fn needs_of(&self, check: &Check, reader: usize, expr: &Expr) -> Option<Needs> {
        match expr {
            Expr::Ref(path) => {
                let writers = check.graph.edges_by(reader, path).iter().map(|edge| edge.from);
                // Each instance chooses independently.
                let binds = |writer: usize| {
                    check.runs_for[reader] != RunsFor::Each || !matches!(check.runs_for[writer], RunsFor::One(_))
                };
                either(writers.map(|writer| self.needs_to_write(check, writer, path).filter(|_| binds(writer))))
            }
            Expr::Any(terms) => either(terms.iter().map(|term| self.needs_of(check, reader, term))),
            Expr::All(terms) => {
                let mut needs = Needs::new();
                terms
                    .iter()
                    .filter_map(|term| self.needs_of(check, reader, term))
                    .for_each(|more| both(&mut needs, more));
                Some(needs)
            }
        }
    }

    /// The alternatives with which a call writes a path. `None` if it writes only below the path, because the old value
    /// around it remains.
    fn needs_to_write(&self, check: &Check, writer: usize, path: &Path) -> Option<Needs> {
        let call = &check.calls[writer];
        if !call.all_writes().any(|written| written.covers(path)) {
            return None;
        }
        let mut needs = self.0.get(&writer).cloned().unwrap_or_default();
        if let Some(output) = call.output_path.as_ref().filter(|_| chooses(call)) {
            let writing = output.alternatives.iter().enumerate();
            let writing = writing.filter(|(_, group)| group.iter().any(|written| written.covers(path)));
            both(&mut needs, Needs::from([(writer, writing.map(|(index, _)| index).collect())]));
        }
        Some(needs)
    }
}

fn chooses(call: &Call) -> bool {
    call.output_path.as_ref().is_some_and(|path| path.alternatives.len() > 1)
}

/// Adds further needs: both must be fulfilled.
fn both(needs: &mut Needs, more: Needs) {
    for (choice, wants) in more {
        match needs.get_mut(&choice) {
            Some(known) => known.retain(|alternative| wants.contains(alternative)),
            None => drop(needs.insert(choice, wants)),
        }
    }
}

/// The needs common to all terms, of which one must be fulfilled. `None` if a term has no needs.
fn either(all: impl Iterator<Item = Option<Needs>>) -> Option<Needs> {
    let mut joined: Option<Needs> = None;
    for needs in all {
        let needs = needs?;
        joined = Some(match joined {
            None => needs,
            Some(known) => {
                let mut known = known;
                known.retain(|choice, _| needs.contains_key(choice));
                for (choice, wants) in &mut known {
                    wants.extend(needs.get(choice).into_iter().flatten());
                }
                known
            }
        });
    }
    joined
}
