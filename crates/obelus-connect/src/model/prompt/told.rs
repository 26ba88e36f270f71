//! The session so far as chat messages. Entries become messages one by one and in order, so that each request begins
//! with the messages of the one before it.

use obelus_kernel::Tool;
use obelus_kernel::dialect::Dialect;
use obelus_kernel::dialect::blocks::{self, Blocks, Step};
use obelus_kernel::session::{CallEntry, CallStatus, Happened, Prompt, TranscriptEntry};
use serde_json::{Map, Value, json};

use super::{ChatMessage, ChatRole, RESULTS, RenderError, SEEN, TIME, line, message, message_of};
use crate::model::calendar::calendar;
use crate::model::jinja;

/// Messages under way.
pub(super) struct Told<'a> {
    prompt: &'a Prompt,
    messages: Vec<ChatMessage>,
    /// Lines of the results that were sent with one request.
    lines: Vec<String>,
    batch: u64,
    /// The calls of the latest answer: what stands there need not be said again.
    proposed: &'a [Value],
    /// The day that the latest calendar begins with.
    day: Option<Value>,
    /// Whether a whole observation stands above, so that changes of it can be understood.
    has_whole: bool,
    /// Whether the latest observation is among the messages.
    has_latest: bool,
}

impl<'a> Told<'a> {
    /// The messages, the day that the latest calendar among them begins with, and whether the latest observation is among
    /// them.
    pub(super) fn render(prompt: &'a Prompt) -> Result<(Vec<ChatMessage>, Option<Value>, bool), RenderError> {
        let mut told = Told {
            prompt,
            messages: Vec::new(),
            lines: Vec::new(),
            batch: 0,
            proposed: &[],
            day: None,
            has_whole: false,
            has_latest: false,
        };
        let mut entries = prompt.transcript.as_slice();
        while let Some((first, rest)) = entries.split_first() {
            let alike = alike(entries);
            match alike > 1 {
                true => told.instances(&entries[..alike])?,
                false => told.entry(first)?,
            }
            entries = if alike > 1 { &entries[alike..] } else { rest };
        }
        told.end_results()?;
        Ok((told.messages, told.day, told.has_latest))
    }

    fn entry(&mut self, entry: &'a TranscriptEntry) -> Result<(), RenderError> {
        match &entry.what {
            Happened::User { text, time } => {
                self.end_results()?;
                self.calendar(*time)?;
                self.say(ChatRole::User, text.clone());
            }
            Happened::Assistant { text } => {
                self.end_results()?;
                self.say(ChatRole::Assistant, text.clone());
            }
            Happened::Answer { thought, say, calls, output, .. } => {
                self.end_results()?;
                self.proposed = calls;
                match entry.is_digest {
                    true => say.iter().for_each(|words| self.say(ChatRole::Assistant, words.clone())),
                    false => {
                        let text = self.answer(thought.as_deref(), say.as_deref(), calls, output)?;
                        self.say(ChatRole::Assistant, text);
                    }
                }
            }
            Happened::Call(call) => {
                let form = self.call(call, entry.is_digest);
                self.line(entry.batch, &form)?;
            }
            Happened::Observed { tool, about, is_part } => {
                self.end_results()?;
                self.observed(tool, about, *is_part)?;
            }
            Happened::Decision { decision } => self.line(entry.batch, &json!({"decided": decision}))?,
            Happened::Error { error } => self.line(entry.batch, &without_nulls(error))?,
            Happened::Event { event } => self.line(entry.batch, &json!({"event": event}))?,
            Happened::LeftOut { count, calls } => {
                let form = json!({"left_out": format!("{count} earlier entries"), "calls_among_them": calls});
                self.line(entry.batch, &form)?;
            }
        }
        Ok(())
    }

