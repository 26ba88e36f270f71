//! Plays a world. Puts a mark into every untrusted text and checks every call that the session starts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use obelus_kernel::memory::Segment;
use obelus_kernel::session::{
    About, Answer, CallError, Decision, Input, Outcome, Purpose, Question, RequestId, Session, Settings, Solution,
    Start, Task,
};
use obelus_kernel::{Context, Path, Time};
use serde_json::{Value, json};

use crate::world::{ACTIVITIES, MARK, Move, Planned, Shape, World, acts, targets, tools};

pub(crate) struct Driver {
    session: Session,
    lazy: bool,
    before_reading: bool,
    requests: Vec<Request>,
    calls: Vec<Start>,
    /// All calls that were started.
    pub(crate) handed_out: Vec<Start>,
    /// The sessions, by their path, whose model has seen a mark.
    readers: BTreeSet<String>,
    /// The circumstances of each proposal, by its tag.
    proposals: BTreeMap<String, Proposal>,
    /// The approved calls, as they were shown.
    approved: Vec<Value>,
    /// Results of tools.
    results: Vec<Value>,
    words: usize,
}

/// A request to a model, and whether its prompt has a mark.
struct Request {
    id: RequestId,
    shows_a_mark: bool,
    is_thought: bool,
}

#[derive(Clone, Copy)]
struct Proposal {
    after_reading: bool,
    /// Part of a plan: a person approved its literals.
    in_a_plan: bool,
}

impl Driver {
    /// A session before its first input.
    fn session(lazy: bool, before_reading: bool, max_parallel: u32) -> Session {
        let planning = if before_reading { "before_reading" } else { "while_reading" };
        let settings = json!({
            "mode": "full", "max_parallel": max_parallel, "max_requests": 100, "persistent": true, "planning": planning,
        });
        let mut settings: Settings = serde_json::from_value(settings).expect("settings");
        settings.activities = ACTIVITIES.map(str::to_owned).into();
        let mut messages = vec![
            json!({"type": "text", "role": "user", "text": "please"}),
            json!({"type": "input", "data": {"who": "me"}}),
            tools(),
        ];
        if lazy {
            messages.push(json!({"type": "plan", "mode": "lazy", "plan": []}));
        }
        let context = Context::from_value(messages.into()).expect("a context");
        Session::new("s", context, None, Arc::new(settings)).expect("a session")
    }

    pub(crate) fn new(lazy: bool, before_reading: bool, max_parallel: u32) -> Self {
        let session = Self::session(lazy, before_reading, max_parallel);
        let mut driver = Self {
            session,
            lazy,
            before_reading,
            requests: Vec::new(),
            calls: Vec::new(),
            handed_out: Vec::new(),
            readers: BTreeSet::new(),
            proposals: BTreeMap::new(),
            approved: Vec::new(),
            results: Vec::new(),
            words: 0,
        };
        driver.tell(Input::Start);
        driver
    }

    pub(crate) fn play(world: &World) -> Self {
        let mut driver = Self::new(world.lazy, world.before_reading, world.max_parallel);
        for next in &world.moves {
            driver.make(next);
        }
        driver.labels_survive_writing_and_reading();
        driver
    }

    /// Serialising, refolding and restoring keep the labels of every path.
    fn labels_survive_writing_and_reading(&self) {
        let context = self.session.context();
        let read = Context::from_value(context.to_json()).expect("what a session wrote can be read");
        let mut folded = Context::new();
        for message in context.messages() {
            folded.append(vec![message.clone()]).expect("what was folded once folds again");
        }
        let past = self.session.past();
        let taken_up = self.session.checkpoint().map(|kept| {
            let fresh = Self::session(self.lazy, self.before_reading, self.session.settings().max_parallel);
            fresh.restore(&kept, Arc::new(move || Ok(past.clone()))).expect("what was kept is taken up")
        });
        for (kind, view) in context.views() {
            let mut places = vec![Vec::new()];
            let value = view.read(&[], None).map(std::borrow::Cow::into_owned).unwrap_or_default();
            places_in(&value, &mut Vec::new(), &mut places);
            for segments in places {
                let path = Path { kind: kind.into(), segments: segments.into() };
                let carried = context.origins(&path, None);
                assert_eq!(read.origins(&path, None), carried, "{path} as it was read");
                assert_eq!(folded.origins(&path, None), carried, "{path} as it was folded");
                if let Some(session) = &taken_up {
                    assert_eq!(session.context().origins(&path, None), carried, "{path} as it was taken up");
                }
            }
        }
    }

