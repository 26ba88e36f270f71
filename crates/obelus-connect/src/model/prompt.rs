//! Renders a request as chat messages.
//!
//! The prompt grows at its end, so that a provider can serve the rest from its cache (PROMPT-2): first what stays the
//! same (instructions, tools, recipes), then the session so far, where nothing that was sent is rewritten, and last
//! what changes (state, questions, time, the step's own instructions). The texts are in `prompts/*.jinja`.
//!
//! | file | subject |
//! |---|---|
//! | `tools` | the tools on offer |
//! | `transcript` | the session so far |
//! | `outcome` | the outcome of a call |
//! | `values` | values as lines |
//!
//! Text that is not the agent's author's stays on its line, so that a tool's result, a file or a web page cannot start
//! a section of the prompt. The user's words are separate messages.

mod outcome;
mod tools;
mod transcript;
mod values;

use std::path::PathBuf;
use std::sync::LazyLock;

use minijinja::Environment;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value as TemplateValue};
use obelus_kernel::dialect::Dialect;
use obelus_kernel::session::{Picture, Prompt, Purpose, TranscriptEvent};
use obelus_kernel::{CallJson, Tool};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::calendar::calendar;
use super::jinja::{self, on_one_line};
use tools::{ToolSummary, recipe, signatures};
use transcript::TranscriptMessages;

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatRole {
    /// The agent's author, and this program.
    System,
    /// The user, and data given to the agent.
    User,
    /// The agent.
    Assistant,
}

/// One message of a chat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatMessage {
    /// The author.
    pub role: ChatRole,
    /// The text.
    pub content: String,
    /// Files of pictures, for models that accept them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<PathBuf>,
}

/// Options of the prompt.
#[derive(Clone, Debug, Default)]
pub struct PromptOptions {
    /// The language in which the agent speaks to the user, such as `Russian`.
    pub language: Option<String>,
    /// Leaves out the answer's schema, for callers that send it separately.
    pub without_schema: bool,
    /// Whether the model accepts pictures.
    pub images: bool,
}

/// A template that could not be rendered: a bug in this crate, not in the request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the prompt's template {template}: {message}")]
pub struct RenderError {
    /// The template.
    pub template: &'static str,
    /// What is wrong.
    pub message: String,
}

const SYSTEM: &str = "system.jinja";
const NOW: &str = "now.jinja";
const RESULTS: &str = "results.jinja";
const GIVEN: &str = "given.jinja";
const TIME: &str = "time.jinja";
const OBSERVATION: &str = "observation.jinja";
const BEGIN: &str = "begin.jinja";
const REPAIR: &str = "repair.jinja";
const SYSTEM_BLOCKS: &str = "system_blocks.jinja";
const REPAIR_BLOCKS: &str = "repair_blocks.jinja";
const MODEL_CALL_SYSTEM: &str = "model_call_system.jinja";
const MODEL_CALL: &str = "model_call.jinja";

/// The number of characters shown of an unreadable answer.
const MAX_UNREADABLE: usize = 4_000;

static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut env = jinja::environment();
    env.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().expect("it is the default"));
    // No limit: these templates are part of this crate, and the state of an agent may be large.
    env.set_fuel(None);
    for (name, text) in [
        (SYSTEM, include_str!("prompts/system.jinja")),
        (NOW, include_str!("prompts/now.jinja")),
        (RESULTS, include_str!("prompts/results.jinja")),
        (GIVEN, include_str!("prompts/given.jinja")),
        (TIME, include_str!("prompts/time.jinja")),
        (OBSERVATION, include_str!("prompts/observation.jinja")),
        (BEGIN, include_str!("prompts/begin.jinja")),
        (REPAIR, include_str!("prompts/repair.jinja")),
        (SYSTEM_BLOCKS, include_str!("prompts/system_blocks.jinja")),
        (REPAIR_BLOCKS, include_str!("prompts/repair_blocks.jinja")),
        (MODEL_CALL_SYSTEM, include_str!("prompts/model_call_system.jinja")),
        (MODEL_CALL, include_str!("prompts/model_call.jinja")),
    ] {
        env.add_template(name, text).expect("the templates are tested");
    }
    env
});

