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
use crate::call::Call;
use crate::origin::{Origin, Origins};
use crate::path::value_at;
use crate::policy::{Proposal, Reason, Ruling};
use crate::tool::Tool;
use obelus_notebook::describe::{CallPart, describe, marks};
use obelus_notebook::edited::{changed_param, dotted_value, put};

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
        let mut edited = frozen.params(call);
        let mut whole = frozen.call.clone();
        for (name, value) in respelled.as_ref().unwrap_or(params) {
            let value = self.changed_param(tool, &edited, (name, value))?;
            put(whole.make_mut(), name, value.clone());
            put(&mut edited, name, value);
        }
        if let Some(breach) = tool.breaches(&edited).into_iter().next() {
            return Err(Refused::breach(Code::BadEdit, breach));
        }
        let reasons = self.reasons_of_edit((call, tool), &edited, self.happened_before(call, &whole).as_ref())?;
        let frozen = Frozen { call: whole, edited: Some(Arc::new(edited)) };
        let question = self.question_with(question, index, at, &frozen, reasons);
        Ok(Some(CallEdit { index, at, frozen, question }))
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

    /// Judges an edited call: why it would need a person, unless it is refused.
    fn reasons_of_edit(
        &self,
        (call, tool): (&Call, &Tool),
        params: &Value,
        earlier: Option<&Reason>,
    ) -> Result<Vec<Reason>, Refused> {
        let by_person = Origins::of(Origin::User);
        // A person's values need no other grounding.
        let verdict = self.settings.gate().judge(&Proposal {
            earlier,
            ..Proposal::new(call, tool, &|| params.clone(), &|_| Some(by_person.clone()), &by_person)
        });
        if verdict.ruling() == Ruling::Refuse {
            let reason = verdict.into_reasons().into_iter().next().unwrap_or(Reason::Listed(Ruling::Refuse));
            return Err(Refused::misfit(Code::BadEdit, reason.to_string(), InvalidValue::Policy(reason)));
        }
        Ok(verdict.into_reasons())
    }

    /// The question with the edited call: unchanged values keep their marks, the person's have none.
    fn question_with(
        &self,
        question: &Question,
        index: usize,
        at: JobRef,
        frozen: &Frozen,
        reasons: Vec<Reason>,
    ) -> Question {
        let mut edited = question.clone();
        let (call, provenance) = (self.scheduler.call(at), self.provenance(at));
        let before = question.calls[index].call.clone();
        let origins = |part: CallPart<'_>| match part {
            CallPart::Value(place, value) if value_at(&before, place) == Some(value) => {
                provenance.of_place(call, place)
            }
            CallPart::Value(..) | CallPart::Proposal => Origins::default(),
            CallPart::Scopes => provenance.of_scopes(call),
        };
        let is_aside = |name: &str| call.aside(name).is_some();
        edited.description = describe(&frozen.call, &is_aside, &origins);
        let asked = &mut edited.calls[index];
        asked.marks = marks(&frozen.call, &is_aside, &origins);
        let stays = |param: &str| dotted_value(&before, param) == dotted_value(&frozen.call, param);
        asked.grounded.retain(|one| stays(&one.param));
        asked.hash = self.hash_of(call, &frozen.call);
        asked.call = frozen.call.clone();
        let is_marked = |path: &str| asked.marks.iter().any(|mark| mark.place.starts_with(path));
        edited.reasons.retain(|reason| match reason {
            Reason::UntrustedTarget { path, .. } => is_marked(path),
            other => !other.is_about_repetition(),
        });
        let more: Vec<Reason> = reasons.into_iter().filter(|reason| !edited.reasons.contains(reason)).collect();
        edited.reasons.extend(more);
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
