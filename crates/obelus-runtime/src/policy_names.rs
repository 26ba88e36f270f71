//! Names in policies that no tool has (POL-3). The tools that a policy may name: those of a context, of its delegates' requests, and of servers, which are not
//! known until the servers are asked.

use std::path::Path;
use std::sync::Arc;

use obelus_kernel::policy::{Match, Policy, PolicyFault};
use obelus_kernel::{Context, Effect, Tool};
use obelus_notebook::glob;
use obelus_notebook::wording::closest;

use crate::read::read_text;
use crate::request::Request;

/// The depth limit of nested delegates, as for sessions.
const DEEPEST: usize = 8;

/// All errors of a policy (POL-3). `servers` are those whose tools are not in the context yet.
pub(crate) fn policy_faults(policy: &Policy, context: &Context, folder: &Path, servers: &[&str]) -> Vec<PolicyFault> {
    let mut delegated = Vec::new();
    let is_open = tools_of_delegates(context, folder, &mut delegated);
    let known = context.tools().chain(&delegated).map(AsRef::as_ref).collect();
    let may_exist = |pattern: &str| {
        let letters = pattern.split('*').next().unwrap_or_default();
        let is_of = |server: &&str| {
            let prefix = format!("{server}.");
            prefix.starts_with(letters) || letters.starts_with(&prefix)
        };
        is_open || servers.iter().any(is_of)
    };
    PolicyTools { known, may_exist: &may_exist }.faults(policy)
}

/// Adds the tools of delegates, whose calls the same policy judges and the same activities carry out. Returns whether
/// there may be others, because a model chooses the delegate or its request cannot be read.
pub(crate) fn tools_of_delegates(context: &Context, folder: &Path, found: &mut Vec<Arc<Tool>>) -> bool {
    each_delegate(context, folder, DEEPEST, &mut |_, request| found.extend(request.context.tools().cloned()))
}

/// Calls a function with every tool that a saved request carries out, and the request, at every depth. Returns whether
/// there may be others.
pub(crate) fn saved_requests(context: &Context, folder: &Path, with: &mut dyn FnMut(&Tool, &Request)) -> bool {
    each_delegate(context, folder, DEEPEST, with)
}

fn each_delegate(context: &Context, folder: &Path, depth: usize, with: &mut dyn FnMut(&Tool, &Request)) -> bool {
    let mut is_open = false;
    for tool in context.tools() {
        match tool.fixed_name("_delegate") {
            None => is_open |= tool.schema["properties"].get("_delegate").is_some(),
            Some("anonymous") => {}
            Some(_) if depth == 0 => is_open = true,
            Some(path) => {
                let file = folder.join(path);
                let request = read_text(&file).ok().and_then(|text| Request::parse(&file, &text).ok());
                match request {
                    Some(request) => {
                        with(tool, &request);
                        is_open |= each_delegate(&request.context, folder, depth - 1, with);
                    }
                    None => is_open = true,
                }
            }
        }
    }
    is_open
}

/// The tools that a policy applies to.
struct PolicyTools<'a> {
    /// The known ones.
    known: Vec<&'a Tool>,
    /// Whether a name or pattern may match a tool that is not known yet, such as a server's.
    may_exist: &'a dyn Fn(&str) -> bool,
}

/// Values of a rule's `from`, besides tool names.
const SOURCES: [&str; 5] = ["user", "author", "model", "trusted", "untrusted"];

fn fault(field: String, text: String) -> PolicyFault {
    PolicyFault { field, text }
}