    /// An observation, or a line where it is not at hand any more.
    fn observed(&mut self, tool: &str, about: &Value, is_part: bool) -> Result<(), RenderError> {
        let latest = self.prompt.observation.as_deref().filter(|latest| about["digest"] == latest.digest.as_str());
        let shown = about["digest"].as_str().and_then(|digest| self.prompt.observed.get(digest)).map(|text| &**text);
        let text = match (shown, is_part && !self.has_whole) {
            (Some(shown), false) => Some(shown),
            // Changes alone say nothing to whoever has not seen the rest.
            _ => latest.map(|latest| latest.text.as_str()),
        };
        self.has_whole = text.is_some() && (self.has_whole || !is_part || shown != text);
        self.has_latest |= latest.is_some() && text.is_some();
        let Some(text) = text else {
            let what = about.get("address").unwrap_or(about);
            self.say(ChatRole::User, format!("(Observed, and not shown any more: {})", line(SEEN, what)?));
            return Ok(());
        };
        let lines: minijinja::value::Value = jinja::lines(text).map(minijinja::value::Value::from).collect();
        // Steps of a graph are told once, in what stays the same, how to read it.
        let data = minijinja::value::Value::from_pairs([
            ("text", lines),
            ("tool", line(SEEN, tool)?.into()),
            ("has_picture", false.into()),
            ("is_told", self.prompt.is_step.into()),
        ]);
        self.messages.push(message_of(ChatRole::User, SEEN, data)?);
        Ok(())
    }

    fn say(&mut self, role: ChatRole, content: String) {
        self.messages.push(ChatMessage { role, content, images: Vec::new() });
    }

    /// The next days, before the first words of a day.
    fn calendar(&mut self, time: obelus_kernel::Time) -> Result<(), RenderError> {
        let Some(zone) = self.prompt.time_zone.as_deref() else { return Ok(()) };
        let calendar = calendar(time, Some(zone), self.prompt.language.as_deref());
        let day = calendar["days"][0]["date"].clone();
        if self.day.as_ref() != Some(&day) {
            self.messages.push(message(ChatRole::User, TIME, json!({"time": calendar}))?);
            self.day = Some(day);
        }
        Ok(())
    }

    /// An answer of the model in its own dialect.
    fn answer(
        &self,
        thought: Option<&str>,
        say: Option<&str>,
        calls: &[Value],
        output: &Value,
    ) -> Result<String, RenderError> {
        if self.prompt.dialect == Dialect::Json {
            return line(RESULTS, &json!({"say": say, "calls": calls, "output": output}));
        }
        let steps = calls.iter().map(|call| {
            let tool = self.tool(call["_tool"].as_str().unwrap_or_default());
            Step::from_call(call, |name| tool.is_some_and(|tool| has_param(tool, name)))
        });
        Ok(blocks::write(&Blocks {
            thought: thought.unwrap_or_default().to_owned(),
            steps: steps.collect(),
            words: say.unwrap_or_default().to_owned(),
        }))
    }

    fn tool(&self, name: &str) -> Option<&Tool> {
        self.prompt.catalogue.iter().map(AsRef::as_ref).find(|tool: &&Tool| tool.name == name)
    }

    /// What became of a call. Its parameters are left out where the answer above has them.
    fn call(&self, entry: &CallEntry, is_digest: bool) -> Value {
        let mut form = Map::from_iter([("call".to_owned(), entry.call["_tool"].clone())]);
        let mut put = |name: &str, value: Value| form.insert(name.to_owned(), value);
        if let Some(name) = entry.call.get("_instance") {
            put("instance", name.clone());
        }
        let params = params(&entry.call);
        let is_above = self.proposed.iter().any(|call| call["_tool"] == entry.call["_tool"] && has_all(call, &params));
        if (is_digest || !is_above) && !params.is_empty() {
            put("params", params.into());
        }
        put("status", entry.status.name().into());
        if entry.approved {
            put("approved", true.into());
        }
        if let Some(error) = &entry.error {
            put("error", without_nulls(error));
        }
        match entry.at.as_slice() {
            [] => {}
            [path] => drop(put("at", path.as_str().into())),
            paths => drop(put("at", paths.into())),
        }
        if let Some(result) = &entry.result {
            put("result", table(result).unwrap_or_else(|| result.clone()));
        }
        form.into()
    }

