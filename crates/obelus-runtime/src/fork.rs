//! DUR-6: forks a session after some record.

use std::collections::BTreeMap;

use obelus_kernel::session::sent_by::SentBy;
use obelus_kernel::session::{CallId, Decision, Input, Outcome, Session, Start};
use serde_json::Value;

use crate::restore::{Replica, RestoreError};
use crate::store::{Journaled, Record};

/// The results of calls in doubt that people gave in later records of a session, by the id of the call.
pub(crate) fn given_results(session: &Session, after: &[Record]) -> BTreeMap<CallId, Value> {
    let given = after.iter().filter_map(|record| match &*record.input {
        Input::Decide { question, decision: Decision::Happened { result }, .. } if !result.is_null() => {
            let place = session.question(question)?.calls.first()?.places().next()?;
            Some((CallId::at(place), result.clone()))
        }
        _ => None,
    });
    given.collect()
}

/// Who has paused a session at the end of its journal, if it is paused; the same as the session itself says.
pub(crate) fn paused_by(records: &[Record]) -> Option<String> {
    records.iter().fold(None, |paused, record| match &*record.input {
        Input::Pause { by } => Some(SentBy::of_pause(paused, by.clone())),
        Input::Resume { .. } => None,
        _ => paused,
    })
}

/// The pause of a session that loses its end, in which it may have been paused: it stays paused. An end that cannot be
/// read counts as a pause by a person. `before` is the session without its end.
pub(crate) fn pause_kept(
    journal: &Journaled,
    before: impl FnOnce() -> Result<Replica, RestoreError>,
) -> Result<Vec<Record>, RestoreError> {
    let paused = paused_by(&journal.records);
    let paused = match journal.cut {
        Some(_) => Some(SentBy::of_pause(paused, SentBy::COMMAND_LINE.to_owned())),
        None => paused,
    };
    let Some(by) = paused else { return Ok(Vec::new()) };
    let mut copy = Copied { replica: before()?, records: Vec::new() };
    if copy.replica.session().paused() != Some(by.as_str()) {
        copy.add(Input::Pause { by });
    }
    Ok(copy.records)
}

/// A journal that ends with a pause: nothing of the session starts until a person resumes it (DUR-11). Its standing
/// consents end.
pub(crate) fn with_pause(
    session: Session,
    id: &str,
    records: Vec<Record>,
    by: &str,
) -> Result<Vec<Record>, RestoreError> {
    let mut copy = Copied::replay(session, id, records)?;
    copy.add(Input::Pause { by: by.to_owned() });
    ends_of_consents(copy.replica.session(), by).into_iter().for_each(|input| copy.add(input));
    Ok(copy.records)
}

/// A copy of a session, and the records of its journal.
struct Copied {
    replica: Replica,
    records: Vec<Record>,
}

impl Copied {
    fn replay(session: Session, id: &str, records: Vec<Record>) -> Result<Self, RestoreError> {
        let journaled = Journaled { after: 0, records: records.clone(), cut: None };
        Ok(Self { replica: Replica::replay(id, session, journaled)?, records })
    }

    /// Adds an input at the end of the journal. A refused input changes nothing and is not stored.
    fn add(&mut self, input: Input) {
        let now = self.replica.session().now();
        self.records.extend(self.replica.take(now, input).ok().map(|(record, _)| record));
    }
}

/// Ends the standing consents of a copy: people gave them in the original, for the original (ASK-9).
fn ends_of_consents(session: &Session, by: &str) -> Vec<Input> {
    let standing = session.consents().iter().filter(|consent| consent.holds(session.now()));
    standing.map(|consent| Input::Revoke { consent: consent.number, by: by.to_owned() }).collect()
}

/// The journal of a fork: the records up to its point, and the outcomes of everything that was running there.
///
/// Nothing that had begun is repeated. A call whose outcome the original knows, or a person has given (`results`), has
/// that outcome in the fork too; one without is in doubt, and a person is asked. A fork in the middle of a turn is
/// paused, so that what the original did later is not done again before a person resumes it. Standing consents end.
pub fn fork(
    session: Session,
    id: &str,
    mut before: Vec<Record>,
    after: &[Record],
    results: &BTreeMap<CallId, Value>,
    by: &str,
) -> Result<Vec<Record>, RestoreError> {
    // Ids of inputs belong to the original; their senders did not send them to the fork.
    before.iter_mut().for_each(|record| record.id = None);
    let mut copy = Copied::replay(session, id, before)?;
    let session = copy.replica.session();
    let running: Vec<Start> = copy.replica.calls().cloned().collect();
    let consents = ends_of_consents(session, by);
    // First, so that the following inputs do not start anything.
    if !running.is_empty() || !session.is_at_rest() {
        copy.add(Input::Pause { by: by.to_owned() });
    }
    consents.into_iter().for_each(|input| copy.add(input));
    for start in running {
        let known = outcome_in(after, &start.id);
        let given = || results.get(&start.id).map(|result| Outcome::Value(result.clone()));
        match known.or_else(given) {
            Some(outcome) => copy.add(Input::Ended { id: start.id, outcome }),
            // A read can be repeated when the fork is resumed.
            None if start.tool.idempotent => {}
            None => copy.add(Input::InDoubt { id: start.id }),
        }
    }
    Ok(copy.records)
}

/// The outcome of a call, as these records have it.
fn outcome_in(records: &[Record], call: &CallId) -> Option<Outcome> {
    records.iter().find_map(|record| match &*record.input {
        Input::Ended { id, outcome } if id == call && !matches!(outcome, Outcome::Lost { .. }) => Some(outcome.clone()),
        _ => None,
    })
}
