//! The session so far as chat messages. Entries become messages one by one and in order, so that each request begins
//! with the messages of the one before it.

use std::fmt::Write as _;

use obelus_kernel::CallJson;
use obelus_kernel::Tool;
use obelus_kernel::dialect::Dialect;
use obelus_kernel::dialect::blocks::{self, Blocks, Step};
use obelus_kernel::session::{CallEntry, CallStatus, Prompt, TranscriptEntry, TranscriptEvent};
use obelus_notebook::control_field::ControlField;
use serde_json::{Map, Value, json};

use super::outcome::{Proposed, error_words, head, names_in_short, params};
use super::values::{self, json};
use super::{ChatMessage, ChatRole, OBSERVATION, RESULTS, RenderError, TIME, line, message, message_of};
use crate::model::calendar::calendar;
use crate::model::jinja;

/// The placeholder for a thought: thoughts are only for the log, but the block shows the form of an answer.
const THOUGHT: &str = "…";

/// The messages being built.
pub(super) struct TranscriptMessages<'a> {
    prompt: &'a Prompt,
    messages: Vec<ChatMessage>,
    /// Lines of results that were sent with one request.
    lines: Vec<String>,
    batch: u64,
    /// The latest calls, which need not be repeated.
    proposed: Proposed<'a>,
    /// The first day of the latest calendar.
    day: Option<Value>,
    /// Whether a whole observation precedes, so that changes can be understood.
    has_whole: bool,
    /// Whether the latest observation is among the messages.
    has_latest: bool,
}

impl<'a> TranscriptMessages<'a> {
    /// The messages, the first day of the latest calendar in them, and whether they contain the latest observation.
    pub(super) fn render(prompt: &'a Prompt) -> Result<(Vec<ChatMessage>, Option<Value>, bool), RenderError> {
        let mut rendered = TranscriptMessages {
            prompt,
            messages: Vec::new(),
            lines: Vec::new(),
            batch: 0,
            proposed: Proposed::default(),
            day: None,
            has_whole: false,
            has_latest: false,
        };
        let mut entries = prompt.transcript.as_slice();
        while let Some((first, rest)) = entries.split_first() {
            let alike = alike(entries);
            if alike > 1 {
                rendered.instances(&entries[..alike])?;
            } else {
                rendered.entry(first)?;
            }
            entries = if alike > 1 { &entries[alike..] } else { rest };
        }
        rendered.end_results()?;
        Ok((rendered.messages, rendered.day, rendered.has_latest))
    }

    fn entry(&mut self, entry: &'a TranscriptEntry) -> Result<(), RenderError> {
        match &entry.what {
            TranscriptEvent::User { text, time } => {
                self.end_results()?;
                self.calendar(*time)?;
                self.say(ChatRole::User, text.clone());
            }
            TranscriptEvent::Assistant { text } => {
                self.end_results()?;
                self.say(ChatRole::Assistant, text.clone());
            }
            TranscriptEvent::Answer { say, calls, output, .. } => {
                self.end_results()?;
                self.proposed.note(calls, entry.batch);
                if entry.is_digest {
                    say.iter().for_each(|words| self.say(ChatRole::Assistant, words.clone()));
                } else {
                    let text = self.answer(say.as_deref(), calls, output)?;
                    self.say(ChatRole::Assistant, text);
                }
            }
            TranscriptEvent::Call(call) => self.call(call, entry.batch, entry.is_digest)?,
            TranscriptEvent::Observed { tool, about, is_part } => {
                self.end_results()?;
                self.observed(tool, about, *is_part)?;
            }
            TranscriptEvent::Decision { decision } => self.line(entry.batch, format!("decided: {}", json(decision)))?,
            TranscriptEvent::Error { error } => self.line(entry.batch, self.proposed.fault(error, entry.batch))?,
            TranscriptEvent::Event { event } => self.line(entry.batch, format!("event: {}", json(event)))?,
            TranscriptEvent::LeftOut { count, calls } => {
                let calls = calls.iter().map(|(name, count)| format!("; {}: {count}", json(&name.as_str().into())));
                let calls: String = calls.collect();
                self.line(entry.batch, format!("‹{count} earlier entries left out{calls}›"))?;
            }
        }
        Ok(())
    }

    /// An observation, or a line if it is no longer available.
    fn observed(&mut self, tool: &str, about: &Value, is_part: bool) -> Result<(), RenderError> {
        let latest = self.prompt.observation.as_deref().filter(|latest| about["digest"] == latest.digest.as_str());
        let shown = about["digest"].as_str().and_then(|digest| self.prompt.observed.get(digest)).map(|text| &**text);
        let text = match (shown, is_part && !self.has_whole) {
            (Some(shown), false) => Some(shown),
            // Changes make no sense without the whole observation.
            _ => latest.map(|latest| latest.text.as_str()),
        };
        self.has_whole = text.is_some() && (self.has_whole || !is_part || shown != text);
        self.has_latest |= latest.is_some() && text.is_some();
        let Some(text) = text else {
            let what = about.get("address").unwrap_or(about);
            self.say(ChatRole::User, format!("(Observed, and not shown any more: {})", line(OBSERVATION, what)?));
            return Ok(());
        };
        let lines: minijinja::value::Value = jinja::lines(text).map(minijinja::value::Value::from).collect();
        // Steps of a graph get the reading instructions once, in the common part.
        let data = minijinja::value::Value::from_pairs([
            ("text", lines),
            ("tool", line(OBSERVATION, tool)?.into()),
            ("has_picture", false.into()),
            ("is_explained", self.prompt.is_step.into()),
        ]);
        self.messages.push(message_of(ChatRole::User, OBSERVATION, data)?);
        Ok(())
    }

