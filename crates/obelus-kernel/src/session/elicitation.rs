//! A call that asks a person something while it is at work, such as a server that needs what only a person knows.
//!
//! It becomes a question like any other, in words that say whose they are. The call goes on waiting; what is said, or
//! that nobody will say anything, is told to it and to nobody else. When the call ends, what it still asks is closed.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::describe::{json, mark, word};
use super::input::{Decision, ElicitationAnswer, Input, Task};
use super::job::JobRef;
use super::question::{About, AskedCall, Question, QuestionStatus};
use super::turn::Phase;
use super::{Ends, Refused, Session};
use crate::origin::Origins;
use crate::visible::visible;

/// Which call asks, and what it knows its question by.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Elicitation {
    job: JobRef,
    /// The name by which the driver knows the call.
    call: String,
    key: String,
}

/// What a call wants to know.
pub(super) struct ElicitationRequest {
    pub(super) key: String,
    pub(super) words: String,
    pub(super) schema: Value,
}

/// Characters of a call's own words that a person is shown, of all of them and of a field.
const MOST_WORDS: usize = 4_000;
const MOST_OF_FIELD: usize = 300;

/// Values that may be asked for at once, and bytes that their schema may take.
const MOST_FIELDS: usize = 50;
const MOST_SCHEMA: usize = 20_000;

/// How often one call may ask: nobody wants to be asked for ever.
const MOST_TIMES: usize = 20;

/// What an open question of a call is closed with.
const CALL_HAS_ENDED: &str = "the call that asked it is not at work any more";

impl Session {
    /// A call at work asks a person something.
    pub(super) fn elicit(&mut self, id: &str, key: String, words: String, schema: Value) {
        let asked = ElicitationRequest { key, words, schema };
        if let Some((job, rest)) = id.split_once('/') {
            let ElicitationRequest { key, words, schema } = asked;
            let input = Input::Asks { id: rest.to_owned(), key: key.clone(), words, schema };
            if self.with_child(job, input).is_none() {
                self.tell_call(id, key, ElicitationAnswer::Gone);
            }
            return;
        }
        let Some(asked) = self.elicit_early(id, asked) else { return };
        match self.in_hand(id) {
            Some(at) => self.open_elicitation(at, id, asked),
            None => self.tell_call(id, asked.key, ElicitationAnswer::Gone),
        }
    }

    /// Asks a person for a job, which the driver knows by the name `call`.
    pub(super) fn open_elicitation(&mut self, at: JobRef, call: &str, asked: ElicitationRequest) {
        let ElicitationRequest { key, words, schema } = asked;
        let of_job =
            |question: &&Question| question.elicitation.as_ref().is_some_and(|elicitation| elicitation.job == at);
        let is_same =
            |question: &Question| question.elicitation.as_ref().is_some_and(|elicitation| elicitation.key == key);
        // The same once more is no news.
        if self.questions.open().filter(of_job).any(is_same) {
            return;
        }
        let times = self.questions.all().filter(of_job).count();
        let step = &self.steps[&at.step];
        let (job, asks) = (&step.jobs[at.job as usize], step.call(at.job as usize));
        let in_doubt = job.resting && job.asks == 0;
        let (Some(frozen), false) = (job.frozen.clone(), self.turn.stops() || in_doubt) else {
            return self.tell_call(call, key, ElicitationAnswer::Gone);
        };
        let unfit = match times >= MOST_TIMES {
            true => Some(format!("one call may ask {MOST_TIMES} times")),
            false => fault_of(&schema),
        };
        if let Some(reason) = unfit {
            return self.tell_call(call, key, ElicitationAnswer::Declined { reason });
        }
        let description = describe(asks.tool_name(), &words, &schema, &self.origin_of_error(asks));
        let asked = AskedCall::new(frozen.call, String::new(), vec![at]);
        let id = self.ask(About::Input, vec![asked], description, Vec::new());
        if let Some(question) = self.questions.get_mut(&id) {
            question.schema = Some(schema);
            question.elicitation = Some(Elicitation { job: at, call: call.to_owned(), key });
        }
        self.questions.elicitations.entry(at).or_default().push(id);
        if let Some(step) = self.steps.get_mut(&at.step) {
            step.jobs[at.job as usize].asks += 1;
        }
        self.set_resting(at, true);
    }

