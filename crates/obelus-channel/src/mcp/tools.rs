//! The tools.

use obelus_kernel::session::{About, QuestionStatus};
use obelus_runtime::Language;
use obelus_runtime::people::AnswerKind;
use serde_json::{Map, Value, json};

use super::{CHANNEL, ClientCapabilities, INVALID_PARAMS, RpcError, ask};
use crate::ChannelError;
use crate::http::{Access, App, LONGEST_WAIT, USUAL_WAIT};
use crate::tokens::TokenRole;
use crate::types::{AgentRow, AnswerBody, InboxFilter, PreviewRequest, QuestionRow};

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
        "wait_seconds": {"type": "integer", "minimum": 1, "maximum": LONGEST_WAIT, "description": "The most seconds to wait for the end of the turn; by default 60"},
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

/// A call of a tool by a client.
pub(super) struct ToolCall<'a> {
    pub(super) app: &'a App,
    pub(super) access: &'a Access,
    pub(super) client: &'a ClientCapabilities,
    /// The parameters of the request, which may have the answer of the client's user.
    pub(super) params: &'a Value,
    /// The arguments of the tool.
    pub(super) args: &'a Value,
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
    let call = ToolCall { app, access, client, params, args };
    let done = match name {
        "list_agents" => call.agents().await,
        "talk" => call.talk().await,
        "read_session" => match call.text("session") {
            Ok(session) => call.session(session).await.map(ToolAnswer::Result),
            Err(error) => Err(error),
        },
        "read_state" => call.state().await,
        "list_questions" => call.questions().await,
        "decide" => call.decide().await,
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

/// A question for clients.
pub(super) fn row(question: &QuestionRow) -> Value {
    // A consent can only be given where its terms are shown.
    let answers: Vec<_> = question.answers.iter().filter(|answer| **answer != AnswerKind::Consent).collect();
    json!({
        "id": question.id, "session": question.session, "about": question.about, "text": question.text,
        "answers": answers, "digest": question.digest, "expires_at": question.expires_at,
    })
}

impl ToolCall<'_> {
    /// A required text.
    pub(super) fn text(&self, name: &str) -> Result<&str, ChannelError> {
        let value = &self.args[name];
        value.as_str().ok_or_else(|| {
            let what = if value.is_null() { "is missing" } else { "is a text" };
            ChannelError::BadRequest(format!("`{name}` {what}"))
        })
    }

    async fn agents(&self) -> Result<ToolAnswer, ChannelError> {
        let agents = self.app.service().agents(self.access.language).await?;
        let row = |agent: &AgentRow| json!({"name": agent.name, "description": agent.description});
        let rows: Vec<Value> = agents.iter().filter(|agent| agent.ok).map(row).collect();
        Ok(ToolAnswer::Result(json!({"agents": rows})))
    }

    async fn state(&self) -> Result<ToolAnswer, ChannelError> {
        let state = self.app.service().state(self.text("session")?, None).await?;
        Ok(ToolAnswer::Result(json!({"state": state})))
    }

    async fn questions(&self) -> Result<ToolAnswer, ChannelError> {
        let of = |name: &str| self.args[name].as_str().map(str::to_owned);
        let filter = InboxFilter { session: of("session"), agent: of("agent"), ..InboxFilter::default() };
        let open = self.app.service().inbox(filter, self.access.language).await?;
        Ok(ToolAnswer::Result(json!({"questions": open.iter().map(row).collect::<Vec<_>>()})))
    }

    /// Answers a question. If the client can ask its user, the user is asked again and decides.
    async fn decide(&self) -> Result<ToolAnswer, ChannelError> {
        self.access.needs(TokenRole::Operator)?;
        if let Some(given) = ask::given(self.params)? {
            return self.go_on(&given).await;
        }
        let (id, digest) = (self.text("question")?, self.text("digest")?);
        let answer = self.answer()?;
        let (service, access) = (self.app.service(), self.access);
        let question = service.question(id, access.language).await?;
        if self.client.can_elicit && question.status == QuestionStatus::Requested {
            return self.confirm(&question, answer, digest).await.map(ToolAnswer::Asks);
        }
        service.answer(id, answer, &access.caller.by(CHANNEL), Some(digest), access.input_id()).await?;
        self.turn_result(&question.session, USUAL_WAIT).await
    }

    /// Asks the person to confirm a decision that the client's model proposes, whichever it is.
    async fn confirm(&self, question: &QuestionRow, answer: AnswerBody, digest: &str) -> Result<Value, ChannelError> {
        if question.digest != digest {
            return Err(ChannelError::Changed(question.id.clone()));
        }
        Ok(match answer {
            AnswerBody::Edit { params } => {
                let edit = PreviewRequest { params: Some(params), ..PreviewRequest::default() };
                let edited = self.app.service().preview(&question.id, edit, self.access.language).await?;
                if let Some(problem) = edited.problems.first() {
                    return Err(ChannelError::BadRequest(problem.message.clone()));
                }
                ask::ask_about_edit(question, &edited)
            }
            AnswerBody::Value { value } if question.about == About::Input => ask::ask_about_value(question, &value),
            _ => ask::ask(question),
        })
    }

    /// The answer in the arguments.
    fn answer(&self) -> Result<AnswerBody, ChannelError> {
        let reason = || self.args["reason"].as_str().unwrap_or_default().to_owned();
        Ok(match self.text("decision")? {
            "approve" => AnswerBody::Approve { only: None },
            "deny" => AnswerBody::Deny { reason: reason(), only: None },
            "edit" => match self.args["params"].as_object() {
                Some(params) => AnswerBody::Edit { params: params.clone() },
                None => return Err(ChannelError::BadRequest("`params` is an object".to_owned())),
            },
            "value" => AnswerBody::Value { value: self.args["value"].clone() },
            "happened" => AnswerBody::Happened { result: Value::Null },
            "did_not" => AnswerBody::DidNot,
            _ => {
                return Err(ChannelError::BadRequest(
                    "`decision` is approve, deny, edit, value, happened or did_not".to_owned(),
                ));
            }
        })
    }
}
