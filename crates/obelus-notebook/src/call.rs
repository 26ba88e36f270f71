//! Calls: what the model proposes, read against the tool it names.

mod read;

use std::sync::Arc;

use serde_json::{Map, Value};
use smallvec::smallvec;

use crate::context::Context;
use crate::expr::{Expr, OutputPath};
use crate::fault::Fault;
use crate::fold::Method;
use crate::names::Name;
use crate::path::Path;
use crate::template::Template;
use crate::tool::Tool;
pub use read::{decided_breaches, dotted, faults_of, without_absent};

/// A proposed call, with everything found in it before it runs.
#[derive(Clone, Debug)]
pub struct Call {
    /// The proposal as it came.
    pub raw: Arc<Value>,
    /// The tool, if it is known.
    pub tool: Option<Arc<Tool>>,
    /// Parameters, with unresolved references.
    pub params: Params,
    /// Fields beside the parameters that steer the engine, such as `confirmed`. Few calls have any.
    pub asides: Option<Box<Map<String, Value>>>,
    /// Where the result goes.
    pub output_path: Option<OutputPath>,
    /// How the result joins what is there.
    pub output_method: Method,
    /// Whether the output path is the default of its solution: the call itself names none.
    pub keeps_by_default: bool,
    /// The instance it works for.
    pub instance: Option<String>,
    /// What its executor sees of the context.
    pub scopes: Vec<Scope>,
    /// The result that a model call brings with it.
    pub output: Option<Box<Value>>,
    /// The delegate that runs it.
    pub delegate: Option<String>,
    /// The activity that the tool names.
    pub activity: Option<String>,
}

/// Parameters by name, in the order of writing.
pub(crate) type Params = Vec<(Name, Template)>;

/// One entry of `_scopes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everything of a kind.
    Kind(String),
    /// One path.
    Path(Arc<Path>),
}

/// How the calls of a solution run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct StepOptions {
    /// In the order of writing.
    pub sequential: bool,
    /// Results without an output path are pushed to `†results`.
    pub keeps_results: bool,
}

/// Fields that may stand beside the parameters, unless the tool declares them as parameters.
pub const ASIDES: [&str; 6] =
    ["requires_confirmation", "confirmed", "confirmation_decision", "confirmation_reason", "comment", "http_method"];

/// The kind that takes results without an output path.
const RESULTS: &str = "results";

impl Call {
    /// Whether a field of a call is a parameter, and not one of those that may stand beside them (CALL-1).
    pub fn is_param(name: &str, tool: &Tool) -> bool {
        !name.starts_with('_') && (!ASIDES.contains(&name) || tool.param(name).is_some())
    }

    /// Reads a proposal. A faulty call is read as far as possible, for it may still feed others.
    pub fn read(proposal: &Arc<Value>, context: &Context) -> (Self, Vec<Fault>) {
        read::read(proposal, context)
    }

    /// Pushes the result to `†results` if neither the call nor its tool names an output path.
    pub fn keep_result(&mut self) {
        // An output path that cannot be read is a fault, so there is no default for it.
        if self.output_path.is_none() && self.said("_outputPath").is_none_or(Value::is_null) {
            self.output_path = Some(OutputPath { alternatives: smallvec![smallvec![Arc::new(Path::root(RESULTS))]] });
            self.output_method = Method::Push;
            self.keeps_by_default = true;
        }
    }

    /// The activity that the tool names, or that it lets the call choose.
    pub fn named_activity(&self) -> Option<&str> {
        self.activity.as_deref()
    }

    /// The name of the tool.
    pub fn tool_name(&self) -> &str {
        self.said("_tool").and_then(Value::as_str).unwrap_or_default()
    }

    /// Visits every expression of the parameters with its place.
    pub fn each_expr<'a>(&'a self, visit: &mut impl FnMut(&[String], &'a Expr)) {
        each_reference(&self.params, visit);
    }

    /// Whether a text with references stands at a place of the parameters.
    pub(crate) fn is_text_at(&self, place: &[String]) -> bool {
        is_text_at(&self.params, place)
    }