    fn make(&mut self, next: &Move) {
        match next {
            Move::Answer { pick, calls, says, ends } => self.answer(*pick, calls, *says, *ends),
            Move::End { pick, shape } => {
                if let Some(start) = take(&mut self.calls, *pick) {
                    self.end(start, *shape);
                }
            }
            Move::Decide { pick, approves } => {
                let mut open: Vec<Question> = self.session.questions().into_iter().filter(Question::is_open).collect();
                if let Some(question) = take(&mut open, *pick) {
                    self.decide(&question, *approves);
                }
            }
            Move::Settle { picks } => picks.iter().for_each(|(pick, shape)| self.settle(*pick, *shape)),
            Move::User => self.tell(Input::User { text: "and then?".to_owned(), by: None }),
        }
    }

    /// Approves a plan, else answers a request of a thought or delegate, else ends a call. The top request stays open.
    fn settle(&mut self, pick: usize, shape: Shape) {
        let plan =
            self.session.questions().into_iter().find(|question| question.is_open() && question.about == About::Plan);
        let below = self.requests.iter().position(|request| request.is_thought || !session_of(&request.id).is_empty());
        if let Some(plan) = plan {
            self.decide(&plan, true);
        } else if let Some(place) = below {
            self.answer(place, &[], false, true);
        } else if let Some(start) = take(&mut self.calls, pick) {
            self.end(start, shape);
        }
    }

    fn tell(&mut self, input: Input) {
        // Late answers are refused; that is valid here.
        let _ = self.session.handle(Time(1_768_467_600_000), input);
        let mut tasks = Vec::new();
        while let Some(task) = self.session.poll() {
            tasks.push(task);
        }
        for task in tasks {
            match task {
                Task::AskModel { id } => self.look_at_request(id),
                Task::Call(start) => {
                    assert!(self.may_run(&start.call), "{} was handed out, and nobody was asked", start.call);
                    self.handed_out.push((*start).clone());
                    self.calls.push(*start);
                }
                Task::Load { .. }
                | Task::Ask { .. }
                | Task::AskAgain { .. }
                | Task::Say(_)
                | Task::AnswerElicitation { .. }
                | Task::Rest(_) => {}
            }
        }
    }

    fn look_at_request(&mut self, id: RequestId) {
        // The request of a delegate that has ended has no prompt.
        let Some(prompt) = self.session.prompt(&id) else { return };
        let shows_a_mark = serde_json::to_string(&prompt).expect("a prompt is JSON").contains(MARK);
        let is_thought = matches!(prompt.purpose, Purpose::ModelCall { .. });
        // A session that plans before reading never sees untrusted data, not even in a key or an error.
        let is_planner = self.before_reading && !is_thought && session_of(&id).is_empty();
        assert!(
            !(is_planner && shows_a_mark),
            "a planner was shown a mark: {}",
            serde_json::to_string(&prompt).expect("JSON")
        );
        if self.before_reading && !is_thought && !is_planner && shows_a_mark {
            assert!(prompt.tools.is_empty(), "a delegate that reads has tools: {:?}", prompt.tools);
        }
        if shows_a_mark && !is_thought {
            self.readers.insert(session_of(&id));
        }
        self.requests.push(Request { id, shows_a_mark, is_thought });
    }

    /// The worst-case model: once it has seen a mark, all its texts carry one.
    fn answer(&mut self, pick: usize, calls: &[Planned], says: bool, ends: bool) {
        let Some(request) = take(&mut self.requests, pick) else { return };
        let of = session_of(&request.id);
        let is_top = of.is_empty();
        let after_reading = if request.is_thought { request.shows_a_mark } else { self.readers.contains(&of) };
        let in_a_plan = self.lazy && is_top;
        let text = self.text(after_reading);
        let solution = if request.is_thought {
            Solution { output: text.into(), ..Solution::default() }
        } else {
            let mut proposed = Vec::new();
            for planned in calls {
                // The literals of an approved plan count as trusted.
                let word = self.text(after_reading && !in_a_plan);
                self.proposals.insert(word.clone(), Proposal { after_reading, in_a_plan });
                let brings = (!in_a_plan).then(|| json!(text));
                proposed.push(planned.call(&word, brings).into());
            }
            Solution {
                say: says.then(|| text.clone()),
                calls: proposed,
                output: if ends { text.into() } else { Value::Null },
                ..Solution::default()
            }
        };
        self.tell(Input::Answer { id: request.id, answer: Answer::Solution { solution, tokens: 1 } });
    }

    /// The result has a text of the tool, and the mark if its input or the tool is not trusted.
    fn end(&mut self, start: Start, shape: Shape) {
        let given = json!([start.call, start.scope]).to_string().contains(MARK);
        let text = self.text(given || !start.tool.trusted);
        let outcome = match shape {
            Shape::Error => Outcome::Error(CallError::new("broken", text)),
            // The id that `mint` issues does not depend on its input.
            _ if start.tool.name == "mint" => Outcome::Value(json!({"id": self.text(false), "x": text})),
            // The trusted part of `card` still repeats its input.
            _ if start.tool.name == "card" => Outcome::Value(json!({"id": self.text(given), "x": text})),
            Shape::Text => Outcome::Value(text.into()),
            // Keys of objects are marked as well.
            Shape::Record => Outcome::Value(json!({"x": text, text.clone(): 1})),
            Shape::List => Outcome::Value(json!([text])),
        };
        match &outcome {
            Outcome::Value(value) => self.results.push(value.clone()),
            // A handled error is the result of the call.
            Outcome::Error(error) => self.results.push(json!({"code": error.code, "message": error.message})),
            Outcome::Messages(_) | Outcome::Lost { .. } => {}
        }
        self.tell(Input::Ended { id: start.id, outcome });
    }

