//! Templates over what a call gives: `{call, tool, scope, key}`, and `env` in headers.
//!
//! In text, null is empty, and values other than text are JSON. In an address every value is percent-encoded, so that
//! it stays one part.

use std::fmt::Write;
use std::sync::LazyLock;

use minijinja::value::{Value as Given, ValueKind};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Expression, Output, State, UndefinedBehavior};
use obelus_kernel::session::CallError;
use serde_json::Value;

use crate::web::encoded;

/// The marks that begin a template.
const MARKS: [&str; 3] = ["{{", "{%", "{#"];

/// The name of templates whose values are percent-encoded.
const URL: &str = "url";

/// Marks an empty value in a rendered address. Values cannot contain it, because they are percent-encoded.
pub(super) const NOTHING: char = '\0';

/// The settings of the template engine.
static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    environment.set_auto_escape_callback(|name| match name {
        URL => AutoEscape::Custom(URL.into()),
        _ => AutoEscape::None,
    });
    environment.set_formatter(format);
    // The result of `tojson` is foreign text, so it is not marked as safe.
    environment.add_filter("tojson", |value: &Given| to_json(value));
    environment
        .add_filter("urlencode", |value: &Given| text_of(value).map(|text| Given::from_safe_string(encoded(&text))));
    environment
});

fn format(out: &mut Output<'_>, state: &mut State<'_, '_>, value: &Given) -> Result<(), Error> {
    if !matches!(state.auto_escape(), AutoEscape::Custom(name) if name == URL) {
        return Ok(out.write_str(&text_of(value)?)?);
    }
    if matches!(value.kind(), ValueKind::Seq | ValueKind::Map | ValueKind::Iterable) {
        let problem = "a list or an object has no place in an address; `| join(\",\")` makes a text of a list";
        return Err(Error::new(ErrorKind::InvalidOperation, problem));
    }
    let text = text_of(value)?;
    match text.as_str() {
        "" => out.write_char(NOTHING)?,
        text if value.is_safe() => out.write_str(text)?,
        text => out.write_str(&encoded(text))?,
    }
    Ok(())
}

fn text_of(value: &Given) -> Result<String, Error> {
    match value.as_str() {
        Some(text) => Ok(text.to_owned()),
        None if value.is_none() || value.is_undefined() => Ok(String::new()),
        None => to_json(value),
    }
}

fn to_json(value: &Given) -> Result<String, Error> {
    serde_json::to_string(value).map_err(|error| Error::new(ErrorKind::BadSerialization, error.to_string()))
}

/// Checks that a template uses only known variables. An error says what would be correct.
fn check(used: impl IntoIterator<Item = String>, secrets: &[String]) -> Result<(), String> {
    for name in used {
        let (head, rest) = name.split_once('.').unwrap_or((&name, ""));
        let secret = rest.split('.').next().unwrap_or_default();
        match head {
            "call" | "tool" | "scope" | "key" => {}
            "env" if secret.is_empty() => return Err("name the secret, as in {{ env.NAME }}".to_owned()),
            "env" if secrets.iter().any(|listed| listed == secret) => {}
            "env" => {
                let listed = format!("\"secrets\": [\"{secret}\"]");
                return Err(format!("only headers can use `env.{secret}`, and only if the binding has {listed}"));
            }
            head if ENVIRONMENT.globals().any(|(global, _)| global == head) => {}
            head => return Err(format!("`{head}` is not defined; there are call, tool, scope and key")),
        }
    }
    Ok(())
}

/// A text template.
pub(super) struct TextTemplate {
    /// Contains only this template; it is cheap to copy, and the template borrows from it.
    environment: Environment<'static>,
    name: &'static str,
    source: String,
}

impl TextTemplate {
    /// Reads a template whose values are inserted unchanged. It may use these secrets.
    pub(super) fn text(source: &str, secrets: &[String]) -> Result<Self, String> {
        Self::parse("text", source, secrets)
    }

    /// Reads a template whose values are percent-encoded.
    pub(super) fn url(source: &str) -> Result<Self, String> {
        Self::parse(URL, source, &[])
    }

    fn parse(name: &'static str, source: &str, secrets: &[String]) -> Result<Self, String> {
        let mut environment = ENVIRONMENT.clone();
        environment.add_template_owned(name, source.to_owned()).map_err(|error| words(&error))?;
        let used = environment.get_template(name).map_err(|error| words(&error))?.undeclared_variables(true);
        check(used, secrets)?;
        Ok(Self { environment, name, source: source.to_owned() })
    }

    /// The source text.
    pub(super) fn source(&self) -> &str {
        &self.source
    }

    /// The text before the first template mark.
    pub(super) fn fixed(&self) -> &str {
        let mark = MARKS.iter().filter_map(|mark| self.source.find(mark)).min();
        &self.source[..mark.unwrap_or(self.source.len())]
    }

    /// Renders the template.
    pub(super) fn render(&self, given: &Given) -> Result<String, CallError> {
        let template = self.environment.get_template(self.name);
        template.and_then(|template| template.render(given.clone())).map_err(|error| failed(&self.source, &error))
    }
}

/// A text that is exactly one `{{ … }}`, which gives a value of any type.
pub(super) struct SingleExpression {
    expression: Expression<'static, 'static>,
    source: String,
}

impl SingleExpression {
    /// Reads a text, if it is exactly one expression.
    pub(super) fn parse(source: &str) -> Option<Self> {
        let inner = source.strip_prefix("{{")?.strip_suffix("}}")?;
        // `{{-` and `-}}` are template marks; here `-` would be read as a minus.
        if inner.starts_with(['-', '+']) || inner.ends_with(['-', '+']) {
            return None;
        }
        // `{{ a }} {{ b }}` does not compile as one expression.
        let expression = ENVIRONMENT.compile_expression_owned(inner.to_owned()).ok()?;
        Some(Self { expression, source: source.to_owned() })
    }

    /// Its value, if it has one.
    pub(super) fn value(&self, given: &Given) -> Result<Option<Value>, CallError> {
        let value = self.expression.eval(given.clone()).map_err(|error| failed(&self.source, &error))?;
        if value.is_undefined() {
            return Ok(None);
        }
        let value = serde_json::to_value(value);
        value.map(Some).map_err(|error| CallError::new("template", format!("`{}`: {error}", self.source)))
    }
}

fn failed(source: &str, error: &Error) -> CallError {
    CallError::new("template", format!("`{source}`: {}", words(error)))
}

/// The text of an error, without the internal name of the template.
fn words(error: &Error) -> String {
    error.detail().map_or_else(|| error.kind().to_string(), |detail| format!("{}: {detail}", error.kind()))
}
