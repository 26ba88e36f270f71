//! The content of a model request, as data: in a fixed order, stable parts first. Drivers render it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::Session;
use super::graph_run::GraphRun;
use super::ids::{JobRef, RequestId};
use super::inbox::{About, Question};
use super::memory::mentions;
use super::output::{CallReport, CallStatus};
use super::report_error::redacted_error;
use super::settings::FollowUp;
use super::transcript::TranscriptEntry;
use crate::call::Call;
use crate::context::{Context, View};
use crate::message::{Message, PlanMode, Role};
use crate::time::Time;
use crate::tool::Tool;
use obelus_notebook::call_json::CallJson;
use obelus_notebook::compose::{AnswerSchema, Offer, Offered, compose_result};
use obelus_notebook::dialect::Dialect;
use obelus_notebook::observation::Observation;
use obelus_notebook::picture::Picture;

/// What a request asks of the model.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// The next solution of the turn.
    #[default]
    Solve,
    /// The result of one call that the model carries out itself.
    #[serde(rename = "think")]
    ModelCall {
        /// The call, with resolved references.
        call: CallJson,
        /// Its tool.
        tool: Value,
        /// The part of the context it may see.
        scope: Vec<Value>,
    },
}

/// Everything the model is shown for one request.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Prompt {
    /// What is asked.
    pub purpose: Purpose,
    /// The step of the agent's graph that asks, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The agent's instructions.
    pub instructions: Vec<String>,
    /// Whether a step of the agent's graph asks.
    #[serde(skip_serializing)]
    pub is_step: bool,
    /// Instructions of this step of the agent's graph.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub step: Vec<String>,
    /// Whether calls run, now or once approved; otherwise a step of a graph plans them for another step.
    #[serde(skip_serializing)]
    pub runs_calls: bool,
    /// Every tool that some step of the agent offers.
    #[serde(skip_serializing)]
    pub catalogue: Vec<Arc<Tool>>,
    /// The tools on offer now. Serialised, each is its name and schema.
    #[serde(serialize_with = "names_and_schemas")]
    pub tools: Vec<Arc<Tool>>,
    /// The session's mode.
    pub mode: &'static str,
    /// Whether the calls run at once, or are planned first.
    pub plan_mode: &'static str,
    /// When the model is asked again.
    #[serde(skip_serializing)]
    pub follow_up: FollowUp,
    /// Each kind, folded, with its schema and description.
    pub kinds: Vec<Value>,
    /// Schemas and descriptions of the request's own kinds.
    #[serde(skip_serializing)]
    pub recipes: Vec<Value>,
    /// Unchanged values of the request itself.
    #[serde(skip_serializing)]
    pub given: Vec<Value>,
    /// The transcript of the session.
    #[serde(serialize_with = "without_times", skip_serializing_if = "Vec::is_empty")]
    pub transcript: Vec<TranscriptEntry>,
    /// The memory that neither `given` nor the transcript shows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub state: Vec<Value>,
    /// Whether the state contains questions about calls.
    #[serde(skip_serializing)]
    pub state_has_questions: bool,
    /// Ids of the open questions that only the person can answer, at the question itself (ASK-6).
    #[serde(skip_serializing)]
    pub by_person_only: Vec<String>,
    /// Unfinished calls, and those that are only planned.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<CallReport>,
    /// The calls of this turn with their reports.
    pub plan: Vec<CallReport>,
    /// Open questions.
    pub questions: Vec<Value>,
    /// The latest errors.
    pub errors: Vec<Value>,
    /// The conversation: role and text, oldest first, as much as fits.
    pub texts: Vec<(String, String)>,
    /// The form of the answer.
    #[serde(skip_serializing_if = "Dialect::is_json")]
    pub dialect: Dialect,
    /// The agent's language, if its author gives one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// The time, for words such as "tomorrow". It is not serialised: a recording is replayed at another time.
    #[serde(skip_serializing)]
    pub now: Time,
    /// The time zone of the agent's users, if its author gives one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// The latest observation, added by the driver, because the session does not have it.
    #[serde(rename = "seen", skip_serializing_if = "Option::is_none")]
    pub observation: Option<Arc<Observation>>,
    /// The texts of the transcript's observations, by digest, as far as the driver has them.
    #[serde(skip_serializing)]
    pub observed: BTreeMap<String, Arc<str>>,
    /// Pictures of the message that began the turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<Picture>,
    /// An unreadable answer, and its error.
    pub out_of_format: Option<Value>,
    /// The schema of the answer.
    #[serde(flatten)]
    pub answer: AnswerSchema,
}

