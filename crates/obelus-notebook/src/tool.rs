//! Tools: their effects, their annotations, and the schemas of their calls.

mod annotations;
mod before;
mod definition;
mod name_source;
mod prescribed;
mod side_write;
mod trust;
mod upfront;
mod words;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use jsonschema::Validator;
use serde_json::{Map, Value};

use crate::fault::{Fault, Rule};
use crate::message::PartOrigins;
use crate::names::{Name, alike};
use crate::origin::{Origin, Origins};
use crate::schema::{self, Breach};
use crate::template::Template;
use crate::wording::closest;
pub use before::Before;
pub use name_source::NameSource;
pub(crate) use prescribed::{choice, fill as fill_prescribed, prescribed};
pub use side_write::SideWrite;
pub(crate) use trust::within as lies_within;
pub use words::in_language;

/// The effect of a tool on the outside world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effect {
    /// Changes nothing.
    Read,
    /// Creates something new.
    Create,
    /// Changes something that exists.
    #[default]
    Update,
    /// Deletes something that exists.
    Delete,
    /// Changes configuration.
    Configure,
}

impl Effect {
    const ALL: [(&'static str, Effect); 5] = [
        ("read", Effect::Read),
        ("create", Effect::Create),
        ("update", Effect::Update),
        ("delete", Effect::Delete),
        ("configure", Effect::Configure),
    ];

    /// The names of all effects.
    pub fn names() -> Vec<&'static str> {
        Self::ALL.iter().map(|(name, _)| *name).collect()
    }

    /// Whether this is the name of an effect.
    pub fn is_name(name: &str) -> bool {
        Self::ALL.iter().any(|(known, _)| *known == name)
    }

    /// Whether it changes anything outside.
    pub fn acts(self) -> bool {
        self != Effect::Read
    }

    /// The effect's name, as in `x-effect`.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, effect)| *effect == self).map_or("", |&(name, _)| name)
    }
}

/// A meta-property of a tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meta {
    /// The schema of the values that a call may give.
    pub schema: Value,
    /// The fixed value, if there is one: the default, and the only value that a call may give.
    pub fixed: Option<Value>,
}

/// A tool that the model can call.
#[derive(Debug)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its definition, unchanged.
    pub schema: Value,
    /// Its effect on the outside world.
    pub effect: Effect,
    /// Whether a repeated call has no further effect.
    pub idempotent: bool,
    /// Whether its results are trusted, except for parts with another declaration.
    pub trusted: bool,
    /// Parameters that need a person's approval, as dotted paths.
    pub risky: Vec<String>,
    /// Parameters with the addressee or destination; `None` if the tool does not declare them.
    pub target: Option<Vec<String>>,
    /// Paths of the result with values that the tool itself issues, such as ids.
    pub issued: Vec<String>,
    /// How to read the values that a call will change.
    pub before: Option<Before>,
    /// The field that names each row of the result, if every row becomes an instance.
    pub instances: Option<String>,
    /// Writes of a successful call beside its result.
    pub side_writes: Vec<SideWrite>,
    /// Whether only a digest of its results is stored (`x-keep`).
    pub keeps_digest: bool,
    /// The schema of the resolved parameters: without meta-properties, and with any value for prescribed references.
    params: Value,
    metas: Vec<(&'static str, Meta)>,
    /// The schema of the parameters as declared, if it prescribes references.
    prescribing: Option<Value>,
    /// Whether a call must give the path of its result.
    pub(crate) requires_path: bool,
    validator: OnceLock<Result<Validator, String>>,
    plain: OnceLock<Option<PlainParams>>,
    output_validator: OnceLock<Result<Validator, String>>,
    /// The tool as the origin of its results.
    origin: Origins,
    /// The tool as the origin of its errors, trusted only if all of its results are.
    error_origin: Origins,
    /// Parts of the result with other origins, upper ones first.
    parts: Vec<ResultPart>,
}

/// A part of a result with another declaration of trust, or issued by the tool.
#[derive(Debug)]
struct ResultPart {
    /// A dotted path.
    path: String,
    /// The tool as origin, with the trust of this part.
    origin: Origins,
    /// Whether the tool is its only origin.
    issued: bool,
}

/// The meta-properties a tool may define. `_tool` is its name.
pub(crate) const METAS: [&str; 7] =
    ["_output", "_activity", "_delegate", "_scopes", "_outputPath", "_outputMethod", "_instance"];

/// Further meta-properties that every call may have.
const METAS_OF_CALLS: [&str; 2] = ["_tool", "_reasoningForCall"];

impl Tool {
    /// Parses a tool's definition.
    pub fn parse(name: &str, schema: &Value) -> Result<Self, Fault> {
        definition::read(name, schema).map_err(|fault| fault.at(&format!("tool.{name}")))
    }

