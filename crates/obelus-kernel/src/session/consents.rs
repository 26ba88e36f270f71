//! Standing consents (ASK-9) that were given, and the calls that they covered.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Refused;
use super::ids::JobRef;
use super::refusals::RefusalCode as Code;
use crate::policy::{ConsentTerms, StandingConsent};
use crate::time::Time;
use obelus_notebook::call_json::CallJson;

/// The consents of a session.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Consents {
    all: Vec<StandingConsent>,
    /// The calls that ran by one, by step.
    used: BTreeMap<u32, Vec<ConsentUse>>,
}

/// A call that ran by a consent.
#[derive(Clone, Serialize, Deserialize)]
struct ConsentUse {
    job: u32,
    /// The number of the consent.
    consent: u64,
    /// The proposed call.
    call: CallJson,
}

impl Consents {
    /// All of them, including ended ones.
    pub(super) fn all(&self) -> &[StandingConsent] {
        &self.all
    }

    pub(super) fn give(&mut self, terms: ConsentTerms, by: &str, at: Time, until: Option<Time>) {
        let number = self.all.len() as u64 + 1;
        let by = by.to_owned();
        self.all.push(StandingConsent { number, terms, by, at, until, revoked: None, uses: 0 });
    }

    pub(super) fn revoke(&mut self, number: u64, by: &str, at: Time) -> Result<(), Refused> {
        let unknown = || Refused::new(Code::UnknownConsent, format!("there is no consent `c{number}`"));
        let consent = self.all.iter_mut().find(|consent| consent.number == number).ok_or_else(unknown)?;
        if !consent.holds(at) {
            return Err(Refused::new(Code::ConsentEnded, format!("the consent `c{number}` has ended already")));
        }
        consent.revoked = Some((at, by.to_owned()));
        Ok(())
    }

    /// Records a call that runs by a consent.
    pub(super) fn note_use(&mut self, at: JobRef, number: u64, call: CallJson) {
        if let Some(consent) = self.all.iter_mut().find(|consent| consent.number == number) {
            consent.uses += 1;
        }
        self.used.entry(at.step).or_default().push(ConsentUse { job: at.job, consent: number, call });
    }

    /// A call that was to run by a consent has not started.
    pub(super) fn forget_use(&mut self, at: JobRef) {
        let Some(used) = self.used.get_mut(&at.step) else { return };
        let Some(place) = used.iter().position(|one| one.job == at.job) else { return };
        let number = used.remove(place).consent;
        if let Some(consent) = self.all.iter_mut().find(|consent| consent.number == number) {
            consent.uses -= 1;
        }
    }

    /// The consent by which a call ran, by the place in its report.
    pub(super) fn of_place(&self, (step, job): (u32, u32)) -> Option<&StandingConsent> {
        let used = self.used.get(&step)?.iter().find(|one| one.job == job)?;
        self.all.iter().find(|consent| consent.number == used.consent)
    }

    /// The consent by which a proposed call ran.
    pub(super) fn of_proposal(&self, call: &Value) -> Option<u64> {
        self.used.values().flatten().find(|one| *one.call == *call).map(|one| one.consent)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::policy::ConsentScope;

    fn given(until: Option<Time>) -> Consents {
        let mut consents = Consents::default();
        let terms = ConsentTerms { tool: "send".to_owned(), fields: Vec::new(), scope: ConsentScope::Tool };
        consents.give(terms, "ann", Time(10), until);
        consents
    }

    #[test]
    fn a_consent_is_revoked_once_and_only_while_it_holds() {
        let mut consents = given(None);
        assert_eq!(consents.revoke(2, "ann", Time(11)).unwrap_err().code.name(), "unknown_consent");
        consents.revoke(1, "ann", Time(11)).unwrap();
        assert_eq!(consents.revoke(1, "ann", Time(12)).unwrap_err().code.name(), "consent_ended");
        assert_eq!(given(Some(Time(20))).revoke(1, "ann", Time(20)).unwrap_err().code.name(), "consent_ended");
    }

    #[test]
    fn calls_that_ran_by_a_consent_are_counted_and_found() {
        let (mut consents, call) = (given(None), CallJson::of_tool("send"));
        consents.note_use(JobRef::new(3, 1), 1, call.clone());
        assert_eq!(consents.all()[0].uses, 1);
        assert_eq!((consents.of_proposal(&call), consents.of_proposal(&json!({}))), (Some(1), None));
        assert!(consents.of_place((3, 1)).is_some() && consents.of_place((3, 0)).is_none());
    }
}
