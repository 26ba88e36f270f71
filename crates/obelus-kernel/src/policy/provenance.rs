//! The origins of a call's values.

use std::borrow::Cow;

use serde_json::Value;

use super::grounding::Grounding;
use super::values_at;
use super::why::read_of;
use crate::call::{Call, Scope};
use crate::context::{Context, named};
use crate::expr::Expr;
use crate::message::Message;
use crate::names::alike;
use crate::origin::{Origin, Origins};
use crate::path::{Path, Segment};
use crate::template::{Template, TextPart};

/// The origins of a call's parameters, computed on demand.
pub(crate) struct Provenance<'a> {
    pub(crate) context: &'a Context,
    pub(crate) instance: Option<&'a str>,
    /// The origins of a literal.
    pub(crate) literal: &'a Origins,
    /// The origins of the agent's own messages in this session.
    pub(crate) agent_text_origins: &'a Origins,
    /// Finds literals in the user's messages, which then have the user's origin (POL-7).
    pub(crate) grounding: Option<Grounding<'a>>,
    /// The origins of values that calls of a plan have yet to write, if the call is not about to run.
    pub(crate) planned: Option<&'a OriginsOfPath<'a>>,
}

/// The origins of what will be written at a path, if anything will.
pub(crate) type OriginsOfPath<'a> = dyn Fn(&Path) -> Option<Origins> + 'a;

