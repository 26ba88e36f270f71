//! Parses a proposal: meta-properties, parameters and control fields, and all faults in them.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Call, Params, Scope, each_reference, is_text_at};
use crate::call_json::CallJson;
use crate::context::Context;
use crate::control_field::ControlField;
use crate::expr::{Expr, OutputPath};
use crate::fault::{Fault, Rule};
use crate::fold::Method;
use crate::message::unknown_method;
use crate::names::Name;
use crate::path::{Path, Segment};
use crate::schema::{self, Breach, without_null_members, without_nulls};
use crate::template::Template;
use crate::tool::{METAS, Meta, Tool, fill_prescribed};
use crate::wording::{closest, short, type_name};

/// Parses a proposal as far as possible.
pub(super) fn read(proposal: &CallJson, context: &Context) -> (Call, Vec<Fault>) {
    let none = Map::new();
    let fields = proposal.as_object().unwrap_or(&none);
    let name = proposal.tool_name();
    let tool = context.tool(name);
    let (respelled, clash) = match tool.map(|tool| context.respelled(fields, tool)) {
        Some(Ok(respelled)) => (respelled, None),
        Some(Err(clash)) => (None, Some(clash)),
        None => (None, None),
    };
    let fields = respelled.as_ref().unwrap_or(fields);
    let mut reader = CallReader::new(fields);
    reader.tool = tool.map(Arc::as_ref);
    reader.faults.extend(clash);
    if !proposal.is_object() {
        reader.refuse(format!("a call is an object, not {}", type_name(proposal)));
    } else if tool.is_none() {
        reader.refuse(unknown_tool(name, reader.tool_name, fields, context));
    }
    let mut call = Call {
        raw: proposal.clone(),
        tool: tool.cloned(),
        params: Vec::new(),
        control_fields: None,
        output_path: reader.output_path(context),
        output_method: reader.output_method(),
        keeps_by_default: false,
        instance: reader.instance(context),
        scopes: reader.scopes(),
        output: reader.meta_property("_output").map(|output| Box::new(without_absent(output, reader.tool))),
        delegate: reader.executor("_delegate"),
        activity: reader.executor("_activity"),
    };
    (call.params, call.control_fields) = reader.params();
    (call, reader.faults)
}

fn refused(text: impl Into<String>) -> Fault {
    Fault::new(Rule::Call3, text)
}

/// Whether the schema of a kind permits no value at a path: `additionalProperties: false`.
fn is_forbidden(path: &Path, context: &Context) -> bool {
    let schema = context.view(&path.kind).and_then(|view| view.schema(None));
    let declared = schema.and_then(|schema| schema.pointer(&schema::pointer_at(schema, &path.segments)?));
    declared == Some(&Value::Bool(false))
}

/// Converts breaches of a schema to faults, each with its field.
pub(crate) fn faults_of(breaches: Vec<Breach>) -> impl Iterator<Item = Fault> {
    breaches.into_iter().map(|breach| {
        let field = dotted(&breach.place);
        breach.into_fault(Rule::Call3).at(&field)
    })
}

