//! Tools: what can be called, what it does to the world, and what a call of it must look like.

mod before;
mod side_write;
mod trust;
mod words;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use jsonschema::Validator;
use serde_json::{Map, Value};

use crate::expr::OutputPath;
use crate::fault::{Fault, Rule};
use crate::fold::Method;
use crate::message::{Parts, unknown_method};
use crate::names::Name;
use crate::origin::{Origin, Origins};
use crate::schema::{self, Breach};
use crate::template::Template;
use crate::wording::type_name;
pub use before::Before;
pub use side_write::SideWrite;
pub(crate) use trust::within as lies_within;
pub(crate) use words::NameSource;
pub use words::in_language;

/// What a tool does to the world. Unknown means dangerous.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effect {
    /// Looks and leaves no trace.
    Read,
    /// Adds something new.
    Create,
    /// Changes what is there.
    #[default]
    Update,
    /// Removes.
    Delete,
    /// Changes how things behave from now on.
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

    /// Whether this is the name of an effect.
    pub(crate) fn is_name(name: &str) -> bool {
        Self::ALL.iter().any(|(known, _)| *known == name)
    }

    /// The effect's name, as in `x-effect`.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, effect)| *effect == self).map_or("", |&(name, _)| name)
    }
}

/// A meta-property of a tool: what a call may say there, and what it says when it is silent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meta {
    /// The schema of what a call may say.
    pub schema: Value,
    /// What holds when the call is silent, and the only thing it may say.
    pub fixed: Option<Value>,
}

/// A capability offered to the model.
#[derive(Debug)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its definition, as it came.
    pub schema: Value,
    /// What it does to the world.
    pub effect: Effect,
    /// Whether doing it twice is doing it once.
    pub idempotent: bool,
    /// Whether what it returns is believed, as far as nothing is said of its parts.
    pub trusted: bool,
    /// Parameters that always deserve a person, as dotted paths.
    pub risky: Vec<String>,
    /// Parameters that say who or where; `None` if the tool does not say which they are.
    pub target: Option<Vec<String>>,
    /// Paths of the result that the tool itself mints.
    pub issued: Vec<String>,
    /// How to read what a call is about to change.
    pub before: Option<Before>,
    /// The field that names each row of the result, where every row becomes an instance of its own.
    pub instances: Option<String>,
    /// What a successful call leaves in memory beside its result.
    pub side_writes: Vec<SideWrite>,
    /// Whether what it brings is shown to the model and not kept: of it there is a digest only (`x-keep`).
    pub keeps_digest: bool,
    /// The schema of the parameters alone.
    params: Value,
    metas: Vec<(&'static str, Meta)>,
    /// Parameters that are prescribed references, filled in where a call leaves them out.
    prescribed: Vec<(String, Value)>,
    validator: OnceLock<Result<Validator, String>>,
    plain: OnceLock<Option<PlainParams>>,
    output_validator: OnceLock<Result<Validator, String>>,
    /// Where its own words come from: itself.
    origin: Origins,
    /// Where the words of its errors come from: itself, believed only if all of it is.
    error_origin: Origins,
    /// Parts of the result with labels of their own, upper ones first.
    parts: Vec<Part>,
}

/// A part of a result that is believed otherwise than the rest, or that the tool itself mints.
#[derive(Debug)]
struct Part {
    /// A dotted path.
    path: String,
    /// The tool, as it is believed there.
    origin: Origins,
    /// Whether it has nothing of what the call was made of.
    minted: bool,
}

/// The meta-properties a tool may define. `_tool` is its name.
pub(crate) const METAS: [&str; 7] =
    ["_output", "_activity", "_delegate", "_scopes", "_outputPath", "_outputMethod", "_instance"];

impl Tool {
    /// Reads a tool's definition.
    pub fn parse(name: &str, schema: &Value) -> Result<Self, Fault> {
        Self::read(name, schema).map_err(|fault| fault.at(&format!("tool.{name}")))
    }

