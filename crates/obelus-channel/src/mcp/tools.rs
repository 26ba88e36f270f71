//! The tools.

use obelus_kernel::session::{About, QuestionStatus};
use obelus_runtime::Language;
use obelus_runtime::people::AnswerKind;
use serde_json::{Map, Value, json};

use super::{CHANNEL, ClientCapabilities, INVALID_PARAMS, RpcError, ask, talk};
use crate::ChannelError;
use crate::http::{Access, App};
use crate::tokens::TokenRole;
use crate::types::{AnswerBody, InboxFilter, PreviewRequest, QuestionRow};

/// The answer of a tool: a result, or a question to the client's user.
pub(super) enum ToolAnswer {
    Result(Value),
    Asks(Value),
}

/// A tool: whether it only reads, whether it may have effects, and its parameters.
fn tool(name: &str, description: &str, looks: bool, effects: bool, properties: Value, required: &[&str]) -> Value {
    json!({
        "name": name, "description": description,
        "inputSchema": {"type": "object", "properties": properties, "required": required},
        "annotations": {"readOnlyHint": looks, "destructiveHint": effects, "openWorldHint": false},
    })
}

/// All tools.
pub(super) fn list() -> Vec<Value> {
    let text = |description: &str| json!({"type": "string", "description": description});
    let session = text("The session");
    let talks = json!({
        "agent": text("The agent, for a new session"),
        "message": text("The user's message"),
        "session": text("The session to continue; by default a new one"),
        "wait_seconds": {"type": "integer", "minimum": 1, "maximum": talk::LONGEST, "description": "The most seconds to wait for the end of the turn; by default 60"},
    });
    let decisions = ["approve", "deny", "edit", "value", "happened", "did_not"];
    let decides = json!({
        "question": text("The question's id"),
        "digest": text("The question's digest from the list, so that the answer applies to what was shown"),
        "decision": {"type": "string", "enum": decisions},
        "reason": text("The reason, with deny"),
        "params": {"type": "object", "description": "The parameters that replace those of the same name, with edit"},
        "value": {"description": "The requested value, with value"},
    });
    let filter = json!({"session": text("Only those of this session"), "agent": text("Only those of this agent")});
    vec![
        tool("list_agents", "Lists the agents", true, false, json!({}), &[]),
        tool("talk", "Sends a message to an agent and waits for the result", false, true, talks, &["message"]),
        tool(
            "read_session",
            "Shows the status of a session, its latest reply and its open questions",
            true,
            false,
            json!({"session": session}),
            &["session"],
        ),
        tool("read_state", "Reads the state of a session", true, false, json!({"session": session}), &["session"]),
        tool("list_questions", "Lists the questions that wait for a person", true, false, filter, &[]),
        tool(
            "decide",
            "Answers a question for a person: only after that person has decided",
            false,
            true,
            decides,
            &["question", "digest", "decision"],
        ),
    ]
}

/// Calls a tool. An error is a result, so that the client's model can read it.
pub(super) async fn call(
    app: &App,
    access: &Access,
    params: &Value,
    client: &ClientCapabilities,
) -> Result<Value, RpcError> {
    let name = params["name"].as_str().unwrap_or_default();
    let nothing = Value::Object(Map::new());
    let args = params.get("arguments").filter(|args| !args.is_null()).unwrap_or(&nothing);
    if !args.is_object() {
        return Err(RpcError::new(INVALID_PARAMS, "`arguments` is an object"));
    }
    if let Some(wrong) = unknown_argument(name, args) {
        return Ok(failed(access, &wrong));
    }
    let done = match name {
        "list_agents" => agents(app, access).await,
        "talk" => talk::talk(app, access, args, params, client).await,
        "read_session" => match text(args, "session") {
            Ok(session) => talk::session(app, access, session).await.map(ToolAnswer::Result),
            Err(error) => Err(error),
        },
        "read_state" => state(app, args).await,
        "list_questions" => questions(app, access, args).await,
        "decide" => decide(app, access, args, params, client).await,
        _ => return Err(RpcError::new(INVALID_PARAMS, "there is no such tool")),
    };
    Ok(match done {
        Ok(ToolAnswer::Asks(asks)) => asks,
        Ok(ToolAnswer::Result(value)) => {
            json!({"content": [{"type": "text", "text": value.to_string()}], "structuredContent": value, "isError": false})
        }
        Err(error) => failed(access, &error),
    })
}

fn failed(access: &Access, error: &ChannelError) -> Value {
    let words = format!("{}: {}", error.code(), error.words(access.language.unwrap_or(Language::English)));
    json!({"content": [{"type": "text", "text": words}], "isError": true})
}

