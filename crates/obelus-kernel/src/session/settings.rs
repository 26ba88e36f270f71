//! What an agent's author decides: mode, limits, policy, who may confirm.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::inbox::ConsentWords;
use crate::call::Call;
use crate::origin::Origins;
use crate::policy::{Gate, Mode, Policy};
use crate::tool::Tool;
use obelus_notebook::dialect::Dialect;

/// Whether the model's `confirmed: true` can count at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelMayConfirm {
    /// When the user's own words since the question consent.
    #[default]
    AfterConsent,
    /// Never.
    Never,
}

/// Who lets a lazy plan run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// A person, every time.
    #[default]
    Person,
    /// The check alone, when no call of the plan would need a person.
    Checked,
}

/// What whoever plans may see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Planning {
    /// Everything in memory.
    #[default]
    WhileReading,
    /// What is trusted, and of everything else its shape: plans are made before reading.
    BeforeReading,
}

/// When the model is asked again after its calls have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FollowUp {
    /// Until there is an output: a request that is no conversation (LOOP-1).
    #[default]
    Always,
    /// In a conversation, after calls and decisions, until an answer has no calls (LOOP-7).
    UntilDone,
    /// After calls that read something or failed, so that it can answer from that.
    AfterReads,
    /// Never: one request for each message.
    Never,
}

/// Parts of the state that the session itself keeps up, each by the name of its field. Calls write the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ManagedFields {
    /// What the user wished for, newest first.
    pub goals: Option<String>,
    /// What waits for a value or a decision.
    pub in_progress: Option<String>,
    /// Calls that are planned and have not run: those that wait, and those that the mode keeps back.
    pub planned: Option<String>,
    /// What people were asked and what they said, by what changes.
    pub confirmations: Option<String>,
}

/// Everything an agent's author decides about how its sessions run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// How far it may go.
    pub mode: Mode,
    /// What may happen.
    pub policy: Policy,
    /// Whether the model may report a consent.
    pub model_may_confirm: ModelMayConfirm,
    /// What counts as a consent.
    pub consent: ConsentWords,
    /// Who lets a lazy plan run.
    pub approval: Approval,
    /// What whoever plans may see.
    pub planning: Planning,
    /// When the model is asked again.
    pub follow_up: FollowUp,
    /// What of the state the session keeps up by itself.
    #[serde(rename = "kept")]
    pub managed: ManagedFields,
    /// What the model is shown of a kind, as a jq filter over its value; without one, all of it.
    pub show: BTreeMap<String, String>,
    /// The language of words for people, such as `ru`.
    pub language: Option<String>,
    /// The time zone of the people it works for, such as `Europe/Moscow`.
    pub time_zone: Option<String>,
    /// The form of the model's answers.
    pub dialect: Dialect,
    /// Requests that may follow an answer out of format, showing the error.
    pub repairs: u32,
    /// Requests to the model in one turn.
    pub max_requests: u32,
    /// Calls started in one turn.
    pub max_calls: u32,
    /// Tokens used in one turn; none means no limit.
    pub max_tokens: Option<u64>,
    /// Calls running at once.
    pub max_parallel: u32,
    /// Bytes of a result that the context keeps.
    pub max_result_bytes: u64,
    /// Characters of the session that a request tells, before the oldest results become lines.
    pub transcript_chars: u64,
    /// Depth of delegates below this session.
    pub max_depth: u32,
    /// Seconds that one call may take, where its activity says nothing.
    pub call_seconds: u64,
    /// Seconds after which a question lapses.
    pub question_seconds: u64,
    /// Seconds before a question lapses at which whoever may answer is reminded; 0 for never.
    pub reminder_seconds: u64,
    /// Whether questions show what is there now beside what would be, where a tool says how to read it.
    pub before: bool,
    /// Addresses at which saved requests of delegates may lie: each one address, or all below one that ends in `/`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub delegates: Vec<String>,
    /// Names of the activities that exist.
    #[serde(skip_deserializing, skip_serializing_if = "BTreeSet::is_empty")]
    pub activities: BTreeSet<String>,
    /// Whether state is carried from turn to turn, whatever the request's context says.
    pub persistent: bool,
    /// Whether the rows of a list become instances for the calls of the same step. Sessions that began before there was
    /// such a setting replay without it.
    #[serde(default)]
    pub expands_rows: bool,
    /// Whether names are guarded: an instance has a number where nobody vouches for its name, and parameters have the
    /// spelling that their tool declares. Sessions that began before there was such a setting replay without it.
    #[serde(default)]
    pub guards_names: bool,
    /// Whether instances are treated in the order in which they came, and not in that of their names. Sessions that began
    /// before there was such a setting go on without it.
    #[serde(default)]
    pub orders_rows: bool,
    /// Whether the words about a call that was denied, refused or skipped are not those of its tool, which never spoke.
    /// Sessions that began before there was such a setting replay without it.
    #[serde(default)]
    pub denials_are_trusted: bool,
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
            expands_rows: true,
            guards_names: true,
            orders_rows: true,
            denials_are_trusted: true,
        }
    }
}

impl Settings {
    /// Settings that are on in every new session, and off in those that began before there were such settings.
    pub const OF_NEW_SESSIONS: [&str; 4] = ["expands_rows", "guards_names", "orders_rows", "denials_are_trusted"];

    /// Seconds after which somebody is reminded of a question: never in the first half of its time.
    pub(super) fn remind_after(&self) -> Option<u64> {
        let before = self.reminder_seconds.min(self.question_seconds / 2);
        (before > 0).then(|| self.question_seconds - before)
    }

    /// The gate that judges calls under these settings.
    pub(super) fn gate(&self) -> Gate<'_> {
        Gate::new(&self.policy, self.mode)
    }

    pub(super) fn plans_before_reading(&self) -> bool {
        self.planning == Planning::BeforeReading
    }

    /// The part of origins that counts as shown: where plans are made before reading, only the trusted part is shown.
    pub(super) fn in_sight(&self, origins: Origins) -> Origins {
        if self.plans_before_reading() { origins.believed() } else { origins }
    }

    /// The activity that carries out a call of a tool, if not the model itself.
    pub(super) fn activity_of<'a>(&self, tool: &'a Tool, named: Option<&'a str>) -> Option<&'a str> {
        self.known_activity(named).or_else(|| self.known_activity(Some(&tool.name)))
    }

    pub(super) fn known_activity<'a>(&self, named: Option<&'a str>) -> Option<&'a str> {
        named.filter(|name| self.activities.contains(*name))
    }

    /// Whether the model itself carries out calls of this tool.
    pub(super) fn is_latent(&self, tool: &Tool) -> bool {
        tool.fixed_name("_delegate").is_none() && self.activity_of(tool, tool.fixed_name("_activity")).is_none()
    }

    /// Whether the model itself carries out this call.
    pub(super) fn is_model_call(&self, call: &Call, tool: &Tool) -> bool {
        call.delegate.is_none() && self.activity_of(tool, call.activity.as_deref()).is_none()
    }

    /// The origin of the words of an error: annotations of parts of a result do not hold for it.
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
    use super::*;

    #[test]
    fn a_session_of_an_earlier_version_replays_without_the_settings_of_new_sessions() {
        let earlier: Settings = serde_json::from_value(serde_json::json!({"mode": "full"})).unwrap();
        let [earlier, new] = [earlier, Settings::default()].map(|settings| serde_json::to_value(settings).unwrap());
        for setting in Settings::OF_NEW_SESSIONS {
            assert_eq!((&earlier[setting], &new[setting]), (&false.into(), &true.into()), "{setting}");
        }
    }
}
