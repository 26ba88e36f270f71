//! Calls: what the model proposes, read against the tool it names.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value};
use smallvec::smallvec;

use crate::context::Context;
use crate::expr::{Expr, OutputPath};
use crate::fault::{Fault, Rule};
use crate::fold::Method;
use crate::names::Name;
use crate::path::Path;
use crate::schema::{self, Breach, without_null_members, without_nulls};
use crate::template::Template;
use crate::tool::{Meta, Tool};
use crate::wording::{closest, short, type_name};

/// A call as it was proposed, with everything found in it that can be found before it runs.
#[derive(Clone, Debug)]
pub struct Call {
    /// The proposal as it came.
    pub raw: Arc<Value>,
    /// The tool, if it is known.
    pub tool: Option<Arc<Tool>>,
    /// Parameters, references not yet resolved.
    pub params: Params,
    /// Words beside the parameters that steer the engine, such as `confirmed`. Few calls have any.
    pub asides: Option<Box<Map<String, Value>>>,
    /// Where the result goes.
    pub output_path: Option<OutputPath>,
    /// How the result joins what is there.
    pub output_method: Method,
    /// Whether the call itself says nothing of its result, and the place is the usual one of its solution.
    pub keeps_by_default: bool,
    /// The instance it works for.
    pub instance: Option<String>,
    /// What its executor is shown of the context.
    pub scopes: Vec<Scope>,
    /// The result that a latent call brings with it.
    pub output: Option<Box<Value>>,
    /// The delegate that runs it.
    pub delegate: Option<String>,
    /// The activity that the tool names.
    pub activity: Option<String>,
}

/// One entry of `_scopes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everything of a kind.
    Kind(String),
    /// One path.
    Path(Arc<Path>),
}

/// How the calls of a solution are to be taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Manner {
    /// They run in the order of writing.
    pub(crate) sequential: bool,
    /// The result of a call that names no place for it is pushed to `†results`.
    pub(crate) keeps_results: bool,
}

/// Words that may stand beside the parameters; unless the tool declares them they are none.
pub(crate) const ASIDES: [&str; 6] =
    ["requires_confirmation", "confirmed", "confirmation_decision", "confirmation_reason", "comment", "http_method"];

/// The kind that takes the results for which no other place is named.
const RESULTS: &str = "results";

/// Parameters by name, in the order of writing.
pub type Params = Vec<(Name, Template)>;

impl Call {
    /// Reads a proposal. What can be understood is, even of a faulty call, for it may still feed others.
    pub fn read(proposal: &Arc<Value>, context: &Context) -> (Self, Vec<Fault>) {
        let mut faults = Vec::new();
        let none;
        let fields = if let Value::Object(fields) = &**proposal {
            fields
        } else {
            faults.push(refused(format!("a call is an object, not {}", type_name(proposal))));
            none = Map::new();
            &none
        };
        let said = Said::of(fields);
        let tool_name = said.tool.and_then(Value::as_str).unwrap_or_default();
        let tool = context.tool(tool_name).cloned();
        if tool.is_none() && proposal.is_object() {
            faults.push(unknown_tool(tool_name, fields, context));
        }
        let output = said.output.map(|output| Box::new(without_absent(output, tool.as_deref())));
        let mut reader = Reader { fields, said, tool: tool.as_deref(), faults };
        let output_path = reader.output_path();
        let output_method = reader.output_method();
        let instance = reader.instance(context);
        let scopes = reader.scopes();
        let delegate = reader.executor("_delegate", reader.said.delegate);
        let activity = reader.executor("_activity", reader.said.activity);
        let (params, asides) = reader.params();
        let faults = reader.faults;
        let raw = proposal.clone();
        let call = Self {
            raw,
            tool,
            params,
            asides,
            output_path,
            output_method,
            keeps_by_default: false,
            instance,
            scopes,
            output,
            delegate,
            activity,
        };
        (call, faults)
    }

    /// Where neither the call nor its tool says where the result goes, it is pushed to `†results`.
    pub(crate) fn keep_result(&mut self) {
        // A place that cannot be read is a fault, and not silence.
        if self.output_path.is_none() && self.said("_outputPath").is_none_or(Value::is_null) {
            self.output_path = Some(OutputPath { alternatives: smallvec![smallvec![Arc::new(Path::root(RESULTS))]] });
            self.output_method = Method::Push;
            self.keeps_by_default = true;
        }
    }

