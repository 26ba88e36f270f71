//! Reads the values that a call would change, so that a person sees the old value beside the new one.

use serde_json::{Map, Value};

use super::wrong;
use crate::call_json::CallJson;
use crate::fault::Fault;
use crate::names::alike;

/// `x-before`: the reading tool, its parameters, and the paths of the changed fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Before {
    /// The reading tool.
    pub tool: String,
    /// Its parameters, each with the dotted path of a parameter of the changing call.
    pub params: Vec<(String, String)>,
    /// The dotted path of the parameter with the changed fields; empty if they are parameters themselves.
    pub fields: String,
    /// The dotted path of these fields in the result; empty for the whole result.
    pub result: String,
}

pub(super) fn read(declared: Option<&Value>) -> Result<Option<Before>, Fault> {
    let Some(declared) = declared else { return Ok(None) };
    let unfit = || wrong("`x-before` is like {tool: crm.deal.get, params: {id: id}, fields: fields, result: result}");
    let fields = declared.as_object().ok_or_else(unfit)?;
    let known = ["tool", "params", "fields", "result"];
    if let Some(name) = fields.keys().find(|name| !known.contains(&name.as_str())) {
        return Err(wrong(format!("`x-before` has no `{name}`: it has {}", known.join(", "))));
    }
    let text = |name: &str| match fields.get(name) {
        None => Ok(String::new()),
        Some(declared) => declared.as_str().map(str::to_owned).ok_or_else(unfit),
    };
    let tool = text("tool")?;
    if tool.is_empty() {
        return Err(unfit());
    }
    let params = match fields.get("params") {
        None => Vec::new(),
        Some(declared) => {
            let each = declared.as_object().ok_or_else(unfit)?.iter();
            each.map(|(name, path)| Some((name.clone(), path.as_str()?.to_owned())))
                .collect::<Option<_>>()
                .ok_or_else(unfit)?
        }
    };
    Ok(Some(Before { tool, params, fields: text("fields")?, result: text("result")? }))
}

impl Before {
    /// The reading call for the parameters of the changing call; none if one of them is missing.
    pub fn preview_call(&self, params: &Value) -> Option<CallJson> {
        let mut call = Map::from_iter([("_tool".to_owned(), Value::from(self.tool.as_str()))]);
        for (name, path) in &self.params {
            call.insert(name.clone(), at(params, path)?.clone());
        }
        Some(call.into())
    }

    /// The fields that the call writes, with their values.
    pub fn written<'p>(&self, params: &'p Value) -> Vec<(&'p String, &'p Value)> {
        let is_key = |name: &str| self.fields.is_empty() && self.params.iter().any(|(_, path)| path == name);
        let fields = at(params, &self.fields).and_then(Value::as_object);
        fields.into_iter().flatten().filter(|(name, _)| !is_key(name)).collect()
    }

    /// The old value of a field. Case and underscores are ignored, unless that is ambiguous.
    pub fn now<'r>(&self, result: &'r Value, field: &str) -> Option<(&'r String, &'r Value)> {
        let fields = at(result, &self.result)?.as_object()?;
        if let Some(exact) = fields.get_key_value(field) {
            return Some(exact);
        }
        let mut found = fields.iter().filter(|(name, _)| alike(name, field));
        match (found.next(), found.next()) {
            (Some(only), None) => Some(only),
            _ => None,
        }
    }
}

/// The value at a dotted path; the empty path is the whole.
fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').filter(|step| !step.is_empty()).try_fold(value, |value, step| value.get(step))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_are_found_in_the_call_and_in_the_record() {
        let declared = json!({"tool": "get", "params": {"id": "id"}, "fields": "fields", "result": "result"});
        let before = read(Some(&declared)).unwrap().unwrap();
        let params = json!({"id": 7, "fields": {"title": "b", "SUM": 2}});
        assert_eq!(before.preview_call(&params), Some(json!({"_tool": "get", "id": 7}).into()));
        assert_eq!(before.preview_call(&json!({"fields": {}})), None);
        let written: Vec<&str> = before.written(&params).into_iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(written, ["title", "SUM"]);
        let result = json!({"result": {"TITLE": "a", "sum": 1, "Sum": 3}});
        assert_eq!(before.now(&result, "title").map(|(_, value)| value), Some(&json!("a")));
        assert_eq!(before.now(&result, "SUM"), None);
        assert_eq!(before.now(&json!([1]), "title"), None);
    }

    #[test]
    fn fields_of_the_parameters_exclude_the_record_id() {
        let before = read(Some(&json!({"tool": "get", "params": {"key": "id"}}))).unwrap().unwrap();
        let params = json!({"id": 7, "phone": "1"});
        let written: Vec<&str> = before.written(&params).into_iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            (before.preview_call(&params), written),
            (Some(json!({"_tool": "get", "key": 7}).into()), vec!["phone"])
        );
    }

    #[test]
    fn an_invalid_before_annotation_is_refused() {
        for declared in [
            json!("get"),
            json!({}),
            json!({"tool": 5}),
            json!({"tool": "a", "parms": {}}),
            json!({"tool": "a", "params": {"id": 5}}),
        ] {
            assert!(read(Some(&declared)).is_err(), "{declared}");
        }
    }
}
