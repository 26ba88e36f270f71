//! JSON as an outline for people: names, values and lists without brackets.

use obelus_runtime::text::clip;
use serde_json::Value;

use super::text::{PLAIN, StyledLine};
use crate::output::{BOLD, DIM};

/// The number of items shown of a list.
const MOST: usize = 30;

/// The number of characters shown of a text.
const LONGEST: usize = 400;

/// A value in lines.
pub(crate) fn lines(value: &Value) -> Vec<StyledLine> {
    let mut all = Vec::new();
    outline(value, 0, &mut all);
    all
}

fn outline(value: &Value, depth: usize, all: &mut Vec<StyledLine>) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, inner) in fields {
                let line = StyledLine::of(PLAIN, indent.clone()).shown(BOLD, name).own(DIM, ":");
                if is_short(inner) {
                    all.push(line.own(PLAIN, " ").shown(PLAIN, &scalar(inner)).hanging(indent.len() + 2));
                } else {
                    all.push(line);
                    outline(inner, depth + 1, all);
                }
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items.iter().take(MOST) {
                let line = StyledLine::of(PLAIN, indent.clone()).own(DIM, "- ");
                if is_short(item) {
                    all.push(line.shown(PLAIN, &scalar(item)).hanging(indent.len() + 2));
                } else {
                    // The first line of a nested value is on the line of the dash.
                    let from = all.len();
                    outline(item, depth + 1, all);
                    if let Some(first) = all.get(from).cloned() {
                        all[from] = line.followed_by(first.without_indent());
                    }
                }
            }
            if items.len() > MOST {
                all.push(StyledLine::of(DIM, format!("{indent}… + {}", items.len() - MOST)));
            }
        }
        other => all.push(StyledLine::of(PLAIN, indent).shown(PLAIN, &scalar(other))),
    }
}

fn is_short(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => true,
    }
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) if text.is_empty() => "\"\"".to_owned(),
        Value::String(text) => clip(text, LONGEST),
        Value::Null => "–".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn data_is_shown_as_an_outline() {
        let value = json!({"goals": ["звонок", "письмо"], "objects": {"current_deal_id": 7}, "done": [],
            "tasks": [{"who": "Анна", "what": "звонок"}, {"who": "Борис"}], "none": null});
        let told: Vec<String> = lines(&value).iter().map(StyledLine::plain).collect();
        assert_eq!(
            told,
            [
                "goals:",
                "  - звонок",
                "  - письмо",
                "objects:",
                "  current_deal_id: 7",
                "done: []",
                "tasks:",
                "  - who: Анна",
                "    what: звонок",
                "  - who: Борис",
                "none: –",
            ]
        );
    }

    #[test]
    fn a_long_list_says_what_it_leaves_out() {
        let told = lines(&json!((0..40).collect::<Vec<_>>()));
        assert_eq!((told.len(), told.last().map(StyledLine::plain)), (31, Some("… + 10".to_owned())));
    }
}
