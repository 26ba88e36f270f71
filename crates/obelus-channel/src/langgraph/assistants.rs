//! Agents as assistants. They are files: clients can read but not create or change them.

use axum::extract::State;
use serde_json::{Value, json};

use super::{ValueResult, limit_of, unsupported};
use crate::http::{Access, App, Failure, InPath, Json, OptionalBody};
use crate::types::AgentRow;

/// The creation time of assistants, which is unknown because they are files.
const MADE: &str = "1970-01-01T00:00:00Z";

fn assistant(agent: &AgentRow) -> Value {
    json!({
        "assistant_id": agent.name, "graph_id": agent.name, "name": agent.title.as_ref().unwrap_or(&agent.name),
        "description": agent.description, "config": {}, "context": {}, "metadata": {"created_by": "system"},
        "version": 1, "created_at": MADE, "updated_at": MADE,
    })
}

async fn wanted(app: &App, access: &Access, query: &Value) -> Result<Vec<Value>, Failure> {
    let agents = app.service().agents(access.language).await?;
    let fits = |agent: &&AgentRow| {
        let is = |name: &str, value: &str| query[name].as_str().is_none_or(|wanted| wanted == value);
        let named = query["name"].as_str().is_none_or(|part| agent.name.contains(part));
        agent.ok && is("graph_id", &agent.name) && named
    };
    Ok(agents.iter().filter(fits).map(assistant).collect())
}

pub(super) async fn search(State(app): State<App>, access: Access, OptionalBody(query): OptionalBody) -> ValueResult {
    let all = wanted(&app, &access, &query).await?;
    let (offset, limit) = (limit_of(&query, "offset", 0, u64::MAX), limit_of(&query, "limit", 10, 1000));
    Ok(Json(all.into_iter().skip(offset).take(limit).collect()))
}

pub(super) async fn count(State(app): State<App>, access: Access, OptionalBody(query): OptionalBody) -> ValueResult {
    Ok(Json(wanted(&app, &access, &query).await?.len().into()))
}

pub(super) async fn show(State(app): State<App>, access: Access, InPath(id): InPath<String>) -> ValueResult {
    Ok(Json(assistant(&app.service().agent(&id, access.language).await?.agent)))
}

/// The graph: the model and the tools, or the steps that the agent's file names.
pub(super) async fn graph(State(app): State<App>, access: Access, InPath(id): InPath<String>) -> ValueResult {
    let agent = app.service().agent(&id, access.language).await?;
    let names = agent.graph.unwrap_or_else(|| vec!["model".to_owned(), "tools".to_owned()]);
    let node = |name: &String| json!({"id": name, "type": "runnable", "data": {"id": [name], "name": name}});
    let ends = [json!({"id": "__start__", "type": "schema"}), json!({"id": "__end__", "type": "schema"})];
    let edge =
        |from: &str, to: &str, conditional: bool| json!({"source": from, "target": to, "conditional": conditional});
    let mut edges = vec![edge("__start__", &names[0], false)];
    for pair in names.windows(2) {
        edges.push(edge(&pair[0], &pair[1], true));
    }
    if names == ["model", "tools"] {
        edges.push(edge("tools", "model", false));
    }
    edges.push(edge(names.first().map_or("", String::as_str), "__end__", true));
    let nodes: Vec<Value> = ends.into_iter().chain(names.iter().map(node)).collect();
    Ok(Json(json!({"nodes": nodes, "edges": edges})))
}

pub(super) async fn schemas(State(app): State<App>, access: Access, InPath(id): InPath<String>) -> ValueResult {
    let agent = app.service().agent(&id, access.language).await?;
    let messages = json!({"type": "array", "items": {"type": "object"}});
    let input = json!({"type": "object", "properties": {"messages": messages}, "required": ["messages"]});
    let output = json!({"type": "object", "properties": {"messages": messages, "state": {}}});
    Ok(Json(json!({
        "graph_id": agent.agent.name, "input_schema": input, "output_schema": output, "state_schema": output,
        "config_schema": {}, "context_schema": {},
    })))
}

pub(super) async fn subgraphs(State(app): State<App>, access: Access, InPath(id): InPath<String>) -> ValueResult {
    app.service().agent(&id, access.language).await?;
    Ok(Json(json!({})))
}

pub(super) async fn versions(State(app): State<App>, access: Access, InPath(id): InPath<String>) -> ValueResult {
    Ok(Json(json!([assistant(&app.service().agent(&id, access.language).await?.agent)])))
}

pub(super) async fn refuse(_: Access) -> Failure {
    unsupported("agents are files of the server: this API cannot make or change them").into()
}
