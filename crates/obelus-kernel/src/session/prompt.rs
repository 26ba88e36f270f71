//! What the model is shown, as data: in a fixed order, stable parts first. Drivers turn it into words.

use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::Session;
use super::input::CallReport;
use super::job::JobRef;
use super::observation::Observation;
use super::picture::Picture;
use crate::compose::{Composed, Offer, Offered, compose_result};
use crate::context::View;
use crate::dialect::Dialect;
use crate::message::{Message, PlanMode, Role};
use crate::time::Time;
use crate::tool::Tool;

/// What a request asks of the model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// The next solution of the turn.
    Solve,
    /// The result of one call that the model carries out itself.
    Think {
        /// The call, references resolved.
        call: Value,
        /// Its tool.
        tool: Value,
        /// What it may see of the context.
        scope: Vec<Value>,
    },
}

/// Everything the model is shown for one request.
#[derive(Clone, Debug, Serialize)]
pub struct Prompt {
    /// What is asked.
    pub purpose: Purpose,
    /// The step of the agent's graph that asks, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The agent's instructions.
    pub instructions: Vec<String>,
    /// The tools on offer. Written down, each is its name and its schema.
    #[serde(serialize_with = "names_and_schemas")]
    pub tools: Vec<Arc<Tool>>,
    /// How far the session may go.
    pub mode: &'static str,
    /// Whether the calls run as they are written, or are planned first.
    pub plan_mode: &'static str,
    /// Each kind, folded, with its schema and description.
    pub kinds: Vec<Value>,
    /// The plan so far, and what became of its calls.
    pub plan: Vec<CallReport>,
    /// Calls of earlier turns of which the model has not been told yet that they were denied or failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<CallReport>,
    /// Questions that wait for a person.
    pub questions: Vec<Value>,
    /// The latest errors.
    pub errors: Vec<Value>,
    /// The conversation: role and text, oldest first, as much as fits.
    pub texts: Vec<(String, String)>,
    /// The form in which the answer is to be written.
    #[serde(skip_serializing_if = "Dialect::is_json")]
    pub dialect: Dialect,
    /// The language of the agent's words, where its author says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// What time it is, for words such as "tomorrow". No part of the form: a recording is played at another hour.
    #[serde(skip_serializing)]
    pub now: Time,
    /// The time zone of the people it works for, where its author says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// What it has before its eyes, put here by the driver, for the session does not have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen: Option<Arc<Observation>>,
    /// Pictures that the user shows with the words that began the turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<Picture>,
    /// An answer that could not be read, and what was wrong with it.
    pub out_of_format: Option<Value>,
    /// The schema of the answer.
    #[serde(flatten)]
    pub answer: Arc<Composed>,
}

fn names_and_schemas<S: Serializer>(tools: &[Arc<Tool>], to: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Shown<'a> {
        name: &'a str,
        schema: &'a Value,
    }
    to.collect_seq(tools.iter().map(|tool| Shown { name: &tool.name, schema: &tool.schema }))
}

/// Errors shown at once.
const MOST_ERRORS: usize = 10;
/// Questions shown at once, where the state tells of them too.
const MOST_WAITING: usize = 5;
/// What is said of calls where they are planned for a later step.
const PLANNING: &str = "A call is not run at once here: give at most one call in `calls`, without `_outputPath`, and \
    the `output` of this step along with it. The call is looked at first, then carried out, and you are shown what came of it.";
/// What is said of the output where a step of a graph asks.
const STEP: &str = "This is one step of a task that goes on by itself: `output` is the result of this step alone.";
/// Characters of conversation shown.
const MOST_TEXT: usize = 24_000;

impl Session {
    /// What the model is shown for a request that was handed out as [`super::Task::AskModel`].
    pub fn prompt(&self, id: &str) -> Option<Prompt> {
        if let Some((job, rest)) = id.split_once('/') {
            return self.child(job)?.prompt(rest);
        }
        match self.sub_requests.get(&id.parse().ok()?) {
            Some(at) => self.thought(*at),
            None => {
                let mut prompt = self.solving();
                if self.plans_before_reading() {
                    self.shelter(&mut prompt);
                }
                Some(prompt)
            }
        }
    }

    fn solving(&self) -> Prompt {
        let mode = self.plan_mode();
        let node = self.walk.as_ref().and_then(|walk| walk.current()?.request.as_ref());
        let offer = |tool: &Tool| match node {
            None => Offer::Call,
            Some(node) if node.offers(&tool.name) => Offer::Call,
            Some(node) if node.plans(&tool.name) => Offer::Plan,
            Some(_) => Offer::No,
        };
        let output = self.output_schema();
        let offered = Offered::new(&self.context, output, mode, offer, |tool| self.is_latent(tool));
        let tools = offered.tools().cloned().collect();
        let step = node.map(|_| STEP.to_owned());
        let planning = node.filter(|node| node.plans.is_some()).map(|_| PLANNING.to_owned());
        Prompt {
            purpose: Purpose::Solve,
            node: self.walk.as_ref().map(|walk| walk.at.node.clone()),
            instructions: self
                .instructions()
                .into_iter()
                .chain(node.and_then(|node| node.instructions.clone()))
                .chain(step)
                .chain(planning)
                .collect(),
            tools,
            mode: self.settings.mode.name(),
            plan_mode: mode.name(),
            kinds: self.kinds(),
            plan: self.plan_shown(),
            earlier: self.turn.untold.clone(),
            questions: self
                .questions()
                .iter()
                .filter(|question| question.is_open())
                .take(self.most_waiting())
                .map(super::question::Question::for_model)
                .collect(),
            errors: self.latest_errors(),
            texts: self.texts(),
            dialect: self.settings.dialect,
            language: self.settings.language.clone(),
            now: self.now,
            time_zone: self.settings.time_zone.clone(),
            seen: None,
            pictures: self.turn.pictures.clone(),
            out_of_format: self.turn.out_of_format.as_ref().map(|(text, error)| json!({"text": text, "error": error})),
            answer: self.composed.composed(offered),
        }
    }