/// A part of a call.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// The whole call, including its scopes.
    Call,
    /// The parameter with exactly this name.
    Param(&'a str),
    /// What its scopes show to the executor.
    Scopes,
    /// The value at a dotted path. Case does not matter, and arrays are searched.
    Path(&'a str),
}

impl<'a> Provenance<'a> {
    /// Without a session: no messages of the agent, no grounding, no plan.
    pub(crate) fn new(context: &'a Context, instance: Option<&'a str>, literal: &'a Origins) -> Self {
        Self { context, instance, literal, agent_text_origins: Origins::NONE, grounding: None, planned: None }
    }

    /// The origins of a part of the call; none if it is absent.
    pub(crate) fn of(&self, call: &Call, place: Place<'_>) -> Option<Origins> {
        match place {
            Place::Call => Some(self.of_call(call)),
            Place::Scopes => Some(self.of_scopes(call)),
            Place::Param(name) => Some(self.of_param(call, name)),
            Place::Path(path) => self.of_path(call, path),
        }
    }

    /// The origins of the whole call, including its scopes.
    pub(crate) fn of_call(&self, call: &Call) -> Origins {
        let each = call.params.iter().map(|(name, template)| self.of_template(call, name, template));
        each.fold(self.of_scopes(call), |all, of| of.joined(&all))
    }

    /// The origins of what the call's scopes show to the executor.
    pub(crate) fn of_scopes(&self, call: &Call) -> Origins {
        call.scopes.iter().fold(Origins::default(), |all, scope| {
            all.joined(&match scope {
                Scope::Kind(kind) if kind == "text" => self.context.text_origins().joined(self.agent_text_origins),
                Scope::Kind(kind) => self.context.origins(&Path::root(kind.as_str()), self.instance),
                Scope::Path(path) => match self.planned.and_then(|planned| planned(path)) {
                    Some(origins) => origins,
                    None => self.context.origins(path, self.instance),
                },
            })
        })
    }

    /// The origins of one parameter.
    fn of_param(&self, call: &Call, name: &str) -> Origins {
        let param = call.params.iter().find(|(known, _)| known == name);
        param.map(|(_, template)| self.of_template(call, name, template)).unwrap_or_default()
    }

    /// The origins of the value at a dotted path of the parameters.
    fn of_template(&self, call: &Call, path: &str, template: &Template) -> Origins {
        match template {
            Template::Literal(value) => self.of_literal(call, path, value),
            Template::Expr(expr) => self.of_expr(expr, &[]),
            Template::Text(parts) => self.of_text(call, path, parts),
            Template::Array(items) => union(items.iter().map(|item| self.of_template(call, path, item))),
            Template::Object(fields) => {
                union(fields.iter().map(|(name, value)| self.of_template(call, &self.deeper(path, name), value)))
            }
        }
    }

    /// A text has the origins of the inserted values and of its own words.
    fn of_text(&self, call: &Call, path: &str, parts: &[TextPart]) -> Origins {
        union(parts.iter().map(|part| match part {
            TextPart::Words(words) => match (&self.grounding, &call.tool) {
                (Some(grounding), Some(tool)) => grounding.origins_between(call, tool, path, words, self.literal),
                _ => self.literal.clone(),
            },
            TextPart::Reference(expr) => self.of_expr(expr, &[]),
        }))
    }

    /// A literal has the origins of everything that its proposer had been shown, unless the user named it.
    fn of_literal(&self, call: &Call, path: &str, value: &Value) -> Origins {
        match (&self.grounding, &call.tool) {
            (Some(grounding), Some(tool)) => grounding.origins(call, tool, path, value, self.literal),
            _ => self.literal.clone(),
        }
    }

    /// The origins of the value at one place of the parameters.
    pub(crate) fn of_place(&self, call: &Call, place: &[Segment]) -> Origins {
        let Some((name, mut rest)) = place.split_first() else { return Origins::default() };
        let param = call.params.iter().find(|(known, _)| **known == *name.key());
        let Some(mut template) = param.map(|(_, template)| template) else { return Origins::default() };
        let mut path = self.deeper("", &name.key()).into_owned();
        while let Some((step, deeper)) = rest.split_first() {
            let inner = match template {
                Template::Literal(value) => return self.of_literal_at(call, path, value, rest),
                Template::Expr(expr) => return self.of_expr(expr, rest),
                Template::Text(parts) => return self.of_text(call, &path, parts),
                Template::Array(items) => step.element(items.len()).and_then(|index| items.get(index)),
                Template::Object(fields) => {
                    path = self.deeper(&path, &step.key()).into_owned();
                    fields.iter().find(|(known, _)| *known == step.key()).map(|(_, inner)| inner)
                }
            };
            let Some(inner) = inner else { return self.of_template(call, &path, template) };
            (template, rest) = (inner, deeper);
        }
        self.of_template(call, &path, template)
    }

    /// The same for a place below a literal.
    fn of_literal_at(&self, call: &Call, mut path: String, literal: &Value, place: &[Segment]) -> Origins {
        let mut value = literal;
        for step in place {
            let Some(inner) = step.of(value) else { break };
            if value.is_object() {
                path = self.deeper(&path, &step.key()).into_owned();
            }
            value = inner;
        }
        self.of_literal(call, &path, value)
    }

    /// A dotted path extended by a name. Only grounding needs paths; otherwise they cost nothing.
    fn deeper<'p>(&self, path: &'p str, name: &str) -> Cow<'p, str> {
        match &self.grounding {
            None => Cow::Borrowed(""),
            Some(_) if path.is_empty() => Cow::Owned(name.to_owned()),
            Some(_) => Cow::Owned(format!("{path}.{name}")),
        }
    }

    /// The origins of the value at a dotted path, if it exists. Arrays are searched.
    pub(crate) fn of_path(&self, call: &Call, path: &str) -> Option<Origins> {
        let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
        let of = call.params.iter().filter(|(name, _)| alike(name, first));
        join_all(of.filter_map(|(name, template)| self.below(call, name, template, rest)))
    }

    fn below(&self, call: &Call, above: &str, template: &Template, path: Option<&str>) -> Option<Origins> {
        let Some(path) = path else { return Some(self.of_template(call, above, template)) };
        let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
        match template {
            Template::Literal(value) => {
                let parts = values_at(value, path).into_iter();
                join_all(parts.map(|(path, part)| self.of_literal(call, &self.deeper(above, &path), part)))
            }
            // There is nothing below a text.
            Template::Text(_) => None,
            Template::Expr(expr) => Some(self.of_names(expr, &path.split('.').collect::<Vec<_>>())),
            Template::Array(items) => {
                join_all(items.iter().filter_map(|item| self.below(call, above, item, Some(path))))
            }
            Template::Object(fields) => {
                let of = fields.iter().filter(|(name, _)| alike(name, first));
                join_all(of.filter_map(|(name, value)| self.below(call, &self.deeper(above, name), value, rest)))
            }
        }
    }

    /// `a || b` has the origins of what was read, `a && b` those of b.
    fn of_expr(&self, expr: &Expr, below: &[Segment]) -> Origins {
        if let Some(origins) = self.of_planned(expr, below) {
            return origins;
        }
        let path = read_of(self.context, expr, self.instance);
        if below.is_empty() {
            return self.context.origins(path, self.instance);
        }
        let exact = Path { kind: path.kind.clone(), segments: path.segments.iter().chain(below).cloned().collect() };
        // If the exact path does not exist, the whole value counts.
        let path = if self.context.read(&exact, self.instance).is_some() { &exact } else { path };
        self.context.origins(path, self.instance)
    }

    /// The origins of an expression that calls of a plan have yet to fill. Which of its parts will be read is
    /// unknown.
    fn of_planned(&self, expr: &Expr, below: &[Segment]) -> Option<Origins> {
        let planned = self.planned?;
        let deeper = |path: &Path| Path {
            kind: path.kind.clone(),
            segments: path.segments.iter().chain(below).cloned().collect(),
        };
        let sources: Vec<_> = expr.sources().into_iter().map(|path| (path, planned(&deeper(path)))).collect();
        if sources.iter().all(|(_, origins)| origins.is_none()) {
            return None;
        }
        let now = |path: &Path| self.context.origins(path, self.instance);
        Some(union(sources.into_iter().map(|(path, origins)| origins.unwrap_or_else(|| now(path)))))
    }

    /// The same along names in any spelling.
    fn of_names(&self, expr: &Expr, names: &[&str]) -> Origins {
        let below: Vec<Segment> = names.iter().map(|name| Segment::Field((*name).into())).collect();
        if let Some(origins) = self.of_planned(expr, &below) {
            return origins;
        }
        let path = read_of(self.context, expr, self.instance);
        let mut ways = Vec::new();
        if let Some(value) = self.context.read(path, self.instance) {
            find_ways(&value, names, &mut Vec::new(), &mut ways);
        }
        let of_way = |way: Vec<Segment>| {
            let segments = path.segments.iter().cloned().chain(way).collect();
            self.context.origins(&Path { kind: path.kind.clone(), segments }, self.instance)
        };
        // If no path matches, the whole value counts.
        join_all(ways.into_iter().map(of_way)).unwrap_or_else(|| self.context.origins(path, self.instance))
    }
}

