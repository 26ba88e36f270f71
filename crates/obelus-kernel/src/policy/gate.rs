//! The gate: the only place that makes a verdict on a call.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::consent::{ConsentTerms, StandingConsent};
use super::finding::{Explanation, Finding, FindingSource};
use super::grounding::{AfterReading, Grounded, Grounding};
use super::matching::{Match, present};
use super::provenance::Place;
use super::reason::Reason;
use super::rules::Policy;
use crate::call::Call;
use crate::fault::Rule;
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

    /// Whether any call is executed in it.
    pub(crate) fn executes(self) -> bool {
        self != Mode::Shadow
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
    Refuse(CallRefusal),
}

/// Why a call is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallRefusal {
    pub(crate) reason: Reason,
    /// The untrusted value because of which a rule refuses it, if there is one.
    pub(crate) origins: Option<Reason>,
}

impl CallRefusal {
    /// The rule by which it is refused.
    pub(crate) fn rule(&self) -> Rule {
        if matches!(self.reason, Reason::Mode(..)) { Rule::Pol1 } else { Rule::Pol2 }
    }
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
            Decided::Refuse(refusal) => std::slice::from_ref(&refusal.reason),
        }
    }

    /// The reasons for asking a person, none if it is allowed; or why it is refused.
    pub(crate) fn or_refusal(self) -> Result<Vec<Reason>, CallRefusal> {
        match self.0 {
            Decided::Allow(_) => Ok(Vec::new()),
            Decided::Confirm(reasons) => Ok(reasons),
            Decided::Refuse(refusal) => Err(refusal),
        }
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
///
/// What is known differs:
///
/// | proposal | origins | `may_follow` | `grounding` | `earlier` | consents |
/// |---|---|---|---|---|---|
/// | a ready call | its own | if planned before reading | yes | yes | yes |
/// | a person's edit | own where unchanged, else the person's | the same | with the edit's words | yes | no (1) |
/// | an early read | its own | no (2) | yes | no (3) | no (1) |
/// | a checked plan | of references, what was shown | no (4) | yes | no (5) | yes |
/// | a preview read | of the call's values; proposed by nobody | no (2) | in the origins | no (3) | no (1) |
/// | [`explain`](super::explain()) | also those it states | no (2) | yes | in a session | in a session |
/// | [`simulate`](super::simulate()) | of planned results; a person's | no (4) | no (6) | no (5) | no (5) |
///
/// (1) A person decides, or nothing may be used up. (2) It is in no plan. (3) It has no effect. (4) The values are not
/// known yet: more is asked about than in the run. (5) Each call is judged again in the run. (6) Literals are a person's.
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
    /// Whether a person is asked about it in every mode, because another program's state had the question. The mode is
    /// checked again before it runs.
    pub is_imported: &'a dyn Fn() -> bool,
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
        let (may_follow, is_imported) = (&|_: &str| false, &|| false);
        Self { call, tool, params, origins, proposer, may_follow, grounding: None, earlier: None, is_imported }
    }
}

impl fmt::Debug for Proposal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proposal").field("tool", &self.tool.name).finish_non_exhaustive()
    }
}

/// What the policy, the tool, the model and the origins of values say of a call.
#[derive(Default)]
struct Evaluation<'a> {
    /// Why a person is asked.
    asks: Vec<Reason>,
    /// Whether a rule asks because of origins, which cannot be answered in advance.
    asks_about_origins: bool,
    refusal: Option<Reason>,
    /// The first rule that refuses because of origins.
    refusing_origins: Option<&'a Match>,
}

impl<'a> Evaluation<'a> {
    /// Adds a finding. Its reason is created only if it matters.
    fn add(&mut self, policy: &'a Policy, by: FindingSource, says: Ruling, why: &dyn Fn() -> Reason) {
        let on_origins = || policy.rule(by).map(|rule| &rule.matching).filter(|matching| matching.from.is_some());
        match says {
            Ruling::Allow => {}
            Ruling::Confirm => {
                self.asks.push(why());
                self.asks_about_origins |= on_origins().is_some();
            }
            Ruling::Refuse => {
                self.refusal = Some(why());
                self.refusing_origins = self.refusing_origins.or_else(on_origins);
            }
        }
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
type EachFinding<'a> = dyn FnMut(FindingSource, Ruling, &dyn Fn() -> Reason) + 'a;

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
        match self.refusal_by_mode(proposal.tool) {
            None => self.verdict(proposal, self.evaluate(proposal)),
            Some(refusal) if (proposal.is_imported)() => Verdict(Decided::Confirm(vec![refusal.reason])),
            Some(refusal) => Verdict(Decided::Refuse(refusal)),
        }
    }

