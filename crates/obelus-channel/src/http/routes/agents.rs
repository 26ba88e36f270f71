//! Agents.

use axum::extract::State;

use super::Answered;
use crate::ChannelError;
use crate::http::body::InPath;
use crate::http::reply::Failures;
use crate::http::{Access, App, Json};
use crate::types::{AgentRow, AgentView, StepsView};

/// All agents
#[utoipa::path(get, path = "/api/v1/agents", tag = "agents", operation_id = "listAgents",
    responses((status = 200, body = Vec<AgentRow>), Failures))]
pub(super) async fn list(State(app): State<App>, access: Access) -> Answered<Vec<AgentRow>> {
    Ok(Json(app.service().agents(access.language).await?))
}

/// One agent with its tools
#[utoipa::path(get, path = "/api/v1/agents/{agent}", tag = "agents", operation_id = "showAgent",
    params(("agent" = String, Path, description = "the agent's name")),
    responses((status = 200, body = AgentView), Failures))]
pub(super) async fn show(State(app): State<App>, access: Access, InPath(agent): InPath<String>) -> Answered<AgentView> {
    Ok(Json(app.service().agent(&agent, access.language).await?))
}

/// The agent's graph of steps
#[utoipa::path(get, path = "/api/v1/agents/{agent}/graph", tag = "agents", operation_id = "showAgentGraph",
    params(("agent" = String, Path, description = "the agent's name")),
    responses((status = 200, body = StepsView), Failures))]
pub(super) async fn graph(State(app): State<App>, _: Access, InPath(agent): InPath<String>) -> Answered<StepsView> {
    let graph = app.service().agent_graph(&agent).await?;
    Ok(Json(graph.ok_or_else(|| ChannelError::NotFound(format!("a graph of steps of {agent}")))?))
}