    fn decide(&mut self, question: &Question, approves: bool) {
        let decision =
            if approves { Decision::Approve { only: None } } else { Decision::Deny { reason: "no".to_owned() } };
        if approves && question.about == About::Call {
            self.approved.extend(question.calls.iter().map(|asked| (*asked.call).clone()));
        }
        self.tell(Input::Decide { question: question.id.clone(), decision, by: "ann".to_owned(), digest: None });
    }

    fn text(&mut self, marked: bool) -> String {
        self.words += 1;
        let mark = if marked { MARK.to_string() } else { String::new() };
        format!("<{}{mark}>", self.words)
    }

    /// POL-6, computed from the values and from what the model saw, without labels.
    fn may_run(&self, call: &Value) -> bool {
        let tool = call["_tool"].as_str().expect("a tool");
        if self.approved.contains(call) {
            return true;
        }
        let proposal = self.proposals[call["tag"].as_str().expect("a tag")];
        if acts(tool) && proposal.after_reading && !proposal.in_a_plan {
            return false;
        }
        let is_target = |name: &str| match targets(tool) {
            Some(names) => names.contains(&name),
            None => acts(tool) && !name.starts_with('_') && name != "confirmed",
        };
        let mut marked = call
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(name, value)| is_target(name) && value.to_string().contains(MARK));
        let follows = |value: &Value| !proposal.after_reading && self.results.iter().any(|result| holds(result, value));
        marked.all(|(_, value)| !acts(tool) && follows(value))
    }

    /// Whether a call of this tool that contains a mark was started.
    pub(crate) fn has_steered(&self, tool: &str) -> bool {
        self.handed_out.iter().any(|start| start.tool.name == tool && start.call.to_string().contains(MARK))
    }
}

fn places_in(value: &Value, way: &mut Vec<Segment>, places: &mut Vec<Vec<Segment>>) {
    let below: Vec<(Segment, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, inner)| (Segment::Key(name.into()), inner)).collect(),
        Value::Array(items) => (0..).map(Segment::Index).zip(items).collect(),
        _ => Vec::new(),
    };
    for (step, inner) in below {
        way.push(step);
        places.push(way.clone());
        places_in(inner, way, places);
        way.pop();
    }
}

/// The path of the session that asks; empty for the top session.
fn session_of(request: &RequestId) -> String {
    request.to_string().rsplit_once('/').map_or_else(String::new, |(way, _)| way.to_owned())
}

fn holds(whole: &Value, value: &Value) -> bool {
    match (whole, value) {
        (Value::String(whole), Value::String(part)) => whole.contains(part.as_str()),
        (Value::Array(items), _) if whole != value => items.iter().any(|item| holds(item, value)),
        (Value::Object(fields), _) if whole != value => fields.values().any(|field| holds(field, value)),
        _ => whole == value,
    }
}

fn take<T>(all: &mut Vec<T>, pick: usize) -> Option<T> {
    (!all.is_empty()).then(|| all.remove(pick % all.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn driver(after_reading: bool) -> Driver {
        let mut driver = Driver::new(false, false, 16);
        driver.proposals.insert("<t>".to_owned(), Proposal { after_reading, in_a_plan: false });
        driver.results.push(json!(["<9☠>", "at <8☠>"]));
        driver
    }

    #[test]
    fn forbidden_calls_are_detected() {
        let send = |to: &str| json!({"_tool": "send", "tag": "<t>", "to": to, "body": "<1☠>"});
        assert!(driver(false).may_run(&send("<2>")));
        assert!(!driver(false).may_run(&send("<2☠>")));
        assert!(!driver(true).may_run(&send("<2>")));
        assert!(!driver(false).may_run(&json!({"_tool": "note", "tag": "<t>", "a": {"in": ["<1☠>"]}})));
        let fetch = |url: &str| json!({"_tool": "fetch", "tag": "<t>", "url": url});
        assert!(driver(false).may_run(&fetch("<8☠>")));
        assert!(!driver(false).may_run(&fetch("<8☠><9☠>")));
        assert!(!driver(true).may_run(&fetch("<8☠>")));
        let mut asked = driver(true);
        asked.approved.push(send("<2☠>"));
        assert!(asked.may_run(&send("<2☠>")) && !asked.may_run(&send("<3☠>")));
    }
}
