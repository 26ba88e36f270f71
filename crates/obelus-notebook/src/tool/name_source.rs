//! The sources of names for a parameter's values (`x-names`), and the words that announce such a value.
//!
//! A parameter may be the id of records of several kinds: `{of: PARAMETER, kinds: {VALUE: SOURCE}}`. The parameter `of`
//! gives the kind. Without `of` the value has the kind as its prefix, as in `D_41`.

use serde_json::{Map, Value};

use super::Tool;
use crate::names::alike;
use crate::wording::{plain_text, type_name};

/// The source of names for a parameter's values, for one kind of record.
#[derive(Clone, Debug, Default)]
pub struct NameSource<'a> {
    /// The tools whose results contain the records.
    pub tools: Vec<&'a str>,
    /// The field with the parameter's value.
    pub id: &'a str,
    /// The fields with parts of the name.
    pub name: Vec<&'a str>,
    /// Beginnings of words that announce such a value if it is a number.
    pub announced_by: Vec<&'a str>,
    /// The prefix before the id in the value.
    pub prefix: &'a str,
}

impl<'a> NameSource<'a> {
    fn read(declared: &'a Value) -> Result<Self, String> {
        const FORM: &str = "it is written as {in: [TOOL, …], id: FIELD, name: [FIELD, …], as: [WORD, …]}";
        let Value::Object(fields) = declared else {
            return Err(format!("{FORM}, not as {}", type_name(declared)));
        };
        if let Some(other) = fields.keys().find(|name| !["in", "id", "name", "as"].contains(&name.as_str())) {
            return Err(format!("{FORM}; there is no `{other}` in it"));
        }
        let texts = |name: &str| {
            let list: Option<Vec<&str>> =
                fields.get(name).and_then(Value::as_array).and_then(|all| all.iter().map(Value::as_str).collect());
            list.filter(|list| !list.is_empty()).ok_or_else(|| format!("{FORM}; `{name}` is a list of texts"))
        };
        let id = fields.get("id").and_then(Value::as_str).ok_or_else(|| format!("{FORM}; `id` is a text"))?;
        let announced_by = if fields.contains_key("as") { texts("as")? } else { Vec::new() };
        Ok(Self { tools: texts("in")?, id, name: texts("name")?, announced_by, prefix: "" })
    }
}

/// The whole `x-names` of one parameter.
pub(super) struct Names<'a> {
    /// The parameter with the kind of record.
    pub(super) of: Option<&'a str>,
    /// The sources by kind; without a kind if there is only one.
    sources: Vec<(Option<&'a str>, NameSource<'a>)>,
}

impl<'a> Names<'a> {
    pub(super) fn read(declared: &'a Value) -> Result<Self, String> {
        let Some(kinds) = declared.get("kinds") else {
            return Ok(Self { of: None, sources: vec![(None, NameSource::read(declared)?)] });
        };
        const FORM: &str = "it is written as {of: PARAMETER, kinds: {VALUE: {in: …, id: …, name: …}}}";
        let of = match declared.get("of") {
            None => None,
            Some(of) => Some(of.as_str().ok_or_else(|| format!("{FORM}; `of` is a text"))?),
        };
        let names = declared.as_object().into_iter().flat_map(Map::keys);
        if let Some(other) = names.into_iter().find(|name| !["of", "kinds"].contains(&name.as_str())) {
            return Err(format!("{FORM}; there is no `{other}` in it"));
        }
        let kinds = kinds.as_object().filter(|kinds| !kinds.is_empty());
        let kinds = kinds.ok_or_else(|| format!("{FORM}; `kinds` is an object with a source for each kind"))?;
        let read = |(kind, declared): (&'a String, &'a Value)| {
            let source = NameSource::read(declared).map_err(|words| format!("`{kind}`: {words}"))?;
            Ok((Some(kind.as_str()), source))
        };
        Ok(Self { of, sources: kinds.iter().map(read).collect::<Result<_, String>>()? })
    }

    /// The source for a value with these other parameters. For an unknown kind it is empty, so that no record is found.
    fn choose(self, value: &Value, params: &Value) -> NameSource<'a> {
        let is_meant = |kind: &str| match self.of {
            Some(of) => says(params, of, kind),
            None => plain_text(value).starts_with(kind),
        };
        let Self { of, sources } = &self;
        let chosen = sources.iter().find(|(kind, _)| kind.is_none_or(is_meant));
        chosen.map_or_else(NameSource::default, |(kind, source)| NameSource {
            prefix: kind.filter(|_| of.is_none()).unwrap_or_default(),
            ..source.clone()
        })
    }
}

impl Tool {
    /// The source of names for a parameter's value. Case and underscores are ignored. Another parameter may give the
    /// kind of record.
    pub fn names_of(&self, place: &str, value: &Value, params: &Value) -> Option<NameSource<'_>> {
        Some(self.names_at(place)?.choose(value, params))
    }

    /// The parameters that give kinds of records.
    pub fn kind_params(&self) -> Vec<&str> {
        self.all_names().filter_map(|(_, names)| names.of).collect()
    }

    /// The parameters that declare names of their values, valid or not.
    pub fn named_places(&self) -> impl Iterator<Item = &String> {
        self.schema.get("x-names").and_then(Value::as_object).into_iter().flat_map(Map::keys)
    }

    fn all_names(&self) -> impl Iterator<Item = (&str, Names<'_>)> {
        let names = self.schema.get("x-names").and_then(Value::as_object).into_iter().flatten();
        names.filter_map(|(place, declared)| Some((place.as_str(), Names::read(declared).ok()?)))
    }

    fn names_at(&self, place: &str) -> Option<Names<'_>> {
        let names = self.schema.get("x-names")?.as_object()?;
        let (_, declared) = names.iter().find(|(known, _)| alike(known, place))?;
        Names::read(declared).ok()
    }

    /// The tools of all sources of names, each with its parameter.
    pub fn name_sources(&self) -> Vec<(&str, &str)> {
        let sources = self
            .all_names()
            .flat_map(|(place, names)| names.sources.into_iter().map(move |(_, source)| (place, source)));
        sources.flat_map(|(place, source)| source.tools.into_iter().map(move |tool| (place, tool))).collect()
    }
}

/// Whether the value at a dotted path exists and is this kind. Case and underscores are ignored, so several names may
/// match; all of them must have this kind.
fn says(params: &Value, place: &str, kind: &str) -> bool {
    let (first, rest) = place.split_once('.').map_or((place, None), |(first, rest)| (first, Some(rest)));
    let fields = params.as_object().into_iter().flatten();
    let mut own = fields.filter(|(name, _)| alike(name, first)).peekable();
    own.peek().is_some()
        && own.all(|(_, inner)| match rest {
            Some(rest) => says(inner, rest, kind),
            // Numbers and texts of the same digits are equal.
            None => alike(&plain_text(inner), kind),
        })
}