    fn say(&mut self, role: ChatRole, content: String) {
        self.messages.push(ChatMessage { role, content, images: Vec::new() });
    }

    /// The calendar, before the first message of a day.
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

    /// An answer of the model in its own dialect, without its comments on calls.
    fn answer(&self, say: Option<&str>, calls: &[CallJson], output: &Value) -> Result<String, RenderError> {
        if self.prompt.dialect == Dialect::Json {
            return line(RESULTS, &json!({"say": say, "calls": calls, "output": output}));
        }
        let steps = calls.iter().map(|call| {
            let tool = self.tool(call.tool_name());
            let mut step = Step::from_call(call, |name| tool.is_some_and(|tool| has_param(tool, name)));
            // Comments on a step are for people. That it asked for a person is part of what the model did.
            step.beside.retain(|name, value| match ControlField::named(name) {
                Some(ControlField::Comment | ControlField::HttpMethod) => false,
                Some(ControlField::RequiresConfirmation) => *value == true,
                _ => true,
            });
            step
        });
        Ok(blocks::write(&Blocks {
            thought: THOUGHT.to_owned(),
            steps: steps.collect(),
            words: say.unwrap_or_default().to_owned(),
        }))
    }

    /// The parameter with the record of a call.
    fn record(&self, call: &CallJson) -> Option<Map<String, Value>> {
        let name = self.tool(call.tool_name())?.record()?;
        Some(Map::from_iter([(name.to_owned(), call.get(name)?.clone())]))
    }

    fn tool(&self, name: &str) -> Option<&Tool> {
        self.prompt.catalogue.iter().map(AsRef::as_ref).find(|tool: &&Tool| tool.name == name)
    }

    /// The outcome of a call. Parameters that the answer above has are left out.
    fn call(&mut self, entry: &'a CallEntry, batch: u64, is_digest: bool) -> Result<(), RenderError> {
        let params = params(&entry.call);
        let is_known = !is_digest && self.proposed.has(&entry.call, &params, batch);
        let record = if self.proposed.has_several(&entry.call) { self.record(&entry.call) } else { None };
        let named = if is_known { record.as_ref() } else { Some(&params) };
        let mut line = head(&entry.call, entry.status, entry.approved, named);
        line.push_str(&error_words(entry));
        let limit = params.get("limit").and_then(Value::as_u64);
        let shown = entry.result.as_ref().map(|result| values::result(result, limit));
        let part = shown.as_ref().and_then(|shown| shown.part.as_deref());
        // A value that is shown whole needs no path.
        let is_whole = shown.as_ref().is_some_and(|shown| shown.beside.is_some());
        for (index, path) in entry.at.iter().enumerate().filter(|_| !is_whole || entry.at.len() > 1) {
            let path = part.map_or_else(|| path.clone(), |part| values::member(path, part));
            let _ = write!(line, "{} {path}", if index == 0 { "" } else { "," });
        }
        if let [path] = entry.at.as_slice()
            && let Some(result) = &entry.result
        {
            self.proposed.values.insert(path, result);
        }
        let (beside, below) = shown.map_or((None, Vec::new()), |shown| (shown.beside, shown.below));
        if let Some(value) = beside {
            let _ = write!(line, ": {value}");
        }
        self.line(batch, line)?;
        self.lines.extend(below);
        Ok(())
    }

    /// One line for a call with the same outcome for several instances.
    fn instances(&mut self, entries: &'a [TranscriptEntry]) -> Result<(), RenderError> {
        let calls: Vec<&CallEntry> = entries
            .iter()
            .filter_map(|entry| match &entry.what {
                TranscriptEvent::Call(call) => Some(&**call),
                _ => None,
            })
            .collect();
        let Some(first) = calls.first() else { return Ok(()) };
        let names: Vec<&str> = calls.iter().filter_map(|call| call.call.instance()).collect();
        let call = CallJson::of_tool(first.call.tool());
        let head = head(&call, first.status, first.approved, None);
        let words = error_words(first);
        self.line(entries[0].batch, format!("{head}{words} for {} instances: {}", names.len(), names_in_short(&names)))
    }

    /// A line of the results sent with one request.
    fn line(&mut self, batch: u64, line: String) -> Result<(), RenderError> {
        if batch != self.batch {
            self.end_results()?;
            self.batch = batch;
        }
        self.lines.push(line);
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

/// How many entries from the first on are the same changing call for several instances, with the same outcome.
fn alike(entries: &[TranscriptEntry]) -> usize {
    let key = |entry: &TranscriptEntry| match &entry.what {
        TranscriptEvent::Call(call) if call.changes || call.status != CallStatus::Done => {
            let instance = call.call.get("_instance")?;
            let (tool, error) = (call.call["_tool"].clone(), call.error.clone());
            (!instance.is_null()).then_some((entry.batch, call.place.0, tool, call.status, error))
        }
        _ => None,
    };
    let Some(first) = entries.first().and_then(key) else { return 1 };
    entries.iter().take_while(|entry| key(entry).as_ref() == Some(&first)).count()
}

fn has_param(tool: &Tool, name: &str) -> bool {
    tool.params().get("properties").is_some_and(|properties| properties.get(name).is_some())
}
