//! The gate: the only place that makes a verdict on a call.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::consent::{ConsentTerms, StandingConsent};
use super::grounding::{AfterReading, Grounded, Grounding};
use super::index::RuleId;
use super::matching::{Match, present};
use super::provenance::Place;
use super::reason::Reason;
use super::rules::{Policy, PolicyRule};
use crate::call::Call;
use crate::origin::Origins;
use crate::time::Time;
use crate::tool::{Effect, Tool};

/// The mode of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// No calls are executed, including reads.
    #[default]
    Shadow,
    /// Reads and creations.
    Canary,
    /// Everything on the allow-list.
    Full,
}

impl Mode {
    /// The mode's name.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Shadow => "shadow",
            Mode::Canary => "canary",
            Mode::Full => "full",
        }
    }

    fn permits(self, effect: Effect) -> bool {
        match self {
            Mode::Shadow => false,
            Mode::Canary => matches!(effect, Effect::Read | Effect::Create),
            Mode::Full => true,
        }
    }
}

/// The ruling on a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    /// It runs.
    Allow,
    /// A person decides.
    Confirm,
    /// It does not run.
    Refuse,
}

impl Ruling {
    /// The ruling in one word.
    pub fn name(self) -> &'static str {
        match self {
            Ruling::Allow => "allow",
            Ruling::Confirm => "confirm",
            Ruling::Refuse => "refuse",
        }
    }
}

/// A verdict on a call. Only the gate creates one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict(Decided);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Decided {
    /// It runs, maybe because of a standing consent.
    Allow(Option<Reason>),
    Confirm(Vec<Reason>),
    Refuse(Reason),
}

impl Verdict {
    /// The ruling.
    pub fn ruling(&self) -> Ruling {
        match self.0 {
            Decided::Allow(_) => Ruling::Allow,
            Decided::Confirm(_) => Ruling::Confirm,
            Decided::Refuse(_) => Ruling::Refuse,
        }
    }

    /// Whether the call runs without a person.
    pub fn is_allowed(&self) -> bool {
        self.ruling() == Ruling::Allow
    }

    /// The reasons. If it is allowed, the standing consent that replaced a person's answer, if any.
    pub fn reasons(&self) -> &[Reason] {
        match &self.0 {
            Decided::Allow(consent) => consent.as_slice(),
            Decided::Confirm(reasons) => reasons,
            Decided::Refuse(reason) => std::slice::from_ref(reason),
        }
    }

    /// The reasons for asking a person, none if it is allowed; or the reason for which it is refused.
    pub(crate) fn or_refusal(self) -> Result<Vec<Reason>, Reason> {
        match self.0 {
            Decided::Allow(_) => Ok(Vec::new()),
            Decided::Confirm(reasons) => Ok(reasons),
            Decided::Refuse(reason) => Err(reason),
        }
    }

    /// The same, but a person decides, for this reason too. A standing consent does not cover it.
    fn and_confirm(self, reason: Reason) -> Self {
        Self(match self.0 {
            Decided::Allow(_) => Decided::Confirm(vec![reason]),
            Decided::Confirm(reasons) => Decided::Confirm([vec![reason], reasons].concat()),
            refused @ Decided::Refuse(_) => refused,
        })
    }

    /// The JSON for other programs.
    pub(crate) fn to_json(&self) -> Value {
        let mut form = json!({"verdict": self.ruling().name()});
        if !self.reasons().is_empty() {
            form["reasons"] = self.reasons().iter().map(ToString::to_string).collect();
        }
        form
    }
}

/// A call to be judged.
#[derive(Clone, Copy)]
pub struct Proposal<'a> {
    /// The call.
    pub call: &'a Call,
    /// Its tool.
    pub tool: &'a Tool,
    /// Its parameters, with or without resolved references; computed only if a rule needs them.
    pub params: &'a dyn Fn() -> Value,
    /// The origins of a part of the call; none if it is absent.
    pub origins: &'a dyn Fn(Place<'_>) -> Option<Origins>,
    /// The origins of what the proposer had been shown.
    pub proposer: &'a Origins,
    /// Whether a read may follow this untrusted target (POL-6).
    pub may_follow: &'a dyn Fn(&str) -> bool,
    /// Finds values in the user's messages, if available (POL-7).
    pub grounding: Option<&'a Grounding<'a>>,
    /// Why a person must be asked because of the session's past, whatever the rules say: the same effect happened
    /// without a result, or was not approved (DUR-4, ASK-3).
    pub earlier: Option<&'a Reason>,
}

