//! Judges calls: by people's earlier decisions, else by the gate.

use std::sync::Arc;

use serde_json::Value;

use super::Session;
use super::ids::JobRef;
use super::inbox::AskedCall;
use super::report_error::ReportError;
use super::scheduler::{Frozen, Status};
use crate::call::Call;
use crate::call::freeze::frozen_call;
use crate::context::Context;
use crate::fault::Fault;
use crate::origin::Origins;
use crate::policy::{
    CallRefusal, Explanation, Gate, Place, Proposal, Provenance, Reason, Verdict, explain_in,
    is_unchanged_from_one_result,
};
use crate::tool::Tool;

/// What came of judging a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judged {
    /// It may run.
    Allowed,
    /// A person is asked about it.
    Asked,
    /// A person's earlier decision settled it.
    Settled,
    /// The gate refused it, and it has ended.
    Refused,
}

impl Session {
    /// The origins of the values of a job's call.
    pub(super) fn provenance(&self, at: JobRef) -> Provenance<'_> {
        let instance = self.scheduler.job(at).instance.as_deref();
        self.provenance_of(self.scheduler.call(at), instance, &self.scheduler.step_of(at).literal)
    }

    /// The origins of the values of a call whose literals have these origins.
    pub(super) fn provenance_of<'a>(
        &'a self,
        call: &Call,
        instance: Option<&'a str>,
        literal: &'a Origins,
    ) -> Provenance<'a> {
        Provenance {
            agent_text_origins: self.transcript.agent_text_origins(),
            grounding: self.grounding(instance, literal, call),
            ..Provenance::new(self.context(), instance, literal)
        }
    }

    /// Judges a call, and queues it if it is allowed.
    pub(super) fn judge(&mut self, at: JobRef, call: &Arc<Call>) {
        let Some(tool) = &call.tool else { return };
        if self.judge_now(at, call, tool) == Judged::Allowed {
            self.scheduler.make_ready(at);
        }
    }

    /// Judges again a call that was allowed but had to wait; rules, consents and past effects may have changed.
    pub(super) fn judge_again(&mut self, at: JobRef, call: &Arc<Call>) -> Judged {
        let Some(tool) = call.tool.as_ref().filter(|_| self.scheduler.has_waited(at)) else { return Judged::Allowed };
        let tool = Arc::clone(self.context().tool(&tool.name).unwrap_or(tool));
        self.catch_up_grounds(at);
        if self.scheduler.job(at).is_approved {
            return self.judge_approved(at, call, &tool);
        }
        self.call_rules.consents.forget_use(at);
        self.judge_now(at, call, &tool)
    }

    /// What a person approved was asked about as it is, unless the same effect has come to be in doubt since then, or
    /// has happened without a stored result. Then it is asked about again.
    fn judge_approved(&mut self, at: JobRef, call: &Arc<Call>, tool: &Tool) -> Judged {
        let earlier = self.scheduler.frozen(at).and_then(|frozen| self.happened_before(call, &frozen.call));
        let is_shown = |why: &Reason| {
            let is_of_job = |asked: &AskedCall| asked.jobs.first() == Some(&at);
            self.inbox.all().any(|question| question.calls.iter().any(is_of_job) && question.reasons.contains(why))
        };
        if earlier.is_none_or(|why| is_shown(&why)) {
            return Judged::Allowed;
        }
        self.scheduler.withdraw_approval(at);
        let verdict = self.verdict_on(at, call, tool);
        self.ask_about_call(at, call, verdict.reasons().to_vec());
        Judged::Asked
    }

    /// Judges a call: by people's earlier decisions, else by the gate.
    fn judge_now(&mut self, at: JobRef, call: &Arc<Call>, tool: &Tool) -> Judged {
        if self.settle_by_earlier_decision(at, call) {
            return Judged::Settled;
        }
        let verdict = self.verdict_on(at, call, tool);
        if verdict.is_allowed() {
            if let [Reason::Consented { number, .. }] = verdict.reasons() {
                self.call_rules.consents.note_use(at, *number, call.raw.clone());
            }
            return Judged::Allowed;
        }
        match verdict.or_refusal() {
            Ok(reasons) => {
                self.ask_about_call(at, call, reasons);
                Judged::Asked
            }
            Err(refusal) => {
                self.refuse(at, refusal);
                Judged::Refused
            }
        }
    }

    pub(super) fn verdict_on(&self, at: JobRef, call: &Call, tool: &Tool) -> Verdict {
        let is_imported = || {
            let hash = || self.scheduler.frozen(at).map(|frozen| self.hash_of(call, &frozen.call)).unwrap_or_default();
            self.projection.expects(hash)
        };
        let judge = |proposal: &Proposal<'_>| self.gate().judge(&Proposal { is_imported: &is_imported, ..*proposal });
        self.propose(at, (call, tool), &self.provenance(at), judge)
    }

    /// Explains the verdict on a call under a gate, with the consents and the past of this session.
    pub fn explain(&self, call: &Value, context: &Context, gate: Gate<'_>) -> Result<Explanation, Vec<Fault>> {
        let gate = gate.with_consents(self.consents(), self.now());
        explain_in(call, context, gate, |call, params| {
            self.happened_before(call, &frozen_call(call, params.clone(), None))
        })
    }

    /// Passes the call of a job to a function as the gate sees it.
    pub(super) fn propose<T>(
        &self,
        at: JobRef,
        (call, tool): (&Call, &Tool),
        provenance: &Provenance<'_>,
        judge: impl FnOnce(&Proposal<'_>) -> T,
    ) -> T {
        let origins = |place: Place<'_>| provenance.of(call, place);
        self.propose_as((at, self.scheduler.frozen(at)), (call, tool), provenance, &origins, judge)
    }

    /// The same with other parameters, and the origins of their values.
    pub(super) fn propose_as<T>(
        &self,
        (at, frozen): (JobRef, Option<&Frozen>),
        (call, tool): (&Call, &Tool),
        provenance: &Provenance<'_>,
        origins: &dyn Fn(Place<'_>) -> Option<Origins>,
        judge: impl FnOnce(&Proposal<'_>) -> T,
    ) -> T {
        let step = self.scheduler.step_of(at);
        let params = || frozen.map(|frozen| frozen.params(call)).unwrap_or_default();
        let may_follow = |path: &str| {
            step.before_reading && is_unchanged_from_one_result(self.context(), provenance.instance, &params(), path)
        };
        let earlier = frozen.and_then(|frozen| self.happened_before(call, &frozen.call));
        judge(&Proposal {
            may_follow: &may_follow,
            grounding: provenance.grounding.as_ref(),
            earlier: earlier.as_ref(),
            ..Proposal::new(call, tool, &params, origins, &step.literal)
        })
    }

    pub(super) fn refuse(&mut self, at: JobRef, refusal: CallRefusal) {
        self.record_error(at, ReportError::by(refusal.rule(), refusal.reason.to_string()), false);
        // The model reads the text. Channels have their own, chosen by the reason.
        self.scheduler.explain_refusal(at, Some(refusal.reason), refusal.origins);
        self.close(at, Status::Refused);
    }
}
