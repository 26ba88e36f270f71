//! What a successful call writes beside its result (`x-leaves`).

use std::sync::Arc;

use serde_json::Value;

use super::{Author, Memory};
use crate::jq::Read;
use crate::message::{Data, Message};
use crate::path::Path;
use crate::tool::SideWrite;

impl Memory {
    /// Writes what the call's tool declares; the paths that were written, and what could not be. The effect has
    /// happened, so a declaration that cannot be written is reported and takes nothing back.
    pub(in crate::session) fn write_side_writes(
        &mut self,
        author: &Author<'_>,
        frozen: &Arc<Value>,
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
        frozen: &Arc<Value>,
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
        let mut data = Data::result(Arc::clone(frozen), Arc::new(side.to.clone()), Some(self.date()), value);
        data.instance = author.instance.map(str::to_owned);
        data.method = Some(side.method);
        data.origins = Some(author.made_of.clone().joined(author.own));
        self.context.append(vec![Message::Data(Box::new(data))]).map_err(|fault| fault.to_string())?;
        Ok(true)
    }
}