/// Renders a request. The same request always gives the same bytes.
pub fn render(prompt: &Prompt, options: &PromptOptions) -> Result<Vec<ChatMessage>, RenderError> {
    let mut messages = match &prompt.purpose {
        Purpose::Solve => solve(prompt, options)?,
        Purpose::ModelCall { call, tool, scope } => model_call(prompt, options, (call, tool, scope))?,
    };
    if let Some(answer) = &prompt.out_of_format {
        let text: String = answer["text"].as_str().unwrap_or_default().chars().take(MAX_UNREADABLE).collect();
        let data = json!({"text": text, "error": answer["error"]});
        let template = if prompt.dialect == Dialect::Blocks { REPAIR_BLOCKS } else { REPAIR };
        messages.push(message(ChatRole::User, template, data)?);
    }
    Ok(messages)
}

fn solve(prompt: &Prompt, options: &PromptOptions) -> Result<Vec<ChatMessage>, RenderError> {
    let mut messages = vec![system(prompt, options)?];
    if !prompt.given.is_empty() {
        let given = TemplateValue::from_pairs([("given", memory(&prompt.given))]);
        messages.push(message_of(ChatRole::User, GIVEN, given)?);
    }
    if !matches!(prompt.transcript.first().map(|entry| &entry.what), Some(TranscriptEvent::User { .. })) {
        messages.push(message(ChatRole::User, BEGIN, json!({}))?);
    }
    let (history, day, is_observed) = TranscriptMessages::render(prompt)?;
    messages.extend(history);
    if !is_observed {
        messages.extend(observation(prompt, options)?);
    }
    messages.extend(now(prompt, options, day.as_ref())?);
    // The picture comes last too, because it changes with every request.
    let picture = prompt.observation.as_ref().and_then(|latest| latest.image.as_ref());
    if let (Some(picture), Some(last)) = (picture.filter(|_| is_observed && options.images), messages.last_mut()) {
        last.content.push_str("\n\nThe picture shows what was observed last.");
        last.images.push(picture.clone());
    }
    // The user's pictures come last, so that no earlier message changes when they are no longer shown.
    match messages.last_mut() {
        Some(last) if last.role == ChatRole::User => add_pictures(&prompt.pictures, last, options),
        _ => {}
    }
    Ok(messages)
}