    fn read(name: &str, schema: &Value) -> Result<Self, Fault> {
        let Value::Object(definition) = schema else {
            return Err(wrong(format!("a tool is a JSON Schema object, not {}", type_name(schema))));
        };
        if name.is_empty() {
            return Err(wrong("a tool needs a name"));
        }
        let properties = match definition.get("properties") {
            None => Map::new(),
            Some(Value::Object(properties)) => properties.clone(),
            Some(other) => return Err(wrong(format!("`properties` is an object, not {}", type_name(other)))),
        };
        if let Some(own) = meta_of(definition, &properties, "_tool").fixed
            && own != name
        {
            return Err(wrong(format!("`_tool` says {own}, the name is `{name}`")));
        }
        let metas: Vec<_> = METAS
            .into_iter()
            .filter(|meta| definition.contains_key(*meta) || properties.contains_key(*meta))
            .map(|meta| (meta, meta_of(definition, &properties, meta)))
            .collect();
        for (meta, rule) in &metas {
            check_fixed(meta, rule)?;
        }
        let effect = match definition.get("x-effect") {
            None => Effect::default(),
            Some(said) => Effect::ALL
                .iter()
                .find(|(name, _)| said == name)
                .map(|&(_, effect)| effect)
                .ok_or_else(|| wrong("`x-effect` is one of read, create, update, delete, configure"))?,
        };
        let idempotent = match definition.get("x-idempotent") {
            None => effect == Effect::Read,
            Some(said) => {
                said.as_bool().ok_or_else(|| wrong("`x-idempotent` is true or false"))? || effect == Effect::Read
            }
        };
        let trust = trust::read(definition.get("x-trust"))?;
        let issued = names(definition, "x-issued")?.unwrap_or_default();
        let issued: Vec<String> = issued.iter().map(|path| path.replace("[]", "")).collect();
        let trusted = trust::at(&trust, "");
        let origin_of = |trusted: bool| Origins::of(Origin::Tool { name: name.into(), trusted });
        let all_trusted = trust.iter().all(|(_, trusted)| *trusted) && trusted;
        let parts = trust::parts(&trust, &issued).map(|(path, trusted, minted)| Part {
            path,
            origin: origin_of(trusted),
            minted,
        });
        let mut parts: Vec<Part> = parts.collect();
        let keeps_digest = keeps_digest(definition, metas.iter().any(|(meta, _)| *meta == "_delegate"))?;
        if keeps_digest && !parts.is_empty() {
            // The digest stands for all that the model was shown, so it is believed only if all of it is.
            parts.push(Part { path: "digest".to_owned(), origin: origin_of(all_trusted), minted: false });
        }
        let prescribed = properties
            .iter()
            .filter_map(|(name, schema)| Some((name.clone(), schema.get("const")?.clone())))
            .filter(|(name, value)| !name.starts_with('_') && value.as_str().is_some_and(|text| text.starts_with('†')))
            .collect::<Vec<_>>();
        Ok(Self {
            name: name.to_owned(),
            schema: schema.clone(),
            effect,
            idempotent,
            trusted,
            risky: names(definition, "x-risky")?.unwrap_or_default(),
            target: names(definition, "x-target")?,
            instances: match definition.get("x-instances") {
                None => None,
                Some(Value::String(field)) => Some(field.clone()),
                Some(_) => return Err(wrong("`x-instances` is the name of the field that tells rows apart")),
            },
            side_writes: SideWrite::parse_all(definition.get("x-leaves"))?,
            keeps_digest,
            parts,
            before: before::read(definition.get("x-before"))?,
            issued,
            params: params_schema(definition, properties, &prescribed),
            metas,
            prescribed,
            validator: OnceLock::new(),
            plain: OnceLock::new(),
            output_validator: OnceLock::new(),
            origin: origin_of(trusted),
            error_origin: origin_of(all_trusted),
        })
    }

    /// The schema of the parameters, without meta-properties.
    pub fn params(&self) -> &Value {
        &self.params
    }

    /// The schema of one parameter.
    pub fn param(&self, name: &str) -> Option<&Value> {
        self.params.get("properties")?.get(name)
    }

    /// The schema of the result.
    pub fn output(&self) -> Option<&Value> {
        self.meta("_output").map(|meta| &meta.schema)
    }

    /// What the tool says of a meta-property.
    pub fn meta(&self, name: &str) -> Option<&Meta> {
        self.metas.iter().find(|(known, _)| *known == name).map(|(_, meta)| meta)
    }

    /// The fixed value of a meta-property that is a non-empty string, such as `_activity` or `_delegate`.
    pub fn fixed_name(&self, meta: &str) -> Option<&str> {
        self.meta(meta)?.fixed.as_ref()?.as_str().filter(|name| !name.is_empty())
    }

    /// The origin of the tool's own words.
    pub(crate) fn origin(&self) -> &Origins {
        &self.origin
    }

    /// The origin of the words of its errors.
    pub(crate) fn error_origin(&self) -> &Origins {
        &self.error_origin
    }

    /// The origin of what lies at a dotted path of a result.
    pub(crate) fn origin_at(&self, path: &str) -> &Origins {
        let part = self.parts.iter().rev().find(|part| trust::within(path, &part.path));
        part.map_or(&self.origin, |part| &part.origin)
    }

    /// Whether the tool itself mints what lies at a dotted path of its result.
    pub(crate) fn issues(&self, path: &str) -> bool {
        self.issued.iter().any(|upper| trust::within(path, upper))
    }

