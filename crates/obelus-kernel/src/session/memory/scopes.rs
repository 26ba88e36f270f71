//! What a call's scopes show of memory to its executor.

use serde_json::{Map, Value, json};

use super::Memory;
use crate::call::Scope;
use crate::message::{Data, Message};

impl Memory {
    /// The messages that scopes name, narrowed to an instance.
    pub(in crate::session) fn scope_messages(&self, scopes: &[Scope], instance: Option<&str>) -> Vec<Value> {
        scopes.iter().flat_map(|scope| self.scope(scope, instance)).collect()
    }

    fn scope(&self, scope: &Scope, instance: Option<&str>) -> Vec<Value> {
        let context = &self.context;
        let message = |data: Data| vec![Message::Data(Box::new(data)).to_json()];
        match scope {
            Scope::Kind(kind) if kind == "text" => {
                let texts = context.messages().iter().filter(|message| matches!(message, Message::Text(_)));
                texts.map(Message::to_json).collect()
            }
            Scope::Kind(kind) if kind == "tool" => {
                let tools: Map<String, Value> =
                    context.tools().map(|tool| (tool.name.clone(), tool.schema.clone())).collect();
                vec![json!({"type": "tool", "tool": tools})]
            }
            Scope::Kind(kind) => {
                let Some(view) = context.view(kind) else { return Vec::new() };
                let Some(value) = view.read(&[], instance) else { return Vec::new() };
                let mut data = Data::plain(kind.as_str(), value.into_owned());
                data.schema = view.schema(instance).map(|schema| Box::new(schema.clone()));
                data.description = view.description(instance).map(str::to_owned);
                message(data)
            }
            Scope::Path(path) => match context.read(path, instance) {
                Some(value) => message(Data::plain(path.kind.as_str(), path.spell(value.into_owned()))),
                None => Vec::new(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;
    use crate::expr::Expr;

    fn shown(scopes: &[Scope]) -> Value {
        let context = json!([
            {"type": "text", "role": "user", "text": "hi"},
            {"type": "state", "data": {"a": 1, "b": {"c": 2}}},
            {"type": "data", "kind": "seen", "_instance": "one", "data": {"n": 1}},
            {"type": "data", "kind": "seen", "_instance": "two", "data": {"n": 2}},
        ]);
        let memory = Memory::new(Context::from_value(context).unwrap());
        memory.scope_messages(scopes, Some("two")).into()
    }

    #[test]
    fn a_call_sees_only_its_scopes() {
        let Ok(Expr::Ref(path)) = Expr::parse("†state.b.c") else { panic!("a reference") };
        let scopes = [Scope::Kind("text".into()), Scope::Path((*path).clone().into()), Scope::Kind("nosuch".into())];
        let shown = shown(&scopes);
        assert_eq!(shown.as_array().unwrap().len(), 2, "{shown}");
        assert_eq!((&shown[0]["text"], &shown[1]["data"]), (&json!("hi"), &json!({"b": {"c": 2}})));
    }

    #[test]
    fn a_kind_is_narrowed_to_the_instance_of_the_call() {
        assert_eq!(shown(&[Scope::Kind("seen".into())])[0]["data"], json!({"n": 2}));
    }
}