/// The paths along which names lead into a value. If a name occurs in several spellings, any of them may be read.
fn find_ways(value: &Value, names: &[&str], way: &mut Vec<Segment>, found: &mut Vec<Vec<Segment>>) {
    let [first, rest @ ..] = names else { return found.push(way.clone()) };
    let Value::Object(fields) = value else { return };
    for (name, inner) in fields.iter().filter(|(name, _)| alike(name, first)) {
        way.push(Segment::Field(name.as_str().into()));
        find_ways(inner, rest, way, found);
        way.pop();
    }
}

/// The limit of messages that are searched for a value.
const MOST_MESSAGES: usize = 10_000;
/// The limit of bytes of text and values that are compared, in all, for a value.
const MOST_EFFORT: usize = 4 * 1024 * 1024;

/// Whether a value occurs in another, or a text as part of a text. False when the effort is used up.
fn holds(whole: &Value, value: &Value, effort: &mut usize) -> bool {
    let size = if let Value::String(text) = whole { text.len() } else { 1 };
    let Some(left) = effort.checked_sub(size) else { return false };
    *effort = left;
    match (whole, value) {
        (Value::String(whole), Value::String(part)) => whole == part || (!part.is_empty() && whole.contains(part)),
        (whole, value) if whole == value => true,
        (Value::Array(items), value) => items.iter().any(|item| holds(item, value, effort)),
        (Value::Object(fields), value) => fields.values().any(|field| holds(field, value, effort)),
        _ => false,
    }
}

fn union(parts: impl Iterator<Item = Origins>) -> Origins {
    parts.fold(Origins::default(), |all, part| all.joined(&part))
}

fn join_all(parts: impl Iterator<Item = Origins>) -> Option<Origins> {
    parts.fold(None, |all: Option<Origins>, part| Some(all.unwrap_or_default().joined(&part)))
}

/// Whether a value is unchanged in one tool's result. A read planned before reading may follow such an address:
/// nothing read elsewhere can be encoded in it (POL-6).
pub(crate) fn is_unchanged_from_one_result(
    context: &Context,
    instance: Option<&str>,
    params: &Value,
    path: &str,
) -> bool {
    let mut values = Vec::new();
    named(params, Vec::new(), path, &mut values);
    !values.is_empty() && values.iter().all(|(_, value)| is_in_one_result(context, instance, value))
}

/// Searches results, latest first, with limited effort. If nothing is found by then, a person is asked.
fn is_in_one_result(context: &Context, instance: Option<&str>, value: &Value) -> bool {
    let mut effort = MOST_EFFORT;
    context.latest().take(MOST_MESSAGES).any(|message| match message {
        Message::Data(data) if data.instance.is_none() || data.instance.as_deref() == instance => {
            let tool = data.output.as_ref().and_then(|output| output.call.tool());
            // Answers of the model or of a delegate are not tool results.
            let own = |origin: &Origin| matches!(origin, Origin::Tool { name, .. } if Some(name.as_ref()) == tool);
            tool.is_some()
                && data.all_sources().iter().any(own)
                && data.operation().2.is_some_and(|result| holds(result, value, &mut effort))
        }
        _ => false,
    })
}
