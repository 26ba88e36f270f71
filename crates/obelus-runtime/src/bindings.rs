//! Checks that bindings of activities match tools. A binding with a misspelt name would leave its tool to the model
//! without a question (TOOL-3).

use std::collections::BTreeSet;
use std::sync::Arc;

use obelus_kernel::{Tool, closest};
use serde_json::Value;

use crate::policy_names::{saved_requests, tools_of_delegates};
use crate::spec::SessionSpec;

/// A problem with a binding or a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindingFault {
    /// The binding or the tool.
    pub name: String,
    /// What is wrong.
    pub text: String,
}

impl SessionSpec {
    /// Bindings that no tool uses. Those from a file for `--activities` may serve other requests: of them, only a
    /// name similar to an unbound tool is a problem.
    pub fn unused_bindings(&self) -> Vec<BindingFault> {
        let mut tools: Vec<_> = self.context.tools().cloned().collect();
        let is_open = tools_of_delegates(&self.context, &self.folder, &mut tools);
        let mut used = BTreeSet::new();
        for tool in &tools {
            used.insert(tool.name.as_str());
            if is_open || !add_named_activities(tool, &mut used) {
                return Vec::new();
            }
        }
        let orphans: Vec<&str> = tools.iter().filter(|tool| self.runs_by_model(tool)).map(|tool| &*tool.name).collect();
        let all: Vec<&str> = used.iter().copied().collect();
        let mut found = Vec::new();
        for (index, lot) in self.activities.iter().enumerate() {
            for name in lot.bound.keys().filter(|name| !used.contains(name.as_str()) && !self.is_of_server(name)) {
                let near = closest(name, &orphans);
                let meant = near.or_else(|| closest(name, &all));
                if index == 0 || near.is_some() {
                    let hint = meant.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                    let text = format!("no tool uses the activity `{name}`{hint}");
                    found.push(BindingFault { name: name.clone(), text });
                }
            }
        }
        found
    }

    /// Tools that act and have no activity. A tool that declares a result and no effect is meant for the model. A
    /// request without bindings gets them by `--activities`.
    pub fn unbound_tools(&self) -> Vec<BindingFault> {
        if self.agent.is_empty() && self.activities.iter().all(|lot| lot.bound.is_empty()) {
            return Vec::new();
        }
        let is_for_model = |tool: &Tool| tool.output().is_some() && !tool.declares_effect();
        let acts = |tool: &&Tool| tool.effect.acts() && !is_for_model(tool);
        let is_unbound = |tool: &&Tool| {
            let may_be_carried_out = tool.meta("_delegate").or(tool.meta("_activity")).is_some();
            self.runs_by_model(tool) && !may_be_carried_out && !self.is_of_server(&tool.name)
        };
        let tools = self.context.tools().map(AsRef::as_ref).filter(acts).filter(is_unbound);
        let fault = |tool: &Tool| BindingFault {
            name: tool.name.clone(),
            text: format!(
                "the tool `{}` acts (`x-effect: {}`), and no activity carries it out: the model would only say that it \
                 did; bind an activity, or say `x-effect: read` and declare its `_output` if the model is meant to",
                tool.name,
                tool.effect.name()
            ),
        };
        tools.map(fault).collect()
    }

    /// Fields in the saved requests of delegates that nothing reads: a delegate has the model, the activities and the
    /// settings of its caller (DEL-1). Each with the tool that names the request.
    pub fn unread_in_delegates(&self) -> Vec<BindingFault> {
        let mut found = Vec::new();
        saved_requests(&self.context, &self.folder, &mut |tool, request| {
            let fields = [
                ("`model`", request.model.is_some()),
                ("`activities`", !request.activities.is_empty()),
                ("`settings`", request.settings.is_some()),
            ];
            let given: Vec<&str> = fields.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name).collect();
            let text = format!(
                "`{}`: the saved request {}: nothing reads {} in it: a delegate has the model, the activities and the \
                 settings of its caller",
                tool.name,
                tool.fixed_name("_delegate").unwrap_or_default(),
                given.join(", ")
            );
            let fault = BindingFault { name: tool.name.clone(), text };
            if !given.is_empty() && !found.contains(&fault) {
                found.push(fault);
            }
        });
        found
    }

    /// The tools of the saved requests of delegates, at every depth, or none if they are not all known.
    pub fn tools_of_delegates(&self) -> Option<Vec<Arc<Tool>>> {
        let mut tools = Vec::new();
        let is_open = tools_of_delegates(&self.context, &self.folder, &mut tools);
        (!is_open).then_some(tools)
    }

    /// Whether the model itself carries out calls of a tool, according to the bindings.
    pub fn runs_by_model(&self, tool: &Tool) -> bool {
        let is_bound = |name: &str| self.activities.iter().any(|lot| lot.bound.contains_key(name));
        tool.fixed_name("_delegate").is_none()
            && !tool.fixed_name("_activity").is_some_and(is_bound)
            && !is_bound(&tool.name)
    }

    /// Whether a name belongs to a server's tool, which is not known until the server is asked.
    fn is_of_server(&self, name: &str) -> bool {
        let Some(mcp) = &self.mcp else { return false };
        let of = name.split_once('.').map(|(server, _)| server);
        of.is_some_and(|server| mcp.servers.contains_key(server) || mcp.browser.is_some())
            || mcp.tools.iter().any(|tool| tool == name)
    }
}

/// Adds the activities that a tool may name; false if that may be any.
fn add_named_activities<'a>(tool: &'a Tool, used: &mut BTreeSet<&'a str>) -> bool {
    let Some(meta) = tool.meta("_activity") else { return true };
    if let Some(name) = tool.fixed_name("_activity") {
        used.insert(name);
        return true;
    }
    match meta.schema.get("enum").and_then(Value::as_array) {
        Some(names) => {
            used.extend(names.iter().filter_map(Value::as_str));
            true
        }
        None => false,
    }
}