    /// What the result of the request at work looks like, where somebody says so.
    pub(super) fn output_schema(&self) -> Option<&Value> {
        let node = self.walk.as_ref().and_then(|walk| walk.current()?.request.as_ref());
        node.map_or(self.schema.as_ref(), |node| node.schema.as_ref())
    }

    fn thought(&self, at: JobRef) -> Option<Prompt> {
        let step = self.steps.get(&at.step)?;
        let job = step.jobs.get(at.job as usize)?;
        let call = step.call(at.job as usize);
        let tool = call.tool.as_ref()?;
        let frozen = job.frozen.as_ref()?;
        Some(Prompt {
            purpose: Purpose::Think {
                call: (*frozen.call).clone(),
                tool: tool.schema.clone(),
                scope: job.scope.clone(),
            },
            node: None,
            instructions: self.instructions(),
            tools: Vec::new(),
            mode: self.settings.mode.name(),
            plan_mode: PlanMode::Lazy.name(),
            kinds: Vec::new(),
            earlier: Vec::new(),
            plan: Vec::new(),
            questions: Vec::new(),
            errors: Vec::new(),
            texts: Vec::new(),
            dialect: Dialect::Json,
            language: self.settings.language.clone(),
            now: self.now,
            time_zone: self.settings.time_zone.clone(),
            seen: None,
            pictures: Vec::new(),
            out_of_format: None,
            answer: Arc::new(compose_result(tool)),
        })
    }

    fn instructions(&self) -> Vec<String> {
        self.context.system_texts().map(str::to_owned).collect()
    }

    fn kinds(&self) -> Vec<Value> {
        let mut kinds = Vec::new();
        for (kind, view) in self.context.views().filter(|(kind, _)| *kind != "error") {
            let mut shown = json!({"kind": kind});
            let optional = [
                ("description", view.description(None).map(Value::from)),
                ("schema", view.schema(None).cloned()),
                ("value", self.value_shown(kind, view)),
            ];
            for (name, value) in optional {
                if let Some(value) = value {
                    shown[name] = value;
                }
            }
            if view.is_instanced() {
                let instances = self.context.instances().iter();
                let values =
                    instances.filter_map(|name| Some((name.clone(), view.read(&[], Some(name))?.into_owned())));
                shown["instances"] = Value::Object(values.collect());
            }
            kinds.push(shown);
        }
        kinds
    }

    /// A kind's value, or what the author lets the model see of it. A filter that fails hides nothing.
    fn value_shown(&self, kind: &str, view: &View) -> Option<Value> {
        let whole = view.read(&[], None)?;
        let filter = self.views.get(kind);
        if kind == "state" {
            let state = self.state();
            let part = filter.and_then(|filter| filter.one(&state).ok()).filter(|part| !part.is_null());
            return Some(part.unwrap_or(state));
        }
        let part = filter.and_then(|filter| filter.one_read(view.for_filters()?).ok()).filter(|part| !part.is_null());
        Some(part.unwrap_or_else(|| whole.into_owned()))
    }

    /// What became of the calls.
    fn plan_shown(&self) -> Vec<CallReport> {
        let mut room = self.most_waiting();
        let mut fits = |report: &CallReport| {
            let waits = report.status == "waiting";
            let fits = !waits || room > 0;
            room -= usize::from(waits && fits);
            fits
        };
        self.calls().into_iter().skip(self.turn.told.0).filter(|report| fits(report)).collect()
    }

    /// How much of what waits for a person is shown. Where the state tells of it, the first ones are enough.
    fn most_waiting(&self) -> usize {
        if self.settings.managed.confirmations.is_some() { MOST_WAITING } else { usize::MAX }
    }

    fn latest_errors(&self) -> Vec<Value> {
        // What went wrong before the model last brought something to an end has been told.
        let since = self.context.length().saturating_sub(self.turn.told.1);
        let recent = self.context.latest().take(since).take_while(|message| {
            // Errors before the user's last words are of an earlier turn.
            !matches!(message, Message::Text(text) if text.role == Role::User)
        });
        let mut errors: Vec<Value> = recent
            .filter_map(|message| match message {
                Message::Data(data) if data.kind == "error" => Some(data.data().into_owned()),
                _ => None,
            })
            .take(MOST_ERRORS)
            .collect();
        errors.reverse();
        errors
    }

    fn texts(&self) -> Vec<(String, String)> {
        let mut room = MOST_TEXT;
        let mut texts = Vec::new();
        for message in self.context.latest() {
            let Message::Text(text) = message else { continue };
            if text.role == Role::System {
                continue;
            }
            let length = text.text.chars().count();
            // The latest words are shown whatever their length.
            if length > room && !texts.is_empty() {
                break;
            }
            room = room.saturating_sub(length);
            texts.push((text.role.name().to_owned(), text.text.clone()));
        }
        texts.reverse();
        texts
    }
}
