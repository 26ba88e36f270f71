//! Finds unknown names in a plan, and suggests similar ones.

use std::collections::BTreeSet;

use serde_json::Value;

use super::check::{Check, Warning};
use crate::call::Call;
use crate::context::Context;
use crate::expr::Expr;
use crate::fault::{Fault, Rule};
use crate::fold::Method;
use crate::mention::text::each_text;
use crate::path::{Path, Segment};
use crate::schema::properties;
use crate::tool::Tool;
use crate::wording::closest;

impl Check {
    /// Finds unknown meta-properties, and parameters with nearly the name of a declared one.
    pub(super) fn check_unknown_names(&mut self) {
        for (index, call) in self.calls.iter().enumerate() {
            let (Some(tool), Some(fields)) = (&call.tool, call.raw.as_object()) else { continue };
            let declared = properties(&tool.schema);
            let is_declared = |name: &str| declared.is_some_and(|declared| declared.contains_key(name));
            let params: Vec<&str> = declared.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
            for name in fields.keys().filter(|name| !is_declared(name)) {
                if name.starts_with('_') {
                    match Tool::meant_meta(name) {
                        Some(near) => {
                            let text = format!("there is no such meta-property; did you mean `{near}`?");
                            self.errors.push(Fault::new(Rule::Call3, text).at(name).in_call(index));
                        }
                        None if Tool::is_meta(name) => {}
                        None => self.warnings.push(Warning {
                            rule: Rule::Call3,
                            call: Some(index),
                            text: format!("nothing reads `{name}`"),
                        }),
                    }
                } else if let Some(near) = closest(name, &params) {
                    let text = format!("`{}` has no parameter `{name}`; did you mean `{near}`?", tool.name);
                    self.warnings.push(Warning { rule: Rule::Call3, call: Some(index), text });
                }
            }
        }
    }

    /// Finds texts that would be references to an existing kind if they began with `†`.
    pub(super) fn check_missing_reference_signs(&mut self, context: &Context) {
        let written = self.calls.iter().flat_map(Call::writes).map(|path| path.kind.as_str());
        let kinds: BTreeSet<&str> = context.views().map(|(kind, _)| kind).chain(written).collect();
        let mut warnings = Vec::new();
        for (index, call) in self.calls.iter().enumerate() {
            for (name, template) in &call.params {
                each_text(&template.outline(), &mut |text| {
                    let kind = text.split(['.', '[']).next().unwrap_or_default();
                    let is_path =
                        || matches!(Expr::parse(&format!("†{text}")), Ok(Expr::Ref(path)) if !path.segments.is_empty());
                    if kinds.contains(kind) && !text.contains(char::is_whitespace) && is_path() {
                        let text = format!("`{name}` is the text `{text}`; did you mean †{text}?");
                        warnings.push(Warning { rule: Rule::Ctx9, call: Some(index), text });
                    }
                });
            }
        }
        self.warnings.extend(warnings);
    }

    /// Finds references into declared results that have no such field.
    pub(super) fn check_stray_paths(&mut self) {
        let mut warnings = Vec::new();
        for (index, call) in self.calls.iter().enumerate() {
            let edges = self.graph.edges_into(index).iter();
            for edge in edges.filter(|edge| call.reads().contains(&&edge.path)) {
                let writer = &self.calls[edge.from];
                let Some(tool) = &writer.tool else { continue };
                for written in writer.writes().filter(|written| written.covers(&edge.path)) {
                    let rest = edge.path.segments.get(written.segments.len()..).unwrap_or_default();
                    let names = rest.iter().filter(|segment| matches!(segment, Segment::Field(_)));
                    let below = names.map(|segment| segment.key().into_owned()).collect::<Vec<_>>().join(".");
                    if let Some(why) = tool.stray_output(&below).filter(|_| writer.output_method == Method::Set) {
                        let text = format!("{}, written by call {} ({}): {why}", edge.path, edge.from, tool.name);
                        warnings.push(Warning { rule: Rule::Plan4, call: Some(index), text });
                    }
                }
            }
        }
        self.warnings.extend(warnings);
    }

    /// A suggestion for an expression without a value.
    pub(super) fn hint(&self, expr: &Expr, context: &Context) -> String {
        let refs = expr.refs();
        match refs.iter().find_map(|path| self.near(path, context)) {
            Some(near) => format!("; did you mean {near}?"),
            None if refs.iter().any(|path| path.kind == "input") => "; the input does not have it".to_owned(),
            None => String::new(),
        }
    }

    /// An existing or written path that differs in one name.
    fn near(&self, path: &Path, context: &Context) -> Option<Path> {
        let writes = || self.calls.iter().flat_map(Call::writes);
        let kinds: BTreeSet<&str> =
            context.views().map(|(kind, _)| kind).chain(writes().map(|path| path.kind.as_str())).collect();
        if !kinds.contains(path.kind.as_str()) {
            let near = closest(&path.kind, &kinds.into_iter().collect::<Vec<_>>())?;
            return Some(Path { kind: near.into(), segments: path.segments.clone() });
        }
        let view = context.view(&path.kind);
        let mut schema = view.and_then(|view| view.schema(None));
        for (index, segment) in path.segments.iter().enumerate() {
            let above = &path.segments[..index];
            let value = view.and_then(|view| view.read(above, None));
            let fields = value.as_deref().and_then(Value::as_object);
            let declared = schema.and_then(properties);
            let of_writes = writes().filter(|other| other.kind == path.kind && other.segments.starts_with(above));
            let mut known: BTreeSet<String> =
                of_writes.filter_map(|other| other.segments.get(index)).map(|next| next.key().into_owned()).collect();
            known.extend([fields, declared].into_iter().flatten().flat_map(|names| names.keys().cloned()));
            let name = segment.key();
            if !known.contains(name.as_ref()) {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                let near = closest(&name, &known)?;
                let mut segments = path.segments.clone();
                segments[index] = Segment::Field(near.into());
                return Some(Path { kind: path.kind.clone(), segments });
            }
            schema = declared.and_then(|declared| declared.get(name.as_ref()));
        }
        None
    }
}
