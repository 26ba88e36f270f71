//! Conversation cases: whole turns with an agent, its real dialect and its real state. Who answers the requests and
//! the calls is a [`Peers`]: the script of the case, or a real model; the clock is given.

mod expect;
pub(crate) mod peers;
pub(crate) mod script;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use obelus_connect::model::{PromptOptions, render};
use obelus_kernel::Time;
use obelus_kernel::session::{Decision, Ends, Input, Question, RequestId, Session, Settings, Start, Task};
use obelus_runtime::{Agent, Language, ObservationSlot, bundled_agent, render_report};
use serde_json::{Value, json};

use crate::case::Case;
pub(crate) use expect::same_method;
use peers::{Called, Peers};
use script::Script;

/// A conversation at work.
pub(crate) struct Talk<P> {
    session: Session,
    now: Time,
    pub(crate) peers: P,
    /// What the model has before its eyes.
    slot: ObservationSlot,
    seen: TurnRecord,
    all_calls: Vec<Value>,
    questions: usize,
    trouble: Vec<String>,
}

/// What one turn was seen to do.
#[derive(Default)]
struct TurnRecord {
    calls: Vec<Called>,
    words: Vec<String>,
    /// The first request of the turn, as it would be sent.
    prompt: Option<String>,
}

/// Plays a case by its script.
pub(crate) fn run(case: &Case<'_>) -> Result<(Vec<String>, Value), String> {
    let name = case.get("agent")?.as_str().unwrap_or("crm").to_owned();
    let agent = agent(&name)?;
    let settings = with_settings(agent.settings.clone(), &case.get("settings")?)?;
    let mut talk = Talk::new(case, agent, settings, Script::default())?;
    let why = talk.play_all(case)?;
    Ok((why, talk.seen()))
}

impl<P: Peers> Talk<P> {
    /// A conversation that has not begun.
    pub(crate) fn new(case: &Case<'_>, agent: Agent, mut settings: Settings, peers: P) -> Result<Self, String> {
        settings.activities = agent.activities.keys().cloned().collect();
        // A portal answers what a case has written down, and nobody wrote down what is read for people's eyes only.
        settings.before = false;
        let mut session = Session::new("conversation", agent.context, agent.schema, Arc::new(settings))
            .map_err(|fault| fault.to_string())?;
        if let Some(steps) = agent.steps {
            session = session.with_steps(steps);
        }
        let mut talk = Self {
            session,
            now: Time::default(),
            peers,
            slot: ObservationSlot::default(),
            seen: TurnRecord::default(),
            all_calls: Vec::new(),
            questions: 0,
            trouble: Vec::new(),
        };
        let state = case.get("state")?;
        if !state.is_null() {
            let first = case.get("turns")?[0]["now"].as_str().and_then(Time::parse);
            talk.now = first.unwrap_or_default();
            talk.tell(Input::State { state, by: "the case".to_owned() });
        }
        Ok(talk)
    }

    /// Plays the turns of a case up to the first that is otherwise than expected, and says what differs.
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

    /// What was seen of the whole conversation.
    pub(crate) fn seen(&self) -> Value {
        let open = self.session.questions().into_iter().filter(Question::is_open);
        let waiting: Vec<Value> =
            open.flat_map(|question| question.calls.into_iter().map(|asked| (*asked.call).clone())).collect();
        json!({"ends": self.ends(), "questions": self.questions, "calls": self.all_calls, "waiting": waiting})
    }

    /// Plays one turn, and says what was otherwise than expected.
    fn play(&mut self, turn: &Value) -> Result<Vec<String>, String> {
        self.now =
            turn["now"].as_str().and_then(Time::parse).ok_or("a turn has a `now` such as 2024-05-01T10:00:00Z")?;
        self.peers.begin(turn);
        self.seen = TurnRecord::default();
        if self.session.timeout().is_some_and(|due| due <= self.now) {
            self.tell(Input::Tick);
        }
        match (turn["user"].as_str(), &turn["answer"]) {
            (Some(text), _) => self.tell(Input::User { text: text.to_owned() }),
            (None, answer) => self.answer(answer),
        }
        let mut why = std::mem::take(&mut self.trouble);
        why.extend(self.peers.left());
        why.extend(expect::differences(self, &turn["expect"]));
        Ok(why)
    }