    /// The origin of a result of which every value is minted: the tool's own, and believed. None of any other result.
    pub(crate) fn origin_if_all_issued(&self, result: &Value) -> Option<Origins> {
        let is_all_issued = !self.issued.is_empty() && trust::is_all_issued(result, "", &self.issued);
        is_all_issued.then(|| Origins::of(Origin::Tool { name: self.name.as_str().into(), trusted: true }))
    }

    /// The labels of the parts of a result that was made of this; none where all of it is alike.
    pub(crate) fn parts_of_result(&self, made_of: &Origins) -> Option<Parts> {
        let origins = |part: &Part| match part.minted {
            true => part.origin.clone(),
            false => made_of.clone().joined(&part.origin),
        };
        let parts = || self.parts.iter().map(|part| (part.path.clone(), origins(part))).collect();
        (!self.parts.is_empty()).then(|| std::sync::Arc::new(parts()))
    }

    /// Paths in annotations that lead nowhere in the tool's own schemas: the annotation, and what is wrong in words.
    pub fn stray_paths(&self) -> Vec<(&'static str, String)> {
        let of_params = [("x-risky", self.risky.as_slice()), ("x-target", self.target.as_deref().unwrap_or_default())];
        let of_params = of_params.map(|(name, paths)| (name, paths, Some(&self.params), true));
        let trusted: Vec<String> = match self.schema.get("x-trust") {
            Some(Value::Object(paths)) => paths.keys().cloned().collect(),
            _ => Vec::new(),
        };
        let of_result = [("x-issued", self.issued.as_slice()), ("x-trust", trusted.as_slice())];
        let of_result = of_result.map(|(name, paths)| (name, paths, self.output(), false));
        let mut stray = Vec::new();
        for (name, paths, schema, is_closed) in of_params.into_iter().chain(of_result) {
            for path in paths {
                if let Some(words) = schema.and_then(|schema| trust::stray(schema, path, is_closed)) {
                    stray.push((name, format!("`{name}` names `{path}`: {words}")));
                }
            }
        }
        stray
    }

    /// Parameters that the tool itself fills in with a reference.
    pub fn prescribed(&self) -> &[(String, Value)] {
        &self.prescribed
    }

    /// What is wrong with the tool's own schemas.
    pub fn check(&self) -> Result<(), Fault> {
        let schemas = [Some(self.validator()), self.output_validator()];
        match schemas.into_iter().flatten().find_map(Result::err) {
            Some(error) => Err(wrong(format!("not a valid JSON Schema: {error}")).at(&format!("tool.{}", self.name))),
            None => Ok(()),
        }
    }

    /// Whether parameters, some of them references, fit for sure as far as they are literal. A quick yes for
    /// the common case, a schema that is no more than a list of parameters; no means that a closer look is due.
    pub(crate) fn surely_fits(&self, params: &[(Name, Template)]) -> bool {
        let Some(plain) = self.plain.get_or_init(|| PlainParams::of(&self.params)) else { return false };
        let is_given = |name: &String| params.iter().any(|(given, _)| *given == *name);
        plain.required.iter().all(is_given)
            && params.iter().all(|(name, template)| match (template, plain.each.get(name.as_str())) {
                (Template::Expr(_), known) => known.is_some() || !plain.closed,
                (Template::Literal(value), Some(validator)) => validator.is_valid(value),
                (Template::Literal(_), None) => !plain.closed,
                _ => false,
            })
    }

    /// Whether these parameters fit for sure: the same quick yes, when every value is there.
    pub(crate) fn surely_takes<'a>(&self, params: impl Iterator<Item = (&'a String, &'a Value)> + Clone) -> bool {
        let Some(plain) = self.plain.get_or_init(|| PlainParams::of(&self.params)) else { return false };
        plain.required.iter().all(|name| params.clone().any(|(given, _)| given == name))
            && params.clone().all(|(name, value)| match plain.each.get(name) {
                Some(validator) => validator.is_valid(value),
                None => !plain.closed,
            })
    }

    /// All the ways in which parameters break the tool's schema.
    pub(crate) fn breaches(&self, params: &Value) -> Vec<Breach> {
        judged(self.validator(), params)
    }

    /// All the ways in which a result breaks the tool's `_output`.
    pub(crate) fn output_breaches(&self, result: &Value) -> Vec<Breach> {
        self.output_validator().map(|validator| judged(validator, result)).unwrap_or_default()
    }

    fn validator(&self) -> Result<&Validator, &String> {
        self.validator.get_or_init(|| schema::compile(&self.params)).as_ref()
    }

    fn output_validator(&self) -> Option<Result<&Validator, &String>> {
        let output = self.output()?;
        Some(self.output_validator.get_or_init(|| schema::compile(output)).as_ref())
    }
}

/// A schema of parameters that says nothing of how they go together.
#[derive(Debug)]
struct PlainParams {
    each: BTreeMap<String, Validator>,
    required: Vec<String>,
    closed: bool,
}

