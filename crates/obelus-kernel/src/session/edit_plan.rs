//! Edits a plan that waits for approval (PLAN-9).
//!
//! The edited plan is checked again and replaces the waiting one. It has a new question, so that an old question
//! cannot approve what it did not show.

use serde_json::{Map, Value};

use super::ids::QuestionNumber;
use super::inbox::{Question, QuestionStatus};
use super::refusals::RefusalCode as Code;
use super::{Refused, Session};
use crate::call::Call;
use crate::message::{Message, Plan, PlanMode, depth};
use crate::path::{MAX_DEPTH, Segment, value_at};
use obelus_notebook::call_json::CallJson;
use obelus_notebook::edited::put;
use obelus_notebook::plan;

/// The field of an edit with the whole plan.
const WHOLE: &str = "plan";

impl Session {
    /// Changes calls of a plan by index, or the whole plan, and asks again. The reasons stay: they concern the plan as
    /// a whole, and what was not edited is still the model's. The gate judges each call when it is ready (POL-2).
    pub(super) fn edit_plan(
        &mut self,
        number: QuestionNumber,
        changes: &Map<String, Value>,
        by: &str,
    ) -> Result<(), Refused> {
        let Some(question) = self.inbox.get(number) else { return Ok(()) };
        let calls = self.changed_plan(question, changes)?;
        if calls.is_empty() {
            return Err(bad_edit("a plan without calls does nothing: deny it instead"));
        }
        if calls.iter().any(|call| !call.is_object() || depth(call) >= MAX_DEPTH) {
            return Err(bad_edit(format!("a call is an object of less than {MAX_DEPTH} levels")));
        }
        let check = plan::check_with_options(&calls, PlanMode::Lazy, question.options, self.context());
        if let Some(fault) = check.errors.first() {
            return Err(bad_edit(fault.to_string()));
        }
        let before: Vec<CallJson> = question.calls.iter().map(|asked| asked.call.clone()).collect();
        let (options, before_reading) = (question.options, question.before_reading);
        let reasons = question.reasons.clone();
        self.end_question(number, QuestionStatus::Answered, by, Some("changed: another question is about the outcome"));
        let removed: Vec<CallJson> = before.iter().filter(|call| !calls.contains(call)).cloned().collect();
        self.note_unwanted(&removed);
        self.memory.remember(Message::Plan(Plan { calls: calls.clone(), mode: PlanMode::Lazy }));
        let is_by_person = |index: usize, place: &[Segment]| {
            let call = &calls[index];
            // Spelling and position may have changed with the edit.
            let was_there = |before: &CallJson| {
                let value = value_at(call, place);
                before["_tool"] == call["_tool"] && value.is_none_or(|value| place.is_empty() || shares(value, before))
            };
            !before.iter().any(was_there)
        };
        self.ask_about_calls(&calls, options, before_reading, reasons, &is_by_person);
        self.turn.reopen();
        Ok(())
    }

    fn changed_plan(&self, question: &Question, changes: &Map<String, Value>) -> Result<Vec<CallJson>, Refused> {
        if let (Some(whole), 1) = (changes.get(WHOLE), changes.len()) {
            let Value::Array(calls) = whole else { return Err(bad_edit("`plan` is an array of calls")) };
            return Ok(calls.iter().cloned().map(Into::into).collect());
        }
        let mut calls: Vec<CallJson> = question.calls.iter().map(|asked| asked.call.clone()).collect();
        for (index, params) in changes {
            let call = index.parse::<usize>().ok().and_then(|index| calls.get_mut(index));
            let (Some(call), Value::Object(params)) = (call, params) else {
                let text = format!(
                    "name calls of the plan by their index, as in {{\"0\": {{\"parameter\": \"value\"}}}}, or give all of \
                     them, as in {{\"{WHOLE}\": [...]}}; `{}` is neither",
                    crate::visible(index)
                );
                return Err(bad_edit(text));
            };
            self.change_call(call, params)?;
        }
        Ok(calls)
    }

    /// Changes parameters.
    fn change_call(&self, call: &mut CallJson, params: &Map<String, Value>) -> Result<(), Refused> {
        let read = Call::read(call, self.context()).0;
        let Some(tool) = &read.tool else { return Ok(()) };
        let known = read.outline();
        let respelled = |fields: &Map<String, Value>| {
            let respelled = self.context().respelled(fields, tool);
            respelled.map_err(|fault| bad_edit(fault.text))
        };
        if let Some(fields) = call.as_object().map(respelled).transpose()?.flatten() {
            *call = fields.into();
        }
        for (name, value) in respelled(params)?.as_ref().unwrap_or(params) {
            let value = self.changed_param(tool, &known, (name, value))?;
            put(call.make_mut(), name, value);
        }
        Ok(())
    }
}

/// Whether any scalar of one value is anywhere in another.
fn shares(one: &Value, other: &Value) -> bool {
    match one {
        Value::Array(items) => items.iter().any(|item| shares(item, other)),
        Value::Object(fields) => fields.values().any(|field| shares(field, other)),
        scalar => match other {
            Value::Array(items) => items.iter().any(|item| shares(scalar, item)),
            Value::Object(fields) => fields.values().any(|field| shares(scalar, field)),
            other => scalar == other,
        },
    }
}

fn bad_edit(text: impl Into<String>) -> Refused {
    Refused::new(Code::BadEdit, text)
}
