//! The author's settings of an agent: mode, limits, policy, approval.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::call::Call;
use crate::origin::Origins;
use crate::policy::{AfterReading, Gate, Mode, Policy};
use crate::tool::Tool;
use obelus_notebook::dialect::Dialect;
use obelus_notebook::mention::consent::ConsentWords;

/// Whether the model's `confirmed: true` counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelMayConfirm {
    /// If the user's messages since the question consent.
    #[default]
    AfterConsent,
    /// Never.
    Never,
}

/// Who approves a lazy plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// A person, every time.
    #[default]
    Person,
    /// The check alone, when no call of the plan would need a person.
    Checked,
}

/// What a planner may see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Planning {
    /// Everything in memory.
    #[default]
    WhileReading,
    /// Trusted data, and the shape of everything else: plans are made before reading.
    BeforeReading,
}

/// When the model is asked again after its calls have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FollowUp {
    /// Until there is an output: for requests that are not conversations (LOOP-1).
    #[default]
    Always,
    /// In a conversation, after calls and decisions, until an answer has no calls (LOOP-7).
    UntilDone,
    /// After calls that read or failed, so that it can answer from that.
    AfterReads,
    /// Never: one request for each message.
    Never,
}

/// Fields of the state that the session itself maintains, by name. Calls write the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ManagedFields {
    /// The user's requests, newest first.
    pub goals: Option<String>,
    /// Calls that wait for a value or a decision.
    pub in_progress: Option<String>,
    /// Planned calls that have not run: waiting ones, and those that the mode holds back.
    pub planned: Option<String>,
    /// Questions and decisions, by what changes.
    pub confirmations: Option<String>,
}

/// The limit of questions in a prompt, if the state contains them too.
const MOST_WAITING: usize = 5;

/// Settings in journals of earlier versions. What they switched on always holds now.
const FORMER: [&str; 10] = [
    "expands_rows",
    "guards_names",
    "orders_rows",
    "denials_are_trusted",
    "guards_effects",
    "guards_plans",
    "guards_limits",
    "guards_delegates",
    "guards_payments",
    "guards_repetitions",
];

/// All settings of an agent's sessions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The mode.
    pub mode: Mode,
    /// The policy.
    pub policy: Policy,
    /// Whether the model may report a consent.
    pub model_may_confirm: ModelMayConfirm,
    /// The words of consent.
    pub consent: ConsentWords,
    /// Who approves a lazy plan.
    pub approval: Approval,
    /// What a planner may see.
    pub planning: Planning,
    /// When the model is asked again.
    pub follow_up: FollowUp,
    /// Fields of the state that the session itself maintains.
    #[serde(rename = "kept")]
    pub managed: ManagedFields,
    /// A jq filter for what the model sees of a kind; without one, all of it.
    pub show: BTreeMap<String, String>,
    /// The language for people, such as `ru`.
    pub language: Option<String>,
    /// The time zone of the agent's users, such as `Europe/Moscow`.
    pub time_zone: Option<String>,
    /// The form of the model's answers.
    pub dialect: Dialect,
    /// The number of repair requests after an unreadable answer.
    pub repairs: u32,
    /// The limit of model requests in one turn.
    pub max_requests: u32,
    /// The limit of calls in one turn.
    pub max_calls: u32,
    /// The limit of tokens in one turn; none means no limit.
    pub max_tokens: Option<u64>,
    /// The limit of concurrent calls.
    pub max_parallel: u32,
    /// The limit of bytes of a result in the context.
    pub max_result_bytes: u64,
    /// The limit of characters of the transcript, beyond which the oldest results become lines.
    pub transcript_chars: u64,
    /// The depth limit of delegates.
    pub max_depth: u32,
    /// The time limit of a call in seconds, if its activity has none.
    pub call_seconds: u64,
    /// Seconds after which a question expires.
    pub question_seconds: u64,
    /// Seconds before the expiry of a question at which people are reminded; 0 for never.
    pub reminder_seconds: u64,
    /// Whether questions show current values, if a tool declares how to read them.
    pub before: bool,
    /// Allowed addresses of delegates' saved requests: exact ones, or all below one that ends in `/`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub delegates: Vec<String>,
    /// The names of existing activities. Files do not set them.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub activities: BTreeSet<String>,
    /// Whether state is kept from turn to turn, whatever the request's context says.
    pub persistent: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            policy: Policy::default(),
            model_may_confirm: ModelMayConfirm::default(),
            consent: ConsentWords::default(),
            approval: Approval::default(),
            planning: Planning::default(),
            follow_up: FollowUp::default(),
            managed: ManagedFields::default(),
            show: BTreeMap::new(),
            language: None,
            time_zone: None,
            dialect: Dialect::default(),
            repairs: 0,
            max_requests: 16,
            max_calls: 1_000,
            max_tokens: None,
            max_parallel: 16,
            max_result_bytes: 1024 * 1024,
            transcript_chars: 48_000,
            max_depth: 8,
            call_seconds: 60,
            question_seconds: 24 * 60 * 60,
            reminder_seconds: 4 * 60 * 60,
            before: true,
            delegates: Vec::new(),
            activities: BTreeSet::new(),
            persistent: false,
        }
    }
}

