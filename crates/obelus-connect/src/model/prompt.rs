//! A request as chat messages, for models that answer in JSON.
//!
//! The order is fixed and stable parts come first, so that a provider's cache can serve them: what the agent
//! is and what it may do, then what it knows, then what was said. The words are in `prompts/*.jinja`.
//!
//! Whatever is not the author's own text is put in as JSON on one line: a tool's result, a file, a web page
//! cannot begin a section of its own here. Words of the user are messages of their own.

use std::path::PathBuf;
use std::sync::LazyLock;

use minijinja::Environment;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value as Shown};
use obelus_kernel::Tool;
use obelus_kernel::dialect::Dialect;
use obelus_kernel::session::{Picture, Prompt, Purpose};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::calendar::calendar;
use super::jinja::{self, on_one_line};
use super::said_since;

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatRole {
    /// The agent's author and the engine.
    System,
    /// The person, and data that the agent is given.
    User,
    /// The agent.
    Assistant,
}

/// One message of a chat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatMessage {
    /// Who speaks.
    pub role: ChatRole,
    /// What is said.
    pub content: String,
    /// Files of pictures that go along with it, for models that take them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<PathBuf>,
}

/// What a caller decides about the words.
#[derive(Clone, Debug, Default)]
pub struct PromptOptions {
    /// The language in which the agent speaks to the user, such as `Russian`.
    pub language: Option<String>,
    /// Leaves the schema of the answer out, for callers that send it in another way.
    pub without_schema: bool,
    /// Whether the model takes pictures.
    pub images: bool,
}

/// A template that could not be rendered: a mistake in this crate, not in the request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the prompt's template {template}: {message}")]
pub struct RenderError {
    /// The template.
    pub template: &'static str,
    /// What is wrong.
    pub message: String,
}

const SYSTEM: &str = "system.jinja";
const STATE: &str = "state.jinja";
const SEEN: &str = "seen.jinja";
const BEGIN: &str = "begin.jinja";
const REPAIR: &str = "repair.jinja";
const SYSTEM_BLOCKS: &str = "system_blocks.jinja";
const REPAIR_BLOCKS: &str = "repair_blocks.jinja";
const THINK_SYSTEM: &str = "think_system.jinja";
const THINK: &str = "think.jinja";

/// Characters of an unreadable answer that are shown again.
const MOST_UNREADABLE: usize = 4_000;

static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut env = jinja::environment();
    env.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().expect("it is the default"));
    // These templates are our own, and what an agent knows may be large.
    env.set_fuel(None);
    for (name, text) in [
        (SYSTEM, include_str!("prompts/system.jinja")),
        (STATE, include_str!("prompts/state.jinja")),
        (SEEN, include_str!("prompts/seen.jinja")),
        (BEGIN, include_str!("prompts/begin.jinja")),
        (REPAIR, include_str!("prompts/repair.jinja")),
        (SYSTEM_BLOCKS, include_str!("prompts/system_blocks.jinja")),
        (REPAIR_BLOCKS, include_str!("prompts/repair_blocks.jinja")),
        (THINK_SYSTEM, include_str!("prompts/think_system.jinja")),
        (THINK, include_str!("prompts/think.jinja")),
    ] {
        env.add_template(name, text).expect("the templates are tested");
    }
    env
});

/// Puts a request into words. The same request always gives the same bytes.
pub fn render(prompt: &Prompt, options: &PromptOptions) -> Result<Vec<ChatMessage>, RenderError> {
    let mut messages = match &prompt.purpose {
        Purpose::Solve => solve(prompt, options)?,
        Purpose::Think { call, tool, scope } => think(prompt, options, (call, tool, scope))?,
    };
    if let Some(answer) = &prompt.out_of_format {
        let text: String = answer["text"].as_str().unwrap_or_default().chars().take(MOST_UNREADABLE).collect();
        let data = json!({"text": text, "error": answer["error"]});
        let template = if prompt.dialect == Dialect::Blocks { REPAIR_BLOCKS } else { REPAIR };
        messages.push(message(ChatRole::User, template, data)?);
    }
    Ok(messages)
}