impl<'a> Proposal<'a> {
    /// A proposal without grounding and without a past, of which no read may follow an untrusted target.
    pub fn new(
        call: &'a Call,
        tool: &'a Tool,
        params: &'a dyn Fn() -> Value,
        origins: &'a dyn Fn(Place<'_>) -> Option<Origins>,
        proposer: &'a Origins,
    ) -> Self {
        Self { call, tool, params, origins, proposer, may_follow: &|_| false, grounding: None, earlier: None }
    }
}

impl fmt::Debug for Proposal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proposal").field("tool", &self.tool.name).finish_non_exhaustive()
    }
}

/// A finding about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its source: `mode`, `policy.rules[2]`, `x-risky`, …
    pub by: String,
    /// Its ruling.
    pub says: Ruling,
    /// Why.
    pub why: Reason,
}

/// A verdict with all findings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The verdict.
    pub verdict: Verdict,
    /// All findings, including those that lost.
    pub findings: Vec<Finding>,
}

impl Explanation {
    /// The JSON for other programs.
    pub fn to_json(&self) -> Value {
        let spoken = |one: &Finding| json!({"by": one.by, "says": one.says, "why": one.why.to_string()});
        let reasons: Vec<String> = self.verdict.reasons().iter().map(ToString::to_string).collect();
        json!({
            "verdict": self.verdict.ruling().name(),
            "reasons": reasons,
            "spoken": self.findings.iter().map(spoken).collect::<Vec<_>>(),
        })
    }
}

/// Judges calls by a policy, a mode and the origins of values. The strictest finding wins.
#[derive(Clone, Copy, Debug)]
pub struct Gate<'a> {
    policy: &'a Policy,
    mode: Mode,
    /// The session's standing consents.
    consents: &'a [StandingConsent],
    now: Time,
}

/// Takes the source, ruling and reason of a finding. Reasons are created only if wanted.
type EachFinding<'a> = dyn FnMut(&dyn fmt::Display, Ruling, &dyn Fn() -> Reason) + 'a;

impl<'a> Gate<'a> {
    /// The gate of a session in this mode.
    pub fn new(policy: &'a Policy, mode: Mode) -> Self {
        Self { policy, mode, consents: &[], now: Time::default() }
    }

    /// Adds the session's standing consents.
    #[must_use]
    pub(crate) fn with_consents(self, consents: &'a [StandingConsent], now: Time) -> Self {
        Self { consents, now, ..self }
    }

    /// The rule for creations proposed after untrusted data was shown (POL-7).
    pub(super) fn after_reading(&self) -> AfterReading {
        self.policy.after_reading()
    }

    /// The verdict on a call.
    pub fn judge(&self, proposal: &Proposal<'_>) -> Verdict {
        let verdict = self.judge_by_rules(proposal);
        match proposal.earlier {
            Some(reason) => verdict.and_confirm(reason.clone()),
            None => verdict,
        }
    }

    fn judge_by_rules(&self, proposal: &Proposal<'_>) -> Verdict {
        if let Some(reason) = self.refusal_by_mode(proposal.tool) {
            return Verdict(Decided::Refuse(reason));
        }
        let mut reasons = Vec::new();
        let mut refusal = None;
        self.each_finding(proposal, &mut |_, says, why| match says {
            Ruling::Allow => {}
            Ruling::Confirm => reasons.push(why()),
            Ruling::Refuse => refusal = Some(why()),
        });
        Verdict(match refusal {
            Some(reason) => Decided::Refuse(reason),
            None if reasons.is_empty() => Decided::Allow(None),
            None => match self.consent_for(proposal, &reasons) {
                Some(reason) => Decided::Allow(Some(reason)),
                None => Decided::Confirm(reasons),
            },
        })
    }