impl PolicyTools<'_> {
    /// All errors: names that match no tool, parameter or origin, and examples with another result.
    fn faults(&self, policy: &Policy) -> Vec<PolicyFault> {
        let mut faults = Vec::new();
        for (list, patterns) in policy.lists() {
            for (index, pattern) in patterns.iter().enumerate() {
                faults.extend(self.fault_of_name(pattern).map(|text| fault(format!("{list}[{index}]"), text)));
            }
        }
        for (index, rule) in policy.rules().iter().enumerate() {
            let place = format!("rules[{index}]");
            let found = self.fault_of_match(&rule.matching);
            faults.extend(found.map(|(field, text)| fault(format!("{place}.match.{field}"), text)));
        }
        faults.extend(policy.faults_of_examples(&self.known));
        faults
    }

    /// The error in a name or pattern of tools.
    fn fault_of_name(&self, pattern: &str) -> Option<String> {
        let is_known = self.known.iter().any(|tool| glob::matches(pattern, &tool.name));
        (!is_known && !(self.may_exist)(pattern)).then(|| {
            let names: Vec<&str> = self.known.iter().map(|tool| tool.name.as_str()).collect();
            unknown("tool", pattern, &names)
        })
    }

    /// The invalid field of a rule's `match`, and why.
    fn fault_of_match(&self, matching: &Match) -> Option<(&'static str, String)> {
        let Match { tool, effect, param, from } = matching;
        if let Some(text) = tool.as_deref().and_then(|pattern| self.fault_of_name(pattern)) {
            return Some(("tool", text));
        }
        if let Some(name) = effect.as_deref().filter(|name| !Effect::is_name(name)) {
            return Some(("effect", unknown("effect", name, &Effect::names())));
        }
        if let Some(text) = from.as_deref().and_then(|from| self.fault_of_source(from)) {
            return Some(("from", text));
        }
        if (self.may_exist)(tool.as_deref().unwrap_or("*")) {
            return None;
        }
        let fits = |known: &&&Tool| {
            tool.as_ref().is_none_or(|pattern| glob::matches(pattern, &known.name))
                && effect.as_ref().is_none_or(|name| known.effect.name() == name)
        };
        let meant: Vec<&&Tool> = self.known.iter().filter(fits).collect();
        if let (Some(name), true) = (effect, meant.is_empty()) {
            return Some(("effect", format!("no tool that it is about has the effect `{name}`")));
        }
        let path = param.as_deref()?;
        let mut strays = meant.iter().map(|tool| tool.stray_param(path));
        let first = strays.next()??;
        strays.all(|stray| stray.is_some()).then_some(("param", first))
    }

    fn fault_of_source(&self, from: &str) -> Option<String> {
        if SOURCES.contains(&from) {
            return None;
        }
        let name = ["trusted:", "untrusted:"].iter().find_map(|trust| from.strip_prefix(trust)).unwrap_or(from);
        let names: Vec<&str> = self.known.iter().map(|tool| tool.name.as_str()).chain(SOURCES).collect();
        let is_known = self.known.iter().any(|tool| tool.name == name) || (self.may_exist)(name);
        (!is_known).then(|| unknown("origin", name, &names))
    }
}

/// The error for an unknown name, with the most similar one.
fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    match closest(name, known) {
        Some(near) => format!("there is no {what} `{name}`; did you mean `{near}`?"),
        None if known.is_empty() => format!("there is no {what} `{name}`"),
        None => {
            let more = if known.len() > 12 { ", …" } else { "" };
            let some: Vec<&str> = known.iter().take(12).copied().collect();
            format!("there is no {what} `{name}`; there are: {}{more}", some.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn faults(policy: Value) -> Vec<String> {
        let schema = json!({"type": "object", "properties": {"book": {"type": "string"}, "fields": {"type": "object",
            "properties": {"STAGE_ID": {}}, "additionalProperties": false}}});
        let tools = ["lend_book", "return_book"].map(|name| Tool::parse(name, &schema).unwrap());
        let is_of_server = |name: &str| name.starts_with("web.");
        let policy: Policy = serde_json::from_value(policy).unwrap();
        let tools = PolicyTools { known: tools.iter().collect(), may_exist: &is_of_server };
        tools.faults(&policy).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn pol_3_an_unknown_name_is_an_error_with_the_nearest_known_one() {
        let rule = |matching: Value| json!([{"match": matching, "verdict": "confirm"}]);
        for (policy, says) in [
            (json!({"confirm": ["lend_bok"]}), "`confirm[0]`: there is no tool `lend_bok`; did you mean `lend_book`?"),
            (json!({"refuse": ["pay*"]}), "`refuse[0]`: there is no tool `pay*`; there are: lend_book, return_book"),
            (rule(json!({"tool": "lend_bok"})), "`rules[0].match.tool`: there is no tool `lend_bok`"),
            (
                rule(json!({"effect": "uptade"})),
                "`rules[0].match.effect`: there is no effect `uptade`; did you mean `update`?",
            ),
            (rule(json!({"effect": "delete"})), "no tool that it is about has the effect `delete`"),
            (
                rule(json!({"tool": "lend*", "param": "bok"})),
                "`rules[0].match.param`: there is no `bok`; did you mean `book`?",
            ),
            (rule(json!({"param": "fields.stage"})), "there is no `stage`"),
            (rule(json!({"from": "usr"})), "`rules[0].match.from`: there is no origin `usr`; did you mean `user`?"),
            (rule(json!({"from": "untrusted:lend_bok"})), "there is no origin `lend_bok`; did you mean `lend_book`?"),
        ] {
            let found = faults(policy.clone());
            assert!(found.len() == 1 && found[0].contains(says), "{policy}: {found:?}");
        }
        for policy in [
            json!({"allow": ["lend_*"], "refuse": ["web.open"], "confirm": ["*"]}),
            rule(json!({"tool": "web.*", "effect": "delete", "param": "x"})),
            rule(json!({"param": "fields.stageId", "from": "trusted:lend_book"})),
            rule(json!({"effect": "update", "from": "untrusted"})),
        ] {
            assert_eq!(faults(policy.clone()), Vec::<String>::new(), "{policy}");
        }
    }
}
