//! Values with templates in them.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use minijinja::value::Value as TemplateValue;
use minijinja::{Environment, ErrorKind};
use regex::Regex;
use serde_json::{Map, Value};

use super::facts::NAMES;
use crate::model::jinja;

/// All templates of a playbook, named by their place in the file.
pub(super) struct Templates(Environment<'static>);

/// A value of the file: plain, or with templates somewhere in it.
#[derive(Debug)]
pub(super) enum TemplateNode {
    /// Without templates.
    Plain(Value),
    /// Text with templates.
    Text(Leaf),
    /// Exactly one expression, whose result keeps its type.
    Expression(Leaf),
    /// An array with a template somewhere in it.
    Array(Vec<TemplateNode>),
    /// An object with a template somewhere in it.
    Object(Vec<(String, TemplateNode)>),
}

/// A string that is a template.
#[derive(Debug)]
pub(super) struct Leaf {
    /// Its name in [`Templates`], and its place in the file.
    place: String,
    /// Whether the template itself contains †; then its result may be a reference.
    has_mark: bool,
}

/// An error in a field of a rule.
pub(super) struct FieldError {
    pub(super) field: String,
    pub(super) text: String,
}

impl FieldError {
    /// An error at a place such as `rules[0].answer.say`. The rule is cut off, because messages name it by its label.
    fn at(place: &str, text: String) -> Self {
        let field = place.split_once('.').map_or(place, |(_, field)| field);
        Self { field: field.to_owned(), text }
    }
}

/// The position of a value, which decides the meaning of a leading †.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ValuePosition {
    /// Strings are used unchanged.
    Verbatim,
    /// In the parameters of a call, a string that begins with † is a reference. Text from data must not become one.
    InParams,
}

/// The engine's message about a value that does not exist.
const UNDEFINED: &str = "undefined value";

/// The variable with an expression's result.
const RESULT: &str = "result";

impl Templates {
    pub(super) fn new() -> Self {
        Self(jinja::environment())
    }

    /// Compiles a value of the file.
    pub(super) fn compile(&mut self, value: Value, place: &str) -> Result<TemplateNode, FieldError> {
        match value {
            Value::String(text) => self.compile_text(text, place),
            Value::Array(items) => {
                let item = |(index, item)| self.compile(item, &format!("{place}[{index}]"));
                let nodes = items.into_iter().enumerate().map(item).collect::<Result<Vec<_>, _>>()?;
                Ok(TemplateNode::Array(nodes).simplified())
            }
            Value::Object(fields) => {
                let field = |(name, value): (String, Value)| {
                    let node = self.compile(value, &format!("{place}.{name}"))?;
                    Ok((name, node))
                };
                Ok(TemplateNode::Object(fields.into_iter().map(field).collect::<Result<_, FieldError>>()?).simplified())
            }
            plain => Ok(TemplateNode::Plain(plain)),
        }
    }

    fn compile_text(&mut self, text: String, place: &str) -> Result<TemplateNode, FieldError> {
        // References are read by the kernel, including their braces.
        if text.starts_with('†') || !["{{", "{%", "{#"].iter().any(|mark| text.contains(mark)) {
            return Ok(TemplateNode::Plain(text.into()));
        }
        let leaf = Leaf { place: place.to_owned(), has_mark: text.contains('†') };
        let expression = sole_expression(&text).filter(|inner| self.0.compile_expression(inner).is_ok());
        let (source, node) = match expression {
            Some(inner) => (format!("{{% set {RESULT} = ({inner}) %}}"), TemplateNode::Expression(leaf)),
            None => (text, TemplateNode::Text(leaf)),
        };
        let unknown = unknown_name(&self.0, &source);
        let added = self.0.add_template_owned(place.to_owned(), source);
        added.map_err(|error| FieldError::at(place, jinja::error_text(&error)))?;
        match unknown.or_else(|| self.unknown_variable(place)) {
            Some(text) => Err(FieldError::at(place, text)),
            None => Ok(node),
        }
    }

