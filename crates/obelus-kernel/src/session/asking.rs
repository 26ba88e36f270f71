//! Asks people: about calls, about whole plans, and for values.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Session;
use super::ids::{JobRef, QuestionNumber, Routed};
use super::inbox::{
    About, AskedCall, CallDescription, Draft, NeedsPerson, QuestionEnd, QuestionStatus, Terms, names_in,
};
use super::output::Task;
use super::scheduler::Status;
use super::sent_by::SentBy;
use crate::call::Call;
use crate::call::identity::hash;
use crate::origin::Origins;
use crate::path::Segment;
use crate::policy::{Reason, pays};
use obelus_notebook::call_json::CallJson;
use obelus_notebook::control_field::ControlField;
use obelus_notebook::describe::{CallPart, describe, marks};
use obelus_notebook::plan::StepOptions;

/// A step, and the index of the call that was expanded over instances.
type TemplateId = (u32, usize);

/// The calls of one template that are asked about together.
#[derive(Default)]
struct QuestionGroup {
    calls: Vec<AskedCall>,
    descriptions: Vec<String>,
    reasons: BTreeMap<String, Reason>,
}

impl Session {
    /// The hash that a decision about a resolved call is bound to.
    pub(super) fn hash_of(&self, call: &Call, frozen: &CallJson) -> String {
        hash(&self.constants.id, frozen, |name| call.is_control_field(name))
    }

    /// Asks a person about a call.
    pub(super) fn ask_about_call(&mut self, at: JobRef, call: &Call, reasons: Vec<Reason>) {
        let Some(frozen) = self.scheduler.frozen(at).map(|frozen| frozen.call.clone()) else { return };
        let described = self.described(at, call, &frozen);
        if self.scheduler.step_of(at).is_for_each(at.index()) {
            self.scheduler.ask_later(at);
            let grounded = self.grounded_values(at, call);
            self.inbox.ask_later(NeedsPerson { at, described, reasons, grounded });
        } else {
            self.scheduler.wait(at);
            let mut asked = AskedCall::new(frozen.clone(), self.hash_of(call, &frozen), vec![at]);
            asked.grounded = self.grounded_values(at, call);
            asked.marks = described.marks;
            let number = self.ask(Draft::new(About::Call, vec![asked], described.text).because(reasons));
            self.start_preview(number);
        }
    }

