//! Asks a person at the terminal. Nothing is approved by default.

use std::io::{BufRead, Write};

use anyhow::Result;
use obelus_kernel::session::{About, Decision, Input, Question, QuestionId};
use serde_json::Value;

use crate::output::{self, BOLD, DIM, YELLOW, visible};

/// A question as text for a person.
pub(crate) fn shown(question: &Question) -> String {
    shown_as(question, &question.id.to_string())
}

/// The same, under the id by which it is answered.
pub(crate) fn shown_as(question: &Question, id: &str) -> String {
    let what = match question.about {
        About::Call => "may this run?",
        About::Plan => "may this plan run?",
        About::Input => "something is needed from you",
        About::InDoubt => "did this happen?",
    };
    let mut text = format!("{YELLOW}?{YELLOW:#} {BOLD}{}{BOLD:#} {what}\n", visible(id));
    for line in question.words().lines() {
        text.push_str(&format!("    {}\n", visible(line)));
    }
    for reason in &question.reasons {
        text.push_str(&format!("  {DIM}because {}{DIM:#}\n", visible(&reason.to_string())));
    }
    text.push_str(&format!("  {DIM}expires at {}{DIM:#}\n", question.expires_at));
    text.trim_end().to_owned()
}

/// Shows the open questions and asks for a decision; `None` if the person leaves.
pub(crate) fn decide(open: &[Question]) -> Result<Option<Input>> {
    let Some(first) = open.first() else { return Ok(None) };
    for question in open {
        output::note(&shown(question));
    }
    loop {
        let keys = match first.about {
            About::Call => "y yes · n REASON no · e JSON yes, with these parameters · inbox · q leave",
            About::Plan => "y yes · n REASON no · inbox · q leave",
            About::Input if wants_object(first) => {
                "type the answer as JSON, such as {\"name\": \"Ada\"} · n REASON decline · q leave"
            }
            About::Input => "type the answer · n REASON decline · q leave",
            About::InDoubt => "happened [JSON] · did-not · n REASON give up · q leave",
        };
        let mut error = anstream::stderr();
        write!(error, "{DIM}{keys}{DIM:#}\n{} > ", visible(&first.id.to_string()))?;
        error.flush()?;
        let mut line = String::new();
        if std::io::stdin().lock().read_line(&mut line)? == 0 {
            return Ok(None);
        }
        match parse(line.trim(), open) {
            Ok(Some((question, decision))) => {
                return Ok(Some(Input::Decide { question, decision, by: "a person at the terminal".to_owned() }));
            }
            Ok(None) => return Ok(None),
            Err(words) if words.is_empty() => {
                for question in open {
                    output::note(&shown(question));
                }
            }
            Err(words) => output::warning(&words),
        }
    }
}

/// Whether several values are asked for at once.
fn wants_object(question: &Question) -> bool {
    let fields = question.schema.as_ref().and_then(|schema| schema["properties"].as_object());
    fields.is_some_and(|fields| fields.len() > 1)
}

/// The typed value: JSON or plain text. If the schema asks for text, digits are text.
pub(crate) fn value_said(typed: &str, schema: Option<&Value>) -> Value {
    let wants_text = schema.is_some_and(|schema| schema["type"] == "string");
    match serde_json::from_str::<Value>(typed) {
        Ok(value) if value.is_string() || !wants_text => value,
        _ => typed.into(),
    }
}

/// Reads a line such as `y`, `n too much`, `e {"amount": 5}` or `q2 y`.
fn parse(line: &str, open: &[Question]) -> Result<Option<(QuestionId, Decision)>, String> {
    let first_word = line.split_whitespace().next().unwrap_or_default();
    let named = open.iter().find(|question| question.id.to_string() == first_word);
    let (question, line) = match named {
        Some(question) => (question, line[first_word.len()..].trim()),
        None => (open.first().ok_or("nothing waits")?, line),
    };
    let (verb, rest) = line.split_once(char::is_whitespace).map_or((line, ""), |(verb, rest)| (verb, rest.trim()));
    let json = |text: &str| serde_json::from_str::<Value>(text).map_err(|error| format!("not JSON: {error}"));
    let deny = || Decision::Deny { reason: if rest.is_empty() { "declined".to_owned() } else { rest.to_owned() } };
    let decision = match verb {
        "q" | "quit" | "exit" => return Ok(None),
        "inbox" => return Err(String::new()),
        "n" => deny(),
        "=" | "value" => Decision::Value { value: value_said(rest, question.schema.as_ref()) },
        "" if question.about == About::Input => {
            return Err("type the value; an empty line answers nothing".to_owned());
        }
        // A text answer may be any words, also "yes", "no problem" or "edit".
        _ if question.about == About::Input => Decision::Value { value: value_said(line, question.schema.as_ref()) },
        "no" | "deny" => deny(),
        "y" | "yes" | "approve" => Decision::Approve { only: None },
        "e" | "edit" => match json(rest)? {
            Value::Object(params) => Decision::Edit { params },
            _ => return Err("an edit is a JSON object of parameters".to_owned()),
        },
        "happened" => Decision::Happened { result: if rest.is_empty() { Value::Null } else { json(rest)? } },
        "did-not" => Decision::DidNot,
        "" => return Err("type your decision; an empty line approves nothing".to_owned()),
        other => return Err(format!("`{other}` is not understood")),
    };
    Ok(Some((question.id.clone(), decision)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn digits_are_a_text_where_a_text_is_asked_for() {
        let (text, number) = (json!({"type": "string"}), json!({"type": "integer"}));
        assert_eq!(value_said("007", Some(&text)), json!("007"));
        assert_eq!(value_said("731905", Some(&text)), json!("731905"));
        assert_eq!(value_said("\"731905\"", Some(&text)), json!("731905"));
        assert_eq!(value_said("4", Some(&number)), json!(4));
        assert_eq!(value_said("four", Some(&number)), json!("four"));
    }
}
