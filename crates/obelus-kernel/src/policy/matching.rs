//! The condition of a rule, and whether it matches a call.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::glob;
use crate::origin::{Origin, Origins};
use crate::tool::Effect;
use obelus_notebook::dotted::values_at;

/// The condition of a rule; all given fields must match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Match {
    /// A name with `*` for any letters.
    pub tool: Option<String>,
    /// An effect.
    pub effect: Option<String>,
    /// A dotted path of a parameter that is present.
    pub param: Option<String>,
    /// The origin of that parameter, or of any: `user`, `author`, `model`, `trusted`, `untrusted`, a tool, or a label
    /// such as `untrusted:TOOL`.
    pub from: Option<String>,
}

impl Match {
    pub(super) fn holds(
        &self,
        tool: &str,
        effect: Effect,
        params: &Value,
        origins: &dyn Fn(Option<&str>) -> Origins,
    ) -> bool {
        self.tool.as_ref().is_none_or(|pattern| glob::matches(pattern, tool))
            && self.effect.as_ref().is_none_or(|name| effect.name() == name)
            && self.param.as_ref().is_none_or(|path| present(params, path))
            && (self.from.is_none() || origins(self.param.as_deref()).iter().any(|origin| self.is_from(origin)))
    }

    /// Whether its `from` names this origin.
    pub(super) fn is_from(&self, origin: &Origin) -> bool {
        let Some(from) = self.from.as_deref() else { return false };
        match origin {
            Origin::Tool { name, trusted } => {
                let trust = if *trusted { "trusted" } else { "untrusted" };
                let label = || from.strip_prefix(trust)?.strip_prefix(':');
                from == trust || from == name.as_ref() || label() == Some(name.as_ref())
            }
            Origin::User => from == "user",
            Origin::Author => from == "author",
            Origin::Model => from == "model",
        }
    }
}

impl fmt::Display for Match {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let conditions =
            [("tool", &self.tool), ("effect", &self.effect), ("parameter", &self.param), ("from", &self.from)];
        let conditions: Vec<String> =
            conditions.iter().filter_map(|(what, value)| Some(format!("{what} `{}`", value.as_ref()?))).collect();
        f.write_str(if conditions.is_empty() { "every call" } else { "" })?;
        f.write_str(&conditions.join(", "))
    }
}

/// Whether a dotted path exists, or may exist behind a reference.
pub(crate) fn present(params: &Value, path: &str) -> bool {
    !values_at(params, path).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn b24_9_a_risky_path_is_found_in_any_case_without_underscores_and_through_arrays() {
        assert!(present(&json!({"fields": {"opportunity": 1}}), "fields.OPPORTUNITY"));
        assert!(present(&json!({"rows": [{}, {"SUM": 1}]}), "rows.sum"));
        assert!(present(&json!({"fields": {"stageId": 1}}), "fields.STAGE_ID"));
        assert!(present(&json!({"FIELDS": {"Stage_ID": 1}}), "fields.stageId"));
        assert!(present(&json!({"fields": "†state.fields"}), "fields.OPPORTUNITY"));
        assert!(!present(&json!({"fields": {"TITLE": 1}}), "fields.OPPORTUNITY"));
    }
}