impl PlainParams {
    fn of(params: &Value) -> Option<Self> {
        let known = ["type", "properties", "required", "additionalProperties", "title", "description"];
        let fields = params.as_object().filter(|fields| fields.keys().all(|name| known.contains(&name.as_str())))?;
        if fields.get("type").is_some_and(|said| said != "object") {
            return None;
        }
        let closed = match fields.get("additionalProperties") {
            None | Some(Value::Bool(true)) => false,
            Some(Value::Bool(false)) => true,
            Some(_) => return None,
        };
        let each = fields.get("properties").and_then(Value::as_object)?.iter();
        let each = each.map(|(name, schema)| Some((name.clone(), schema::compile(schema).ok()?)));
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

/// A schema that cannot be used lets nothing through.
fn judged(validator: Result<&Validator, &String>, value: &Value) -> Vec<Breach> {
    match validator {
        Ok(validator) => schema::breaches(validator, value),
        Err(error) => vec![Breach {
            place: Vec::new(),
            keyword: "$schema".to_owned(),
            conditional: false,
            text: format!("the tool's schema is not valid: {error}"),
        }],
    }
}

fn wrong(text: impl Into<String>) -> Fault {
    Fault::new(Rule::Tool1, text)
}

/// A meta-property stands among the properties, or plainly on the tool.
fn meta_of(definition: &Map<String, Value>, properties: &Map<String, Value>, name: &str) -> Meta {
    match (properties.get(name), definition.get(name)) {
        (Some(schema), _) => Meta { schema: schema.clone(), fixed: schema.get("const").cloned() },
        (None, Some(plain)) if name == "_output" => Meta { schema: plain.clone(), fixed: None },
        (None, Some(schema @ Value::Object(_))) => Meta { schema: schema.clone(), fixed: schema.get("const").cloned() },
        (None, Some(plain)) => Meta { schema: serde_json::json!({"const": plain}), fixed: Some(plain.clone()) },
        (None, None) => Meta::default(),
    }
}

fn check_fixed(meta: &str, rule: &Meta) -> Result<(), Fault> {
    let Some(fixed) = &rule.fixed else { return Ok(()) };
    match (meta, fixed) {
        ("_outputPath", Value::String(text)) => OutputPath::parse(text).map(drop).map_err(|fault| fault.at(meta)),
        ("_outputMethod", Value::String(name)) if Method::parse(name).is_none() => Err(unknown_method(name)),
        ("_scopes", Value::Array(_)) | ("_output", _) => Ok(()),
        ("_scopes", _) => Err(wrong("`_scopes` is an array of kinds and paths")),
        (_, Value::String(_) | Value::Null) => Ok(()),
        (meta, other) => Err(wrong(format!("`{meta}` is a string, not {}", type_name(other)))),
    }
}

/// What `x-keep` says.
fn keeps_digest(definition: &Map<String, Value>, is_delegated: bool) -> Result<bool, Fault> {
    match definition.get("x-keep") {
        None => Ok(false),
        Some(Value::String(what)) if what == "digest" && !is_delegated => Ok(true),
        Some(Value::String(what)) if what == "digest" => {
            Err(wrong("`x-keep` is for tools that an activity carries out, not a delegate"))
        }
        Some(_) => Err(wrong("`x-keep` is `digest`, or is left out")),
    }
}

fn names(definition: &Map<String, Value>, field: &str) -> Result<Option<Vec<String>>, Fault> {
    let Some(said) = definition.get(field) else { return Ok(None) };
    let list = said.as_array().and_then(|all| all.iter().map(|name| name.as_str().map(str::to_owned)).collect());
    match list {
        Some(names) => Ok(Some(names)),
        None => Err(wrong(format!("`{field}` is an array of dotted paths"))),
    }
}

/// What remains of the definition when everything that is not about parameters is taken off.
fn params_schema(
    definition: &Map<String, Value>,
    mut properties: Map<String, Value>,
    prescribed: &[(String, Value)],
) -> Value {
    properties.retain(|name, _| !name.starts_with('_'));
    for (name, _) in prescribed {
        // What the reference leads to is the author's business: it is not held against the `const`.
        properties.insert(name.clone(), Value::Bool(true));
    }
    let keep = |name: &&String| !name.starts_with('_') && !name.starts_with("x-") && *name != "properties";
    let mut params: Map<String, Value> =
        definition.iter().filter(|(name, _)| keep(name)).map(|(name, value)| (name.clone(), value.clone())).collect();
    if let Some(Value::Array(required)) = params.get_mut("required") {
        required.retain(|name| name.as_str().is_some_and(|name| !name.starts_with('_')));
    }
    params.insert("properties".to_owned(), Value::Object(properties));
    Value::Object(params)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_meta_property_may_stand_plainly_on_the_tool() {
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
    fn a_silent_tool_is_taken_for_a_dangerous_one() {
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
