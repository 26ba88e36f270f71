//! Initial reads of a session (`begin` in an agent's file). Their results become part of the session's context, so
//! that the model has them without asking.

use obelus_kernel::jq::Filter;
use obelus_kernel::{Context, Expr, Fault, Message};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::spec::SessionSpec;

/// One read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpeningRead {
    /// The call: `_tool` and its parameters.
    pub call: Map<String, Value>,
    /// Where the result is written: a path such as `†portal.staff`. Without it the result is not stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// A jq filter that selects what is stored of the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<String>,
    /// The description of the path's kind, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Tools that the session has only if the read succeeds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offers: Vec<String>,
}

impl OpeningRead {
    /// The tool's name.
    pub fn tool(&self) -> &str {
        self.call.get("_tool").and_then(Value::as_str).unwrap_or_default()
    }

    /// Its error, if any.
    pub(crate) fn fault(&self, context: &Context) -> Option<String> {
        let unknown = |name: &&String| context.tool(name).is_none();
        if let Some(name) = self.offers.iter().find(unknown) {
            return Some(format!("`offers`: there is no tool `{name}`"));
        }
        if let Some(Err(why)) = self.keep.as_deref().map(Filter::compile) {
            return Some(format!("`keep`: {why}"));
        }
        if let Some(to) = &self.to
            && !matches!(Expr::parse(to), Ok(Expr::Ref(_)))
        {
            return Some("`to` is a path such as †portal.staff".to_owned());
        }
        match context.tool(self.tool()) {
            None => Some(format!("there is no tool `{}`", self.tool())),
            Some(tool) if tool.effect.acts() => Some(format!("`{}` is no tool that reads", tool.name)),
            Some(_) => None,
        }
    }

    /// The part of a result that is stored; none if the filter fails.
    fn filtered(&self, result: Value) -> Option<Value> {
        match &self.keep {
            None => Some(result),
            Some(keep) => Filter::compile(keep).ok()?.run(&result).ok()?.into_iter().next(),
        }
    }
}

impl SessionSpec {
    /// Stores the result of a read, as the result of its call.
    pub fn take_in(&mut self, read: &OpeningRead, result: Value) -> Result<(), Fault> {
        let Some((to, value)) = read.to.as_ref().zip(read.filtered(result)) else { return Ok(()) };
        let path = to.trim_start_matches('†');
        let (kind, inner) = path.split_once('.').map_or((path, None), |(kind, inner)| (kind, Some(inner)));
        let steps = inner.into_iter().flat_map(|inner| inner.rsplit('.'));
        let data = steps.fold(value, |value, step| json!({ step: value }));
        // The filter may have moved any part of the result, so all of it must be trusted.
        let trusted = self.context.tool(read.tool()).is_some_and(|tool| tool.error_origin().is_trusted());
        let label = format!("{}:{}", if trusted { "trusted" } else { "untrusted" }, read.tool());
        let mut message = json!({
            "type": "data", "kind": kind, "data": data, "_call": read.call, "_outputPath": to, "_outputMethod": "set", "_labels": [label],
        });
        if let Some(words) = &read.description {
            message["description"] = words.as_str().into();
        }
        let parsed = Message::from_value(message)?;
        self.context.append(vec![parsed.message]).map(drop)
    }

    /// Removes tools that the session cannot use. Reading its agent's file again does not restore them.
    pub fn withhold(&mut self, tools: &[String]) {
        let mut messages = self.context.to_json();
        for message in messages.as_array_mut().into_iter().flatten() {
            if let Some(known) = message.get_mut("tool").and_then(Value::as_object_mut) {
                known.retain(|name, _| !tools.contains(name));
            }
        }
        if let Some(messages) = messages.as_array_mut() {
            messages
                .retain(|message| message.get("tool").and_then(Value::as_object).is_none_or(|known| !known.is_empty()));
        }
        // A context that was valid with more tools is valid with fewer.
        if let Ok(context) = Context::from_value(messages) {
            self.context = context;
            self.withheld.extend(tools.iter().cloned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> SessionSpec {
        let tools = json!([{"type": "tool", "tool": {"people": {"x-effect": "read", "x-trust": "trusted"}}},
            {"type": "tool", "tool": {"bind": {}}}]);
        SessionSpec { context: Context::from_value(tools).unwrap(), ..SessionSpec::default() }
    }

    fn read(said: Value) -> OpeningRead {
        serde_json::from_value(said).unwrap()
    }

    #[test]
    fn opening_reads_are_in_the_context_as_results_of_their_tools() {
        let mut spec = spec();
        let said =
            json!({"call": {"_tool": "people"}, "to": "†portal.staff", "keep": "map({id})", "description": "who"});
        spec.take_in(&read(said), json!([{"id": 1, "secret": 2}])).unwrap();
        let message = &spec.context.to_json()[2];
        assert_eq!(message["data"], json!({"staff": [{"id": 1}]}));
        assert_eq!((&message["_call"]["_tool"], &message["_labels"]), (&json!("people"), &json!(["trusted:people"])));
        let filtered = SessionSpec::from_genesis(spec.genesis().unwrap()).unwrap();
        assert_eq!(filtered.context.to_json(), spec.context.to_json());
    }

    #[test]
    fn a_withheld_tool_is_removed_from_the_context_permanently() {
        let mut spec = spec();
        spec.withhold(&["bind".to_owned()]);
        assert!(spec.context.tool("bind").is_none() && spec.context.tool("people").is_some());
        assert_eq!(SessionSpec::from_genesis(spec.genesis().unwrap()).unwrap().withheld, ["bind"]);
    }

    #[test]
    fn a_faulty_read_is_named() {
        let context = spec().context;
        for (said, words) in [
            (json!({"call": {"_tool": "nobody"}}), "no tool `nobody`"),
            (json!({"call": {"_tool": "bind"}}), "no tool that reads"),
            (json!({"call": {"_tool": "people"}, "to": "staff"}), "`to` is a path"),
            (json!({"call": {"_tool": "people"}, "keep": "{"}), "`keep`"),
            (json!({"call": {"_tool": "people"}, "offers": ["unbind"]}), "no tool `unbind`"),
        ] {
            assert!(read(said.clone()).fault(&context).unwrap().contains(words), "{said}");
        }
    }
}