fn names_and_schemas<S: Serializer>(tools: &[Arc<Tool>], to: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Shown<'a> {
        name: &'a str,
        schema: &'a Value,
    }
    to.collect_seq(tools.iter().map(|tool| Shown { name: &tool.name, schema: &tool.schema }))
}

/// The entries without their times: a recording is replayed at another time.
fn without_times<S: Serializer>(entries: &[TranscriptEntry], to: S) -> Result<S::Ok, S::Error> {
    let timeless = |entry: &TranscriptEntry| {
        let mut form = serde_json::to_value(entry).unwrap_or_default();
        form.as_object_mut().and_then(|fields| fields.shift_remove("time"));
        form
    };
    to.collect_seq(entries.iter().map(timeless))
}

/// The limit of errors.
const MOST_ERRORS: usize = 10;
/// The instruction for calls that are planned for a later step.
const PLANNING: &str = "`calls` has at most one call, without `_outputPath`, beside the `output` of this step; you are \
    shown what came of it.";
/// The instruction for calls in a step of a graph that lets the model call tools itself.
const RUNNING: &str = "Calls run as soon as you have answered: each one when the values it refers to are there, \
    independent ones at once. Leave `output` null while a call still has to bring something you need.";
/// The limit of characters of conversation.
const MOST_TEXT: usize = 24_000;

impl Session {
    /// The content of a request that was started by [`super::Task::AskModel`].
    pub fn prompt(&self, id: &RequestId) -> Option<Prompt> {
        let (owner, number) = self.owner(id)?;
        if let Some(at) = owner.scheduler.model_call(number.0) {
            return owner.prompt_of_model_call(at);
        }
        let mut prompt = owner.solving();
        if owner.settings.plans_before_reading() {
            owner.redact_untrusted(&mut prompt);
        }
        Some(prompt)
    }

    /// Whether a started request shows the observation with this digest.
    pub fn shows_observation(&self, id: &RequestId, digest: &str) -> bool {
        let Some((owner, number)) = self.owner(id) else { return false };
        if let Some(at) = owner.scheduler.model_call(number.0) {
            // A model call sees what the call was given.
            return owner.scheduler.find(at).is_some_and(|job| {
                let call = job.frozen.as_ref().is_some_and(|frozen| mentions(&frozen.call, digest));
                call || job.scope.iter().any(|message| mentions(message, digest))
            });
        }
        let is_redacted = owner.settings.plans_before_reading();
        let mut own = owner.memory.current_digests().filter(|(_, of)| of.digest == digest);
        let is_shown = |path: &crate::Path, instance: Option<&str>| {
            !is_redacted || owner.context().origins(path, instance).is_trusted()
        };
        // A delegate may have been given the digest with its task.
        let was_given = || owner.constants.depth > 0 && !is_redacted && owner.memory.mentions_digest(digest);
        own.any(|(path, of)| is_shown(&path, of.instance.as_deref())) || was_given()
    }

    /// Whether the session has a digest, so that an observation is to be shown.
    pub fn has_observations(&self) -> bool {
        self.memory.current_digests().next().is_some()
            || self.delegates.iter().any(|(_, child)| child.has_observations())
    }