    /// The name of the tool.
    pub fn tool_name(&self) -> &str {
        self.said("_tool").and_then(Value::as_str).unwrap_or_default()
    }

    /// Visits every expression of the parameters, with the place of the parameter it fills.
    pub fn each_expr<'a>(&'a self, visit: &mut impl FnMut(&[String], &'a Expr)) {
        each_reference(&self.params, visit);
    }

    /// Visits every expression of the parameters.
    pub(crate) fn exprs<'a>(&'a self, visit: &mut impl FnMut(&'a Expr)) {
        self.params.iter().for_each(|(_, template)| template.exprs(visit));
    }

    /// Whether there is such an expression.
    pub(crate) fn any_expr(&self, is_such: impl Fn(&Expr) -> bool) -> bool {
        let mut found = false;
        self.exprs(&mut |expr| found = found || is_such(expr));
        found
    }

    /// What is said beside the parameters under this name.
    pub(crate) fn aside(&self, name: &str) -> Option<&Value> {
        self.asides.as_ref()?.get(name)
    }

    /// What the proposal itself says of a meta-property.
    pub(crate) fn said(&self, meta: &str) -> Option<&Value> {
        find(self.raw.as_object()?, meta)
    }

    /// Whether any parameter comes from memory.
    pub(crate) fn has_refs(&self) -> bool {
        self.any_expr(|_| true)
    }

    /// Whether an expression is more than a plain reference.
    pub(crate) fn has_choice(&self) -> bool {
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
    pub(crate) fn all_writes(&self) -> impl Iterator<Item = &Path> {
        let beside = self.tool.iter().flat_map(|tool| &tool.side_writes).map(|side| &side.to);
        self.writes().map(|path| &**path).chain(beside)
    }

    /// Every kind the call has to do with. Where its result goes by default says nothing of what it is about.
    pub fn kinds(&self) -> impl Iterator<Item = &str> {
        let written = self.writes().filter(|_| !self.keeps_by_default);
        let scoped = self.scopes.iter().filter_map(|scope| match scope {
            Scope::Kind(kind) => Some(kind.as_str()),
            Scope::Path(_) => None,
        });
        self.reads()
            .into_iter()
            .map(|path| path.kind.as_str())
            .chain(written.map(|path| path.kind.as_str()))
            .chain(scoped)
    }
}

/// Visits every expression, with the place of the parameter it fills.
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

pub(crate) fn refused(text: impl Into<String>) -> Fault {
    Fault::new(Rule::Call3, text)
}

/// The faults of parameters, each at its field.
pub(crate) fn faults_of(breaches: Vec<Breach>) -> Vec<Fault> {
    breaches.into_iter().map(|breach| refused(breach.text).at(&dotted(&breach.place))).collect()
}

fn dotted(place: &[String]) -> String {
    let mut field = String::new();
    for step in place {
        match step.parse::<usize>() {
            Ok(index) if !field.is_empty() => field.push_str(&format!("[{index}]")),
            _ if field.is_empty() => field.push_str(step),
            _ => {
                field.push('.');
                field.push_str(step);
            }
        }
    }
    field
}

fn unknown_tool(name: &str, fields: &Map<String, Value>, context: &Context) -> Fault {
    let text = match fields.get("_tool") {
        None => "`_tool` is missing: it names the tool to call".to_owned(),
        Some(Value::String(_)) => {
            let known: Vec<_> = context.tools().map(|tool| tool.name.as_str()).collect();
            let hint = match (closest(name, &known), known.len()) {
                (Some(near), _) => format!("; did you mean `{near}`?"),
                (None, 0) => "; the context defines no tools".to_owned(),
                (None, n) if n <= 12 => format!("; there are: {}", known.join(", ")),
                (None, n) => format!("; none of the {n} tools has a name like it"),
            };
            format!("unknown tool `{name}`{hint}")
        }
        Some(other) => format!("`_tool` is the name of a tool, not {}", type_name(other)),
    };
    refused(text)
}

/// A field by its name. A call has few of them, so to look through them is cheaper than to hash the name.
fn find<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    fields.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
}

/// What a proposal says of meta-properties, found in one pass: there are many of them, and most calls say little.
#[derive(Default)]
struct Said<'a> {
    tool: Option<&'a Value>,
    output_path: Option<&'a Value>,
    output_method: Option<&'a Value>,
    instance: Option<&'a Value>,
    scopes: Option<&'a Value>,
    delegate: Option<&'a Value>,
    activity: Option<&'a Value>,
    output: Option<&'a Value>,
    /// How many fields are none.
    params: usize,
}

