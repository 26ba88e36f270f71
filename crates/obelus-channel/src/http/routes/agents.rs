//! Agents.

use axum::extract::State;

use super::JsonResult;
use crate::ChannelError;
use crate::http::body::{InPath, JsonBody};
use crate::http::reply::Failures;
use crate::http::{Access, App, Json};
use crate::tokens::TokenRole;
use crate::types::{AgentFileView, AgentRow, AgentView, PolicyView, PromptRequest, PromptView, StepsView};

/// All agents
#[utoipa::path(get, path = "/api/v1/agents", tag = "agents", operation_id = "listAgents",
    responses((status = 200, body = Vec<AgentRow>), Failures))]
pub(super) async fn list(State(app): State<App>, access: Access) -> JsonResult<Vec<AgentRow>> {
    Ok(Json(app.service().agents(access.language).await?))
}

/// One agent with its tools
#[utoipa::path(get, path = "/api/v1/agents/{agent}", tag = "agents", operation_id = "showAgent",
    params(("agent" = String, Path, description = "the agent's name")),
    responses((status = 200, body = AgentView), Failures))]
pub(super) async fn show(
    State(app): State<App>,
    access: Access,
    InPath(agent): InPath<String>,
) -> JsonResult<AgentView> {
    Ok(Json(app.service().agent(&agent, access.language).await?))
}

/// The agent's graph of steps
#[utoipa::path(get, path = "/api/v1/agents/{agent}/graph", tag = "agents", operation_id = "showAgentGraph",
    params(("agent" = String, Path, description = "the agent's name")),
    responses((status = 200, body = StepsView), Failures))]
pub(super) async fn graph(State(app): State<App>, _: Access, InPath(agent): InPath<String>) -> JsonResult<StepsView> {
    let graph = app.service().agent_graph(&agent).await?;
    Ok(Json(graph.ok_or_else(|| ChannelError::NotFound(format!("a graph of steps of {agent}")))?))
}

/// The agent's files
#[utoipa::path(get, path = "/api/v1/agents/{agent}/files", tag = "agents", operation_id = "listAgentFiles",
    params(("agent" = String, Path, description = "the agent's name")),
    responses((status = 200, body = Vec<AgentFileView>), Failures))]
pub(super) async fn files(
    State(app): State<App>,
    _: Access,
    InPath(agent): InPath<String>,
) -> JsonResult<Vec<AgentFileView>> {
    Ok(Json(app.service().agent_files(&agent).await?))
}

/// The agent's policy, with its examples
#[utoipa::path(get, path = "/api/v1/agents/{agent}/policy", tag = "agents", operation_id = "showPolicy",
    params(("agent" = String, Path, description = "the agent's name")),
    responses((status = 200, body = PolicyView), Failures))]
pub(super) async fn policy(
    State(app): State<App>,
    access: Access,
    InPath(agent): InPath<String>,
) -> JsonResult<PolicyView> {
    Ok(Json(app.service().agent_policy(&agent, access.language).await?))
}

/// The prompts of the agent's model for these messages
///
/// Nothing runs, except that the agent's MCP servers are started for their tools.
#[utoipa::path(post, path = "/api/v1/agents/{agent}/prompt", tag = "agents", operation_id = "showPrompt", request_body = PromptRequest,
    params(("agent" = String, Path, description = "the agent's name")),
    responses((status = 200, body = PromptView), Failures))]
pub(super) async fn prompt(
    State(app): State<App>,
    access: Access,
    InPath(agent): InPath<String>,
    JsonBody(request): JsonBody<PromptRequest>,
) -> JsonResult<PromptView> {
    access.needs(TokenRole::Operator)?;
    Ok(Json(app.service().agent_prompt(&agent, request.say, access.language).await?))
}
