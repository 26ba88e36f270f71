//! The catalogue of agents.

use std::path::Path;

use obelus_runtime::files::Problem;
use obelus_runtime::{Agent, Language};
use serde_json::Value;

use super::Service;
use crate::ChannelError;
use crate::types::{AgentRow, AgentView, ToolRow};

impl Service {
    /// All agents, including those with errors in their files.
    pub async fn agents(&self, language: Option<Language>) -> Result<Vec<AgentRow>, ChannelError> {
        let (agents, code) = (self.agents.clone(), language.map(Language::code));
        let rows = move || agents.all().iter().map(|folder| row(folder, &Agent::load_in(folder, code))).collect();
        self.blocking(move |_| Ok(rows())).await
    }

    /// One agent.
    pub async fn agent(&self, name: &str, language: Option<Language>) -> Result<AgentView, ChannelError> {
        let agent = self.load_agent(name, language).await?;
        let tool = |tool: &std::sync::Arc<obelus_kernel::Tool>| ToolRow {
            name: tool.name.clone(),
            effect: tool.effect.name().to_owned(),
            trusted: tool.trusted,
            schema: tool.schema.clone(),
        };
        Ok(AgentView {
            mode: agent.settings.mode.name().to_owned(),
            tools: agent.context.tools().map(tool).collect(),
            examples: agent.examples.clone(),
            graph: agent.steps.as_ref().map(|steps| steps.nodes.keys().cloned().collect()),
            model: agent.model.as_ref().and_then(model_name),
            state: schema_of(&agent, "state"),
            input: schema_of(&agent, "input"),
            output: agent.schema.clone(),
            agent: row(&agent.folder.clone(), &Ok(agent)),
        })
    }

    /// Reads the file of an agent.
    pub(super) async fn load_agent(&self, name: &str, language: Option<Language>) -> Result<Agent, ChannelError> {
        let (agents, name) = (self.agents.clone(), name.to_owned());
        let code = language.or(self.language).map(Language::code);
        let load = move || match agents.load(&name, code) {
            None => Err(ChannelError::UnknownAgent(short(&name), agents.near(&name))),
            Some(Err(problems)) => Err(ChannelError::BadAgent { agent: name, problems: lines(&problems).join("\n") }),
            Some(Ok(agent)) => Ok(agent),
        };
        self.blocking(move |_| load()).await
    }
}

fn row(folder: &Path, agent: &Result<Agent, Vec<Problem>>) -> AgentRow {
    let agent_name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (agent, problems) = match agent {
        Ok(agent) => (Some(agent), Vec::new()),
        Err(problems) => (None, lines(problems)),
    };
    AgentRow {
        name: agent_name,
        title: agent.map(|agent| agent.name.clone()),
        description: agent.and_then(|agent| agent.description.clone()),
        language: agent.and_then(|agent| agent.language.clone()),
        ok: agent.is_some(),
        problems,
    }
}

/// The name of a model, without its options.
fn model_name(model: &Value) -> Option<String> {
    model.as_str().or_else(|| model["name"].as_str().or_else(|| model["model"].as_str())).map(str::to_owned)
}

/// The schema of a kind.
pub(super) fn schema_of(agent: &Agent, kind: &str) -> Option<Value> {
    agent.context.view(kind)?.schema(None).cloned()
}

fn lines(problems: &[Problem]) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}

/// A name from outside, shortened for a message.
pub(super) fn short(name: &str) -> String {
    name.chars().take(64).collect()
}