    /// An error for a variable that does not exist.
    fn unknown_variable(&self, name: &str) -> Option<String> {
        let template = self.0.get_template(name).ok()?;
        let is_known = |name: &String| {
            name == "m" || NAMES.contains(&name.as_str()) || self.0.globals().any(|(global, _)| global == name)
        };
        let unknown = template.undeclared_variables(false).into_iter().filter(|name| !is_known(name)).min()?;
        Some(format!("there is no `{unknown}` here; there are {}, m", NAMES.join(", ")))
    }

    /// The facts that templates may read: all that their texts name. (The engine's own list of variables leaves out
    /// those that are only sliced or assigned to themselves.)
    pub(super) fn names(&self) -> BTreeSet<String> {
        let is_named = |name: &&&str| self.0.templates().any(|(_, template)| template.source().contains(**name));
        NAMES.iter().filter(is_named).map(|name| (*name).to_owned()).collect()
    }

    /// Renders a node.
    pub(super) fn render(
        &self,
        node: &TemplateNode,
        data: &TemplateValue,
        position: ValuePosition,
    ) -> Result<Value, FieldError> {
        Ok(match node {
            TemplateNode::Plain(value) => value.clone(),
            TemplateNode::Text(leaf) => leaf.guarded(self.text(leaf, data)?.into(), position),
            TemplateNode::Expression(leaf) => leaf.guarded(self.expression(leaf, data)?, position),
            TemplateNode::Array(items) => {
                items.iter().map(|item| self.render(item, data, position)).collect::<Result<Vec<_>, _>>()?.into()
            }
            TemplateNode::Object(fields) => {
                let field =
                    |(name, node): &(String, TemplateNode)| Ok((name.clone(), self.render(node, data, position)?));
                fields.iter().map(field).collect::<Result<Map<_, _>, FieldError>>()?.into()
            }
        })
    }

    /// Renders a call: text in its parameters is escaped, meta-properties are not.
    pub(super) fn render_call(
        &self,
        fields: &[(String, TemplateNode)],
        data: &TemplateValue,
    ) -> Result<Value, FieldError> {
        let field = |(name, node): &(String, TemplateNode)| {
            let position = if name.starts_with('_') { ValuePosition::Verbatim } else { ValuePosition::InParams };
            Ok((name.clone(), self.render(node, data, position)?))
        };
        Ok(fields.iter().map(field).collect::<Result<Map<_, _>, FieldError>>()?.into())
    }

    fn text(&self, leaf: &Leaf, data: &TemplateValue) -> Result<String, FieldError> {
        jinja::render(&self.0, &leaf.place, data.clone()).map_err(|text| self.wrong(leaf, data, text))
    }

    fn expression(&self, leaf: &Leaf, data: &TemplateValue) -> Result<Value, FieldError> {
        let captured = self.0.get_template(&leaf.place).and_then(|template| template.render_captured(data.clone()));
        let captured = captured.map_err(|error| self.wrong(leaf, data, jinja::error_text(&error)))?;
        match captured.state().lookup(RESULT).filter(|value| !value.is_undefined()) {
            Some(value) => serde_json::to_value(&value).map_err(|error| leaf.wrong(error.to_string())),
            None => Err(self.wrong(leaf, data, format!("{UNDEFINED}; write `|default(none)` if it may be missing"))),
        }
    }

    /// An error of a template; that of a missing value with the value's name.
    fn wrong(&self, leaf: &Leaf, data: &TemplateValue, text: String) -> FieldError {
        let source = self.0.get_template(&leaf.place).ok().filter(|_| text.starts_with(UNDEFINED));
        let missing = source.and_then(|template| missing_value(template.source(), data));
        leaf.wrong(missing.map_or(text, |missing| format!("{UNDEFINED}: {missing}")))
    }
}

impl TemplateNode {
    /// Makes arrays and objects without templates plain.
    fn simplified(self) -> Self {
        match self {
            TemplateNode::Array(items) if items.iter().all(TemplateNode::is_plain) => {
                TemplateNode::Plain(items.into_iter().filter_map(TemplateNode::into_plain).collect())
            }
            TemplateNode::Object(fields) if fields.iter().all(|(_, node)| node.is_plain()) => {
                let plain = fields.into_iter().filter_map(|(name, node)| Some((name, node.into_plain()?)));
                TemplateNode::Plain(Value::Object(plain.collect()))
            }
            other => other,
        }
    }

