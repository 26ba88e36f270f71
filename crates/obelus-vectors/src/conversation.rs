//! Conversation cases: whole turns with an agent, its real dialect and its real state. A [`Peers`] answers model
//! requests and calls: the script of the case, or a real model. The case sets the clock.

mod expect;
pub(crate) mod peers;
pub(crate) mod script;

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};

use obelus_connect::model::{PromptMeter, PromptOptions, SentChars, render};
use obelus_kernel::Time;
use obelus_kernel::session::{Answer, Decision, Input, Outcome, Prompt, Question, Reply, Session, Settings, TurnEnd};
use obelus_runtime::files::AgentCatalogue;
use obelus_runtime::people::render_report;
use obelus_runtime::{Agent, EventBody, Language, SessionSpec, Work};
use serde_json::{Value, json};

use crate::case::Case;
use crate::session::{CaseSession, StartedWork};
pub(crate) use expect::same_method;
use peers::{Called, Peers};
use script::TurnScript;

/// A conversation in progress.
pub(crate) struct Conversation<P> {
    session: CaseSession,
    pub(crate) peers: P,
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
        // Cases do not script the reads that only show a person the values before a change.
        settings.before = false;
        let Agent { context, schema, steps, activities, .. } = agent;
        let spec = SessionSpec { context, schema, settings, steps, ..SessionSpec::default() };
        let first = case.get("turns")?[0]["now"].as_str().and_then(Time::parse);
        let session = CaseSession::open(spec, activities.keys().cloned(), first.unwrap_or_default())?;
        let mut conversation = Self {
            session,
            peers,
            meter: PromptMeter::default(),
            observed: TurnRecord::default(),
            all_calls: Vec::new(),
            questions: 0,
            problems: Vec::new(),
        };
        let state = case.get("state")?;
        if !state.is_null() {
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
        let open = self.session.inspect(Session::questions).into_iter().filter(Question::is_open);
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
        let now =
            turn["now"].as_str().and_then(Time::parse).ok_or("a turn needs a `now` such as 2024-05-01T10:00:00Z")?;
        // Read before the time changes, because then the host may end these questions at any moment.
        let due = self.session.inspect(Session::timeout);
        self.session.set_time(now);
        self.peers.begin(turn);
        self.observed = TurnRecord::default();
        // What follows from the end of questions comes before the turn.
        if due.is_some_and(|due| due <= now) {
            self.handle(Input::Tick);
        }
        match (turn["user"].as_str(), &turn["answer"]) {
            (Some(text), _) => self.handle(Input::User { text: text.to_owned(), by: None }),
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
        let wanted = key.as_str().unwrap_or_default().to_owned();
        let Some((question, index)) = self.session.inspect(move |session| session.confirmation(&wanted)) else {
            let state = self.session.inspect(Session::state);
            return self.fail(format!("there is no confirmation {key} among {}", state["confirmations"]));
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
        self.session.inspect(Session::reply).map_or("never", |reply| ends(reply.ends))
    }

    fn fail(&mut self, why: impl Into<String>) {
        self.problems.push(why.into());
    }

    /// Gives the session an input, and completes all work in the order of its start.
    fn handle(&mut self, input: Input) {
        if let Err(refused) = self.session.send(input) {
            self.observed.words.push(refused.to_string());
        }
        let mut pending = VecDeque::new();
        loop {
            self.note_events();
            pending.extend(self.session.take_started());
            match pending.pop_front() {
                None => return,
                Some(StartedWork::Request { prompt, result }) => {
                    let answer = self.ask_model(*prompt);
                    self.session.complete(result, answer);
                }
                Some(StartedWork::Call { work, result, .. }) => {
                    let outcome = self.call(&work);
                    self.session.complete(result, outcome);
                }
            }
        }
    }

    /// Records what the user was told and asked.
    fn note_events(&mut self) {
        while let Some(event) = self.session.next_event() {
            match &event.body {
                EventBody::AgentSaid { text } => self.observed.words.push(text.clone()),
                EventBody::QuestionAsked { .. } => self.questions += 1,
                EventBody::Rested { reply } => {
                    let reply = reply.clone();
                    let report = self.session.inspect(move |session| report(session, &reply));
                    self.observed.words.push(report);
                }
                _ => {}
            }
        }
    }

    fn ask_model(&mut self, prompt: Prompt) -> Answer {
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
        self.peers.answer(prompt, &mut self.problems)
    }

    fn call(&mut self, work: &Work) -> Outcome {
        let called = Called::new(work);
        self.all_calls.push((*work.call).clone());
        let outcome = self.peers.outcome(&called, &mut self.problems);
        self.observed.calls.push(called);
        outcome
    }
}

/// The report of a turn, in the language of the user's last message.
fn report(session: &Session, reply: &Reply) -> String {
    let words = session.context().last_user_text().map(|text| text.text.as_str()).unwrap_or_default();
    render_report(session, reply, Language::of(words))
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

/// The name of an end in expectations.
pub(crate) fn ends(ends: TurnEnd) -> &'static str {
    match ends {
        TurnEnd::Output => "output",
        TurnEnd::Waiting => "waiting",
        TurnEnd::Degraded => "degraded",
        TurnEnd::Limit => "limit",
        TurnEnd::Stopped => "stopped",
    }
}