    /// Whether a call at work waits for a person, here or in a delegate.
    pub fn has_elicitations(&self) -> bool {
        !self.questions.elicitations.is_empty() || self.children().any(|(_, child)| child.has_elicitations())
    }

    /// A person decided about what a call asks.
    pub(super) fn answer_elicitation(&mut self, id: &str, decision: Decision, by: &str) -> Result<(), Refused> {
        let schema = self.questions.get(id).and_then(|question| question.schema.clone()).unwrap_or_default();
        let value = match decision {
            Decision::Deny { reason } => {
                self.settle_elicitation(id, QuestionStatus::Denied, by, ElicitationAnswer::Declined { reason });
                return Ok(());
            }
            Decision::Value { value } => fitted(value, &schema),
            // Where nothing is to be filled in, a yes is all that can be said.
            Decision::Approve { only: None } if fields_of(&schema).is_none_or(Map::is_empty) => {
                Value::Object(Map::new())
            }
            _ => {
                let text = "a call asks for a value: answer with a value, or deny it";
                return Err(Refused::new("unfit_answer", text));
            }
        };
        if let Ok(validator) = crate::schema::compile(&schema)
            && let Some(breach) = crate::schema::breaches(&validator, &value).into_iter().next()
        {
            let place = breach.place.join(".");
            let place = if place.is_empty() { place } else { format!("`{}`: ", visible(&place)) };
            return Err(Refused::new("bad_answer", format!("{place}{}", breach.text)));
        }
        self.settle_elicitation(id, QuestionStatus::Answered, by, ElicitationAnswer::Value(value));
        Ok(())
    }

    /// Ends a question of a call, and tells the call.
    pub(super) fn settle_elicitation(&mut self, id: &str, status: QuestionStatus, by: &str, answer: ElicitationAnswer) {
        let Some(Elicitation { job, call, key }) =
            self.questions.get(id).and_then(|question| question.elicitation.clone())
        else {
            return;
        };
        let reason = if let ElicitationAnswer::Declined { reason } = &answer { Some(reason.as_str()) } else { None };
        self.questions.decided(id, status, self.now, by, reason);
        if let Some(open) = self.questions.elicitations.get_mut(&job) {
            open.retain(|known| known != id);
            if open.is_empty() {
                self.questions.elicitations.remove(&job);
            }
        }
        let left = self.steps.get_mut(&job.step).map(|step| {
            let asks = &mut step.jobs[job.job as usize].asks;
            *asks = asks.saturating_sub(1);
            *asks
        });
        if left == Some(0) {
            self.set_resting(job, false);
        }
        self.reopen();
        self.tell_call(&call, key, answer);
    }

    /// A job is not at work any more, or begins anew: nobody waits for what it asked.
    pub(super) fn close_elicitations(&mut self, at: JobRef) {
        if self.questions.elicitations.is_empty() {
            return;
        }
        let Some(open) = self.questions.elicitations.remove(&at) else { return };
        for id in open {
            self.questions.decided(&id, QuestionStatus::Expired, self.now, "nobody", Some(CALL_HAS_ENDED));
        }
        if let Some(step) = self.steps.get_mut(&at.step) {
            step.jobs[at.job as usize].asks = 0;
        }
        self.set_resting(at, false);
        if self.turn.phase == Phase::Rested(Ends::Waiting) {
            self.reopen();
        }
    }

    /// Whoever carried out the calls has gone, and what they asked with it. What became of the calls is another matter;
    /// delegates are told by themselves.
    pub(super) fn forget_elicitations(&mut self) {
        let jobs: Vec<JobRef> = self.questions.elicitations.keys().copied().collect();
        jobs.into_iter().for_each(|at| self.close_elicitations(at));
    }

    /// A delegate has ended: nobody answers what its calls, which may be at work still, have asked.
    pub(super) fn tell_orphans(&mut self, at: JobRef, child: &Session) {
        for (call, key) in child.elicitations() {
            self.tell_call(&format!("{at}/{call}"), key, ElicitationAnswer::Gone);
        }
    }

    /// What calls at work wait to be told, here and in delegates.
    fn elicitations(&self) -> Vec<(String, String)> {
        let own = self.questions.open().filter_map(|question| question.elicitation.as_ref());
        let mut all: Vec<_> = own.map(|elicitation| (elicitation.call.clone(), elicitation.key.clone())).collect();
        for (id, child) in self.children() {
            all.extend(child.elicitations().into_iter().map(|(call, key)| (format!("{id}/{call}"), key)));
        }
        all
    }