    /// The standing consent that covers a call with these reasons.
    fn consent_for(&self, proposal: &Proposal<'_>, reasons: &[Reason]) -> Option<Reason> {
        let mut holding = self.consents.iter().filter(|consent| consent.holds(self.now)).peekable();
        holding.peek()?;
        let may_stand = !self.has_rule_on_origins(proposal);
        let found = holding.find(|consent| may_stand && consent.terms.answer_for(proposal, reasons))?;
        Some(Reason::Consented { number: found.number, by: found.by.clone(), at: found.at })
    }

    /// Whether a consent with these terms would cover the call.
    pub(crate) fn may_stand(&self, terms: &ConsentTerms, proposal: &Proposal<'_>) -> bool {
        let mut reasons = Vec::new();
        self.each_finding(proposal, &mut |_, says, why| {
            if says == Ruling::Confirm {
                reasons.push(why());
            }
        });
        !self.has_rule_on_origins(proposal) && terms.answer_for(proposal, &reasons)
    }

    /// Whether the policy asks about the call because of origins, which cannot be answered in advance.
    fn has_rule_on_origins(&self, proposal: &Proposal<'_>) -> bool {
        self.rules_on_origins(proposal).iter().any(|rule| rule.verdict == Ruling::Confirm)
    }

    /// The untrusted value because of which a rule refuses a call, if there is one.
    pub(crate) fn refused_origins(&self, proposal: &Proposal<'_>) -> Option<Reason> {
        let rules = self.rules_on_origins(proposal);
        let Match { param, from, .. } = &rules.iter().find(|rule| rule.verdict == Ruling::Refuse)?.matching;
        let origins = (proposal.origins)(param.as_deref().map_or(Place::Call, Place::Path))?;
        let from = from.as_deref()?.trim_start_matches("untrusted:");
        let is_named = |tool: &&str| from == "untrusted" || from == *tool;
        let sources: Vec<String> = origins.untrusted().filter(is_named).map(str::to_owned).collect();
        let path = param.clone().unwrap_or_default();
        (!sources.is_empty()).then_some(Reason::UntrustedTarget { path, sources })
    }