/// The error for unknown arguments.
fn unknown_argument(name: &str, args: &Value) -> Option<ChannelError> {
    let tool = list().into_iter().find(|tool| tool["name"] == name)?;
    let known = tool["inputSchema"]["properties"].as_object()?;
    let wrong = args.as_object()?.keys().find(|name| !known.contains_key(*name))?;
    let wrong: String = wrong.chars().take(64).collect();
    let names: Vec<&str> = known.keys().map(String::as_str).collect();
    Some(ChannelError::BadRequest(format!("there is no argument `{wrong}`; there are: {}", names.join(", "))))
}

/// A required text.
pub(super) fn text<'a>(args: &'a Value, name: &str) -> Result<&'a str, ChannelError> {
    args[name].as_str().ok_or_else(|| {
        let what = if args[name].is_null() { "is missing" } else { "is a text" };
        ChannelError::BadRequest(format!("`{name}` {what}"))
    })
}

async fn agents(app: &App, access: &Access) -> Result<ToolAnswer, ChannelError> {
    let agents = app.service().agents(access.language).await?;
    let row = |agent: &crate::types::AgentRow| json!({"name": agent.name, "description": agent.description});
    let rows: Vec<Value> = agents.iter().filter(|agent| agent.ok).map(row).collect();
    Ok(ToolAnswer::Result(json!({"agents": rows})))
}

async fn state(app: &App, args: &Value) -> Result<ToolAnswer, ChannelError> {
    Ok(ToolAnswer::Result(json!({"state": app.service().state(text(args, "session")?, None).await?})))
}

/// A question for clients.
pub(super) fn row(question: &QuestionRow) -> Value {
    // A consent can only be given where its terms are shown.
    let answers: Vec<_> = question.answers.iter().filter(|answer| **answer != AnswerKind::Consent).collect();
    json!({
        "id": question.id, "session": question.session, "about": question.about, "text": question.text,
        "answers": answers, "digest": question.digest, "expires_at": question.expires_at,
    })
}

async fn questions(app: &App, access: &Access, args: &Value) -> Result<ToolAnswer, ChannelError> {
    let of = |name: &str| args[name].as_str().map(str::to_owned);
    let filter = InboxFilter { session: of("session"), agent: of("agent"), ..InboxFilter::default() };
    let open = app.service().inbox(filter, access.language).await?;
    Ok(ToolAnswer::Result(json!({"questions": open.iter().map(row).collect::<Vec<_>>()})))
}

/// Answers a question. If the client can ask its user, the user is asked again and decides.
async fn decide(
    app: &App,
    access: &Access,
    args: &Value,
    params: &Value,
    client: &ClientCapabilities,
) -> Result<ToolAnswer, ChannelError> {
    access.needs(TokenRole::Operator)?;
    if let Some(given) = ask::given(params)? {
        return talk::go_on(app, access, &given, client).await;
    }
    let (id, digest) = (text(args, "question")?, text(args, "digest")?);
    let answer = answer_of(args)?;
    let question = app.service().question(id, access.language).await?;
    if client.can_elicit && question.status == QuestionStatus::Requested {
        return confirm(app, access, &question, answer, digest).await.map(ToolAnswer::Asks);
    }
    app.service().answer(id, answer, &access.caller.by(CHANNEL), Some(digest), access.input_id()).await?;
    talk::turn_result(app, access, &question.session, talk::USUAL, client).await
}

/// Asks the person to confirm a decision that the client's model proposes, whichever it is.
async fn confirm(
    app: &App,
    access: &Access,
    question: &QuestionRow,
    answer: AnswerBody,
    digest: &str,
) -> Result<Value, ChannelError> {
    if question.digest != digest {
        return Err(ChannelError::Changed(question.id.clone()));
    }
    Ok(match answer {
        AnswerBody::Edit { params } => {
            let edit = PreviewRequest { params: Some(params), ..PreviewRequest::default() };
            let edited = app.service().preview(&question.id, edit, access.language).await?;
            if let Some(problem) = edited.problems.first() {
                return Err(ChannelError::BadRequest(problem.message.clone()));
            }
            ask::ask_about_edit(question, &edited)
        }
        AnswerBody::Value { value } if question.about == About::Input => ask::ask_about_value(question, &value),
        _ => ask::ask(question),
    })
}

fn answer_of(args: &Value) -> Result<AnswerBody, ChannelError> {
    let reason = || args["reason"].as_str().unwrap_or_default().to_owned();
    Ok(match text(args, "decision")? {
        "approve" => AnswerBody::Approve { only: None },
        "deny" => AnswerBody::Deny { reason: reason(), only: None },
        "edit" => match args["params"].as_object() {
            Some(params) => AnswerBody::Edit { params: params.clone() },
            None => return Err(ChannelError::BadRequest("`params` is an object".to_owned())),
        },
        "value" => AnswerBody::Value { value: args["value"].clone() },
        "happened" => AnswerBody::Happened { result: Value::Null },
        "did_not" => AnswerBody::DidNot,
        _ => {
            return Err(ChannelError::BadRequest(
                "`decision` is approve, deny, edit, value, happened or did_not".to_owned(),
            ));
        }
    })
}