    /// The meta-property that a misspelt one stands for. None if the name is known, or is like none of them.
    pub fn meant_meta(name: &str) -> Option<&'static str> {
        if !name.starts_with('_') || Self::is_meta(name) {
            return None;
        }
        closest(name, &METAS.into_iter().chain(METAS_OF_CALLS).collect::<Vec<_>>())
    }

    /// Whether this is a meta-property of a call.
    pub(crate) fn is_meta(name: &str) -> bool {
        METAS.contains(&name) || METAS_OF_CALLS.contains(&name)
    }

    /// The schema of the parameters, without meta-properties.
    pub fn params(&self) -> &Value {
        &self.params
    }

    /// The schema of one parameter.
    pub fn param(&self, name: &str) -> Option<&Value> {
        schema::property(&self.params, name)
    }

    /// The schema of the result.
    pub fn output(&self) -> Option<&Value> {
        self.meta("_output").map(|meta| &meta.schema)
    }

    /// The tool's declaration of a meta-property.
    pub fn meta(&self, name: &str) -> Option<&Meta> {
        self.metas.iter().find(|(known, _)| *known == name).map(|(_, meta)| meta)
    }

    /// The fixed value of a meta-property that is a non-empty string, such as `_activity` or `_delegate`.
    pub fn fixed_name(&self, meta: &str) -> Option<&str> {
        self.meta(meta)?.fixed.as_ref()?.as_str().filter(|name| !name.is_empty())
    }

    /// The source of its unchecked name, description and schema (`x-words-of`, POL-8); none if they are checked.
    pub fn words_of(&self) -> Option<&str> {
        self.schema.get("x-words-of")?.as_str()
    }

    /// The tool as the origin of its results.
    pub fn origin(&self) -> &Origins {
        &self.origin
    }

    /// The tool as the origin of its errors.
    pub fn error_origin(&self) -> &Origins {
        &self.error_origin
    }

    /// The origin of the value at a dotted path of a result.
    pub fn origin_at(&self, path: &str) -> &Origins {
        let part = self.parts.iter().rev().find(|part| trust::within(path, &part.path));
        part.map_or(&self.origin, |part| &part.origin)
    }

    /// The origins of a part of a result, including everything in that part. `made_of` are the origins of the call's
    /// inputs.
    pub fn origins_of_part(&self, path: &str, made_of: &Origins) -> Origins {
        if self.issues(path) {
            return Origins::of(Origin::Tool { name: self.name.as_str().into(), trusted: true });
        }
        let inner = self.parts.iter().filter(|part| !part.issued && trust::within(&part.path, path));
        inner.fold(made_of.clone().joined(self.origin_at(path)), |all, part| all.joined(&part.origin))
    }

    /// Whether the tool itself issues the value at a dotted path of its result.
    pub(crate) fn issues(&self, path: &str) -> bool {
        self.issued.iter().any(|upper| trust::within(path, upper))
    }

    /// The origin of a result whose values are all issued: the tool, trusted.
    pub fn origin_if_all_issued(&self, result: &Value) -> Option<Origins> {
        let is_all_issued = !self.issued.is_empty() && trust::is_all_issued(result, "", &self.issued);
        is_all_issued.then(|| Origins::of(Origin::Tool { name: self.name.as_str().into(), trusted: true }))
    }

    /// The origins of the parts of a result; none if no part differs. `made_of` are the origins of the call's inputs.
    pub fn parts_of_result(&self, made_of: &Origins) -> Option<PartOrigins> {
        let labelled = |part: &ResultPart| {
            if part.issued {
                (part.path.clone(), part.origin.clone())
            } else {
                (part.path.clone(), made_of.clone().joined(&part.origin))
            }
        };
        (!self.parts.is_empty()).then(|| Arc::new(self.parts.iter().map(labelled).collect()))
    }

    /// Paths in annotations that the tool's schemas do not have: the annotation, and the error.
    pub fn stray_paths(&self) -> Vec<(&'static str, String)> {
        let trusted = self.schema.get("x-trust").and_then(Value::as_object).into_iter().flat_map(|paths| paths.keys());
        let trusted: Vec<String> = trusted.cloned().collect();
        let annotations = [
            ("x-risky", self.risky.as_slice(), Some(&self.params), true),
            ("x-target", self.target.as_deref().unwrap_or_default(), Some(&self.params), true),
            ("x-issued", &self.issued, self.output(), false),
            ("x-trust", &trusted, self.output(), false),
        ];
        let mut stray = Vec::new();
        for (name, paths, schema, is_closed) in annotations {
            for path in paths {
                if let Some(words) = schema.and_then(|schema| trust::stray(schema, path, is_closed)) {
                    stray.push((name, format!("`{name}` names `{path}`: {words}")));
                }
            }
        }
        stray
    }

    /// Why a declared result has no value at a dotted path; none if there may be one.
    pub(crate) fn stray_output(&self, path: &str) -> Option<String> {
        trust::stray_by(self.output()?, path, false, |name, step| name == step)
    }

    /// Why there is no parameter at a dotted path; none if there may be one.
    pub fn stray_param(&self, path: &str) -> Option<String> {
        trust::stray_by(&self.params, path, true, alike)
    }

    /// The schema of the parameters as declared, if it prescribes references.
    pub(crate) fn prescribing(&self) -> Option<&Value> {
        self.prescribing.as_ref()
    }

    /// Checks the tool's own schemas.
    pub fn check(&self) -> Result<(), Fault> {
        let of_output =
            if self.schema["properties"].get("_output").is_some() { ".properties._output" } else { "._output" };
        let is_open = |schema: &&Value| !schema::is_surely_valid(schema);
        let params = Some(&self.params).filter(is_open).map(|params| (params, self.validator()));
        let output = self.output().filter(is_open).and_then(|output| Some((output, self.output_validator()?)));
        let schemas = [("", params), (of_output, output)];
        for (place, schema) in schemas {
            if let Some((schema, Err(error))) = schema {
                let (inner, text) = schema::fault_in(schema).unwrap_or_else(|| (String::new(), error.clone()));
                return Err(
                    wrong(format!("not a valid JSON Schema: {text}")).at(&format!("tool.{}{place}{inner}", self.name))
                );
            }
        }
        Ok(())
    }

    /// Whether the literal parts of parameters certainly fit. This is a quick check for schemas that are a plain list of
    /// parameters; if it is false, the full validation decides.
    pub(crate) fn surely_fits(&self, params: &[(Name, Template)]) -> bool {
        let Some(plain) = self.plain() else { return false };
        let is_given = |name: &String| params.iter().any(|(given, _)| *given == *name);
        plain.required.iter().all(is_given)
            && params.iter().all(|(name, template)| match (template, plain.each.get(name.as_str())) {
                (Template::Expr(_), known) => known.is_some() || !plain.closed,
                (Template::Literal(value), Some(check)) => check.surely_takes(value),
                (Template::Literal(_), None) => !plain.closed,
                _ => false,
            })
    }

    /// The same quick check for parameters without references.
    pub(crate) fn surely_takes<'a>(&self, params: impl Iterator<Item = (&'a String, &'a Value)> + Clone) -> bool {
        let Some(plain) = self.plain() else { return false };
        plain.required.iter().all(|name| params.clone().any(|(given, _)| given == name))
            && params.clone().all(|(name, value)| match plain.each.get(name) {
                Some(check) => check.surely_takes(value),
                None => !plain.closed,
            })
    }

    /// A quick check whether a call has only declared parameters, with scalar values.
    pub(crate) fn surely_declares(&self, fields: &Map<String, Value>) -> bool {
        let Some(plain) = self.plain() else { return false };
        let is_scalar = |value: &Value| !value.is_object() && !value.is_array();
        fields.iter().all(|(name, value)| name.starts_with('_') || (is_scalar(value) && plain.each.contains_key(name)))
    }

    fn plain(&self) -> Option<&PlainParams> {
        self.plain.get_or_init(|| PlainParams::of(&self.params)).as_ref()
    }

    /// All violations of the tool's schema by parameters.
    pub fn breaches(&self, params: &Value) -> Vec<Breach> {
        breaches(self.validator(), params)
    }

    /// All violations of the tool's `_output` by a result.
    pub fn output_breaches(&self, result: &Value) -> Vec<Breach> {
        self.output_validator().map(|validator| breaches(validator, result)).unwrap_or_default()
    }

    fn validator(&self) -> Result<&Validator, &String> {
        self.validator.get_or_init(|| schema::compile(&self.params)).as_ref()
    }

    fn output_validator(&self) -> Option<Result<&Validator, &String>> {
        let output = self.output()?;
        Some(self.output_validator.get_or_init(|| schema::compile(output)).as_ref())
    }
}

