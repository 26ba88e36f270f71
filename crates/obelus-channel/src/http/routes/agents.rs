//! Agents.

use axum::extract::{Path, State};

use super::Answered;
use crate::http::reply::Failures;
use crate::http::{Access, App, Json};
use crate::types::{AgentRow, AgentView};

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
pub(super) async fn show(State(app): State<App>, access: Access, Path(agent): Path<String>) -> Answered<AgentView> {
    Ok(Json(app.service().agent(&agent, access.language).await?))
}
