//! A tool whose delegate is known in advance (DEL-4): the model sees the delegate's input and output schemas.

use serde_json::{Map, Value};

use super::{Tool, wrong};
use crate::fault::Fault;
use crate::message::Message;

impl Tool {
    /// The saved request whose schemas are merged into the definition, by `"x-delegate": "upfront"`.
    pub fn upfront_delegate(&self) -> Option<&str> {
        self.schema.get("x-delegate").and_then(|_| self.fixed_name("_delegate"))
    }

    /// The definition with the schemas of its delegate's saved request: that of its `input` for the parameters, that of
    /// its result for `_output`. Declarations of the definition itself take precedence.
    pub fn with_delegate(&self, request: &Value) -> Result<Value, Fault> {
        with_delegate(&self.schema, request)
    }
}

/// Checks `x-delegate`; the tool must be carried out by a saved request.
pub(super) fn check(definition: &Map<String, Value>, delegate: Option<&str>) -> Result<(), Fault> {
    match definition.get("x-delegate") {
        None => Ok(()),
        Some(declared) if declared != "upfront" => Err(wrong("`x-delegate` is `upfront`, or is left out")),
        Some(_) if delegate.is_none_or(|name| name.is_empty() || name == "anonymous") => {
            Err(wrong("`x-delegate` is for a tool whose `_delegate` is a saved request"))
        }
        Some(_) => Ok(()),
    }
}

fn with_delegate(definition: &Value, request: &Value) -> Result<Value, Fault> {
    let mut merged = definition.as_object().cloned().ok_or_else(|| wrong("a tool is a JSON Schema object"))?;
    if let Some((schema, given)) = input_of(request)? {
        merge_members(&mut merged, &schema, "properties")?;
        merge_members(&mut merged, &schema, "$defs")?;
        // A call may omit values that the saved request contains.
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        let required = required.filter(|name| name.as_str().is_some_and(|name| given.get(name).is_none()));
        let all = merged.entry("required").or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(all) = all {
            let missing: Vec<Value> = required.filter(|name| !all.contains(name)).cloned().collect();
            all.extend(missing);
        }
        if let Some(others) = schema.get("additionalProperties") {
            merged.entry("additionalProperties").or_insert_with(|| others.clone());
        }
    }
    let says_output = merged.contains_key("_output")
        || merged.get("properties").is_some_and(|properties| properties.get("_output").is_some());
    if let Some(output) = request.get("schema").filter(|schema| !schema.is_null() && !says_output) {
        merged.insert("_output".to_owned(), output.clone());
    }
    Ok(Value::Object(merged))
}

/// The schema of a request's input, and the values that the request contains.
fn input_of(request: &Value) -> Result<Option<(Value, Value)>, Fault> {
    let messages = request.get("context").and_then(Value::as_array).into_iter().flatten();
    for message in messages.filter(|message| message["type"] == "input") {
        if let Message::Data(data) = Message::from_value(message.clone())?.message
            && let Some(schema) = &data.schema
        {
            return Ok(Some(((**schema).clone(), data.data().into_owned())));
        }
    }
    Ok(None)
}

fn merge_members(merged: &mut Map<String, Value>, schema: &Value, keyword: &str) -> Result<(), Fault> {
    let Some(Value::Object(more)) = schema.get(keyword) else { return Ok(()) };
    let own = merged.entry(keyword).or_insert_with(|| Value::Object(Map::new()));
    let Value::Object(own) = own else { return Err(wrong(format!("`{keyword}` is an object"))) };
    for (name, schema) in more.iter().filter(|(name, _)| !name.starts_with('_')) {
        if keyword == "$defs" && own.get(name).is_some_and(|known| known != schema) {
            return Err(wrong(format!("the delegate's input has a definition `{name}` too, and another one")));
        }
        own.entry(name.clone()).or_insert_with(|| schema.clone());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_tool_takes_the_schemas_of_its_delegate() {
        let definition = json!({"_delegate": "letter.yaml", "x-delegate": "upfront", "x-effect": "read",
            "properties": {"to": {"type": "string", "minLength": 1}}});
        let input = json!({"type": "object", "$defs": {"tone": {"enum": ["warm", "cold"]}}, "required": ["to", "tone", "lang"],
            "properties": {"to": {"type": "string"}, "tone": {"$ref": "#/$defs/tone"}, "lang": {"type": "string"}}});
        let request = json!({"context": [{"type": "input", "schema": input, "data": {"lang": "en"}}],
            "schema": {"type": "object", "properties": {"text": {"type": "string"}}}});
        let merged = with_delegate(&definition, &request).unwrap();
        let tool = Tool::parse("write", &merged).unwrap();
        tool.check().unwrap();
        assert_eq!(tool.param("to"), Some(&json!({"type": "string", "minLength": 1})), "the tool's own words hold");
        assert_eq!(tool.params()["required"], json!(["to", "tone"]), "the request gives the language");
        assert_eq!(tool.output(), Some(&request["schema"]));
        assert!(tool.breaches(&json!({"to": "Ann", "tone": "warm"})).is_empty());
        assert!(!tool.breaches(&json!({"to": "Ann", "tone": "loud"})).is_empty());
    }

    #[test]
    fn only_a_saved_request_can_be_loaded_in_advance() {
        let parsed = |definition: Value| Tool::parse("t", &definition).map(drop).map_err(|fault| fault.to_string());
        assert!(parsed(json!({"_delegate": "a.yaml", "x-delegate": "upfront"})).is_ok());
        assert!(
            parsed(json!({"_delegate": "anonymous", "x-delegate": "upfront"})).unwrap_err().contains("saved request")
        );
        assert!(parsed(json!({"x-delegate": "upfront"})).unwrap_err().contains("saved request"));
        assert!(parsed(json!({"_delegate": "a.yaml", "x-delegate": "later"})).unwrap_err().contains("upfront"));
    }
}