    /// Visits every expression of the parameters.
    pub fn exprs<'a>(&'a self, visit: &mut impl FnMut(&'a Expr)) {
        self.params.iter().for_each(|(_, template)| template.exprs(visit));
    }

    /// Whether any expression of the parameters is such.
    pub fn any_expr(&self, is_such: impl Fn(&Expr) -> bool) -> bool {
        let mut found = false;
        self.exprs(&mut |expr| found = found || is_such(expr));
        found
    }

    /// An aside.
    pub fn aside(&self, name: &str) -> Option<&Value> {
        self.asides.as_ref()?.get(name)
    }

    /// What the proposal itself says of a meta-property. A call has few fields: comparing is cheaper than hashing.
    pub fn said(&self, meta: &str) -> Option<&Value> {
        self.raw.as_object()?.iter().find(|(name, _)| *name == meta).map(|(_, value)| value)
    }

    /// Whether any parameter comes from memory.
    pub fn has_refs(&self) -> bool {
        self.any_expr(|_| true)
    }

    /// Whether an expression is more than a plain reference.
    pub fn has_choice(&self) -> bool {
        self.any_expr(|expr| !matches!(expr, Expr::Ref(_)))
    }

    /// Every path the call reads, its scopes included.
    pub fn reads(&self) -> Vec<&Arc<Path>> {
        let mut paths = Vec::new();
        self.each_read(&mut |path| paths.push(path));
        paths
    }

    /// Visits every path the call reads, its scopes included.
    pub(crate) fn each_read<'a>(&'a self, visit: &mut impl FnMut(&'a Arc<Path>)) {
        self.exprs(&mut |expr| expr.each_ref(visit));
        for scope in &self.scopes {
            if let Scope::Path(path) = scope {
                visit(path);
            }
        }
    }

    /// Every path the call may write.
    pub fn writes(&self) -> impl Iterator<Item = &Arc<Path>> {
        self.output_path.iter().flat_map(OutputPath::paths)
    }

    /// The same, with what its tool declares to write beside the result.
    pub fn all_writes(&self) -> impl Iterator<Item = &Path> {
        let beside = self.tool.iter().flat_map(|tool| &tool.side_writes).map(|side| &side.to);
        self.writes().map(|path| &**path).chain(beside)
    }

    /// Every kind that the call names. The default output path does not count.
    pub fn kinds(&self) -> impl Iterator<Item = &str> {
        let written = self.writes().filter(|_| !self.keeps_by_default);
        let scoped = self.scopes.iter().filter_map(|scope| match scope {
            Scope::Kind(kind) => Some(kind.as_str()),
            Scope::Path(_) => None,
        });
        self.reads().into_iter().chain(written).map(|path| path.kind.as_str()).chain(scoped)
    }
}

fn is_text_at(params: &[(Name, Template)], place: &[String]) -> bool {
    let Some((first, rest)) = place.split_first() else { return false };
    let param = params.iter().find(|(name, _)| name.as_str() == first);
    param.and_then(|(_, template)| template.at(rest)).is_some_and(|found| matches!(found, Template::Text(_)))
}

/// Visits every expression with its place.
fn each_reference<'a>(params: &'a [(Name, Template)], visit: &mut impl FnMut(&[String], &'a Expr)) {
    let mut place = Vec::new();
    for (name, template) in params {
        if matches!(template, Template::Literal(_)) {
            continue;
        }
        place.push(name.to_string());
        template.each_expr(&mut place, visit);
        place.pop();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn call_1_what_stands_beside_the_parameters_is_one_only_where_it_is_declared() {
        let tool = Tool::parse("note", &json!({"properties": {"text": {}, "comment": {}}})).expect("a tool");
        let is_param = |name| Call::is_param(name, &tool);
        assert!(is_param("text") && is_param("comment") && is_param("other"));
        assert!(!is_param("confirmed") && !is_param("http_method") && !is_param("_outputPath"));
    }
}