    fn is_plain(&self) -> bool {
        matches!(self, TemplateNode::Plain(_))
    }

    fn into_plain(self) -> Option<Value> {
        match self {
            TemplateNode::Plain(value) => Some(value),
            _ => None,
        }
    }
}

impl Leaf {
    fn guarded(&self, value: Value, position: ValuePosition) -> Value {
        if position == ValuePosition::Verbatim || self.has_mark { value } else { as_text(value) }
    }

    fn wrong(&self, text: String) -> FieldError {
        FieldError::at(&self.place, text)
    }
}

/// Escapes strings that begin with †, so that they are text and not references.
fn as_text(value: Value) -> Value {
    match value {
        Value::String(text) if text.starts_with('†') => format!("†{text}").into(),
        Value::Array(items) => items.into_iter().map(as_text).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, as_text(value))).collect(),
        other => other,
    }
}

/// Finds an unknown filter or test. The engine would find it only when it runs that branch.
fn unknown_name(env: &Environment<'static>, source: &str) -> Option<String> {
    static NAME: LazyLock<Regex> = LazyLock::new(|| pattern(r"\|\s*([a-z_]\w*)|\bis\s+(?:not\s+)?([a-z_]\w*)"));
    for bare in bare_tags(source) {
        for name in NAME.captures_iter(&bare) {
            let mut state = env.empty_state();
            if let Some(filter) = name.get(1).map(|name| name.as_str())
                && state.apply_filter(filter, &[]).is_err_and(|error| error.kind() == ErrorKind::UnknownFilter)
            {
                return Some(format!("there is no filter `{filter}`"));
            }
            if let Some(test) = name.get(2).map(|name| name.as_str())
                && state.perform_test(test, &[]).is_err_and(|error| error.kind() == ErrorKind::UnknownTest)
            {
                return Some(format!("there is no test `{test}`"));
            }
        }
    }
    None
}

/// The first path in a template that has no value, and what to write if it may be missing. The engine does not tell.
fn missing_value(source: &str, data: &TemplateValue) -> Option<String> {
    static PATH: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?:^|[^\w.])([a-z_]\w*(?:\.\w+)*)(\s*\|\s*default\b|\s*\()?"));
    for tag in bare_tags(source) {
        for found in PATH.captures_iter(&tag).filter(|found| is_fact(&found[1])) {
            let path = &found[1];
            let (mut value, mut end) = (data.clone(), 0);
            for name in path.split('.') {
                value = value.get_attr(name).ok()?;
                end += name.len() + usize::from(end > 0);
                if value.is_undefined() {
                    break;
                }
            }
            let (upper, rest) = path.split_at(end);
            if value.is_undefined() && !rest.is_empty() {
                return Some(format!("there is no `{upper}`; if it may be missing: `({upper}|default({{}})){rest}`"));
            }
            if value.is_undefined() && found.get(2).is_none() {
                return Some(format!("there is no `{upper}`; if it may be missing: `{upper}|default(none)`"));
            }
        }
    }
    None
}

/// Whether a dotted path begins with the name of a fact.
fn is_fact(path: &str) -> bool {
    path.split('.').next().is_some_and(|first| first == "m" || NAMES.contains(&first))
}

/// The tags of a template, with empty texts in place of those in quotes.
fn bare_tags(source: &str) -> Vec<String> {
    const STRING: &str = r#""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'"#;
    static TAG: LazyLock<Regex> = LazyLock::new(|| pattern(&format!(r#"(?s)\{{[{{%](?:{STRING}|[^"'])*?[}}%]\}}"#)));
    static LITERAL: LazyLock<Regex> = LazyLock::new(|| pattern(&format!("(?s){STRING}")));
    // Text between `raw` marks looks like tags but is not.
    if source.contains("endraw") {
        return Vec::new();
    }
    TAG.find_iter(source).map(|tag| LITERAL.replace_all(tag.as_str(), "''").into_owned()).collect()
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("it is tested")
}

/// The expression, if the text is nothing but `{{ expression }}`.
fn sole_expression(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    // `{{- x -}}` is the same expression; the signs control the space around it.
    let inner = inner.strip_prefix(['-', '+']).unwrap_or(inner);
    Some(inner.strip_suffix(['-', '+']).unwrap_or(inner).trim())
}