    fn solving(&self) -> Prompt {
        let mode = self.plan_mode();
        let node = self.graph.as_ref().and_then(|run| run.current()?.request());
        let offer = |tool: &Tool| match node {
            None if tool.is_unlisted() => Offer::No,
            None => Offer::Call,
            Some(node) if node.offers(&tool.name) => Offer::Call,
            Some(node) if node.plans(&tool.name) => Offer::Plan,
            Some(_) => Offer::No,
        };
        let output = self.output_schema();
        let offered = Offered::new(self.context(), output, mode, offer, |tool| self.settings.runs_by_model(tool));
        let tools = offered.tools().cloned().collect();
        let running = node.filter(|node| offered.tools().any(|tool| node.offers(&tool.name))).map(|_| RUNNING);
        let planning = node.filter(|node| offered.tools().any(|tool| node.plans(&tool.name))).map(|_| PLANNING);
        let rules = running.into_iter().chain(planning).map(str::to_owned);
        let by_person_only = self.inbox.open().filter(|asked| asked.needs_direct_answer());
        Prompt {
            node: self.node().map(str::to_owned),
            is_step: node.is_some(),
            step: node.and_then(|node| node.instructions.clone()).into_iter().chain(rules).collect(),
            runs_calls: self.graph.as_ref().is_none_or(GraphRun::runs_calls),
            catalogue: self.catalogue(),
            tools,
            plan_mode: mode.name(),
            kinds: self.kinds(),
            recipes: self.recipes(),
            given: self.given_part(),
            transcript: self.transcript.sent().to_vec(),
            state: self.state_part(),
            state_has_questions: self.settings.managed.confirmations.is_some(),
            by_person_only: by_person_only.map(|asked| asked.id.to_string()).collect(),
            open: self.open_calls(),
            plan: self.plan_shown(),
            questions: self
                .questions()
                .iter()
                .filter(|question| question.is_open())
                .take(self.settings.most_waiting())
                .map(Question::for_model)
                .collect(),
            errors: self.latest_errors(),
            texts: texts_of(self.context()),
            dialect: self.settings.dialect,
            pictures: self.turn.pictures().to_vec(),
            out_of_format: self.turn.out_of_format().map(|(text, error)| json!({"text": text, "error": error})),
            ..self.bare_prompt(Purpose::Solve, offered.into())
        }
    }

    /// The schema of the current request's result, if there is one.
    pub(super) fn output_schema(&self) -> Option<&Value> {
        let node = self.graph.as_ref().and_then(|run| run.current()?.request());
        node.map_or(self.constants.schema.as_ref(), |node| node.schema.as_ref())
    }

    fn prompt_of_model_call(&self, at: JobRef) -> Option<Prompt> {
        let job = self.scheduler.find(at)?;
        let call = self.scheduler.call(at);
        let tool = call.tool.as_ref()?;
        let frozen = job.frozen.as_ref()?;
        let purpose =
            Purpose::ModelCall { call: frozen.call.clone(), tool: tool.schema.clone(), scope: job.scope.clone() };
        Some(self.bare_prompt(purpose, compose_result(tool, &alternatives(call)).into()))
    }

    /// A request that shows the instructions, and nothing of the session.
    fn bare_prompt(&self, purpose: Purpose, answer: AnswerSchema) -> Prompt {
        Prompt {
            purpose,
            instructions: self.context().system_texts().map(str::to_owned).collect(),
            mode: self.settings.mode.name(),
            plan_mode: PlanMode::Lazy.name(),
            follow_up: self.settings.follow_up,
            language: self.settings.language.clone(),
            now: self.memory.now(),
            time_zone: self.settings.time_zone.clone(),
            answer,
            ..Prompt::default()
        }
    }

    fn kinds(&self) -> Vec<Value> {
        let mut kinds = Vec::new();
        for (kind, view) in self.context().views().filter(|(kind, _)| *kind != "error") {
            let mut shown = recipe(kind, view);
            if let Some(value) = self.transcript.filtered(kind, view, || self.state_for_model()) {
                shown["value"] = value;
            }
            if view.is_instanced() {
                let instances = self.context().instances().iter();
                let values =
                    instances.filter_map(|name| Some((name.clone(), view.read(&[], Some(name))?.into_owned())));
                shown["instances"] = Value::Object(values.collect());
                show_recipes_of_instances(self.context(), view, &mut shown);
            }
            kinds.push(shown);
        }
        kinds
    }

    /// The calls with their reports.
    fn plan_shown(&self) -> Vec<CallReport> {
        let mut room = self.settings.most_waiting();
        let mut fits = |report: &CallReport| {
            let waits = report.status == CallStatus::Waiting;
            let fits = !waits || room > 0;
            room -= usize::from(waits && fits);
            fits
        };
        let calls = self.calls().into_iter().skip(self.transcript.reported_calls()).filter(|report| fits(report));
        calls.chain(self.planned_calls()).collect()
    }