    /// A call about to run as text, with untrusted parts marked.
    pub(super) fn described(&self, at: JobRef, call: &Call, frozen: &CallJson) -> CallDescription {
        let provenance = self.provenance(at);
        let origins = |part: CallPart<'_>| match part {
            // The reasons already say that it was proposed after reading.
            CallPart::Proposal => Origins::default(),
            CallPart::Value(place, _) => provenance.of_place(call, place),
            CallPart::Scopes => provenance.of_scopes(call),
        };
        let is_control = |name: &str| call.is_control_field(name);
        CallDescription { text: describe(frozen, &is_control, &origins), marks: marks(frozen, &is_control, &origins) }
    }

    /// Asks one question about the calls of one template over instances. Returns whether something was asked.
    pub(super) fn ask_about_groups(&mut self) -> bool {
        let mut groups: BTreeMap<TemplateId, QuestionGroup> = BTreeMap::new();
        let mut seen: BTreeMap<String, (TemplateId, usize)> = BTreeMap::new();
        for NeedsPerson { at, described, reasons, grounded } in self.inbox.take_needs_person() {
            let Some(job) = self.scheduler.find(at).filter(|job| job.status == Status::Asking) else { continue };
            let Some(call) = job.frozen.as_ref().map(|frozen| frozen.call.clone()) else { continue };
            let hash = self.hash_of(self.scheduler.call(at), &call);
            let template = (at.step, job.call);
            self.scheduler.wait(at);
            // An identical call joins the one that waits, of another template or asked about meanwhile.
            let same = seen.get(&hash).and_then(|(of, index)| groups.get_mut(of)?.calls.get_mut(*index));
            if let Some(asked) = same {
                asked.jobs.push(at);
            } else if let Some((number, index)) = self.inbox.about(&hash) {
                self.inbox.join_question(number, index, at);
            } else {
                let group = groups.entry(template).or_default();
                seen.insert(hash.clone(), (template, group.calls.len()));
                let marks = described.marks;
                group.calls.push(AskedCall { grounded, marks, ..AskedCall::new(call, hash, vec![at]) });
                group.descriptions.push(described.text);
                group.reasons.extend(reasons.into_iter().map(|reason| (reason.to_string(), reason)));
            }
        }
        let asked_something = !groups.is_empty();
        for QuestionGroup { calls, descriptions, reasons } in groups.into_values() {
            let draft = Draft::new(About::Call, calls, descriptions.join("\n"));
            let number = self.ask(draft.because(reasons.into_values().collect()));
            self.start_preview(number);
        }
        asked_something
    }

    pub(super) fn ask_about_plan(&mut self, calls: Vec<CallJson>, options: StepOptions) {
        // Only the latest open plan counts: running both would repeat effects.
        for number in self.inbox.open_where(|question| question.about == About::Plan) {
            let why = Some("another plan has taken its place");
            self.end_question(number, QuestionStatus::Denied, SentBy::AGENT, why);
        }
        let shown = self.transcript.shown();
        let before_reading = shown.is_trusted();
        let mut reasons = vec![Reason::PlanNeedsApproval];
        if !before_reading {
            reasons.push(Reason::PlannedAfterReading(shown.untrusted().map(str::to_owned).collect()));
        }
        self.ask_about_calls(&calls, options, before_reading, reasons, &|_, _| false);
    }

    /// Asks about the calls of a plan. `is_by_person` says which values of a call a person has written; with an empty
    /// place, whether the call itself is a person's.
    pub(super) fn ask_about_calls(
        &mut self,
        calls: &[CallJson],
        options: StepOptions,
        before_reading: bool,
        reasons: Vec<Reason>,
        is_by_person: &dyn Fn(usize, &[Segment]) -> bool,
    ) {
        let mut asked = Vec::new();
        let mut descriptions = Vec::new();
        for (index, call) in calls.iter().enumerate() {
            let CallDescription { text, marks } = self.described_plan(call, &|place| is_by_person(index, place));
            descriptions.push(text);
            asked.push(AskedCall { marks, ..AskedCall::new(call.clone(), String::new(), Vec::new()) });
        }
        let draft = Draft::new(About::Plan, asked, descriptions.join("\n")).because(reasons);
        self.ask(Draft { options, before_reading, ..draft });
    }

    /// A call of a plan as text. An approval covers its proposal and literals, so those are marked; the values of
    /// references are judged when they are available.
    fn described_plan(&self, call: &CallJson, is_by_person: &dyn Fn(&[Segment]) -> bool) -> CallDescription {
        let tool = call.tool().and_then(|name| self.context().tool(name));
        let is_control = |name: &str| ControlField::is_in_call_of(tool.map(AsRef::as_ref), name);
        let origins = |part: CallPart<'_>| match part {
            CallPart::Value(_, Value::String(text)) if text.starts_with('†') && !text.starts_with("††") => {
                Origins::default()
            }
            CallPart::Value(place, _) if is_by_person(place) => Origins::default(),
            CallPart::Proposal if is_by_person(&[]) => Origins::default(),
            _ => self.transcript.shown().clone(),
        };
        CallDescription { text: describe(call, &is_control, &origins), marks: marks(call, &is_control, &origins) }
    }

    /// Asks a person for a value.
    pub(super) fn ask_for_input(&mut self, text: &str, schema: Option<Value>) -> QuestionNumber {
        self.ask(Draft { schema, ..Draft::new(About::Input, Vec::new(), crate::visible(text)) })
    }

    /// Records a denial without a question.
    pub(super) fn record_denial(&mut self, call: &CallJson, hash: &str, reason: &str) {
        let mut asked = AskedCall::new(call.clone(), hash.to_owned(), Vec::new());
        asked.decide(false, self.memory.now(), Some(reason));
        let number = self.add_question(Draft::new(About::Call, vec![asked], String::new()));
        self.end_question(number, QuestionStatus::Denied, SentBy::AGENT_FOR_USER, Some(reason));
    }

    /// Asks a question.
    pub(super) fn ask(&mut self, draft: Draft) -> QuestionNumber {
        let number = self.add_question(draft);
        self.tasks.push(Task::Ask { id: Routed::own(number) });
        number
    }

    fn add_question(&mut self, draft: Draft) -> QuestionNumber {
        let mut tools = draft.calls.iter().filter_map(|asked| self.context().tool(asked.call.tool()?));
        let terms = Terms {
            is_payment: tools.any(|tool| pays(tool)),
            now: self.memory.now(),
            remind_after: self.settings.remind_after(),
            expire_after: self.settings.question_seconds,
            asked_after: self.context().length(),
        };
        let number = self.inbox.add(draft, terms);
        let imported = self.projection.name_confirmations(number, &self.inbox, self.memory.context(), &self.settings);
        self.inbox.keep_imported(number, imported);
        self.name_values(number);
        number
    }

    /// Adds the names of the values in a question.
    pub(super) fn name_values(&mut self, number: QuestionNumber) {
        let Some(question) = self.inbox.get(number) else { return };
        let names = names_in(self.naming(), question);
        self.inbox.update_names(number, names);
    }

    /// Ends a question.
    pub(super) fn end_question(
        &mut self,
        number: QuestionNumber,
        status: QuestionStatus,
        by: &str,
        reason: Option<&str>,
    ) {
        self.inbox.end(number, &QuestionEnd { status, at: self.memory.now(), by, reason });
    }
}