/// A schema that is a plain list of parameters.
#[derive(Debug)]
struct PlainParams {
    each: BTreeMap<String, ValueCheck>,
    required: Vec<String>,
    closed: bool,
}

impl PlainParams {
    fn of(params: &Value) -> Option<Self> {
        let known = ["type", "properties", "required", "additionalProperties", "title", "description"];
        let fields = params.as_object().filter(|fields| fields.keys().all(|name| known.contains(&name.as_str())))?;
        // A parameter's schema may refer to the whole one, which the quick check does not see.
        let refers = params.to_string().contains("\"$");
        if refers || fields.get("type").is_some_and(|said| said != "object") {
            return None;
        }
        let closed = match fields.get("additionalProperties") {
            None | Some(Value::Bool(true)) => false,
            Some(Value::Bool(false)) => true,
            Some(_) => return None,
        };
        let each = fields.get("properties").and_then(Value::as_object)?.iter();
        let each = each.map(|(name, schema)| Some((name.clone(), ValueCheck::of(schema)?)));
        let required = match fields.get("required") {
            None => Vec::new(),
            Some(names) => {
                let names = names.as_array()?.iter();
                names.map(|name| name.as_str().map(str::to_owned)).collect::<Option<_>>()?
            }
        };
        Some(Self { each: each.collect::<Option<_>>()?, required, closed })
    }
}

