//! Edits the parameters of a waiting call (ASK-3).
//!
//! The edited call is checked and judged again. A channel shows it before it counts: the edited question has its own
//! digest, which the answer must have.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::decide::unfit;
use super::ids::{JobRef, QuestionId, QuestionNumber, Routed};
use super::inbox::{About, Change, Question, names_in};
use super::input::Decision;
use super::refusals::{InvalidValue, RefusalCode as Code};
use super::scheduler::Frozen;
use super::{Refused, Session};
use crate::origin::{Origin, Origins};
use crate::policy::{CallRefusal, EditedOrigins, Place, Proposal, Provenance, Reason, values_at};
use crate::tool::Tool;
use obelus_notebook::describe::{CallPart, describe, marks};
use obelus_notebook::edited::{changed_param, put};

/// The result of an edit.
pub(super) struct CallEdit {
    /// The index of the call in the question.
    pub(super) index: usize,
    /// The job that will run.
    pub(super) at: JobRef,
    /// The call to run.
    pub(super) frozen: Frozen,
    /// The question, as it is then shown.
    pub(super) question: Question,
}

impl Session {
    /// A question about a call with other parameters, to show before the edit counts. Nothing changes.
    pub fn edited_question(&self, id: &QuestionId, params: &Map<String, Value>) -> Result<Question, Refused> {
        let unknown = || Refused::new(Code::UnknownQuestion, format!("there is no question `{id}`"));
        let (owner, number) = self.owner(id).ok_or_else(unknown)?;
        let decision = Decision::Edit { params: params.clone() };
        owner.decidable(&Routed::own(number), &decision)?;
        let edit = match owner.inbox.get(number) {
            Some(question) if question.about != About::Call => return Err(unfit(question, &decision)),
            _ => owner.edit_of(number, params)?.ok_or_else(unknown)?,
        };
        Ok(Question { id: id.clone(), ..edit.question })
    }

    /// Lets the call run with other parameters.
    pub(super) fn edit(
        &mut self,
        number: QuestionNumber,
        params: &Map<String, Value>,
        by: &str,
    ) -> Result<(), Refused> {
        let Some(CallEdit { index, at, frozen, question }) = self.edit_of(number, params)? else { return Ok(()) };
        self.inbox.replace(question);
        // Calls that joined it have the same result, so they are reported as edited too.
        let joined = self.inbox.get(number).into_iter().flat_map(|question| &question.calls[index].jobs);
        for at in std::iter::once(&at).chain(joined) {
            self.scheduler.replace_frozen(*at, frozen.clone());
        }
        self.approve(number, &[index], by);
        Ok(())
    }

    /// The only open call of a question with other parameters, if it may run.
    pub(super) fn edit_of(
        &self,
        number: QuestionNumber,
        params: &Map<String, Value>,
    ) -> Result<Option<CallEdit>, Refused> {
        let Some(question) = self.inbox.get(number) else { return Ok(None) };
        let open: Vec<usize> = question.open_calls().collect();
        let [index] = open[..] else {
            return Err(Refused::new(Code::SeveralCalls, "a question about several calls cannot be edited as one"));
        };
        let Some(&at) = question.calls[index].jobs.first() else { return Ok(None) };
        let call = self.scheduler.call(at);
        let (Some(tool), Some(frozen)) = (&call.tool, self.scheduler.frozen(at)) else { return Ok(None) };
        let respelled = self.context().respelled(params, tool);
        let respelled = respelled.map_err(|fault| Refused::new(Code::BadEdit, fault.text))?;
        let before = frozen.params(call);
        let (mut edited, mut whole) = (before.clone(), frozen.call.clone());
        for (name, value) in respelled.as_ref().unwrap_or(params) {
            let value = self.changed_param(tool, &edited, (name, value))?;
            put(whole.make_mut(), name, value.clone());
            put(&mut edited, name, value);
        }
        if let Some(breach) = tool.breaches(&edited).into_iter().next() {
            return Err(Refused::breach(Code::BadEdit, breach));
        }
        let after = Frozen { call: whole, edited: Some(Arc::new(edited)) };
        let words = self.inbox.texts_of_decision(number, &Decision::Edit { params: params.clone() });
        let grounds = self.grounds_after_edit(at, &words);
        let provenance = self.provenance(at);
        let grounding = grounds.as_ref().map(|grounds| self.grounding_in(grounds, provenance.instance));
        let provenance = Provenance { grounding, ..provenance };
        let edited = after.params(call);
        let origins = EditedOrigins::new(&provenance, call, &before, &edited);
        // The verdict does not see whether a doubt about the same call has been settled since it was asked about.
        let is_same = after.call == frozen.call;
        let reasons = self.reasons_of_edit(at, tool, &after, &provenance, &origins)?;
        let reasons = if is_same { question.reasons.clone() } else { reasons };
        let question = self.question_with(question, index, at, &after, &origins, reasons);
        Ok(Some(CallEdit { index, at, frozen: after, question }))
    }

