//! What may happen: a table of rules that a manager can read, three-valued, the strictest wins.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::settings::Mode;
use crate::call::Call;
use crate::origin::{Origin, Origins};
use crate::tool::{Effect, Tool};

/// What the policy says of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It runs.
    Allow,
    /// A person decides; why.
    Confirm(Vec<String>),
    /// It does not run; why. `true` if the mode says so.
    Refuse {
        /// Whether the mode refuses it, rather than a rule.
        by_mode: bool,
        /// Why.
        reason: String,
    },
}

/// A policy as it stands in an agent's file: lists of tools, rules, or both.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "PolicyForm")]
pub struct Policy {
    /// Tools that run; with such a list, what no rule names is refused.
    pub allow: Vec<String>,
    /// Tools that a person confirms.
    pub confirm: Vec<String>,
    /// Tools that never run.
    pub refuse: Vec<String>,
    /// Rules.
    pub rules: Vec<Rule>,
}

/// One rule: whatever matches gets the verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// What it is about.
    #[serde(rename = "match", default)]
    pub matching: Match,
    /// What holds then.
    pub verdict: Say,
    /// Why, in words for a person.
    #[serde(default)]
    pub reason: Option<String>,
    /// Calls that it must and must not match, looked at when the file is loaded.
    #[serde(default)]
    pub examples: Option<Examples>,
}

/// What a rule is about; everything that is said must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Match {
    /// A name with `*` for any letters.
    pub tool: Option<String>,
    /// An effect.
    pub effect: Option<String>,
    /// A dotted path of a parameter that is present.
    pub param: Option<String>,
    /// Where that parameter, or any, comes from: `user`, `author`, `model`, `trusted`, `untrusted`, a tool, or a label
    /// such as `untrusted:TOOL`.
    pub from: Option<String>,
}

/// A rule's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Say {
    /// It runs.
    Allow,
    /// A person decides.
    Confirm,
    /// It does not run.
    Refuse,
}

/// Calls that show what a rule means.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Examples {
    /// It matches these.
    pub matching: Vec<Value>,
    /// It does not match these.
    pub not_matching: Vec<Value>,
}

/// Rules alone may be written as a bare list.
#[derive(Deserialize)]
#[serde(untagged)]
enum PolicyForm {
    Rules(Vec<Rule>),
    Full(PolicyFields),
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct PolicyFields {
    allow: Vec<String>,
    confirm: Vec<String>,
    refuse: Vec<String>,
    rules: Vec<Rule>,
}

impl From<PolicyForm> for Policy {
    fn from(form: PolicyForm) -> Self {
        match form {
            PolicyForm::Rules(rules) => Policy { rules, ..Policy::default() },
            PolicyForm::Full(PolicyFields { allow, confirm, refuse, rules }) => {
                Policy { allow, confirm, refuse, rules }
            }
        }
    }
}

impl Policy {
    /// What holds for a call whose parameters are these, in this mode.
    ///
    /// `params` may be an outline with references still in it: what matters is which of them are present.
    /// `origins` tells where a parameter comes from, or, without one, where all of them do.
    pub fn verdict(
        &self,
        call: &Call,
        tool: &Tool,
        params: &Value,
        mode: Mode,
        origins: &dyn Fn(Option<&str>) -> Origins,
    ) -> Verdict {
        if let Some(reason) = outside_mode(mode, tool.effect) {
            return Verdict::Refuse { by_mode: true, reason };
        }
        let said = self.said(tool, params, origins);
        if let Some(reason) = said.refuse {
            return Verdict::Refuse { by_mode: false, reason };
        }
        let mut reasons = said.confirm;
        for path in tool.risky.iter().filter(|path| present(params, path)) {
            reasons.push(format!("it sets `{path}`"));
        }
        match tool.effect {
            Effect::Delete => reasons.push("it deletes".to_owned()),
            Effect::Configure => reasons.push("it changes how things behave from now on".to_owned()),
            Effect::Read | Effect::Create | Effect::Update => {}
        }
        if call.asides.get("requires_confirmation") == Some(&Value::Bool(true)) {
            reasons.push("the agent asks for it".to_owned());
        }
        if reasons.is_empty() { Verdict::Allow } else { Verdict::Confirm(reasons) }
    }

    /// Whether anything depends on which parameters a call of this tool has.
    pub(crate) fn looks_at_params(&self, tool: &Tool) -> bool {
        !tool.risky.is_empty() || self.rules.iter().any(|rule| rule.matching.param.is_some())
    }

    /// Looks whether every rule's examples come out as they say.
    pub fn check(&self, tools: &dyn Fn(&str) -> Option<std::sync::Arc<Tool>>) -> Result<(), String> {
        for (index, rule) in self.rules.iter().enumerate() {
            if let Some(effect) = &rule.matching.effect
                && !Effect::is_name(effect)
            {
                return Err(format!("rule {index}: unknown effect `{effect}`"));
            }
            let examples = rule.examples.clone().unwrap_or_default();
            let expected = [(true, examples.matching), (false, examples.not_matching)];
            for (matches, example) in expected.into_iter().flat_map(|(m, all)| all.into_iter().map(move |e| (m, e))) {
                let name = example.get("_tool").and_then(Value::as_str).unwrap_or_default();
                let effect = tools(name).map(|tool| tool.effect).unwrap_or_default();
                if rule.matching.holds(name, effect, &example, &|_| example_origins(&example)) != matches {
                    let what = if matches { "should match" } else { "should not match" };
                    return Err(format!("rule {index} {what} its example {example}"));
                }
            }
        }
        Ok(())
    }

