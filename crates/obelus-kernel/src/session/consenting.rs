//! Standing consent (ASK-9): what a person may agree to along with an approval, and whether a consent covers a call.

use serde_json::Value;

use super::ids::{QuestionId, QuestionNumber};
use super::inbox::{About, Question};
use super::refusals::RefusalCode as Code;
use super::{Refused, Session};
use crate::context::Context;
use crate::names::alike;
use crate::policy::{
    ConsentScope, ConsentTerms, Gate, NeverStanding, StandingConsent, fields_of, hosts, list_with, never,
};
use crate::time::Time;
use crate::tool::Tool;

impl Session {
    /// The current gate, with the standing consents.
    pub(super) fn gate(&self) -> Gate<'_> {
        self.settings.gate().with_consents(self.call_rules.consents.all(), self.memory.now())
    }

    /// The standing consents, including ended ones.
    pub fn consents(&self) -> &[StandingConsent] {
        self.call_rules.consents.all()
    }

    /// The consent by which a call ran, by the place in its report.
    pub fn consent_of(&self, place: (u32, u32)) -> Option<&StandingConsent> {
        self.call_rules.consents.of_place(place)
    }

    /// The consents that may be given along with an approval, narrow scopes first; empty if none is possible.
    pub fn consent_offers(&self, id: &QuestionId) -> Vec<ConsentTerms> {
        let question = id.local().and_then(|number| self.inbox.get(number));
        question.filter(|question| question.is_open()).map(|question| self.offers(question)).unwrap_or_default()
    }

    /// Why no consent is possible for the calls of a question, whatever its scope.
    pub fn never_standing(&self, id: &QuestionId) -> Option<NeverStanding> {
        let Some(number) = id.local() else { return Some(NeverStanding::Delegate) };
        let question = self.inbox.get(number)?;
        let (tool, calls) = self.calls_asked(question)?;
        calls.iter().find_map(|params| never(tool, params))
    }

    /// The tool of a question's calls, and the parameters of the open ones. None if they have several tools.
    fn calls_asked(&self, question: &Question) -> Option<(&Tool, Vec<Value>)> {
        if question.about != About::Call {
            return None;
        }
        let mut calls = Vec::new();
        let mut names = question.open_calls().map(|index| {
            let asked = &question.calls[index];
            let at = *asked.jobs.first()?;
            calls.push(self.scheduler.find(at)?.frozen.as_ref()?.params(self.scheduler.call(at)));
            asked.call.tool()
        });
        let first = names.next()??;
        if names.any(|name| name != Some(first)) {
            return None;
        }
        drop(names);
        Some((self.context().tool(first)?, calls))
    }

    fn offers(&self, question: &Question) -> Vec<ConsentTerms> {
        let Some((tool, calls)) = self.calls_asked(question) else { return Vec::new() };
        let mut fields: Vec<String> = Vec::new();
        for field in calls.iter().flat_map(fields_of) {
            if !fields.contains(&field) {
                fields.push(field);
            }
        }
        let mut scopes = Vec::new();
        scopes.extend(list_scope(self.context(), tool, &calls));
        scopes.extend(person_scope(tool, &calls));
        scopes.extend(site_scope(&calls));
        scopes.push(ConsentScope::Tool);
        let terms =
            scopes.into_iter().map(|scope| ConsentTerms { tool: tool.name.clone(), fields: fields.clone(), scope });
        terms.filter(|terms| terms.answer(&question.reasons) && self.may_stand(question, terms)).collect()
    }

    /// Whether a consent with these terms would cover every open call of a question.
    fn may_stand(&self, question: &Question, terms: &ConsentTerms) -> bool {
        let (grounds, gate) = (self.current_grounds(), self.gate());
        question.open_calls().flat_map(|index| &question.calls[index].jobs).all(|at| {
            let (call, mut provenance) = (self.scheduler.call(*at), self.provenance(*at));
            if provenance.grounding.is_none() {
                let grounds = grounds.as_deref().filter(|_| !self.scheduler.step_of(*at).literal.is_trusted());
                provenance.grounding = grounds.map(|grounds| self.grounding_in(grounds, provenance.instance));
            }
            let Some(tool) = &call.tool else { return false };
            self.propose(*at, (call, tool), &provenance, |proposal| gate.may_stand(terms, proposal))
        })
    }

    /// A person approves, and gives a standing consent.
    pub(super) fn consent(
        &mut self,
        number: QuestionNumber,
        terms: ConsentTerms,
        until: Option<Time>,
        by: &str,
    ) -> Result<(), Refused> {
        let Some(question) = self.inbox.get(number) else { return Ok(()) };
        let open: Vec<usize> = question.open_calls().collect();
        self.check_mode(question, &open)?;
        if !self.offers(question).contains(&terms) {
            let text = "no standing consent of these terms may be given with this question; a plain yes may";
            return Err(Refused::new(Code::UnfitConsent, text));
        }
        let now = self.memory.now();
        if until.is_some_and(|until| until <= now) {
            return Err(Refused::new(Code::UnfitConsent, "the end of the consent is past"));
        }
        self.call_rules.consents.give(terms, by, now, until);
        self.approve(number, &open, by);
        Ok(())
    }

    /// Revokes a consent. Running calls continue.
    pub(super) fn revoke(&mut self, number: u64, by: &str) -> Result<(), Refused> {
        self.call_rules.consents.revoke(number, by, self.memory.now())
    }
}