fn solve(prompt: &Prompt, options: &PromptOptions) -> Result<Vec<ChatMessage>, RenderError> {
    let is_blocks = prompt.dialect == Dialect::Blocks;
    // In blocks there is no schema of the answer, so each tool says what its parameters are.
    let template = if is_blocks { SYSTEM_BLOCKS } else { SYSTEM };
    let tools = match is_blocks {
        true => lines(template, prompt.tools.iter().map(|tool| Method::of(tool)))?,
        false => lines(template, prompt.tools.iter().map(|tool| Offered::of(tool)))?,
    };
    let has_instances = prompt.kinds.iter().any(|kind| kind.get("instances").is_some());
    let schema = (!options.without_schema && !is_blocks).then(|| on_one_line(prompt.answer.text().into()));
    let system = Shown::from_pairs([
        ("instructions", Shown::from(Serde(&prompt.instructions))),
        ("tools", tools),
        ("mode", prompt.mode.into()),
        ("plan_mode", prompt.plan_mode.into()),
        ("has_instances", has_instances.into()),
        ("language", Shown::from(Serde(&options.language.as_ref().or(prompt.language.as_ref())))),
        ("schema", schema.map_or(Shown::from(()), Shown::from)),
    ]);
    let mut messages = vec![message_of(ChatRole::System, template, system)?];

    // What the agent has said in this turn is told as such: the user's message stays the last.
    let said: Vec<&str> = said_since(prompt).collect();
    let heard = &prompt.texts[..prompt.texts.len() - said.len()];
    let parts = [
        ("kinds", lines(STATE, &prompt.kinds)?),
        ("plan", lines(STATE, &prompt.plan)?),
        ("earlier", lines(STATE, &prompt.earlier)?),
        ("questions", lines(STATE, prompt.questions.iter().map(question_in_short))?),
        ("errors", lines(STATE, &prompt.errors)?),
        ("said", lines(STATE, said)?),
    ];
    if parts.iter().any(|(_, lines)| lines.is_true()) {
        let time = prompt.time_zone.as_deref();
        let time = time.map(|zone| calendar(prompt.now, Some(zone), prompt.language.as_deref()));
        let others =
            [("time", time.as_ref().map_or(Shown::from(()), jinja::value)), ("has_instances", has_instances.into())];
        messages.push(message_of(ChatRole::User, STATE, Shown::from_pairs(parts.into_iter().chain(others)))?);
    }
    messages.extend(seen(prompt, options)?);
    for (role, text) in heard {
        let role = if role == "user" { ChatRole::User } else { ChatRole::Assistant };
        messages.push(ChatMessage { role, content: text.clone(), images: Vec::new() });
    }
    if heard.is_empty() {
        messages.push(message(ChatRole::User, BEGIN, json!({}))?);
    }
    if let Some(words) = messages.iter_mut().rfind(|message| message.role == ChatRole::User) {
        show(&prompt.pictures, words, options);
    }
    Ok(messages)
}

fn think(
    prompt: &Prompt,
    options: &PromptOptions,
    (call, tool, scope): (&Value, &Value, &[Value]),
) -> Result<Vec<ChatMessage>, RenderError> {
    let name = &call["_tool"];
    let params = call.as_object().into_iter().flatten().filter(|(name, _)| !name.starts_with('_'));
    let params: Map<String, Value> = params.map(|(name, value)| (name.clone(), value.clone())).collect();
    let system = json!({
        "instructions": prompt.instructions,
        "language": options.language,
        "schema": (!options.without_schema).then(|| on_one_line(prompt.answer.text().into())),
    });
    let task = json!({"tool": tool_at_work(name, tool), "params": params, "scope": scope});
    let mut messages = vec![message(ChatRole::System, THINK_SYSTEM, system)?];
    messages.extend(seen(prompt, options)?);
    messages.push(message(ChatRole::User, THINK, task)?);
    Ok(messages)
}

/// What the model has before its eyes, in a message of its own: it is another one with every look.
fn seen(prompt: &Prompt, options: &PromptOptions) -> Result<Option<ChatMessage>, RenderError> {
    let Some(seen) = &prompt.observation else { return Ok(None) };
    let picture = seen.image.as_ref().filter(|_| options.images);
    let data = Shown::from_pairs([
        ("tool", Shown::from(line(SEEN, &seen.tool)?)),
        ("text", Shown::from(line(SEEN, &seen.text)?)),
        ("has_picture", picture.is_some().into()),
    ]);
    let words = message_of(ChatRole::User, SEEN, data)?;
    Ok(Some(ChatMessage { images: picture.into_iter().cloned().collect(), ..words }))
}