    /// A person's answer to the confirmation of a key.
    fn answer(&mut self, answer: &Value) {
        let Some((verb, key)) = answer.as_object().into_iter().flatten().next() else {
            return self.fail("a turn has `user` or `answer`");
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
            other => return self.fail(format!("`{other}` is no answer: use approve, deny or edit")),
        };
        self.tell(Input::Decide { question, decision, by: "a person".to_owned() });
    }

    /// How the session rests. An answer that is refused leaves it as it was.
    fn ends(&self) -> &'static str {
        self.session.reply().map_or("never", |reply| ends(reply.ends))
    }

    fn fail(&mut self, why: impl Into<String>) {
        self.trouble.push(why.into());
    }

    fn tell(&mut self, input: Input) {
        if let Err(refused) = self.session.handle(self.now, input) {
            self.seen.words.push(refused.to_string());
        }
        while let Some(task) = self.session.poll() {
            match task {
                Task::AskModel { id } => self.ask_model(&id),
                Task::Call(start) => self.call(*start),
                Task::Say(words) => self.seen.words.push(words),
                Task::Ask { .. } => self.questions += 1,
                Task::AskAgain { .. } | Task::AnswerElicitation { .. } => {}
                Task::Rest(reply) => {
                    let language = self.language();
                    self.seen.words.push(render_report(&self.session, &reply, language));
                }
                Task::Load { id, path } => {
                    let request = Err(format!("no file `{path}` in a vector"));
                    self.tell(Input::Loaded { id, request });
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
        prompt.observation = self.slot.latest().filter(|seen| self.session.shows_observation(id, &seen.digest));
        // Only the first request of a turn is looked at.
        if self.seen.prompt.is_none() {
            match render(&prompt, &PromptOptions::default()) {
                Ok(messages) => {
                    let texts: Vec<&str> = messages.iter().map(|message| message.content.as_str()).collect();
                    self.seen.prompt = Some(texts.join("\n"));
                }
                Err(error) => self.fail(error.to_string()),
            }
        }
        let answer = self.peers.answer(prompt, &mut self.trouble);
        self.tell(Input::Answer { id: id.clone(), answer });
    }

    fn call(&mut self, start: Start) {
        let called = Called::new(&start);
        self.all_calls.push((*start.call).clone());
        let mut outcome = self.peers.outcome(&called, &mut self.trouble);
        if start.tool.keeps_digest {
            outcome = self.slot.take_off(&start.tool, outcome);
        }
        self.seen.calls.push(called);
        self.tell(Input::Ended { id: start.id, outcome });
    }
}

/// A bundled agent, read once: many cases talk to the same one.
fn agent(name: &str) -> Result<Agent, String> {
    thread_local! { static KNOWN: RefCell<BTreeMap<String, Agent>> = const { RefCell::new(BTreeMap::new()) } }
    if let Some(agent) = KNOWN.with_borrow(|known| known.get(name).cloned()) {
        return Ok(agent);
    }
    let folder = bundled_agent(name).ok_or_else(|| format!("there is no bundled agent `{name}`"))?;
    let agent = Agent::load(&folder)
        .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))?;
    KNOWN.with_borrow_mut(|known| known.insert(name.to_owned(), agent.clone()));
    Ok(agent)
}

/// The agent's own settings, with those of the case in their place.
pub(crate) fn with_settings(own: Settings, given: &Value) -> Result<Settings, String> {
    let mut fields = serde_json::to_value(own).map_err(|error| error.to_string())?;
    // The names of activities are found out, not set.
    fields.as_object_mut().and_then(|fields| fields.shift_remove("activities"));
    for (name, value) in given.as_object().into_iter().flatten() {
        // A case may set things that this version does not know; those are left alone.
        if fields.get(name).is_some() {
            fields[name] = value.clone();
        }
    }
    serde_json::from_value(fields).map_err(|error| format!("settings: {error}"))
}

fn ends(ends: Ends) -> &'static str {
    match ends {
        Ends::Output => "output",
        Ends::Waiting => "waiting",
        Ends::Degraded => "degraded",
        Ends::Limit => "limit",
        Ends::Stopped => "stopped",
    }
}