    /// A parameter after a person's change; none if it is removed.
    pub(super) fn changed_param(
        &self,
        tool: &Tool,
        params: &Value,
        change: (&str, &Value),
    ) -> Result<Option<Value>, Refused> {
        let changed = changed_param(tool, params, change, self.settings.language.as_deref());
        changed.map_err(|name| Refused::misfit(Code::BadEdit, name.text(), InvalidValue::UnknownParam(name)))
    }

    /// Judges an edited call: why it would need a person, unless it is refused. No standing consent replaces the person
    /// who edits it.
    fn reasons_of_edit(
        &self,
        at: JobRef,
        tool: &Tool,
        edited: &Frozen,
        provenance: &Provenance<'_>,
        origins: &EditedOrigins<'_>,
    ) -> Result<Vec<Reason>, Refused> {
        let (call, gate) = (self.scheduler.call(at), self.settings.gate());
        let origins = |place: Place<'_>| origins.of(place);
        let judge = |proposal: &Proposal<'_>| gate.judge(proposal);
        match self.propose_as((at, Some(edited)), (call, tool), provenance, &origins, judge).or_refusal() {
            Ok(reasons) => Ok(reasons),
            Err(CallRefusal { reason, .. }) => {
                Err(Refused::misfit(Code::BadEdit, reason.to_string(), InvalidValue::Policy(reason)))
            }
        }
    }

    /// The question with the edited call: unchanged values keep their marks, the person's have none.
    fn question_with(
        &self,
        question: &Question,
        index: usize,
        at: JobRef,
        frozen: &Frozen,
        origins: &EditedOrigins<'_>,
        reasons: Vec<Reason>,
    ) -> Question {
        let mut edited = Question { reasons, ..question.clone() };
        let call = self.scheduler.call(at);
        let before = question.calls[index].call.clone();
        let origins = |part: CallPart<'_>| match part {
            CallPart::Value(place, value) => origins.of_value(place, value),
            CallPart::Proposal => Origins::default(),
            CallPart::Scopes => origins.of(Place::Scopes).unwrap_or_default(),
        };
        let is_control = |name: &str| call.is_control_field(name);
        edited.description = describe(&frozen.call, &is_control, &origins);
        let asked = &mut edited.calls[index];
        asked.marks = marks(&frozen.call, &is_control, &origins);
        let stays = |param: &str| values_at(&before, param) == values_at(&frozen.call, param);
        asked.grounded.retain(|one| stays(&one.param));
        asked.hash = self.hash_of(call, &frozen.call);
        asked.call = frozen.call.clone();
        if let Some(tool) = &call.tool {
            change_after(&mut edited, index, tool, &frozen.params(call));
        }
        let names = names_in(self.naming(), &edited);
        names.into_iter().for_each(|named| edited.add_name(named));
        edited
    }
}

/// Updates the changes of a call to its new parameters. The current value of a new field is unknown.
fn change_after(question: &mut Question, index: usize, tool: &Tool, params: &Value) {
    let Some(before) = &tool.before else { return };
    let (own, others): (Vec<Change>, Vec<Change>) =
        std::mem::take(&mut question.changes).into_iter().partition(|change| change.call == index);
    question.changes = others;
    if own.is_empty() {
        return;
    }
    for (field, after) in before.written(params) {
        let known = own.iter().find(|change| change.field == *field);
        question.changes.push(match known {
            Some(change) if change.after == *after => change.clone(),
            known => Change {
                call: index,
                field: field.clone(),
                before: known.and_then(|change| change.before.clone()),
                after: after.clone(),
                before_from: known.map(|change| change.before_from.clone()).unwrap_or_default(),
                after_from: Origins::of(Origin::User),
            },
        });
    }
    question.changes.sort_by_key(|change| change.call);
}