/// The records of the list that contains a call's record, or of all the calls of a question.
fn list_scope(context: &Context, tool: &Tool, calls: &[Value]) -> Option<ConsentScope> {
    let path = tool.record()?;
    let own: Vec<Value> = calls.iter().filter_map(|params| params.get(path).cloned()).collect();
    if own.len() != calls.len() {
        return None;
    }
    let list = |params: &Value| {
        let value = params.get(path)?;
        list_with(context, &tool.names_of(path, value, params)?, value)
    };
    let values = match calls {
        [only] => list(only).filter(|ids| ids.len() > 1)?,
        _ => own,
    };
    Some(ConsentScope::Records { path: path.to_owned(), values, others: same_targets(tool, calls)? })
}

/// The addressee of the calls, if all have the same.
fn person_scope(tool: &Tool, calls: &[Value]) -> Option<ConsentScope> {
    let values = same_targets(tool, calls).filter(|values| !values.is_empty() && tool.target.is_some())?;
    Some(ConsentScope::Person { values })
}

/// The targets of the calls besides their records, and the kind of the record; none if they differ between the calls.
fn same_targets(tool: &Tool, calls: &[Value]) -> Option<Vec<(String, Value)>> {
    let declared = tool.target.iter().flatten().map(String::as_str);
    let mut paths: Vec<&str> = Vec::new();
    for path in declared.chain(tool.kind_params()) {
        let is_record = tool.record().is_some_and(|record| alike(record, path));
        if !is_record && !paths.iter().any(|known| alike(known, path)) {
            paths.push(path);
        }
    }
    let mut values = Vec::new();
    for path in paths {
        let found: Vec<&Value> =
            calls.iter().flat_map(|params| crate::policy::values_at(params, path)).map(|(_, value)| value).collect();
        let Some(first) = found.first() else { continue };
        if first.is_object()
            || first.is_array()
            || found.len() != calls.len()
            || found.iter().any(|other| other != first)
        {
            return None;
        }
        values.push((path.to_owned(), (*first).clone()));
    }
    Some(values)
}

/// The one site of all addresses in the calls.
fn site_scope(calls: &[Value]) -> Option<ConsentScope> {
    let mut found = calls.iter().map(hosts);
    let first = found.next()?.filter(|first| first.len() == 1)?;
    found.all(|other| other.as_ref() == Some(&first)).then(|| ConsentScope::Site { host: first[0].clone() })
}