    fn tell_call(&mut self, id: &str, key: String, answer: ElicitationAnswer) {
        self.tasks.push_back(Task::AnswerElicitation { id: id.to_owned(), key, answer });
    }
}

/// Why nobody can be asked for this.
fn fault_of(schema: &Value) -> Option<String> {
    if !schema.is_object() {
        return Some(format!("the schema of an answer is an object, not {}", crate::type_name(schema)));
    }
    if schema.to_string().len() > MOST_SCHEMA || fields_of(schema).is_some_and(|fields| fields.len() > MOST_FIELDS) {
        let text = format!("more is asked for than {MOST_FIELDS} values, or {MOST_SCHEMA} bytes of schema");
        return Some(text);
    }
    if crate::message::depth(schema) >= crate::MAX_DEPTH {
        return Some("the schema of an answer is nested too deep".to_owned());
    }
    crate::schema::compile(schema).err().map(|why| format!("the schema of an answer is not valid: {why}"))
}

/// The values that an answer consists of, where it is an object of several.
fn fields_of(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties")?.as_object()
}

/// Where one value is asked for, it need not be wrapped, and where that is a text, not be quoted.
fn fitted(value: Value, schema: &Value) -> Value {
    let mut fields = fields_of(schema).into_iter().flatten();
    match (fields.next(), fields.next()) {
        (Some((name, only)), None) if !value.is_object() => {
            let value = match &value {
                Value::Number(_) | Value::Bool(_) if only["type"] == "string" => value.to_string().into(),
                _ => value,
            };
            Map::from_iter([(name.clone(), value)]).into()
        }
        _ => value,
    }
}

/// What a person is told: who asks, in its own words, each line of them marked, and for which values.
fn describe(tool: &str, words: &str, schema: &Value, origins: &Origins) -> String {
    let mut lines = vec![format!("{} asks, in its own words:{}", visible(tool), mark(origins))];
    let (words, cut) = cut(words, MOST_WORDS);
    lines.extend(words.lines().map(|line| format!("  │ {}", visible(line))));
    if cut {
        lines.push(format!("  (only the first {MOST_WORDS} characters are shown)"));
    }
    let required = |name: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|one| one == name));
    for (name, field) in fields_of(schema).into_iter().flatten() {
        let need = if required(name) { "" } else { ", may be left out" };
        let mut line = format!("  {}: {}{need}", word(name), kind_of(field));
        let said = ["title", "description"].iter().filter_map(|part| field[part].as_str());
        for said in said {
            let (said, cut) = self::cut(said, MOST_OF_FIELD);
            line.push_str(&format!(" │ {}{}", visible(&said), if cut { "…" } else { "" }));
        }
        lines.push(line);
    }
    lines.join("\n")
}

/// What a value may be, in a few words.
fn kind_of(field: &Value) -> String {
    let one_of = |field: &Value| {
        let named = |part: &str| field[part].as_array().cloned().unwrap_or_default();
        let mut choices = named("enum");
        choices.extend(named("oneOf").iter().chain(&named("anyOf")).filter_map(|one| one.get("const").cloned()));
        choices
    };
    let (choices, several) = match one_of(field) {
        own if !own.is_empty() => (own, false),
        _ => (one_of(&field["items"]), true),
    };
    if !choices.is_empty() {
        let (listed, cut) = cut(&choices.iter().map(json).collect::<Vec<_>>().join(", "), MOST_OF_FIELD);
        let how = if several { "a list of" } else { "one of" };
        return format!("{how} {listed}{}", if cut { "…" } else { "" });
    }
    let mut kind = field["type"].as_str().map_or_else(|| "a value".to_owned(), visible);
    if let Some(format) = field["format"].as_str() {
        kind.push_str(&format!(" ({})", visible(&cut(format, 40).0)));
    }
    if let Some(default) = field.get("default") {
        kind.push_str(&format!(", {} is suggested", cut(&json(default), MOST_OF_FIELD).0));
    }
    kind
}

/// The first so many characters, and whether there are more.
fn cut(text: &str, most: usize) -> (String, bool) {
    match text.char_indices().nth(most) {
        Some((end, _)) => (text[..end].to_owned(), true),
        None => (text.to_owned(), false),
    }
}