    fn said(&self, tool: &Tool, params: &Value, origins: &dyn Fn(Option<&str>) -> Origins) -> Said {
        let lists = [(&self.allow, Say::Allow), (&self.confirm, Say::Confirm), (&self.refuse, Say::Refuse)];
        let mut said = Said::default();
        let mut words = Vec::new();
        for (list, say) in lists {
            if list.iter().any(|glob| glob_fits(glob, &tool.name)) {
                words.push((say, None));
            }
        }
        for rule in self.rules.iter().filter(|rule| rule.matching.holds(&tool.name, tool.effect, params, origins)) {
            words.push((rule.verdict, rule.reason.clone()));
        }
        for (say, reason) in &words {
            match say {
                Say::Allow => {}
                Say::Confirm => {
                    said.confirm.push(reason.clone().unwrap_or_else(|| "the policy asks for it".to_owned()));
                }
                Say::Refuse => said.refuse = Some(reason.clone().unwrap_or_else(|| "the policy forbids it".to_owned())),
            }
        }
        let has_allow_list = !self.allow.is_empty() || self.rules.iter().any(|rule| rule.verdict == Say::Allow);
        if words.is_empty() && has_allow_list {
            said.refuse = Some(format!("`{}` is not on the allow-list", tool.name));
        }
        said
    }
}

#[derive(Default)]
struct Said {
    confirm: Vec<String>,
    refuse: Option<String>,
}

impl Match {
    fn holds(&self, tool: &str, effect: Effect, params: &Value, origins: &dyn Fn(Option<&str>) -> Origins) -> bool {
        self.tool.as_ref().is_none_or(|glob| glob_fits(glob, tool))
            && self.effect.as_ref().is_none_or(|name| effect.name() == name)
            && self.param.as_ref().is_none_or(|path| present(params, path))
            && self
                .from
                .as_ref()
                .is_none_or(|from| origins(self.param.as_deref()).iter().any(|origin| is_from(origin, from)))
    }
}

fn is_from(origin: &Origin, from: &str) -> bool {
    match origin {
        Origin::User => from == "user",
        Origin::Author => from == "author",
        Origin::Model => from == "model",
        Origin::Tool { name, trusted } => {
            let trust = if *trusted { "trusted" } else { "untrusted" };
            from == name.as_ref() || from == trust || from.strip_prefix(trust) == Some(&format!(":{name}"))
        }
    }
}

/// An example says where its parameters come from by `_from`, a list of labels.
fn example_origins(example: &Value) -> Origins {
    example.get("_from").map(Origins::from_json).unwrap_or_default()
}

/// Why the mode does not permit an effect, if it does not.
pub(super) fn outside_mode(mode: Mode, effect: Effect) -> Option<String> {
    match (mode, effect) {
        (Mode::Shadow, _) => Some("in the mode `shadow` nothing is executed".to_owned()),
        (Mode::Canary, Effect::Read | Effect::Create) | (Mode::Full, _) => None,
        (Mode::Canary, effect) => {
            Some(format!("the mode `canary` permits reading and creating, and this is `{}`", effect.name()))
        }
    }
}

/// Whether a dotted path leads somewhere. Arrays are looked through; case does not matter.
pub(crate) fn present(params: &Value, path: &str) -> bool {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    match params {
        Value::Array(items) => items.iter().any(|item| present(item, path)),
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| *name == first || name.to_lowercase() == first.to_lowercase())
            .any(|(_, value)| rest.is_none_or(|rest| present(value, rest))),
        // What a reference leads to is not known yet, so it may hold the parameter.
        Value::String(text) => text.starts_with('†'),
        _ => false,
    }
}

/// `*` stands for any letters.
fn glob_fits(glob: &str, name: &str) -> bool {
    match glob.split_once('*') {
        None => glob == name,
        Some((head, tail)) => match name.strip_prefix(head) {
            None => false,
            Some(rest) => {
                tail.is_empty()
                    || rest.char_indices().map(|(i, _)| i).chain([rest.len()]).any(|i| glob_fits(tail, &rest[i..]))
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_glob_stands_for_any_letters() {
        for (glob, name, fits) in [
            ("crm.deal.*", "crm.deal.get", true),
            ("*.get", "crm.deal.get", true),
            ("crm.*.get", "crm.deal.get", true),
            ("crm.*.get", "crm.deal.getter", false),
            ("*", "", true),
            ("crm", "crm.deal", false),
        ] {
            assert_eq!(glob_fits(glob, name), fits, "{glob} {name}");
        }
    }

    #[test]
    fn a_risky_path_is_found_in_any_case_and_through_arrays() {
        assert!(present(&json!({"fields": {"opportunity": 1}}), "fields.OPPORTUNITY"));
        assert!(present(&json!({"rows": [{}, {"SUM": 1}]}), "rows.sum"));
        assert!(!present(&json!({"fields": {"TITLE": 1}}), "fields.OPPORTUNITY"));
        assert!(present(&json!({"fields": "†state.fields"}), "fields.OPPORTUNITY"));
    }

    #[test]
    fn an_example_that_comes_out_otherwise_is_an_error() {
        let rules = |examples| -> Policy {
            serde_json::from_value(json!([{"match": {"tool": "pay*"}, "verdict": "confirm", "examples": examples}]))
                .unwrap()
        };
        assert!(
            rules(json!({"matching": [{"_tool": "pay_out"}], "not_matching": [{"_tool": "read"}]}))
                .check(&|_| None)
                .is_ok()
        );
        assert!(rules(json!({"matching": [{"_tool": "read"}]})).check(&|_| None).is_err());
    }
}