    fn evaluate(&self, proposal: &Proposal<'_>) -> Evaluation<'a> {
        let mut found = Evaluation::default();
        self.each_finding(proposal, &mut |by, says, why| found.add(self.policy, by, says, why));
        found
    }

    /// The verdict within the mode.
    fn verdict(&self, proposal: &Proposal<'_>, found: Evaluation<'_>) -> Verdict {
        if let Some(reason) = found.refusal {
            let origins = found.refusing_origins.and_then(|matching| untrusted_origins(proposal, matching));
            return Verdict(Decided::Refuse(CallRefusal { reason, origins }));
        }
        let consent = self.consent_for(proposal, &found);
        let asks = if consent.is_some() { Vec::new() } else { found.asks };
        Verdict(match proposal.earlier {
            // A standing consent does not cover it.
            Some(earlier) => Decided::Confirm(std::iter::once(earlier.clone()).chain(asks).collect()),
            None if asks.is_empty() => Decided::Allow(consent),
            None => Decided::Confirm(asks),
        })
    }

    /// The standing consent that covers a call that needs a person.
    fn consent_for(&self, proposal: &Proposal<'_>, found: &Evaluation<'_>) -> Option<Reason> {
        let mut holding = self.consents.iter().filter(|consent| !found.asks.is_empty() && consent.holds(self.now));
        let covering = holding.find(|consent| is_covered(&consent.terms, proposal, found))?;
        Some(Reason::Consented { number: covering.number, by: covering.by.clone(), at: covering.at })
    }

    /// Whether a consent with these terms would cover the call.
    pub(crate) fn may_stand(&self, terms: &ConsentTerms, proposal: &Proposal<'_>) -> bool {
        is_covered(terms, proposal, &self.evaluate(proposal))
    }

    /// The first part of [`Self::judge`], for calls that were judged before: the mode may have been lowered since.
    pub(crate) fn refusal_by_mode(&self, tool: &Tool) -> Option<CallRefusal> {
        let reason = || Reason::Mode(self.mode, tool.effect.name().to_owned());
        (!self.mode.permits(tool.effect)).then(|| CallRefusal { reason: reason(), origins: None })
    }

    /// The verdict with all findings.
    pub fn explain(&self, proposal: &Proposal<'_>) -> Explanation {
        let mut findings = Vec::new();
        let by_mode = self.refusal_by_mode(proposal.tool);
        let mut add = |by, says, why| findings.push(Finding { by, says, why });
        if let Some(refusal) = &by_mode {
            add(FindingSource::Mode, Ruling::Refuse, refusal.reason.clone());
        }
        self.each_finding(proposal, &mut |by, says, why| add(by, says, why()));
        if let Some(why) = proposal.earlier {
            add(FindingSource::Session, Ruling::Confirm, why.clone());
        }
        let verdict = self.judge(proposal);
        if let [why @ Reason::Consented { number, .. }] = verdict.reasons() {
            add(FindingSource::Consent(*number), Ruling::Allow, why.clone());
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
        let mut is_named = false;
        self.policy.each_rule_about(tool, &params, &origins, &mut |by, says, words| {
            is_named = true;
            finding(by, says, &|| match by {
                FindingSource::List(Ruling::Allow, _) => Reason::Author("it is on the allow-list".to_owned()),
                _ => words.map_or(Reason::Listed(says), |words| Reason::Author(words.to_owned())),
            });
        });
        if !is_named && self.policy.has_allow_list() {
            finding(FindingSource::NotListed, Ruling::Refuse, &|| Reason::NotListed(tool.name.clone()));
        }
        for path in tool.risky.iter().filter(|path| present(&params, path)) {
            finding(FindingSource::Risky, Ruling::Confirm, &|| Reason::Risky(path.clone()));
        }
        match tool.effect {
            Effect::Delete => finding(FindingSource::Effect, Ruling::Confirm, &|| Reason::Deletes),
            Effect::Configure => finding(FindingSource::Effect, Ruling::Confirm, &|| Reason::Configures),
            Effect::Read | Effect::Create | Effect::Update => {}
        }
        if call.asks_confirmation() {
            finding(FindingSource::Agent, Ruling::Confirm, &|| Reason::AgentAsks);
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
        let (by, acts) = (FindingSource::Origins, tool.effect.acts());
        let names = |origins: &Origins| -> Vec<String> { origins.untrusted().map(str::to_owned).collect() };
        if acts && !proposer.is_trusted() {
            match self.grounded(proposal) {
                Some(values) => finding(by, Ruling::Allow, &|| Reason::Grounded(values.clone())),
                None => finding(by, Ruling::Confirm, &|| Reason::ProposedAfterReading(names(proposer))),
            }
        }
        // Scopes count even if a tool declares that it has no target.
        if acts && !call.scopes.is_empty() {
            let of = origins(Place::Scopes).unwrap_or_default();
            if !of.is_trusted() {
                finding(by, Ruling::Confirm, &|| Reason::UntrustedScopes(names(&of)));
            }
        }
        let mut target = |place: Place<'_>, path: &str| {
            let Some(of) = origins(place).filter(|of| !of.is_trusted()) else { return };
            if acts || !may_follow(path) {
                let reason = || Reason::UntrustedTarget { path: path.to_owned(), sources: names(&of) };
                finding(by, Ruling::Confirm, &reason);
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

fn is_covered(terms: &ConsentTerms, proposal: &Proposal<'_>, found: &Evaluation<'_>) -> bool {
    !found.asks_about_origins && terms.answer_for(proposal, &found.asks)
}

/// The untrusted value that a rule about origins names.
fn untrusted_origins(proposal: &Proposal<'_>, matching: &Match) -> Option<Reason> {
    let origins = (proposal.origins)(matching.param.as_deref().map_or(Place::Call, Place::Path))?;
    let named: Origins = origins.iter().filter(|origin| matching.is_from(origin)).cloned().collect();
    let sources: Vec<String> = named.untrusted().map(str::to_owned).collect();
    let path = matching.param.clone().unwrap_or_default();
    (!sources.is_empty()).then_some(Reason::UntrustedTarget { path, sources })
}