impl Settings {
    /// Reads settings, perhaps in a box, from a journal. Settings of earlier versions are ignored.
    pub fn from_journal<'de, D: Deserializer<'de>, S: DeserializeOwned>(deserializer: D) -> Result<S, D::Error> {
        let mut json = Value::deserialize(deserializer)?;
        if let Value::Object(fields) = &mut json {
            fields.retain(|name, _| !FORMER.contains(&name.as_str()));
        }
        S::deserialize(json).map_err(D::Error::custom)
    }

    /// Seconds until the reminder of a question: never in the first half of its time.
    pub(super) fn remind_after(&self) -> Option<u64> {
        let before = self.reminder_seconds.min(self.question_seconds / 2);
        (before > 0).then(|| self.question_seconds - before)
    }

    /// The settings of a delegate: half of its caller's limits, which would multiply with every level otherwise.
    pub(super) fn for_delegate(&self) -> Self {
        let half = |limit: u32| (limit / 2).max(2);
        Self { max_requests: half(self.max_requests), max_calls: half(self.max_calls), ..self.clone() }
    }

    /// The gate of these settings, without the session's standing consents: reads ahead of a call's own verdict do not
    /// rely on a consent, and a person who edits a call sees every reason.
    pub(super) fn gate(&self) -> Gate<'_> {
        Gate::new(&self.policy, self.mode)
    }

    pub(super) fn plans_before_reading(&self) -> bool {
        self.planning == Planning::BeforeReading
    }

    /// The origins that count as shown: if plans are made before reading, only the trusted ones.
    pub(super) fn counted_as_shown(&self, origins: Origins) -> Origins {
        if self.plans_before_reading() { origins.believed() } else { origins }
    }

    /// Whether values that the user named count as the user's own (POL-7).
    pub(super) fn uses_grounds(&self) -> bool {
        self.policy.after_reading() == AfterReading::Grounded
    }

    /// Whether grounding matters for a call: its literals are untrusted, they are sent to another person, or a rule
    /// asks for origins.
    pub(super) fn needs_grounds(&self, literal: &Origins, call: &Call) -> bool {
        self.uses_grounds() && (!literal.is_trusted() || call.delegate.is_some() || self.policy.looks_at_origins())
    }

    /// The limit of open questions in a prompt. If the state contains them, the first ones suffice.
    pub(super) fn most_waiting(&self) -> usize {
        if self.managed.confirmations.is_some() { MOST_WAITING } else { usize::MAX }
    }

    /// The activity of a tool's call; none if the model carries it out.
    pub(super) fn activity_of<'a>(&self, tool: &'a Tool, named: Option<&'a str>) -> Option<&'a str> {
        self.known_activity(named).or_else(|| self.known_activity(Some(&tool.name)))
    }

    pub(super) fn known_activity<'a>(&self, named: Option<&'a str>) -> Option<&'a str> {
        named.filter(|name| self.activities.contains(*name))
    }

    /// Whether the model itself carries out calls of this tool.
    pub(super) fn runs_by_model(&self, tool: &Tool) -> bool {
        tool.fixed_name("_delegate").is_none() && self.activity_of(tool, tool.fixed_name("_activity")).is_none()
    }

    /// Whether the model itself carries out this call.
    pub(super) fn is_model_call(&self, call: &Call, tool: &Tool) -> bool {
        call.delegate.is_none() && self.activity_of(tool, call.activity.as_deref()).is_none()
    }

    /// The origin of an error's text: annotations of parts of a result do not apply to it.
    pub(super) fn origin_of_error(&self, call: &Call) -> Origins {
        match call.tool.as_deref() {
            Some(tool) if call.delegate.is_none() && !self.is_model_call(call, tool) => {
                tool.origin().clone().joined(tool.error_origin())
            }
            _ => Origins::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn settings_of_earlier_versions_are_ignored_and_misspelt_ones_are_not() {
        let earlier = json!({"mode": "full", "guards_payments": false, "orders_rows": true});
        assert!(serde_json::from_value::<Settings>(earlier.clone()).is_err(), "a file has none of them");
        let read: Settings = Settings::from_journal(earlier).unwrap();
        assert_eq!(read, Settings { mode: Mode::Full, ..Settings::default() });
        let written = serde_json::to_value(&read).unwrap();
        assert_eq!(serde_json::from_value::<Settings>(written).unwrap(), read);
        assert!(Settings::from_journal::<_, Settings>(json!({"max_cals": 3})).is_err());
    }
}
