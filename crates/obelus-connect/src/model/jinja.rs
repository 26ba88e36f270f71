//! The template engine: missing values are errors, time and output are limited, and JSON stays on one line.

use std::borrow::Cow;
use std::io;

use minijinja::value::{Serde, Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior};
use serde::Serialize;

/// The number of steps of one template, enough for a loop over any reasonable data.
const FUEL: u64 = 200_000;
/// The largest output of one template, in bytes.
const MAX_BYTES: usize = 1024 * 1024;

/// An environment without templates.
pub(super) fn environment() -> Environment<'static> {
    let mut env = Environment::new();
    env.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    env.set_fuel(Some(FUEL));
    // Template names are places in files; a parameter called `html` must not switch escaping on.
    env.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    env.set_formatter(|out, state, value| match value.kind() {
        // Null is empty; values that the engine would print in its own notation, such as `True`, are JSON.
        ValueKind::None => Ok(()),
        ValueKind::Bool | ValueKind::Seq | ValueKind::Map | ValueKind::Iterable => {
            Ok(out.write_str(&json_text(value)?)?)
        }
        _ => minijinja::escape_formatter(out, state, value),
    });
    env.add_filter("tojson", |value: &Value| json_text(value));
    env.add_filter("money", money);
    env.add_filter("number", |text: &Value| number(&text.to_string()));
    env
}

/// A JSON value for templates.
pub(super) fn value(json: &serde_json::Value) -> Value {
    Value::from(Serde(json))
}

/// Renders a template of the environment.
pub(super) fn render(env: &Environment<'_>, name: &str, data: Value) -> Result<String, String> {
    let mut text = LimitedBuffer(Vec::new());
    let template = env.get_template(name).map_err(|error| error_text(&error))?;
    template.render_captured_to(data, &mut text).map_err(|error| error_text(&error))?;
    String::from_utf8(text.0).map_err(|error| error.to_string())
}

/// A template's error on one line, without the template's name, which callers add.
pub(super) fn error_text(error: &Error) -> String {
    let mut text = error.kind().to_string();
    if let Some(detail) = error.detail() {
        text = format!("{text}: {detail}");
    }
    if let Some(source) = std::error::Error::source(error) {
        text = format!("{text}: {source}");
    }
    match error.line().filter(|line| *line > 1) {
        Some(line) => format!("{text} (line {line} of the template)"),
        None => text,
    }
}

fn json_text(value: &Value) -> Result<String, Error> {
    if value.is_undefined() {
        return Err(Error::new(ErrorKind::UndefinedError, "there is no value to show as JSON"));
    }
    json_line(value)
}

/// A value as JSON on one line, without converting it to a template value first.
pub(super) fn json_line(value: &(impl Serialize + ?Sized)) -> Result<String, Error> {
    let text = serde_json::to_string(value)
        .map_err(|error| Error::new(ErrorKind::InvalidOperation, format!("not JSON: {error}")))?;
    Ok(on_one_line(text.into()).into_owned())
}

/// Escapes the separators that JSON permits but some readers treat as line ends, so that a value stays on its line.
pub(super) fn on_one_line(mut json: Cow<'_, str>) -> Cow<'_, str> {
    for (bare, escaped) in [("\u{85}", "\\u0085"), ("\u{2028}", "\\u2028"), ("\u{2029}", "\\u2029")] {
        if json.contains(bare) {
            json = json.replace(bare, escaped).into();
        }
    }
    json
}

/// The lines of a text, split at every character that some reader treats as a line end.
pub(super) fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'])
}

/// `1234567.5` as `1 234 567,50`: grouped thousands, a decimal comma, and hundredths only if they are not zero.
fn money(value: &Value) -> Result<String, Error> {
    let wrong = || Error::new(ErrorKind::InvalidOperation, format!("money takes a number, not `{value}`"));
    let amount: f64 = number(&value.to_string())?.to_string().parse().map_err(|_| wrong())?;
    // Larger floating-point numbers have no exact hundredths.
    if !amount.is_finite() || amount.abs() >= 1e15 {
        return Err(wrong());
    }
    let text = format!("{:.2}", amount.abs());
    let (whole, cents) = text.split_once('.').unwrap_or((&text, "00"));
    let mut out = String::new();
    if amount < 0.0 && text.contains(|digit| ('1'..='9').contains(&digit)) {
        out.push('-');
    }
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    if cents != "00" {
        out.push(',');
        out.push_str(cents);
    }
    Ok(out)
}

/// A number as people write it: `1 000 000`, `12,5`, `-3`.
fn number(text: &str) -> Result<Value, Error> {
    let plain: String = text.chars().filter(|c| !c.is_whitespace() && *c != '_').collect();
    let plain = plain.replace(',', ".").replace('−', "-");
    if let Ok(whole) = plain.parse::<i64>() {
        return Ok(whole.into());
    }
    let is_decimal = plain.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e'));
    match plain.parse::<f64>() {
        Ok(amount) if is_decimal && amount.is_finite() => Ok(amount.into()),
        _ => Err(Error::new(ErrorKind::InvalidOperation, format!("`{text}` is not a number"))),
    }
}

/// A buffer for at most [`MAX_BYTES`].
struct LimitedBuffer(Vec<u8>);

impl io::Write for LimitedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_BYTES {
            return Err(io::Error::other(format!("more than {MAX_BYTES} bytes of text")));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(template: &str, data: &serde_json::Value) -> Result<String, String> {
        let mut env = environment();
        env.add_template_owned("t.html", template.to_owned()).map_err(|error| error_text(&error))?;
        render(&env, "t.html", value(data))
    }

    #[test]
    fn values_are_shown_as_people_and_programs_expect_them() {
        let data = json!({"n": null, "o": {"z": "<ё>", "a": [1, true]}, "sum": 1_234_567.5, "t": "<b>"});
        for (template, expected) in [
            ("[{{ n }}]", "[]"),
            ("{{ o }}", r#"{"z":"<ё>","a":[1,true]}"#),
            ("{{ t|tojson }}{{ t }}", "\"<b>\"<b>"),
            ("{{ sum|money }}", "1 234 567,50"),
            ("{{ 100000|money }} {{ 999|money }} {{ -1000|money }} {{ '-0,001'|money }}", "100 000 999 -1 000 0"),
            ("{{ '1 000 000,5'|number + 1 }} {{ '12'|number * 2 }}", "1000001.5 24"),
            ("{% if nothing %}a{% else %}b{% endif %}{{ nothing|default('c') }}", "bc"),
        ] {
            assert_eq!(shown(template, &data).as_deref(), Ok(expected), "{template}");
        }
    }

    #[test]
    fn missing_values_invalid_templates_and_endless_loops_are_errors() {
        for (template, part) in [
            ("{{ nothing }}", "undefined"),
            ("{{ nothing|tojson }}", "undefined"),
            ("{{ 'inf'|number }}", "not a number"),
            ("{{ 'ten'|money }}", "not a number"),
            ("{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}", "fuel"),
            ("{% for a in range(9999) %}{{ t }}{% endfor %}", "bytes of text"),
        ] {
            let error = shown(template, &json!({"t": "x".repeat(200)})).unwrap_err();
            assert!(error.contains(part), "{template}: {error}");
        }
    }

    #[test]
    fn json_is_written_on_one_line() {
        let text = json_text(&value(&json!({"a\n": "b\r\u{85}\u{2028}\u{2029}"}))).unwrap();
        assert_eq!(text, r#"{"a\n":"b\r\u0085\u2028\u2029"}"#);
    }
}
