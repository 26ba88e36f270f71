//! The index for grounding (POL-7), maintained if the policy uses grounded values.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::Value;

use super::Session;
use super::ids::{JobRef, QuestionNumber};
use super::input::Decision;
use crate::call::Call;
use crate::origin::Origins;
use crate::policy::{AfterReading, Callee, GroundIndex, Grounded, Grounding};

impl Session {
    /// Whether grounding matters for a call: its literals are untrusted, they are sent to another person, or a rule
    /// asks for origins.
    fn needs_grounds(&self, literal: &Origins, call: &Call) -> bool {
        let policy = &self.settings.policy;
        policy.after_reading() == AfterReading::Grounded
            && (!literal.is_trusted() || call.delegate.is_some() || policy.looks_at_origins())
    }

    /// Updates the index if it matters for the call of a job.
    pub(super) fn catch_up_grounds(&mut self, at: JobRef) {
        if self.needs_grounds(&self.scheduler.step_of(at).literal, self.scheduler.call(at)) {
            self.memory.catch_up_grounds(self.inbox.texts_by_people());
        }
    }

    /// The same if it matters for the model's proposals after what it has been shown.
    pub(super) fn catch_up_grounds_of_shown(&mut self) {
        let is_used = self.settings.policy.after_reading() == AfterReading::Grounded;
        if is_used && !self.transcript.shown().is_trusted() {
            self.memory.catch_up_grounds(self.inbox.texts_by_people());
        }
    }

    /// Finds values of a call, if it matters. None if the index is not up to date: then a person is asked.
    pub(super) fn grounding<'a>(
        &'a self,
        instance: Option<&'a str>,
        literal: &Origins,
        call: &Call,
    ) -> Option<Grounding<'a>> {
        let (index, texts) = (self.memory.grounds(), self.inbox.texts_by_people());
        let is_ready = self.needs_grounds(literal, call) && index.is_current(self.context(), texts);
        is_ready.then(|| self.grounding_in(index, instance))
    }

    pub(super) fn grounding_in<'a>(&'a self, index: &'a GroundIndex, instance: Option<&'a str>) -> Grounding<'a> {
        Grounding { context: self.context(), index, base: self.memory.base(), instance }
    }

    /// The up-to-date index, for provenance queries. None if the policy does not use it.
    pub(super) fn current_grounds(&self) -> Option<Cow<'_, GroundIndex>> {
        if self.settings.policy.after_reading() != AfterReading::Grounded {
            return None;
        }
        let (context, written) = (self.context(), self.inbox.texts_by_people());
        let mut grounds = Cow::Borrowed(self.memory.grounds());
        if !grounds.is_current(context, written) {
            grounds.to_mut().catch_up(context, written);
        }
        Some(grounds)
    }

    /// The index after a person's edit of a job's call, with the words of the edit, if it matters for that call.
    pub(super) fn grounds_after_edit(&self, at: JobRef, words: &[String]) -> Option<Cow<'_, GroundIndex>> {
        let is_used = self.needs_grounds(&self.scheduler.step_of(at).literal, self.scheduler.call(at));
        let mut grounds = self.current_grounds().filter(|_| is_used && self.context().unreadable().is_none())?;
        if !words.is_empty() {
            grounds.to_mut().catch_up(self.context(), &[self.inbox.texts_by_people(), words].concat());
        }
        Some(grounds)
    }

    /// How the values of a job's call are grounded, for the person who is asked.
    pub(super) fn grounded_values(&self, at: JobRef, call: &Call) -> Vec<Grounded> {
        let (Some(grounding), Some(tool)) = (self.provenance(at).grounding, &call.tool) else { return Vec::new() };
        let params = self.scheduler.frozen(at).map(|frozen| frozen.params(call)).unwrap_or_default();
        grounding.found_in(Callee { tool, params: &params }, "", &params)
    }

    /// A person's text in a decision counts as the user's own: a reason, the requested value, and new values of an
    /// edit.
    pub(super) fn texts_of_decision(&self, number: QuestionNumber, decision: &Decision) -> Vec<String> {
        let Some(question) = self.inbox.get(number) else { return Vec::new() };
        let mut texts = Vec::new();
        match decision {
            Decision::Deny { reason } | Decision::DenySome { reason, .. } => texts.push(reason.clone()),
            Decision::Edit { params } => {
                let mut shown = BTreeSet::new();
                question.calls.iter().for_each(|asked| tokens(&asked.call, &mut shown));
                params.values().for_each(|value| each_text(value, &mut |text| add_new_parts(text, &shown, &mut texts)));
            }
            // An elicitation's answer is for its call only, and its choices are the call's own.
            Decision::Value { value } if question.elicitation.is_none() => {
                each_text(value, &mut |text| texts.push(text.to_owned()));
            }
            _ => {}
        }
        texts.retain(|text| !text.trim().is_empty());
        texts
    }
}

/// Visits every text and number in a value, as text.
pub(super) fn each_text(value: &Value, visit: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => visit(text),
        Value::Number(number) => visit(&number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, visit)),
        Value::Object(fields) => fields.values().for_each(|field| each_text(field, visit)),
        Value::Null | Value::Bool(_) => {}
    }
}

/// Adds all words of the texts of a call.
fn tokens(call: &Value, found: &mut BTreeSet<String>) {
    each_text(call, &mut |text| found.extend(text.split_whitespace().map(str::to_owned)));
}

/// The words of a text that were not shown before: in an edited text, the rest was not written by the person.
fn add_new_parts(text: &str, shown: &BTreeSet<String>, texts: &mut Vec<String>) {
    let tokens: Vec<&str> = text.split_whitespace().collect();
    texts.extend(tokens.split(|token| shown.contains(*token)).map(|part| part.join(" ")));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_values_added_by_an_edit_count_as_the_persons_words() {
        let mut shown = BTreeSet::new();
        tokens(&json!({"to": "audit@evil.test", "body": "Call audit@evil.test now", "sum": 900}), &mut shown);
        for (text, expected) in [
            ("olga@example.test", vec!["olga@example.test"]),
            ("audit@evil.test", vec![""]),
            ("Call audit@evil.test or olga@example.test now", vec!["", "", "or olga@example.test", ""]),
            ("900", vec![""]),
        ] {
            let mut texts = Vec::new();
            add_new_parts(text, &shown, &mut texts);
            texts.retain(|text| !text.is_empty());
            assert_eq!(texts, expected.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>(), "{text}");
        }
    }
}