    /// The calls of a plan that has not been started. One that waits for a person is shown by its question.
    pub(super) fn planned_calls(&self) -> Vec<CallReport> {
        let plan = self.context().plan().filter(|_| !self.transcript.has_started());
        let is_asked = self.inbox.open().any(|question| question.about == About::Plan);
        let calls = plan.filter(|_| !is_asked).map(|plan| plan.calls.iter()).into_iter().flatten();
        let error = self.transcript.plan_denied();
        let status = if error.is_some() { CallStatus::Denied } else { CallStatus::Planned };
        let report = |(place, call): (u32, &CallJson)| CallReport {
            place: (0, place),
            call: call.clone(),
            status,
            error: error.cloned().map(Box::new),
        };
        (0..).zip(calls).map(report).collect()
    }

    fn latest_errors(&self) -> Vec<Value> {
        // Errors before the model last completed a step have been shown.
        let since = self.context().length().saturating_sub(self.transcript.reported_messages());
        let recent = self.context().latest().take(since).take_while(|message| {
            // Errors before the user's last message belong to an earlier turn.
            !matches!(message, Message::Text(text) if text.role == Role::User)
        });
        let is_planner = self.settings.plans_before_reading();
        let error = |message: &Message| {
            let Message::Data(data) = message else { return None };
            let mut error = data.is_error().then(|| data.data().into_owned())?;
            if is_planner && !data.all_sources().is_trusted() {
                error["error"] = redacted_error(&error["error"]);
            }
            Some(error)
        };
        let mut errors: Vec<Value> = recent.filter_map(error).take(MOST_ERRORS).collect();
        errors.reverse();
        errors
    }
}

/// Adds schemas and descriptions of instances: once if all are equal, else by instance.
pub(super) fn show_recipes_of_instances(context: &Context, view: &View, shown: &mut Value) {
    let names: Vec<&String> = context.instances().iter().filter(|name| view.has_instance(name)).collect();
    let descriptions = names.iter().map(|name| view.description(Some(name)).map(Value::from)).collect();
    let schemas = names.iter().map(|name| view.schema(Some(name)).cloned()).collect();
    show_by_instance(shown, &names, "description", descriptions);
    show_by_instance(shown, &names, "schema", schemas);
}

/// The latest texts of the conversation.
fn texts_of(context: &Context) -> Vec<(String, String)> {
    let mut room = MOST_TEXT;
    let mut texts = Vec::new();
    for message in context.latest() {
        let Message::Text(text) = message else { continue };
        if text.role == Role::System {
            continue;
        }
        let length = text.text.chars().count();
        // The latest message is shown whatever its length.
        if length > room && !texts.is_empty() {
            break;
        }
        room = room.saturating_sub(length);
        texts.push((text.role.name().to_owned(), text.text.clone()));
    }
    texts.reverse();
    texts
}

/// A kind with its description and schema.
pub(super) fn recipe(kind: &str, view: &View) -> Value {
    let mut recipe = json!({"kind": kind});
    if let Some(description) = view.description(None) {
        recipe["description"] = description.into();
    }
    if let Some(schema) = view.schema(None) {
        recipe["schema"] = schema.clone();
    }
    recipe
}

/// Shows a field of instances: directly if all are equal, else as a map by instance.
fn show_by_instance(shown: &mut Value, names: &[&String], field: &str, of_each: Vec<Option<Value>>) {
    let are_alike = of_each.windows(2).all(|pair| pair[0] == pair[1]);
    if let (Some(Some(one)), true, None) = (of_each.first(), are_alike, shown.get(field)) {
        shown[field] = one.clone();
        return;
    }
    let own = names.iter().zip(of_each).filter_map(|(name, own)| Some(((*name).clone(), own?)));
    let own: Map<String, Value> = own.filter(|(_, own)| shown.get(field) != Some(own)).collect();
    if !own.is_empty() {
        shown[format!("{field}s")] = Value::Object(own);
    }
}

/// The alternative paths of a call's result.
fn alternatives(call: &Call) -> Vec<String> {
    let groups = call.output_path.iter().flat_map(|path| &path.alternatives);
    groups.map(|group| group.iter().map(ToString::to_string).collect::<Vec<_>>().join(" && ")).collect()
}
