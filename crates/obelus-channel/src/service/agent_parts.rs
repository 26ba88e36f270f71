//! The parts of an agent: files, policy, prompt.

use std::pin::Pin;
use std::sync::Arc;

use obelus_kernel::Context;
use obelus_kernel::policy::{Gate, explain};
use obelus_runtime::masking::without_secrets;
use obelus_runtime::people::Titles;
use obelus_runtime::{Agent, Language, SessionSpec};
use serde_json::{Value, json};

use super::Service;
use crate::ChannelError;
use crate::types::{AgentFileView, PolicyExampleView, PolicyRuleView, PolicyToolView, PolicyView, PromptView};

/// The limit of characters shown of a file.
const MOST_OF_FILE: usize = 200_000;

/// The limit of messages for which a prompt is rendered.
const MOST_SAID: usize = 20;

/// Renders the prompts that a model would get after each message. The binary provides it.
pub type MakePrompt = Arc<dyn Fn(SessionSpec, Vec<String>) -> MadePrompt + Send + Sync>;

/// The future of a prompt, or of an error.
pub type MadePrompt = Pin<Box<dyn Future<Output = Result<PromptView, String>> + Send>>;

impl Service {
    /// Enables prompts.
    #[must_use]
    pub fn prompting(self, make: MakePrompt) -> Self {
        Self { make_prompt: Some(make), ..self }
    }

    /// The files of an agent. Secrets of this process are masked.
    pub async fn agent_files(&self, name: &str) -> Result<Vec<AgentFileView>, ChannelError> {
        let (agents, of) = (self.agents.clone(), name.to_owned());
        let files = self.blocking(move |_| Ok(agents.files(&of))).await?;
        let files =
            files.ok_or_else(|| ChannelError::UnknownAgent(super::agents::short(name), self.agents.near(name)))?;
        let view = |(name, text): (String, String)| {
            let bytes = text.len() as u64;
            let text = without_secrets(&text).into_owned();
            let cut = text.char_indices().nth(MOST_OF_FILE).map(|(end, _)| end);
            AgentFileView {
                name,
                bytes,
                is_cut: cut.is_some(),
                text: cut.map_or(text.clone(), |end| text[..end].into()),
            }
        };
        Ok(files.into_iter().map(view).collect())
    }

    /// An agent's policy with its examples.
    pub async fn agent_policy(&self, name: &str, language: Option<Language>) -> Result<PolicyView, ChannelError> {
        let agent = self.load_agent(name, language).await?;
        let language = language.unwrap_or_else(|| self.language());
        Ok(policy_view(&agent, language))
    }

    /// The first prompt after each of these messages.
    pub async fn agent_prompt(
        &self,
        name: &str,
        say: Vec<String>,
        language: Option<Language>,
    ) -> Result<PromptView, ChannelError> {
        if say.is_empty() || say.len() > MOST_SAID {
            return Err(ChannelError::BadRequest(format!("`say` has 1 to {MOST_SAID} messages")));
        }
        let make = self.make_prompt.clone().ok_or_else(|| ChannelError::NotFound("prompts".to_owned()))?;
        let mut spec = SessionSpec::from_agent(self.load_agent(name, language).await?);
        if let Some(prepare) = &self.prepare {
            spec = prepare(spec);
        }
        make(spec, say).await.map_err(ChannelError::BadRequest)
    }
}

fn policy_view(agent: &Agent, language: Language) -> PolicyView {
    let form = serde_json::to_value(&agent.settings.policy).unwrap_or_default();
    let list = |name: &str| -> Vec<String> {
        form[name].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let gate = || Gate::new(&agent.settings.policy, agent.settings.mode);
    let titles = Titles::of(&agent.context, language.code());
    let rules = form["rules"].as_array().into_iter().flatten().map(|rule| {
        let examples = |name: &str, matches: bool| -> Vec<PolicyExampleView> {
            let calls = rule["examples"][name].as_array().into_iter().flatten();
            calls.map(|call| example(call, matches, &agent.context, gate())).collect()
        };
        let text = |name: &str| rule[name].as_str().map(str::to_owned);
        PolicyRuleView {
            matching: rule["match"].clone(),
            verdict: text("verdict").unwrap_or_default(),
            reason: text("reason"),
            examples: examples("matching", true).into_iter().chain(examples("not_matching", false)).collect(),
        }
    });
    let tools = agent.context.tools().map(|tool| {
        let (verdict, reasons) = judged(&json!({"_tool": tool.name}), &agent.context, gate());
        PolicyToolView {
            tool: tool.name.clone(),
            title: titles.tool(&tool.name),
            effect: tool.effect.name().to_owned(),
            trusted: tool.trusted,
            risky: tool.risky.iter().map(ToString::to_string).collect(),
            verdict,
            reasons,
        }
    });
    PolicyView {
        mode: agent.settings.mode.name().to_owned(),
        allow: list("allow"),
        confirm: list("confirm"),
        refuse: list("refuse"),
        rules: rules.collect(),
        tools: tools.collect(),
    }
}

fn example(call: &Value, matches: bool, context: &Context, gate: Gate<'_>) -> PolicyExampleView {
    let (verdict, reasons) = judged(call, context, gate);
    PolicyExampleView { call: call.clone(), matches, verdict, reasons }
}

/// A policy's verdict on a call, and its reasons; none if the call is invalid.
fn judged(call: &Value, context: &Context, gate: Gate<'_>) -> (Option<String>, Vec<String>) {
    let Ok(found) = explain(call, context, gate) else { return (None, Vec::new()) };
    let form = found.to_json();
    let reasons = form["reasons"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
    (form["verdict"].as_str().map(str::to_owned), reasons.collect())
}
