//! Calls: the model's proposals, parsed with the definition of their tool.

mod control;
pub mod freeze;
pub mod identity;
mod read;

use std::sync::Arc;

use serde_json::{Map, Value};
use smallvec::smallvec;

use crate::call_json::CallJson;
use crate::context::Context;
use crate::control_field::ControlField;
use crate::expr::{Expr, OutputPath};
use crate::fault::Fault;
use crate::fold::Method;
use crate::names::Name;
use crate::path::Path;
use crate::schema::admits_null;
use crate::template::Template;
use crate::tool::Tool;
pub(crate) use read::{decided_breaches, faults_of};
pub use read::{dotted, without_absent};

/// A parsed call, before it runs.
#[derive(Clone, Debug)]
pub struct Call {
    /// The proposal as received.
    pub raw: CallJson,
    /// The tool, if it is known.
    pub tool: Option<Arc<Tool>>,
    /// Parameters, with unresolved references.
    pub params: Params,
    /// Its control fields, without null ones. Few calls have any.
    pub(crate) control_fields: Option<Box<Map<String, Value>>>,
    /// The path of the result.
    pub output_path: Option<OutputPath>,
    /// How the result is combined with the value at its path.
    pub output_method: Method,
    /// Whether the output path is the default of its solution, not one of the call.
    pub keeps_by_default: bool,
    /// The instance that it runs for.
    pub instance: Option<String>,
    /// The parts of the context that its executor sees.
    pub scopes: Vec<Scope>,
    /// The result of a model call, which the model wrote along with the call.
    pub output: Option<Box<Value>>,
    /// The delegate that runs it.
    pub delegate: Option<String>,
    /// The activity that the tool names.
    pub activity: Option<String>,
}

/// Parameters by name, in the order of the proposal.
pub(crate) type Params = Vec<(Name, Template)>;

/// One entry of `_scopes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A whole kind.
    Kind(String),
    /// One path.
    Path(Arc<Path>),
}

/// How the calls of a solution run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct StepOptions {
    /// One after the other, in the order of the answer.
    pub sequential: bool,
    /// Results without an output path are pushed to `†results`.
    pub keeps_results: bool,
}

/// The kind for results without an output path.
const RESULTS: &str = "results";

impl Call {
    /// Whether a field of a call is a parameter and not a control field (CALL-1).
    pub fn is_param(name: &str, tool: &Tool) -> bool {
        !name.starts_with('_') && !ControlField::is_in_call_of(Some(tool), name)
    }

    /// Parses a proposal. An invalid call is parsed as far as possible, because other calls may depend on its result.
    pub fn read(proposal: &CallJson, context: &Context) -> (Self, Vec<Fault>) {
        read::read(proposal, context)
    }

    /// Pushes the result to `†results` if neither the call nor its tool names an output path.
    pub fn keep_result(&mut self) {
        // An invalid output path is a fault, and gets no default.
        if self.output_path.is_none() && self.meta_field("_outputPath").is_none_or(Value::is_null) {
            self.output_path = Some(OutputPath { alternatives: smallvec![smallvec![Arc::new(Path::root(RESULTS))]] });
            self.output_method = Method::Push;
            self.keeps_by_default = true;
        }
    }

    /// The activity, named by the tool or chosen by the call if the tool permits that.
    pub fn named_activity(&self) -> Option<&str> {
        self.activity.as_deref()
    }

    /// The name of the tool.
    pub fn tool_name(&self) -> &str {
        self.raw.tool_name()
    }

    /// Whether it acts on the world, directly or through a delegate.
    pub fn acts(&self) -> bool {
        self.tool.as_deref().is_some_and(|tool| tool.effect.acts())
    }

    /// Whether it acts on the world through an activity. A delegate's calls are judged one by one.
    pub fn has_effect(&self) -> bool {
        self.delegate.is_none() && self.acts()
    }

    /// Whether repeating it changes nothing.
    pub fn is_idempotent(&self) -> bool {
        self.tool.as_deref().is_some_and(|tool| tool.idempotent)
    }

    /// Whether it came with its result, as calls do that the model carries out itself.
    pub fn has_output(&self) -> bool {
        let may_be_null = || self.tool.as_deref().is_some_and(|tool| tool.output().is_some_and(admits_null));
        self.output.as_ref().is_some_and(|output| !output.is_null() || may_be_null())
    }

    /// Visits every expression of the parameters with its position.
    pub fn each_expr<'a>(&'a self, visit: &mut impl FnMut(&[String], &'a Expr)) {
        each_reference(&self.params, visit);
    }

    /// Whether a text with references is at this position of the parameters.
    pub(crate) fn is_text_at(&self, place: &[String]) -> bool {
        is_text_at(&self.params, place)
    }

    /// Visits every expression of the parameters.
    pub fn exprs<'a>(&'a self, visit: &mut impl FnMut(&'a Expr)) {
        self.params.iter().for_each(|(_, template)| template.exprs(visit));
    }

    /// Whether any expression of the parameters fulfils the condition.
    pub fn any_expr(&self, is_such: impl Fn(&Expr) -> bool) -> bool {
        let mut found = false;
        self.exprs(&mut |expr| found = found || is_such(expr));
        found
    }

    /// The parameters, with references as they were proposed.
    pub fn outline(&self) -> Value {
        Value::Object(self.params.iter().map(|(name, value)| (name.to_string(), value.outline())).collect())
    }

    /// Whether it has control fields.
    pub fn has_control_fields(&self) -> bool {
        self.control_fields.is_some()
    }

    /// A meta-property of the proposal.
    pub(crate) fn meta_field(&self, meta: &str) -> Option<&Value> {
        self.raw.field(meta)
    }

    /// Whether any parameter has a reference.
    pub fn has_refs(&self) -> bool {
        self.any_expr(|_| true)
    }

    /// Whether any expression has an operator.
    pub fn has_choice(&self) -> bool {
        self.any_expr(|expr| !matches!(expr, Expr::Ref(_)))
    }

    /// All paths that the call reads, including its scopes.
    pub fn reads(&self) -> Vec<&Arc<Path>> {
        let mut paths = Vec::new();
        self.each_read(&mut |path| paths.push(path));
        paths
    }

    /// Visits all paths that the call reads, including its scopes.
    pub(crate) fn each_read<'a>(&'a self, visit: &mut impl FnMut(&'a Arc<Path>)) {
        self.exprs(&mut |expr| expr.each_ref(visit));
        for scope in &self.scopes {
            if let Scope::Path(path) = scope {
                visit(path);
            }
        }
    }

    /// All paths that the call may write.
    pub fn writes(&self) -> impl Iterator<Item = &Arc<Path>> {
        self.output_path.iter().flat_map(OutputPath::paths)
    }

    /// All paths that the call may write, including the side writes of its tool.
    pub fn all_writes(&self) -> impl Iterator<Item = &Path> {
        let beside = self.tool.iter().flat_map(|tool| &tool.side_writes).map(|side| &side.to);
        self.writes().map(|path| &**path).chain(beside)
    }

    /// All kinds that the call names. The default output path does not count.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = &str> {
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

/// Visits every expression with its position.
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
    fn call_1_a_reserved_name_is_a_parameter_only_if_declared() {
        let tool = Tool::parse("note", &json!({"properties": {"text": {}, "comment": {}}})).expect("a tool");
        let is_param = |name| Call::is_param(name, &tool);
        assert!(is_param("text") && is_param("comment") && is_param("other"));
        assert!(!is_param("confirmed") && !is_param("http_method") && !is_param("_outputPath"));
    }
}