    /// One line for a call that came to the same end for several instances.
    fn instances(&mut self, entries: &'a [TranscriptEntry]) -> Result<(), RenderError> {
        let calls = entries.iter().filter_map(|entry| match &entry.what {
            Happened::Call(call) => Some(call),
            _ => None,
        });
        let names: Vec<&Value> = calls.clone().filter_map(|call| call.call.get("_instance")).collect();
        let Some(first) = calls.clone().next() else { return Ok(()) };
        let mut form = json!({"call": first.call["_tool"], "status": first.status.name(), "instances": names});
        if first.approved {
            form["approved"] = true.into();
        }
        if let Some(error) = &first.error {
            form["error"] = without_nulls(error);
        }
        self.line(entries[0].batch, &form)
    }

    fn line(&mut self, batch: u64, form: &Value) -> Result<(), RenderError> {
        if batch != self.batch {
            self.end_results()?;
            self.batch = batch;
        }
        self.lines.push(line(RESULTS, form)?);
        Ok(())
    }

    fn end_results(&mut self) -> Result<(), RenderError> {
        if !self.lines.is_empty() {
            let lines = std::mem::take(&mut self.lines);
            let data = minijinja::value::Value::from_pairs([("lines", minijinja::value::Value::from(lines))]);
            self.messages.push(message_of(ChatRole::User, RESULTS, data)?);
        }
        Ok(())
    }
}

/// How many entries from the first on are one call that changed something, for as many instances, with the same end.
fn alike(entries: &[TranscriptEntry]) -> usize {
    let key = |entry: &TranscriptEntry| match &entry.what {
        Happened::Call(call) if call.changes || call.status != CallStatus::Done => {
            let instance = call.call.get("_instance")?;
            let (tool, error) = (call.call["_tool"].clone(), call.error.clone());
            (!instance.is_null()).then_some((entry.batch, call.place.0, tool, call.status, error))
        }
        _ => None,
    };
    let Some(first) = entries.first().and_then(key) else { return 1 };
    entries.iter().take_while(|entry| key(entry).as_ref() == Some(&first)).count()
}

/// Records as a table, which names each field once. What is no record, such as a note on rows left out, stands below it.
fn table(result: &Value) -> Option<Value> {
    const FEWEST: usize = 3;
    let items = result.as_array()?;
    let is_row = |item: &&Value| item.as_object().is_some_and(|row| !row.keys().all(|name| name.starts_with('_')));
    let (rows, others): (Vec<&Value>, Vec<&Value>) = items.iter().partition(is_row);
    if rows.len() < FEWEST {
        return None;
    }
    let mut columns: Vec<&String> = Vec::new();
    for name in rows.iter().filter_map(|row| row.as_object()).flat_map(Map::keys) {
        if !columns.contains(&name) {
            columns.push(name);
        }
    }
    let cells = |row: &&Value| columns.iter().map(|name| row.get(name.as_str()).cloned().unwrap_or_default()).collect();
    let rows: Vec<Value> = rows.iter().map(cells).collect();
    let mut form = json!({"columns": columns, "rows": rows});
    if !others.is_empty() {
        form["note"] = json!(others);
    }
    Some(form)
}

fn params(call: &Value) -> Map<String, Value> {
    let fields = call.as_object().into_iter().flatten().filter(|(name, _)| !name.starts_with('_'));
    fields.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn has_all(call: &Value, params: &Map<String, Value>) -> bool {
    params.iter().all(|(name, value)| call.get(name) == Some(value))
}

fn has_param(tool: &Tool, name: &str) -> bool {
    tool.params().get("properties").is_some_and(|properties| properties.get(name).is_some())
}

/// An object without the fields that are null.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(_, value)| !value.is_null());
            fields.map(|(name, value)| (name.clone(), without_nulls(value))).collect()
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_shown_as_a_table_and_other_values_as_they_are() {
        let rows = json!([{"id": 1, "a": "x"}, {"id": 2}, {"b": [1], "id": 3}, {"_more": {"total": 9}}]);
        let expected = json!({
            "columns": ["id", "a", "b"],
            "rows": [[1, "x", null], [2, null, null], [3, null, [1]]],
            "note": [{"_more": {"total": 9}}],
        });
        assert_eq!(table(&rows), Some(expected));
        for other in [json!([{"id": 1}, {"id": 2}]), json!([1, 2, 3]), json!({"a": 1}), json!("x")] {
            assert_eq!(table(&other), None, "{other}");
        }
    }
}