/// A position in a value as a dotted path.
pub fn dotted(place: &[String]) -> String {
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

fn unknown_tool(name: &str, given: Option<&Value>, fields: &Map<String, Value>, context: &Context) -> String {
    match given {
        None => {
            let near = fields.keys().find(|field| closest(field, &["_tool"]).is_some());
            let hint = near.map(|near| format!("; did you mean `_tool` by `{near}`?")).unwrap_or_default();
            format!("`_tool` is missing: it names the tool to call{hint}")
        }
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
    }
}

/// A proposal during parsing. Its meta-properties are collected in one pass.
struct CallReader<'a> {
    fields: &'a Map<String, Value>,
    tool_name: Option<&'a Value>,
    metas: [Option<&'a Value>; METAS.len()],
    /// How many fields are not meta-properties.
    params: usize,
    tool: Option<&'a Tool>,
    faults: Vec<Fault>,
}

impl<'a> CallReader<'a> {
    fn new(fields: &'a Map<String, Value>) -> Self {
        let mut reader =
            Self { fields, tool_name: None, metas: Default::default(), params: 0, tool: None, faults: Vec::new() };
        for (name, value) in fields {
            if !name.starts_with('_') {
                reader.params += 1;
            } else if name == "_tool" {
                reader.tool_name = Some(value);
            } else if let Some(index) = METAS.iter().position(|meta| meta == name) {
                reader.metas[index] = Some(value);
            }
        }
        reader
    }

    fn refuse(&mut self, text: impl Into<String>) {
        self.faults.push(refused(text));
    }

    /// A meta-property of the call.
    fn meta_property(&self, name: &str) -> Option<&'a Value> {
        self.metas[METAS.iter().position(|meta| *meta == name)?]
    }

    /// A meta-property of the call, else the value fixed by the tool. A value that the tool does not permit is a fault.
    fn meta(&mut self, name: &str) -> Option<&'a Value> {
        let rule = self.tool.and_then(|tool| tool.meta(name));
        let Some(given) = self.meta_property(name).filter(|given| !given.is_null()) else {
            return rule.and_then(|rule| rule.fixed.as_ref());
        };
        self.faults.extend(rule.and_then(|rule| against(name, given, rule)));
        Some(given)
    }

    fn output_path(&mut self, context: &Context) -> Option<OutputPath> {
        let Some(text) = self.text("_outputPath") else {
            let is_left_out = self.meta_property("_outputPath").is_none_or(Value::is_null);
            if is_left_out && self.tool.is_some_and(|tool| tool.requires_path) {
                let text = "the tool requires `_outputPath`: say where the result goes, such as †state.name";
                self.faults.push(refused(text).at("_outputPath"));
            }
            return None;
        };
        let path = OutputPath::parse(text).map_err(|fault| self.faults.push(fault.at("_outputPath"))).ok()?;
        // Reported before anything runs: later the result could not be stored, and the call might be repeated.
        if let Some(path) = path.paths().find(|path| is_forbidden(path, context)) {
            let text = format!(
                "{path} cannot be written: the schema of `{}` has no such field; write to another kind, such as †found.{}",
                path.kind,
                path.segments.last().map(Segment::key).unwrap_or_default()
            );
            self.faults.push(Fault::new(Rule::Ctx7, text).at("_outputPath"));
        }
        Some(path)
    }

    fn output_method(&mut self) -> Method {
        let Some(name) = self.text("_outputMethod") else { return Method::Set };
        Method::parse(name).unwrap_or_else(|| {
            let fault = unknown_method(name);
            self.faults.push(Fault { rule: Rule::Call3, ..fault });
            Method::Set
        })
    }

    fn instance(&mut self, context: &Context) -> Option<String> {
        let name = self.text("_instance")?;
        if !context.instances().contains(name) {
            let known: Vec<_> = context.instances().iter().take(12).map(String::as_str).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            self.faults.push(refused(format!("there is no instance `{name}`; there are: {known}")).at("_instance"));
        }
        Some(name.to_owned())
    }

    fn text(&mut self, name: &str) -> Option<&'a str> {
        match self.meta(name)? {
            Value::String(text) => Some(text),
            Value::Null => None,
            other => {
                self.refuse(format!("`{name}` is a string, not {}", type_name(other)));
                None
            }
        }
    }

    fn scopes(&mut self) -> Vec<Scope> {
        let Some(given) = self.meta("_scopes") else { return Vec::new() };
        let Value::Array(entries) = given else {
            self.refuse(format!("`_scopes` is an array, not {}", type_name(given)));
            return Vec::new();
        };
        if !entries.is_empty() && self.tool.is_some_and(|tool| tool.meta("_scopes").is_none()) {
            self.faults.push(refused("the tool permits no scopes").at("_scopes"));
        }
        let mut scopes = Vec::new();
        for (index, entry) in entries.iter().enumerate() {
            match scope(entry) {
                Ok(scope) => scopes.push(scope),
                Err(fault) => self.faults.push(fault.at(&format!("_scopes[{index}]"))),
            }
        }
        scopes
    }

    /// The executor, named by the tool or chosen by the call if the tool permits that.
    fn executor(&mut self, name: &str) -> Option<String> {
        if self.tool.is_some_and(|tool| tool.meta(name).is_none()) {
            if self.meta_property(name).is_some_and(|given| !given.is_null()) {
                self.refuse(format!("the tool does not let a call choose its `{name}`"));
            }
            return None;
        }
        self.text(name).filter(|name| !name.is_empty()).map(str::to_owned)
    }

    fn params(&mut self) -> (Params, Option<Box<Map<String, Value>>>) {
        let mut params = Vec::with_capacity(self.params);
        let control = match self.tool.and_then(Tool::prescribing) {
            None => self.given(|reader, name, value| reader.parse(name, &value, &mut params)),
            Some(written) => {
                let mut given = Map::new();
                let control = self.given(|_, name, value| drop(given.insert(name.clone(), value.into_owned())));
                self.faults.extend(fill_prescribed(written, &mut given));
                given.iter().for_each(|(name, value)| self.parse(name, value, &mut params));
                control
            }
        };
        let Some(tool) = self.tool else { return (params, control) };
        // A parameter with an invalid expression is not also reported as missing.
        if !self.faults.iter().any(|fault| fault.rule == Rule::Ctx12 && !fault.field.starts_with('_')) {
            self.faults.extend(faults_of(literal_breaches(tool, &params)));
        }
        (params, control)
    }

    /// Visits the parameters without absent ones and absent members; returns the control fields.
    fn given(
        &mut self,
        mut visit: impl FnMut(&mut Self, &'a String, Cow<'a, Value>),
    ) -> Option<Box<Map<String, Value>>> {
        let mut control: Option<Box<Map<String, Value>>> = None;
        for (name, value) in self.fields.iter().filter(|(name, _)| !name.starts_with('_')) {
            // Without a tool, every field may be a parameter.
            if self.tool.is_some() && ControlField::is_in_call_of(self.tool, name) {
                // In a strict mode the model writes all of them, most as null.
                if !value.is_null() {
                    control.get_or_insert_default().insert(name.clone(), value.clone());
                }
                continue;
            }
            let meant = match self.tool {
                Some(tool) => without_null_members(value, name, tool.params()),
                None => Some(Cow::Borrowed(value)),
            };
            if let Some(value) = meant {
                visit(self, name, value);
            }
        }
        control
    }

    fn parse(&mut self, name: &str, value: &Value, params: &mut Params) {
        match Template::parse(value) {
            Ok(template) => params.push((name.into(), template)),
            Err(fault) => self.faults.push(fault.at(name)),
        }
    }
}

