//! Conversation cases: whole turns with an agent, its real dialect and its real state. A [`Peers`] answers model
//! requests and calls: the script of the case, or a real model. The case sets the clock.

mod expect;
pub(crate) mod peers;
pub(crate) mod script;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use obelus_connect::model::{PromptMeter, PromptOptions, SentChars, render};
use obelus_kernel::Time;
use obelus_kernel::session::{Decision, Input, Question, RequestId, Session, Settings, Start, Task, TurnEnd};
use obelus_runtime::files::AgentCatalogue;
use obelus_runtime::people::render_report;
use obelus_runtime::{Agent, Language, ObservationSlot};
use serde_json::{Value, json};

use crate::case::Case;
pub(crate) use expect::same_method;
use peers::{Called, Peers};
use script::TurnScript;

/// A conversation in progress.
pub(crate) struct Conversation<P> {
    session: Session,
    now: Time,
    pub(crate) peers: P,
    /// The latest observation, which the model is shown.
    slot: ObservationSlot,
    meter: PromptMeter,
    observed: TurnRecord,
    all_calls: Vec<Value>,
    questions: usize,
    problems: Vec<String>,
}

/// What happened in one turn.
#[derive(Default)]
struct TurnRecord {
    calls: Vec<Called>,
    words: Vec<String>,
    /// The rendered prompt of the turn's first request.
    prompt: Option<String>,
}

/// Runs a case by its script.
pub(crate) fn run(case: &Case<'_>) -> Result<(Vec<String>, Value), String> {
    let name = case.get("agent")?.as_str().unwrap_or("crm").to_owned();
    let agent = agent(&name)?;
    let settings = with_settings(agent.settings.clone(), &case.get("settings")?)?;
    let mut conversation = Conversation::new(case, agent, settings, TurnScript::default())?;
    let why = conversation.play_all(case)?;
    Ok((why, conversation.observed()))
}

impl<P: Peers> Conversation<P> {
    /// Prepares a conversation; no turn is played yet.
    pub(crate) fn new(case: &Case<'_>, agent: Agent, mut settings: Settings, peers: P) -> Result<Self, String> {
        settings.activities = agent.activities.keys().cloned().collect();
        // Cases do not script the reads that only show a person the values before a change.
        settings.before = false;
        let mut session = Session::new("conversation", agent.context, agent.schema, Arc::new(settings))
            .map_err(|fault| fault.to_string())?;
        if let Some(steps) = agent.steps {
            session = session.with_steps(steps);
        }
        let mut conversation = Self {
            session,
            now: Time::default(),
            peers,
            slot: ObservationSlot::default(),
            meter: PromptMeter::default(),
            observed: TurnRecord::default(),
            all_calls: Vec::new(),
            questions: 0,
            problems: Vec::new(),
        };
        let state = case.get("state")?;
        if !state.is_null() {
            let first = case.get("turns")?[0]["now"].as_str().and_then(Time::parse);
            conversation.now = first.unwrap_or_default();
            conversation.handle(Input::State { state, by: "the case".to_owned(), is_whole: false });
        }
        Ok(conversation)
    }

    /// Plays the turns of a case up to the first that differs from its expectation, and returns the differences.
    pub(crate) fn play_all(&mut self, case: &Case<'_>) -> Result<Vec<String>, String> {
        let turns = case.get("turns")?.as_array().cloned().ok_or("the case has no `turns`")?;
        for (index, turn) in turns.iter().enumerate() {
            let found = self.play(turn)?;
            if !found.is_empty() {
                return Ok(found.into_iter().map(|difference| format!("turn {}: {difference}", index + 1)).collect());
            }
        }
        Ok(Vec::new())
    }

    /// The end, questions and calls of the whole conversation.
    pub(crate) fn observed(&self) -> Value {
        let open = self.session.questions().into_iter().filter(Question::is_open);
        let waiting: Vec<Value> =
            open.flat_map(|question| question.calls.into_iter().map(|asked| (*asked.call).clone())).collect();
        json!({"ends": self.ends(), "questions": self.questions, "calls": self.all_calls, "waiting": waiting})
    }

    /// Characters of the requests to the model so far.
    pub(crate) fn sent(&self) -> SentChars {
        self.meter.sum()
    }

    /// Plays one turn and returns the differences from its expectation.
    fn play(&mut self, turn: &Value) -> Result<Vec<String>, String> {
        self.now =
            turn["now"].as_str().and_then(Time::parse).ok_or("a turn needs a `now` such as 2024-05-01T10:00:00Z")?;
        self.peers.begin(turn);
        self.observed = TurnRecord::default();
        if self.session.timeout().is_some_and(|due| due <= self.now) {
            self.handle(Input::Tick);
        }
        match (turn["user"].as_str(), &turn["answer"]) {
            (Some(text), _) => self.handle(Input::User { text: text.to_owned() }),
            (None, answer) => self.answer(answer),
        }
        let mut why = std::mem::take(&mut self.problems);
        why.extend(self.peers.unused());
        why.extend(expect::differences(self, &turn["expect"]));
        Ok(why)
    }

