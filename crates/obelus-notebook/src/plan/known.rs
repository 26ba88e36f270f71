//! The values of a call's parameters that are known before its plan runs, and whether the tool accepts them.

use std::borrow::Cow;
use std::cell::Cell;

use serde_json::{Map, Value};

use super::check::{Check, Warning, param_shape};
use crate::call::decided_breaches;
use crate::context::Context;
use crate::expr::Expr;
use crate::fault::{Fault, Rule};
use crate::path::Path;
use crate::schema::{Breach, without_nulls};
use crate::wording::type_name;

impl Check {
    /// The value of an expression of a call; none if it depends on another call of the plan.
    pub(super) fn known<'a>(
        &self,
        index: usize,
        context: &'a Context,
        instance: Option<&str>,
        expr: &Expr,
    ) -> Option<Cow<'a, Value>> {
        let depends = Cell::new(false);
        let value = expr.value(&|path: &Path| {
            if self.graph.edges_by(index, path).is_empty() {
                return context.read(path, instance);
            }
            depends.set(true);
            None
        });
        value.filter(|_| !depends.get())
    }

    /// The parameters of a call, with references resolved if their values are known.
    pub(super) fn known_params(&self, index: usize, context: &Context, instance: Option<&str>) -> Map<String, Value> {
        let known = |expr: &Expr| self.known(index, context, instance, expr).map(Cow::into_owned);
        let params = self.calls[index].params.iter();
        params.map(|(name, template)| (name.to_string(), template.resolve_known(&known))).collect()
    }

    /// Finds references to known values that the tool does not accept.
    pub(super) fn check_known_params(&mut self, context: &Context) {
        let (mut errors, mut warnings) = (Vec::new(), Vec::new());
        for index in (0..self.calls.len()).filter(|&index| self.calls[index].has_refs()) {
            let readers = self.readers(index, context);
            let misfits: Vec<(Option<&str>, Fault)> = readers
                .iter()
                .filter_map(|&instance| Some((instance, self.misfit(index, context, instance)?)))
                .collect();
            let is_for_all = misfits.len() == readers.len();
            match misfits.into_iter().next() {
                None => {}
                Some((_, fault)) if is_for_all => errors.push(fault.in_call(index)),
                Some((instance, fault)) => {
                    let text =
                        format!("for {}, {}; the other instances run", instance.unwrap_or_default(), fault.words());
                    warnings.push(Warning { rule: Rule::Plan11, call: Some(index), text });
                }
            }
        }
        self.errors.extend(errors);
        self.warnings.extend(warnings);
    }

    /// The fault of a known value that does not fit its parameter.
    fn misfit(&self, index: usize, context: &Context, instance: Option<&str>) -> Option<Fault> {
        let call = &self.calls[index];
        let tool = call.tool.as_deref()?;
        let (mut open, mut settled) = (Vec::new(), Vec::new());
        call.each_expr(&mut |place, expr| match self.known(index, context, instance, expr) {
            Some(_) => settled.push((place.to_vec(), expr)),
            None => open.push(place.to_vec()),
        });
        if settled.is_empty() {
            return None;
        }
        let params = Value::Object(self.known_params(index, context, instance));
        // Null for an optional parameter means absent.
        let params = without_nulls(&params, tool.params());
        // Text type mismatches were reported by the parser.
        let is_reported = |breach: &Breach| breach.keyword == "type" && call.is_text_at(&breach.place);
        let breaches = decided_breaches(tool, &params, &call.params, &open).into_iter();
        breaches.filter(|breach| !is_reported(breach)).find_map(|breach| {
            let (place, expr) = settled.iter().find(|(place, _)| breach.place.starts_with(place))?;
            // The message does not contain the value, because the author of the plan may not be permitted to see it.
            let found = breach.place.iter().try_fold(&*params, |value, step| member(value, step));
            let found = found.map_or("nothing", type_name);
            let takes = param_shape(tool.params(), &breach.place).filter(|_| breach.keyword == "type");
            let text = match takes {
                Some(takes) => format!("{expr} has {found}, and {} is read", takes.type_names()),
                None => format!("{expr} has {found} that breaks `{}` of the parameter's schema", breach.keyword),
            };
            Some(Fault::new(Rule::Plan11, text).at(&place.join(".")))
        })
    }
}

fn member<'a>(value: &'a Value, step: &str) -> Option<&'a Value> {
    match value {
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        _ => value.get(step),
    }
}
