//! What a successful call writes beside its result (`x-leaves`).

use std::sync::Arc;

use serde_json::Value;

use super::{Author, Memory};
use crate::message::{Data, Message};
use crate::path::Path;
use crate::tool::SideWrite;
use obelus_notebook::call_json::CallJson;
use obelus_notebook::jq::Read;

impl Memory {
    /// Writes what the call's tool declares; returns the written paths, and the errors. The effect has happened, so
    /// an error is reported and nothing is rolled back.
    pub(in crate::session) fn write_side_writes(
        &mut self,
        author: &Author<'_>,
        frozen: &CallJson,
        result: &Value,
    ) -> (Vec<Path>, Vec<String>) {
        let (mut written, mut failed) = (Vec::new(), Vec::new());
        let Some(tool) = author.call.tool.clone().filter(|tool| !tool.side_writes.is_empty()) else {
            return (written, failed);
        };
        for side in &tool.side_writes {
            match self.write_side_write(side, author, frozen, result) {
                Ok(true) => written.push(side.to.clone()),
                Ok(false) => {}
                Err(why) => {
                    failed.push(format!("what `{}` leaves at {} cannot be written: {why}", tool.name, side.to));
                }
            }
        }
        (written, failed)
    }

    fn write_side_write(
        &mut self,
        side: &SideWrite,
        author: &Author<'_>,
        frozen: &CallJson,
        result: &Value,
    ) -> Result<bool, String> {
        let now = self.now().to_string().into();
        let was = self.context.read(&side.to, author.instance);
        let input = [
            ("call", Read::new(frozen)),
            ("result", Read::new(result)),
            ("now", Read::new(&now)),
            ("was", Read::new(was.as_deref().unwrap_or(&Value::Null))),
        ];
        let value = side.value.one_read(&Read::of_fields(input.into_iter()))?;
        if value.is_null() {
            return Ok(false);
        }
        let mut data = Data::result(frozen.clone(), Arc::new(side.to.clone()), Some(self.date()), value);
        data.instance = author.instance.map(str::to_owned);
        data.method = Some(side.method);
        data.origins = Some(author.made_of.clone().joined(author.own));
        self.context.append(vec![Message::Data(Box::new(data))]).map_err(|fault| fault.to_string())?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::call::Call;
    use crate::context::Context;

    #[test]
    fn a_failed_side_write_does_not_undo_the_others() {
        let sides = json!([
            {"to": "†state.last", "value": ".result.id"},
            {"to": "†state.count", "value": ".result.id | error(\"no\")"},
            {"to": "†state.none", "value": "null"},
            {"to": "†state.log", "method": "push", "value": "[.was, .call.q]"},
            {"to": "†state.words", "words": "Looked for \\(.call.q // \"all\")", "value": "{said: $words}"},
        ]);
        let context = json!([
            {"type": "tool", "tool": {"t": {"properties": {"q": {}}, "x-leaves": sides}}},
            {"type": "state", "data": {"log": []}},
        ]);
        let mut memory = Memory::new(Context::from_value(context).unwrap());
        let frozen = json!({"_tool": "t", "q": 1}).into();
        let call = Arc::new(Call::read(&frozen, &memory.context).0);
        let author = Author { is_tool_output: false, ..Author::of_test(&call) };
        let (written, failed) = memory.write_side_writes(&author, &frozen, &json!({"id": 7}));
        assert_eq!(
            written.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["†state.last", "†state.log", "†state.words"]
        );
        assert_eq!(failed.len(), 1);
        assert!(failed[0].contains("†state.count"), "{failed:?}");
        let state = memory.context.read(&Path::root("state"), None).unwrap().into_owned();
        assert_eq!(state, json!({"log": [[[], 1]], "last": 7, "words": {"said": "Looked for 1"}}));
    }
}