/// Puts pictures that the user shows beside the user's words. What cannot be seen is said, so that nobody guesses.
fn show(pictures: &[Picture], words: &mut ChatMessage, options: &PromptOptions) {
    let shown = |picture: &Picture| if options.images { picture.path.clone() } else { None };
    let shown: Vec<PathBuf> = pictures.iter().filter_map(shown).collect();
    match pictures.len() - shown.len() {
        0 => {}
        1 => words.content.push_str("\n\n[The user has sent a picture that you cannot see.]"),
        n => words.content.push_str(&format!("\n\n[The user has sent {n} pictures that you cannot see.]")),
    }
    words.images.extend(shown);
}

/// What the schema of the answer does not say of a tool: what it is for, what it does, what it returns.
#[derive(Serialize)]
struct Offered<'a> {
    tool: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a Value>,
    effect: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    returns: Option<&'a Value>,
}

impl<'a> Offered<'a> {
    fn of(tool: &'a Tool) -> Self {
        let (description, effect) = (tool.schema.get("description"), tool.effect.name());
        Self { tool: &tool.name, description, effect, returns: tool.output() }
    }
}

/// The same with its parameters, for a dialect without a schema.
#[derive(Serialize)]
struct Method<'a> {
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a Value>,
    effect: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    required: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    asks_about: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    returns: Option<&'a Value>,
}

impl<'a> Method<'a> {
    fn of(tool: &'a Tool) -> Self {
        Self {
            method: &tool.name,
            description: tool.schema.get("description"),
            effect: tool.effect.name(),
            params: tool.params().get("properties"),
            required: tool.params().get("required"),
            asks_about: tool.schema.get("x-risky"),
            returns: tool.output(),
        }
    }
}

/// A tool whose call the model carries out: the parameters too, and no effect, for a thought has none.
fn tool_at_work(name: &Value, schema: &Value) -> Value {
    let tool = Tool::parse(name.as_str().unwrap_or_default(), schema).ok();
    shown(&[
        ("tool", Some(name)),
        ("description", schema.get("description")),
        ("parameters", tool.as_ref().and_then(|tool| tool.params().get("properties"))),
        ("returns", tool.as_ref().and_then(Tool::output)),
    ])
}

/// An object of those fields that there are.
fn shown(fields: &[(&str, Option<&Value>)]) -> Value {
    fields.iter().filter_map(|(name, value)| Some(((*name).to_owned(), (*value)?.clone()))).collect()
}

/// A question without its times, which say nothing to a model, and without the words made for people.
fn question_in_short(question: &Value) -> Value {
    shown(&["id", "about", "calls", "reasons", "schema"].map(|name| (name, question.get(name))))
}

/// JSON that a template shows as it is, a line for each.
fn lines<T: Serialize>(template: &'static str, all: impl IntoIterator<Item = T>) -> Result<Shown, RenderError> {
    all.into_iter().map(|each| line(template, &each).map(Shown::from)).collect()
}

fn line(template: &'static str, value: &(impl Serialize + ?Sized)) -> Result<String, RenderError> {
    jinja::json_line(value).map_err(|error| wrong(template, &error))
}

fn wrong(template: &'static str, error: &minijinja::Error) -> RenderError {
    RenderError { template, message: jinja::words(error) }
}

fn message(role: ChatRole, template: &'static str, data: Value) -> Result<ChatMessage, RenderError> {
    let Value::Object(fields) = data else { unreachable!("data of a template is an object") };
    message_of(
        role,
        template,
        Shown::from_pairs(fields.iter().map(|(name, value)| (name.as_str(), jinja::value(value)))),
    )
}

fn message_of(role: ChatRole, template: &'static str, data: Shown) -> Result<ChatMessage, RenderError> {
    let rendered = TEMPLATES.get_template(template).and_then(|template| template.render(data));
    let mut content = rendered.map_err(|error| wrong(template, &error))?;
    content.truncate(content.trim_end().len());
    Ok(ChatMessage { role, content, images: Vec::new() })
}

#[cfg(test)]
mod tests;
