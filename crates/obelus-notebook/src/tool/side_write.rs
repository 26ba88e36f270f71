//! The writes of a successful call beside its result, declared by its tool in `x-leaves`.
//!
//! Each entry is `{to: †path, method?, words?, value: FILTER}`. The filter reads `{call, result, now, was}`, where
//! `was` is the present value. If it returns nothing or null, nothing is written. `words` is a text for people that may
//! contain `\(FILTER)`; the filter uses it as `$words`.

use serde_json::Value;

use super::{in_language, wrong};
use crate::expr::Expr;
use crate::fault::Fault;
use crate::fold::Method;
use crate::jq::Filter;
use crate::path::Path;

/// One write of a successful call.
#[derive(Debug)]
pub struct SideWrite {
    /// The path.
    pub to: Path,
    /// How the value is combined with the existing one.
    pub method: Method,
    /// The filter that computes the value from the call, its result and the time.
    pub value: Filter,
}

impl SideWrite {
    /// Parses the entries of a tool's `x-leaves`.
    pub(crate) fn parse_all(declared: Option<&Value>) -> Result<Vec<Self>, Fault> {
        match declared {
            None => Ok(Vec::new()),
            Some(Value::Array(entries)) => {
                let at = |(index, entry)| Self::parse(entry).map_err(|why| wrong(format!("x-leaves[{index}]: {why}")));
                entries.iter().enumerate().map(at).collect()
            }
            Some(_) => Err(wrong("`x-leaves` is a list of {to, method, value}")),
        }
    }

    fn parse(entry: &Value) -> Result<Self, String> {
        let Value::Object(fields) = entry else { return Err("an entry is {to, method, value}".to_owned()) };
        if let Some(stray) = fields.keys().find(|name| !["to", "method", "words", "value"].contains(&name.as_str())) {
            return Err(format!("unknown field `{stray}`; an entry is {{to, method, words, value}}"));
        }
        let text = |name: &str| fields.get(name).and_then(Value::as_str);
        let to = text("to").ok_or("`to` is a path such as †state.done")?;
        let to = match Expr::parse(to).map_err(|fault| format!("`to`: {fault}"))? {
            Expr::Ref(path) => (*path).clone(),
            Expr::Any(_) | Expr::All(_) => return Err("`to` is one path".to_owned()),
        };
        let method = match fields.get("method") {
            None => Method::Set,
            Some(declared) => (declared.as_str().and_then(Method::parse))
                .ok_or_else(|| format!("`method` is one of set, merge, assign, push, concat, not {declared}"))?,
        };
        let value = text("value").ok_or("`value` is a jq filter over {call, result, now, was}")?;
        let value = match fields.get("words") {
            None => value.to_owned(),
            Some(declared) => {
                let words = in_language(declared, None).ok_or("`words` is a text, or one for each language")?;
                Filter::compile(&format!("\"{words}\"")).map_err(|why| format!("`words`: {why}"))?;
                format!("\"{words}\" as $words | {value}")
            }
        };
        let value = Filter::compile(&value).map_err(|why| format!("`value`: {why}"))?;
        Ok(Self { to, method, value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_faulty_entry_is_named_with_its_place() {
        for (entry, words) in [
            (json!({"to": "state.x", "value": "."}), "`to`"),
            (json!({"to": "†state.x"}), "`value`"),
            (json!({"to": "†state.x", "value": "{"}), "`value`"),
            (json!({"to": "†state.x || †state.y", "value": "."}), "one path"),
            (json!({"to": "†state.x", "value": ".", "methode": "set"}), "`methode`"),
            (json!({"to": "†state.x", "value": ".", "method": "add"}), "push"),
            (json!({"to": "†state.x", "value": "$words", "words": 5}), "`words`"),
            (json!({"to": "†state.x", "value": "$words", "words": "\\("}), "`words`"),
        ] {
            let fault = SideWrite::parse_all(Some(&json!([entry]))).unwrap_err().to_string();
            assert!(fault.contains("x-leaves[0]") && fault.contains(words), "{fault}");
        }
    }
}