/// The part that stays the same from request to request.
fn system(prompt: &Prompt, options: &PromptOptions) -> Result<ChatMessage, RenderError> {
    let is_blocks = prompt.dialect == Dialect::Blocks;
    // The blocks dialect has no schema of the answer, so each tool is shown with its parameters.
    let template = if is_blocks { SYSTEM_BLOCKS } else { SYSTEM };
    let tools: TemplateValue = if is_blocks {
        signatures(&prompt.catalogue).into_iter().map(TemplateValue::from).collect()
    } else {
        lines(template, prompt.catalogue.iter().map(|tool| ToolSummary::of(tool, !prompt.runs_calls)))?
    };
    let is_step = prompt.is_step;
    let acts = prompt.catalogue.iter().any(|tool| tool.effect.acts());
    // Each step of a graph has its own schema; the common part must not depend on it.
    let brings_output = if is_step { prompt.runs_calls } else { prompt.answer.text().contains(r#""_output":"#) };
    let brings_instances = prompt.catalogue.iter().any(|tool| tool.schema.get("x-instances").is_some());
    let data = TemplateValue::from_pairs([
        ("instructions", TemplateValue::from(Serde(&prompt.instructions))),
        ("tools", tools),
        ("recipes", prompt.recipes.iter().map(|kind| TemplateValue::from(recipe(kind, !is_blocks))).collect()),
        ("follow_up", TemplateValue::from(Serde(&prompt.follow_up))),
        ("mode", prompt.mode.into()),
        ("plan_mode", prompt.plan_mode.into()),
        ("steps", is_step.into()),
        ("runs_calls", prompt.runs_calls.into()),
        ("confirms", (acts && !is_step).into()),
        ("state_has_questions", prompt.state_has_questions.into()),
        ("brings_output", brings_output.into()),
        ("has_instances", (has_instances(prompt) || brings_instances).into()),
        ("has_unchecked_words", prompt.catalogue.iter().any(|tool| tool.words_of().is_some()).into()),
        ("language", TemplateValue::from(Serde(&options.language.as_ref().or(prompt.language.as_ref())))),
        ("schema", schema(prompt, options, !is_step)),
    ]);
    message_of(ChatRole::System, template, data)
}

/// The answer's schema at its place in the prompt: that of a graph's step comes last.
fn schema(prompt: &Prompt, options: &PromptOptions, is_its_place: bool) -> TemplateValue {
    let is_shown = is_its_place && !options.without_schema && prompt.dialect == Dialect::Json;
    if is_shown { on_one_line(prompt.answer.text().into()).into() } else { TemplateValue::from(()) }
}

fn has_instances(prompt: &Prompt) -> bool {
    prompt.kinds.iter().any(|kind| kind.get("instances").is_some())
}

/// The part that changes with every request. It is the last message, and short.
fn now(prompt: &Prompt, options: &PromptOptions, day: Option<&Value>) -> Result<Option<ChatMessage>, RenderError> {
    let zone = prompt.time_zone.as_deref();
    let time = zone.map(|zone| calendar(prompt.now, Some(zone), prompt.language.as_deref()));
    let is_new_day = time.as_ref().is_some_and(|time| day != Some(&time["days"][0]["date"]));
    // Questions that the state contains are not repeated.
    let is_in_state = |question: &Value| prompt.state_has_questions && question["about"] == "call";
    let questions = prompt.questions.iter().filter(|question| !is_in_state(question));
    let parts = [
        ("state", memory(&prompt.state)),
        ("open", prompt.open.iter().map(|report| TemplateValue::from(outcome::open_call(prompt, report))).collect()),
        ("questions", lines(NOW, questions.map(shorten_question))?),
        ("by_person_only", by_person_only(prompt).into()),
        ("steps", TemplateValue::from(Serde(&prompt.step))),
        ("time", time.as_ref().map_or(TemplateValue::from(()), jinja::value)),
        ("schema", schema(prompt, options, prompt.is_step)),
    ];
    if !parts.iter().any(|(_, part)| part.is_true()) {
        return Ok(None);
    }
    let names: Vec<&str> = prompt.tools.iter().map(|tool| tool.name.as_str()).collect();
    let is_all = names.len() == prompt.catalogue.len();
    let may_call = (prompt.is_step && !is_all).then_some(names);
    let others = [("is_new_day", is_new_day.into()), ("may_call", TemplateValue::from(Serde(&may_call)))];
    message_of(ChatRole::User, NOW, TemplateValue::from_pairs(parts.into_iter().chain(others))).map(Some)
}

fn model_call(
    prompt: &Prompt,
    options: &PromptOptions,
    (call, tool, scope): (&CallJson, &Value, &[Value]),
) -> Result<Vec<ChatMessage>, RenderError> {
    let name = &Value::from(call.tool());
    let params = call.as_object().into_iter().flatten().filter(|(name, _)| !name.starts_with('_'));
    let params: Map<String, Value> = params.map(|(name, value)| (name.clone(), value.clone())).collect();
    let system = json!({
        "instructions": prompt.instructions,
        "language": options.language,
        "schema": (!options.without_schema).then(|| on_one_line(prompt.answer.text().into())),
    });
    let paths: Vec<&str> = call.output_path().unwrap_or_default().split("||").map(str::trim).collect();
    let paths = if paths.len() > 1 { paths } else { Vec::new() };
    let task = json!({"tool": model_call_tool(name, tool), "params": params, "scope": scope, "paths": paths});
    let mut messages = vec![message(ChatRole::System, MODEL_CALL_SYSTEM, system)?];
    messages.extend(observation(prompt, options)?);
    messages.push(message(ChatRole::User, MODEL_CALL, task)?);
    Ok(messages)
}

/// The latest observation as a separate message, because it changes with every observation.
fn observation(prompt: &Prompt, options: &PromptOptions) -> Result<Option<ChatMessage>, RenderError> {
    let Some(observation) = &prompt.observation else { return Ok(None) };
    let picture = observation.image.as_ref().filter(|_| options.images);
    let data = TemplateValue::from_pairs([
        ("tool", TemplateValue::from(line(OBSERVATION, &observation.tool)?)),
        ("text", jinja::lines(&observation.text).map(TemplateValue::from).collect()),
        ("has_picture", picture.is_some().into()),
        ("is_explained", false.into()),
    ]);
    let words = message_of(ChatRole::User, OBSERVATION, data)?;
    Ok(Some(ChatMessage { images: picture.into_iter().cloned().collect(), ..words }))
}

/// Adds the user's pictures to the user's message. A note tells the model about pictures that it cannot see.
fn add_pictures(pictures: &[Picture], words: &mut ChatMessage, options: &PromptOptions) {
    let present_fields = |picture: &Picture| if options.images { picture.path.clone() } else { None };
    let present_fields: Vec<PathBuf> = pictures.iter().filter_map(present_fields).collect();
    match pictures.len() - present_fields.len() {
        0 => {}
        1 => words.content.push_str("\n\n[The user has sent a picture that you cannot see.]"),
        n => words.content.push_str(&format!("\n\n[The user has sent {n} pictures that you cannot see.]")),
    }
    words.images.extend(present_fields);
}

/// A tool whose call the model carries out: with parameters, and without an effect, because it does not act.
fn model_call_tool(name: &Value, schema: &Value) -> Value {
    let tool = Tool::parse(name.as_str().unwrap_or_default(), schema).ok();
    present_fields(&[
        ("tool", Some(name)),
        ("description", schema.get("description")),
        ("parameters", tool.as_ref().and_then(|tool| tool.params().get("properties"))),
        ("returns", tool.as_ref().and_then(Tool::output)),
    ])
}

/// An object of the fields that have a value.
fn present_fields(fields: &[(&str, Option<&Value>)]) -> Value {
    fields.iter().filter_map(|(name, value)| Some(((*name).to_owned(), (*value)?.clone()))).collect()
}

/// A question without its times and without the description for people.
fn shorten_question(question: &Value) -> Value {
    present_fields(&["id", "about", "calls", "reasons", "schema"].map(|name| (name, question.get(name))))
}

/// The questions that words do not answer, each with the tools of its calls.
fn by_person_only(prompt: &Prompt) -> String {
    let named = |id: &String| {
        let asked = prompt.questions.iter().find(|question| question["id"] == id.as_str());
        let calls = asked.and_then(|question| question["calls"].as_array()).into_iter().flatten();
        let mut tools: Vec<String> =
            calls.map(|call| tools::name(CallJson::tool_of(call).unwrap_or_default())).collect();
        tools.dedup();
        if tools.is_empty() { id.clone() } else { format!("{id} ({})", tools.join(", ")) }
    };
    prompt.by_person_only.iter().map(named).collect::<Vec<_>>().join(", ")
}

/// Values of memory as lines, each with its path.
fn memory(kinds: &[Value]) -> TemplateValue {
    let mut lines = Vec::new();
    for kind in kinds {
        let name = tools::name(kind["kind"].as_str().unwrap_or_default());
        if let Some(value) = kind.get("value") {
            values::under(&name, value, &mut lines);
        }
        for (instance, value) in kind.get("instances").and_then(Value::as_object).into_iter().flatten() {
            let of_instance = format!("{name} of {}", values::json(&instance.as_str().into()));
            values::under(&of_instance, value, &mut lines);
        }
    }
    lines.into_iter().map(TemplateValue::from).collect()
}

/// Each value as one line of JSON.
fn lines<T: Serialize>(template: &'static str, all: impl IntoIterator<Item = T>) -> Result<TemplateValue, RenderError> {
    all.into_iter().map(|each| line(template, &each).map(TemplateValue::from)).collect()
}

fn line(template: &'static str, value: &(impl Serialize + ?Sized)) -> Result<String, RenderError> {
    jinja::json_line(value).map_err(|error| render_error(template, &error))
}

fn render_error(template: &'static str, error: &minijinja::Error) -> RenderError {
    RenderError { template, message: jinja::error_text(error) }
}

fn message(role: ChatRole, template: &'static str, data: Value) -> Result<ChatMessage, RenderError> {
    let Value::Object(fields) = data else { unreachable!("data of a template is an object") };
    message_of(
        role,
        template,
        TemplateValue::from_pairs(fields.iter().map(|(name, value)| (name.as_str(), jinja::value(value)))),
    )
}

fn message_of(role: ChatRole, template: &'static str, data: TemplateValue) -> Result<ChatMessage, RenderError> {
    let rendered = TEMPLATES.get_template(template).and_then(|template| template.render(data));
    let mut content = rendered.map_err(|error| render_error(template, &error))?;
    content.truncate(content.trim_end().len());
    Ok(ChatMessage { role, content, images: Vec::new() })
}

#[cfg(test)]
mod tests;