impl<'a> Said<'a> {
    fn of(fields: &'a Map<String, Value>) -> Self {
        let mut said = Self::default();
        for (name, value) in fields {
            let place = match name.as_str() {
                "_tool" => &mut said.tool,
                "_outputPath" => &mut said.output_path,
                "_outputMethod" => &mut said.output_method,
                "_instance" => &mut said.instance,
                "_scopes" => &mut said.scopes,
                "_delegate" => &mut said.delegate,
                "_activity" => &mut said.activity,
                "_output" => &mut said.output,
                other => {
                    said.params += usize::from(!other.starts_with('_'));
                    continue;
                }
            };
            *place = Some(value);
        }
        said
    }
}

struct Reader<'a> {
    fields: &'a Map<String, Value>,
    said: Said<'a>,
    tool: Option<&'a Tool>,
    faults: Vec<Fault>,
}

impl<'a> Reader<'a> {
    /// What the call says of a meta-property, else what the tool fixes. What the tool does not permit is a fault.
    fn meta(&mut self, name: &str, said: Option<&'a Value>) -> Option<&'a Value> {
        let rule = self.tool.and_then(|tool| tool.meta(name));
        let Some(said) = said.filter(|said| !said.is_null()) else {
            return rule.and_then(|rule| rule.fixed.as_ref());
        };
        if let Some(rule) = rule {
            self.faults.extend(against(name, said, rule));
        }
        Some(said)
    }

    fn output_path(&mut self) -> Option<OutputPath> {
        let text = self.text("_outputPath", self.said.output_path)?;
        OutputPath::parse(text).map_err(|fault| self.faults.push(fault.at("_outputPath"))).ok()
    }

    fn output_method(&mut self) -> Method {
        let Some(name) = self.text("_outputMethod", self.said.output_method) else { return Method::Set };
        Method::parse(name).unwrap_or_else(|| {
            let fault = crate::message::unknown_method(name);
            self.faults.push(Fault { rule: Rule::Call3, ..fault });
            Method::Set
        })
    }

    fn instance(&mut self, context: &Context) -> Option<String> {
        let name = self.text("_instance", self.said.instance)?;
        if !context.instances().contains(name) {
            let known: Vec<_> = context.instances().iter().take(12).map(String::as_str).collect();
            let text = format!(
                "there is no instance `{name}`; there are: {}",
                if known.is_empty() { "none".to_owned() } else { known.join(", ") }
            );
            self.faults.push(refused(text).at("_instance"));
        }
        Some(name.to_owned())
    }

    fn text(&mut self, name: &str, said: Option<&'a Value>) -> Option<&'a str> {
        match self.meta(name, said)? {
            Value::String(text) => Some(text),
            Value::Null => None,
            other => {
                self.faults.push(refused(format!("`{name}` is a string, not {}", type_name(other))));
                None
            }
        }
    }

    fn scopes(&mut self) -> Vec<Scope> {
        let Some(said) = self.meta("_scopes", self.said.scopes) else { return Vec::new() };
        let Value::Array(entries) = said else {
            self.faults.push(refused(format!("`_scopes` is an array, not {}", type_name(said))));
            return Vec::new();
        };
        if !entries.is_empty() && self.tool.is_some_and(|tool| tool.meta("_scopes").is_none()) {
            self.faults.push(refused("the tool permits no scopes").at("_scopes"));
        }
        let scopes = entries
            .iter()
            .enumerate()
            .map(|(i, entry)| scope(entry).map_err(|fault| fault.at(&format!("_scopes[{i}]"))));
        scopes.filter_map(|scope| scope.map_err(|fault| self.faults.push(fault)).ok()).collect()
    }

    /// Who executes is the tool's to say; a call may only choose where the tool leaves a choice.
    fn executor(&mut self, name: &str, said: Option<&'a Value>) -> Option<String> {
        if self.tool.is_some_and(|tool| tool.meta(name).is_none()) {
            if said.is_some_and(|said| !said.is_null()) {
                self.faults.push(refused(format!("the tool does not let a call choose its `{name}`")));
            }
            return None;
        }
        self.text(name, said).filter(|name| !name.is_empty()).map(str::to_owned)
    }

    fn params(&mut self) -> (Params, Option<Box<Map<String, Value>>>) {
        let mut params = Vec::with_capacity(self.said.params);
        let mut asides: Option<Box<Map<String, Value>>> = None;
        for (name, value) in self.fields {
            if name.starts_with('_') {
                continue;
            }
            let is_declared = || self.tool.is_none_or(|tool| tool.param(name).is_some());
            if ASIDES.contains(&name.as_str()) && !is_declared() {
                // A strict mode has the model write all of them.
                if !value.is_null() {
                    asides.get_or_insert_default().insert(name.clone(), value.clone());
                }
                continue;
            }
            let prescribed = self.tool.and_then(|tool| tool.prescribed().iter().find(|(fixed, _)| fixed == name));
            if let Some((_, prescribed)) = prescribed.filter(|(_, prescribed)| !value.is_null() && value != prescribed)
            {
                let text = format!("the tool prescribes {prescribed}: leave it out, or give just that");
                self.faults.push(Fault::new(Rule::Call3, text).at(name));
                continue;
            }
            let value = match self.tool {
                Some(tool) => match without_null_members(value, name, tool.params()) {
                    Some(value) => value,
                    None => continue,
                },
                None => Cow::Borrowed(value),
            };
            match Template::parse(&value) {
                Ok(template) => params.push((name.into(), template)),
                Err(fault) => self.faults.push(fault.at(name)),
            }
        }
        if let Some(tool) = self.tool {
            for (name, value) in tool.prescribed() {
                if !self.fields.contains_key(name) || self.fields[name].is_null() {
                    match Template::parse(value) {
                        Ok(template) => params.push((name.into(), template)),
                        Err(fault) => self.faults.push(fault.at(name)),
                    }
                }
            }
            // A parameter whose expression cannot be read is reported once, not as missing as well.
            if !self.faults.iter().any(|fault| fault.rule == Rule::Ctx12 && !fault.field.starts_with('_')) {
                self.faults.extend(faults_of(literal_breaches(tool, &params)));
            }
        }
        (params, asides)
    }
}

/// What a call brings along as its result, without the nulls that stand for nothing.
pub(crate) fn without_absent(output: &Value, tool: Option<&Tool>) -> Value {
    match tool.and_then(Tool::output) {
        Some(schema) => without_nulls(output, schema).into_owned(),
        None => output.clone(),
    }
}

fn against(name: &str, said: &Value, rule: &Meta) -> Option<Fault> {
    let fits = match (&rule.fixed, said) {
        (Some(Value::String(fixed)), Value::String(said)) if name == "_outputPath" => {
            // Two spellings of one path are the same path.
            matches!((OutputPath::parse(fixed), OutputPath::parse(said)), (Ok(a), Ok(b)) if a == b)
        }
        (Some(fixed), said) => fixed == said,
        (None, said) => match schema::compile(&rule.schema) {
            Ok(validator) => validator.is_valid(said),
            Err(_) => false,
        },
    };
    let permitted = || rule.fixed.as_ref().unwrap_or(&rule.schema).to_string();
    (!fits).then(|| refused(format!("the tool permits only {}", short(&permitted()))).at(name))
}

fn scope(entry: &Value) -> Result<Scope, Fault> {
    let Value::String(text) = entry else {
        return Err(refused(format!("a scope is a kind or a path, not {}", type_name(entry))));
    };
    if !text.starts_with('†') {
        return Ok(Scope::Kind(text.clone()));
    }
    match Expr::parse(text)? {
        Expr::Ref(path) => Ok(Scope::Path(path)),
        _ => Err(refused("a scope is one path, without `||` and `&&`")),
    }
}

/// What is wrong with the parameters already, while the values of references are not known.
fn literal_breaches(tool: &Tool, params: &[(Name, Template)]) -> Vec<Breach> {
    if params.iter().any(|(_, template)| !matches!(template, Template::Literal(_))) && tool.surely_fits(params) {
        return Vec::new();
    }
    let outline = params.iter().map(|(name, template)| (name.to_string(), template.outline())).collect();
    let mut open: Vec<Vec<String>> = Vec::new();
    each_reference(params, &mut |place, _| open.push(place.to_vec()));
    let undecided = |breach: &Breach| {
        let depends = ["anyOf", "oneOf", "not", "enum", "const", "contains", "uniqueItems", "unevaluatedProperties"];
        open.iter().any(|open| {
            breach.place.starts_with(open)
                || breach.conditional
                || (open.starts_with(&breach.place) && depends.contains(&breach.keyword.as_str()))
        })
    };
    let mut breaches = tool.breaches(&Value::Object(outline));
    breaches.retain(|breach| !undecided(breach));
    breaches
}