/// The result that a call contains, without nulls in optional places.
pub fn without_absent(output: &Value, tool: Option<&Tool>) -> Value {
    match tool.and_then(Tool::output) {
        Some(schema) => without_nulls(output, schema).into_owned(),
        None => output.clone(),
    }
}

fn against(name: &str, given: &Value, rule: &Meta) -> Option<Fault> {
    let fits = match (&rule.fixed, given) {
        (Some(Value::String(fixed)), Value::String(given)) if name == "_outputPath" => {
            matches!((OutputPath::parse(fixed), OutputPath::parse(given)), (Ok(a), Ok(b)) if a == b)
        }
        (Some(fixed), given) => fixed == given,
        (None, given) => schema::compile(&rule.schema).is_ok_and(|validator| validator.is_valid(given)),
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

/// The breaches of the tool's schema that do not depend on references.
fn literal_breaches(tool: &Tool, params: &[(Name, Template)]) -> Vec<Breach> {
    if tool.surely_fits(params) {
        return Vec::new();
    }
    let outline = params.iter().map(|(name, template)| (name.to_string(), template.outline())).collect();
    let mut open: Vec<Vec<String>> = Vec::new();
    each_reference(params, &mut |place, _| open.push(place.to_vec()));
    decided_breaches(tool, &Value::Object(outline), params, &open)
}

/// The breaches of the tool's schema that do not depend on the values at the open positions. A text with references is
/// always a text.
pub(crate) fn decided_breaches(
    tool: &Tool,
    outline: &Value,
    params: &[(Name, Template)],
    open: &[Vec<String>],
) -> Vec<Breach> {
    let undecided = |breach: &Breach| {
        if breach.keyword == "type" && !breach.conditional && is_text_at(params, &breach.place) {
            return false;
        }
        let depends = ["anyOf", "oneOf", "not", "enum", "const", "contains", "uniqueItems", "unevaluatedProperties"];
        open.iter().any(|open| {
            breach.place.starts_with(open)
                || breach.conditional
                || (open.starts_with(&breach.place) && depends.contains(&breach.keyword.as_str()))
        })
    };
    let mut breaches = tool.breaches(outline);
    breaches.retain(|breach| !undecided(breach));
    breaches
}
