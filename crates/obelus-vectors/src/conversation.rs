//! Conversation cases: whole turns with a bundled agent, its real dialect and its real state. The portal and the
//! model are scripted, the clock is given.

mod expect;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use obelus_connect::model::{PromptOptions, render};
use obelus_kernel::Time;
use obelus_kernel::session::{
    Answer, CallError, Decision, Ends, Input, Outcome, Question, Session, Settings, Start, Task,
};
use obelus_runtime::{Agent, Language, bundled_agent, told};
use serde_json::{Value, json};

use crate::case::Case;

/// A conversation at work.
struct Talk {
    session: Session,
    now: Time,
    model: std::vec::IntoIter<Value>,
    portal: std::vec::IntoIter<Value>,
    seen: Seen,
    all_calls: Vec<Value>,
    questions: usize,
    trouble: Option<String>,
}

/// What one turn was seen to do.
#[derive(Default)]
struct Seen {
    calls: Vec<String>,
    words: Vec<String>,
    /// The first request of the turn, as it would be sent.
    prompt: Option<String>,
}

pub(crate) fn run(case: &Case<'_>) -> Result<(Vec<String>, Value), String> {
    let turns = case.get("turns")?.as_array().cloned().ok_or("the case has no `turns`")?;
    let mut talk = Talk::new(case)?;
    let mut why = Vec::new();
    for (index, turn) in turns.iter().enumerate() {
        let found = talk.play(turn)?;
        why.extend(found.into_iter().map(|difference| format!("turn {}: {difference}", index + 1)));
        if !why.is_empty() {
            break;
        }
    }
    let ends = talk.ends();
    let waiting: Vec<Value> = talk
        .session
        .questions()
        .into_iter()
        .filter(Question::is_open)
        .flat_map(|question| question.calls.into_iter().map(|asked| (*asked.call).clone()))
        .collect();
    let seen = json!({"ends": ends, "questions": talk.questions, "calls": talk.all_calls, "waiting": waiting});
    Ok((why, seen))
}

impl Talk {
    fn new(case: &Case<'_>) -> Result<Self, String> {
        let name = case.get("agent")?.as_str().unwrap_or("crm").to_owned();
        let agent = agent(&name)?;
        let mut settings = with_settings(agent.settings, &case.get("settings")?)?;
        settings.activities = agent.activities.keys().cloned().collect();
        // A portal answers what a case has written down, and nobody wrote down what is read for people's eyes only.
        settings.before = false;
        let session = Session::new("conversation", agent.context, agent.schema, Arc::new(settings))
            .map_err(|fault| fault.to_string())?;
        let mut talk = Self {
            session,
            now: Time::default(),
            model: Vec::new().into_iter(),
            portal: Vec::new().into_iter(),
            seen: Seen::default(),
            all_calls: Vec::new(),
            questions: 0,
            trouble: None,
        };
        let state = case.get("state")?;
        if !state.is_null() {
            let first = case.get("turns")?[0]["now"].as_str().and_then(Time::parse);
            talk.now = first.unwrap_or_default();
            talk.tell(Input::State { state, by: "the case".to_owned() });
        }
        Ok(talk)
    }

    /// Plays one turn, and says what was otherwise than expected.
    fn play(&mut self, turn: &Value) -> Result<Vec<String>, String> {
        self.now =
            turn["now"].as_str().and_then(Time::parse).ok_or("a turn has a `now` such as 2024-05-01T10:00:00Z")?;
        self.model = turn["model"].as_array().cloned().unwrap_or_default().into_iter();
        self.portal = turn["portal"].as_array().cloned().unwrap_or_default().into_iter();
        self.seen = Seen::default();
        if self.session.timeout().is_some_and(|due| due <= self.now) {
            self.tell(Input::Tick);
        }
        match (turn["user"].as_str(), &turn["answer"]) {
            (Some(text), _) => self.tell(Input::User { text: text.to_owned() }),
            (None, answer) => self.answer(answer),
        }
        let mut why: Vec<String> = self.trouble.take().into_iter().collect();
        if let Some(left) = self.model.next() {
            why.push(format!("the model was not asked for {left}"));
        }
        if let Some(left) = self.portal.next() {
            why.push(format!("the portal was not called for {left}"));
        }
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
        self.trouble.get_or_insert(why.into());
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
                Task::AskAgain { .. } => {}
                Task::Rest(reply) => {
                    let language = self.language();
                    self.seen.words.push(told(&self.session, &reply, language));
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

    fn ask_model(&mut self, id: &str) {
        let Some(prompt) = self.session.prompt(id) else { return };
        let dialect = prompt.dialect;
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
        let answer = match self.model.next() {
            Some(Value::String(text)) => match dialect.read(&text) {
                Ok(solution) => Answer::Solution { solution, tokens: 0 },
                Err(error) => Answer::OutOfFormat { text, error, tokens: 0 },
            },
            Some(other) => {
                let code = other["error"].as_str().unwrap_or("unreachable");
                Answer::Failed { code: code.to_owned(), message: format!("the model is {code}") }
            }
            None => {
                self.fail("the model was asked more often than it has answers");
                Answer::Failed { code: "script".to_owned(), message: "no more answers".to_owned() }
            }
        };
        self.tell(Input::Answer { id: id.to_owned(), answer });
    }

    fn call(&mut self, start: Start) {
        // A tool may call another method than the one it is named after.
        let named = start.tool.schema.get("x-bitrix24").and_then(|said| said.get("method")?.as_str());
        let method = named.unwrap_or(&start.tool.name).to_owned();
        self.seen.calls.push(method.clone());
        self.all_calls.push((*start.call).clone());
        let outcome = match self.portal.next() {
            Some(answer) if !expect::same_method(answer["method"].as_str().unwrap_or_default(), &method) => {
                self.fail(format!("the portal expected {} and was called for {method}", answer["method"]));
                Outcome::Value(Value::Null)
            }
            Some(answer) => {
                let params = &answer["params"];
                if !params.is_null() && !expect::fits(&start.call, params) {
                    self.fail(format!("{method} was called with {} instead of {params}", start.call));
                }
                match answer["error"].as_str() {
                    Some(code) => {
                        let words = answer["error_description"].as_str().unwrap_or_default();
                        Outcome::Error(CallError::new(code, words))
                    }
                    None => Outcome::Value(answer["result"].clone()),
                }
            }
            None => {
                self.fail(format!("the portal was called for {method}, which the script does not expect"));
                Outcome::Value(Value::Null)
            }
        };
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
fn with_settings(own: Settings, given: &Value) -> Result<Settings, String> {
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