/// A quick check of one value.
#[derive(Debug)]
enum ValueCheck {
    /// The schema has only a type. To compile a first schema takes milliseconds, which a short command would notice.
    Type(String),
    Schema(Validator),
}

impl ValueCheck {
    fn of(schema: &Value) -> Option<Self> {
        let fields =
            schema.as_object().filter(|fields| fields.keys().all(|name| name == "type" || name == "description"));
        match fields.and_then(|fields| fields.get("type")?.as_str()) {
            Some(name) => Some(Self::Type(name.to_owned())),
            None => schema::compile(schema).ok().map(Self::Schema),
        }
    }

    /// Whether the value certainly fits.
    fn surely_takes(&self, value: &Value) -> bool {
        match self {
            Self::Schema(validator) => validator.is_valid(value),
            Self::Type(name) => match (name.as_str(), value) {
                ("string", Value::String(_)) | ("boolean", Value::Bool(_)) | ("null", Value::Null) => true,
                ("object", Value::Object(_)) | ("array", Value::Array(_)) | ("number", Value::Number(_)) => true,
                ("integer", Value::Number(number)) => number.is_i64() || number.is_u64(),
                _ => false,
            },
        }
    }
}

/// All violations of a schema. An invalid schema permits nothing.
fn breaches(validator: Result<&Validator, &String>, value: &Value) -> Vec<Breach> {
    match validator {
        Ok(validator) => schema::breaches(validator, value),
        Err(error) => vec![Breach {
            place: Vec::new(),
            keyword: "$schema".to_owned(),
            conditional: false,
            demand: Value::Null,
            text: format!("the tool's schema is not valid: {error}"),
        }],
    }
}

fn wrong(text: impl Into<String>) -> Fault {
    Fault::new(Rule::Tool1, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn parameters_for_a_schema_that_refers_to_itself_are_left_to_the_full_validation() {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}, "inner": {"$ref": "#"}}});
        let tool = Tool::parse("t", &schema).unwrap();
        let inner = json!({"n": "text"});
        assert!(!tool.breaches(&json!({"inner": inner.clone()})).is_empty());
        let whole = json!({"inner": inner.clone()});
        assert!(!tool.surely_takes(whole.as_object().unwrap().iter()));
        let reference = ("n".into(), Template::Expr(crate::expr::Expr::parse("†state.n").unwrap()));
        assert!(!tool.surely_fits(&[("inner".into(), Template::Literal(inner)), reference]));
    }

    #[test]
    fn a_meta_property_can_be_written_directly_on_the_tool() {
        let written = json!({"properties": {"q": {}, "_activity": {"const": "find"}, "_output": {"type": "string"}}});
        let plain = json!({"properties": {"q": {}}, "_activity": "find", "_output": {"type": "string"}});
        for schema in [written, plain] {
            let tool = Tool::parse("search", &schema).unwrap();
            assert_eq!(tool.fixed_name("_activity"), Some("find"));
            assert_eq!(tool.output(), Some(&json!({"type": "string"})));
            assert_eq!(tool.params(), &json!({"properties": {"q": {}}}));
        }
    }

    #[test]
    fn a_tool_without_annotations_is_treated_as_dangerous() {
        let tool = Tool::parse("t", &json!({})).unwrap();
        assert_eq!((tool.effect, tool.idempotent, tool.trusted), (Effect::Update, false, false));
        let reader = Tool::parse("t", &json!({"x-effect": "read"})).unwrap();
        assert!(reader.idempotent);
    }

    #[test]
    fn a_faulty_definition_is_refused_with_its_place() {
        for (schema, words) in [
            (json!({"x-effect": "explode"}), "x-effect"),
            (json!({"properties": []}), "properties"),
            (json!({"x-risky": "amount"}), "x-risky"),
            (json!({"_outputPath": "state.x"}), "column 1"),
            (json!({"_tool": "other"}), "_tool"),
            (json!({"x-keep": "all"}), "x-keep"),
            (json!({"x-keep": "digest", "_delegate": "anonymous"}), "x-keep"),
        ] {
            let fault = Tool::parse("t", &schema).unwrap_err().to_string();
            assert!(fault.contains(words) && fault.contains("tool.t"), "{fault}");
        }
    }
}
