//! Answers as XML, for `method.xml`.

use serde_json::Value;

/// Items of lists become `<item>`; members of objects are named by their keys.
pub(crate) fn xml(answer: &Value) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<response>");
    write(answer, &mut out);
    out.push_str("</response>\n");
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null => {}
        Value::Bool(flag) => out.push_str(if *flag { "1" } else { "" }),
        Value::Number(number) => out.push_str(&number.to_string()),
        Value::String(text) => text.chars().for_each(|c| match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() && !matches!(c, '\n' | '\r' | '\t') => out.push('\u{fffd}'),
            c => out.push(c),
        }),
        Value::Array(items) => items.iter().for_each(|item| element("item", item, out)),
        Value::Object(members) => {
            for (key, member) in members {
                let is_name = key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                    && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
                element(if is_name { key } else { "item" }, member, out);
            }
        }
    }
}

fn element(name: &str, value: &Value, out: &mut String) {
    out.push_str(&format!("<{name}>"));
    write(value, out);
    out.push_str(&format!("</{name}>"));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_is_written_with_everything_escaped() {
        let text = xml(&json!({"result": [{"TITLE": "<b>&"}], "total": 1, "0": null}));
        assert!(text.ends_with(
            "<response><result><item><TITLE>&lt;b&gt;&amp;</TITLE></item></result><total>1</total><item></item></response>\n"
        ));
    }
}