    /// Answers the confirmation with the given key as a person.
    fn answer(&mut self, answer: &Value) {
        let Some((verb, key)) = answer.as_object().into_iter().flatten().next() else {
            return self.fail("a turn needs `user` or `answer`");
        };
        let Some((question, index)) = key.as_str().and_then(|key| self.session.confirmation(key)) else {
            return self
                .fail(format!("there is no confirmation {key} among {}", self.session.state()["confirmations"]));
        };
        let decision = match verb.as_str() {
            "approve" => Decision::Approve { only: Some(vec![index]) },
            "deny" => {
                let reason = answer["reason"].as_str().unwrap_or_default().to_owned();
                Decision::DenySome { only: vec![index], reason }
            }
            "edit" => Decision::Edit { params: answer["params"].as_object().cloned().unwrap_or_default() },
            other => return self.fail(format!("unknown answer `{other}`: use approve, deny or edit")),
        };
        self.handle(Input::Decide { question, decision, by: "a person".to_owned(), digest: None });
    }

    /// How the last turn ended. A refused answer does not change it.
    fn ends(&self) -> &'static str {
        self.session.reply().map_or("never", |reply| ends(reply.ends))
    }

    fn fail(&mut self, why: impl Into<String>) {
        self.problems.push(why.into());
    }

    fn handle(&mut self, input: Input) {
        if let Err(refused) = self.session.handle(self.now, input) {
            self.observed.words.push(refused.to_string());
        }
        while let Some(task) = self.session.poll() {
            match task {
                Task::AskModel { id } => self.ask_model(&id),
                Task::Call(start) => self.call(*start),
                Task::Say(words) => self.observed.words.push(words),
                Task::Ask { .. } => self.questions += 1,
                Task::AskAgain { .. } | Task::AnswerElicitation { .. } => {}
                Task::Rest(reply) => {
                    let language = self.language();
                    self.observed.words.push(render_report(&self.session, &reply, language));
                }
                Task::Load { id, path } => {
                    let request = Err(format!("no file `{path}` in a vector"));
                    self.handle(Input::Loaded { id, request });
                }
            }
        }
    }

    fn language(&self) -> Language {
        let words = self.session.context().last_user_text().map(|text| text.text.as_str()).unwrap_or_default();
        Language::of(words)
    }

    fn ask_model(&mut self, id: &RequestId) {
        let Some(mut prompt) = self.session.prompt(id) else { return };
        prompt.observation = self.slot.latest().filter(|latest| self.session.shows_observation(id, &latest.digest));
        self.slot.fill(&mut prompt);
        match render(&prompt, &PromptOptions::default()) {
            Ok(messages) => {
                self.meter.count(&messages);
                // Expectations look at the first request of a turn only.
                if self.observed.prompt.is_none() {
                    let texts: Vec<&str> = messages.iter().map(|message| message.content.as_str()).collect();
                    self.observed.prompt = Some(texts.join("\n"));
                }
            }
            Err(error) => self.fail(error.to_string()),
        }
        let answer = self.peers.answer(prompt, &mut self.problems);
        self.handle(Input::Answer { id: id.clone(), answer });
    }

    fn call(&mut self, start: Start) {
        let called = Called::new(&start);
        self.all_calls.push((*start.call).clone());
        let mut outcome = self.peers.outcome(&called, &mut self.problems);
        if start.tool.keeps_digest {
            outcome = self.slot.extract_observation(&start.tool, outcome);
        }
        self.observed.calls.push(called);
        self.handle(Input::Ended { id: start.id, outcome });
    }
}

/// A bundled agent. It is cached, because many cases use the same one.
fn agent(name: &str) -> Result<Agent, String> {
    thread_local! { static KNOWN: RefCell<BTreeMap<String, Agent>> = const { RefCell::new(BTreeMap::new()) } }
    if let Some(agent) = KNOWN.with_borrow(|known| known.get(name).cloned()) {
        return Ok(agent);
    }
    let folder = AgentCatalogue::default().find(name).ok_or_else(|| format!("there is no bundled agent `{name}`"))?;
    let agent = Agent::load(&folder)
        .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))?;
    KNOWN.with_borrow_mut(|known| known.insert(name.to_owned(), agent.clone()));
    Ok(agent)
}

/// The agent's settings, overridden by those of the case.
pub(crate) fn with_settings(own: Settings, given: &Value) -> Result<Settings, String> {
    let mut fields = serde_json::to_value(own).map_err(|error| error.to_string())?;
    // The names of activities are derived, not set.
    fields.as_object_mut().and_then(|fields| fields.shift_remove("activities"));
    for (name, value) in given.as_object().into_iter().flatten() {
        // Settings that this version does not know are ignored.
        if fields.get(name).is_some() {
            fields[name] = value.clone();
        }
    }
    let settings = serde_json::from_value(fields).map_err(|error| format!("settings: {error}"))?;
    crate::run::with_after_reading(settings, given.get("after_reading"))
}

fn ends(ends: TurnEnd) -> &'static str {
    match ends {
        TurnEnd::Output => "output",
        TurnEnd::Waiting => "waiting",
        TurnEnd::Degraded => "degraded",
        TurnEnd::Limit => "limit",
        TurnEnd::Stopped => "stopped",
    }
}