    /// The rules about origins that match a call.
    fn rules_on_origins(&self, proposal: &Proposal<'_>) -> Vec<&'a PolicyRule> {
        let origins =
            |path: Option<&str>| (proposal.origins)(path.map_or(Place::Call, Place::Path)).unwrap_or_default();
        let lines = if self.policy.looks_at_origins() {
            self.policy.rules_about(proposal.tool, &(proposal.params)(), &origins)
        } else {
            Vec::new()
        };
        lines.into_iter().filter_map(|line| self.policy.rule_on_origins(line)).collect()
    }

    /// The first part of [`Self::judge`], for calls that were judged before: the mode may have been lowered since.
    pub(crate) fn refusal_by_mode(&self, tool: &Tool) -> Option<Reason> {
        (!self.mode.permits(tool.effect)).then(|| Reason::Mode(self.mode, tool.effect.name().to_owned()))
    }

    /// The verdict with all findings.
    pub fn explain(&self, proposal: &Proposal<'_>) -> Explanation {
        let mut findings = Vec::new();
        let by_mode = self.refusal_by_mode(proposal.tool);
        findings.extend(by_mode.map(|why| Finding { by: "mode".to_owned(), says: Ruling::Refuse, why }));
        self.each_finding(proposal, &mut |by, says, why| {
            findings.push(Finding { by: by.to_string(), says, why: why() });
        });
        if let Some(why) = proposal.earlier {
            findings.push(Finding { by: "the session".to_owned(), says: Ruling::Confirm, why: why.clone() });
        }
        let verdict = self.judge(proposal);
        if let [why @ Reason::Consented { number, .. }] = verdict.reasons() {
            findings.push(Finding { by: format!("consent c{number}"), says: Ruling::Allow, why: why.clone() });
        }
        Explanation { verdict, findings }
    }

    /// All findings about a call within the mode: from the policy, the tool's annotations, the agent, and the origins
    /// of values.
    fn each_finding(&self, proposal: &Proposal<'_>, finding: &mut EachFinding<'_>) {
        let Proposal { call, tool, .. } = *proposal;
        let params = if self.policy.looks_at_params(tool) { (proposal.params)() } else { Value::Null };
        let origins =
            |path: Option<&str>| (proposal.origins)(path.map_or(Place::Call, Place::Path)).unwrap_or_default();
        let lines = self.policy.rules_about(tool, &params, &origins);
        for line in &lines {
            let (says, words) = self.policy.says(*line);
            let why = || words.map_or(Reason::Listed(says), |words| Reason::Author(words.to_owned()));
            match line {
                RuleId::Allow(_) => finding(line, says, &|| Reason::Author("it is on the allow-list".to_owned())),
                _ => finding(line, says, &why),
            }
        }
        if lines.is_empty() && self.policy.has_allow_list() {
            finding(&"policy", Ruling::Refuse, &|| Reason::NotListed(tool.name.clone()));
        }
        for path in tool.risky.iter().filter(|path| present(&params, path)) {
            finding(&"x-risky", Ruling::Confirm, &|| Reason::Risky(path.clone()));
        }
        match tool.effect {
            Effect::Delete => finding(&"x-effect", Ruling::Confirm, &|| Reason::Deletes),
            Effect::Configure => finding(&"x-effect", Ruling::Confirm, &|| Reason::Configures),
            Effect::Read | Effect::Create | Effect::Update => {}
        }
        if call.asks_confirmation() {
            finding(&"the agent", Ruling::Confirm, &|| Reason::AgentAsks);
        }
        self.findings_of_origins(proposal, finding);
    }

    /// How a creation that was proposed after reading is grounded, if that suffices (POL-7).
    fn grounded(&self, proposal: &Proposal<'_>) -> Option<Vec<Grounded>> {
        let is_asked_for = self.policy.after_reading() == AfterReading::Grounded;
        let grounding = proposal.grounding.filter(|_| is_asked_for && proposal.tool.effect == Effect::Create)?;
        grounding.of_creation(proposal.call, proposal.tool, &(proposal.params)())
    }

    /// POL-6: whether untrusted data influences the call, through its proposal or one of its targets.
    fn findings_of_origins(&self, proposal: &Proposal<'_>, finding: &mut EachFinding<'_>) {
        let Proposal { call, tool, origins, proposer, may_follow, .. } = *proposal;
        let acts = tool.effect.acts();
        let names = |origins: &Origins| -> Vec<String> { origins.untrusted().map(str::to_owned).collect() };
        if acts && !proposer.is_trusted() {
            match self.grounded(proposal) {
                Some(values) => finding(&"origins", Ruling::Allow, &|| Reason::Grounded(values.clone())),
                None => finding(&"origins", Ruling::Confirm, &|| Reason::ProposedAfterReading(names(proposer))),
            }
        }
        // Scopes count even if a tool declares that it has no target.
        if acts && !call.scopes.is_empty() {
            let of = origins(Place::Scopes).unwrap_or_default();
            if !of.is_trusted() {
                finding(&"origins", Ruling::Confirm, &|| Reason::UntrustedScopes(names(&of)));
            }
        }
        let mut target = |place: Place<'_>, path: &str| {
            let Some(of) = origins(place).filter(|of| !of.is_trusted()) else { return };
            if acts || !may_follow(path) {
                let reason = || Reason::UntrustedTarget { path: path.to_owned(), sources: names(&of) };
                finding(&"origins", Ruling::Confirm, &reason);
            }
        };
        match &tool.target {
            Some(paths) => paths.iter().for_each(|path| target(Place::Path(path), path)),
            None if acts => call.params.iter().for_each(|(name, _)| target(Place::Param(name), name)),
            // A read without declared targets cannot be misdirected.
            None => {}
        }
    }
}
