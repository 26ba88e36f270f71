//! DUR-6: forks a session after some record.

use std::collections::BTreeMap;

use obelus_kernel::Time;
use obelus_kernel::session::sent_by::SentBy;
use obelus_kernel::session::{CallId, Decision, Input, Outcome, Session};
use serde_json::Value;

use crate::restore::{RestoreError, advance, replay};
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
/// read counts as a pause by a person.
pub(crate) fn pause_kept(
    journal: &Journaled,
    before: impl FnOnce() -> Result<Session, RestoreError>,
) -> Result<Vec<Record>, RestoreError> {
    let paused = paused_by(&journal.records);
    let paused = match journal.cut {
        Some(_) => Some(SentBy::of_pause(paused, SentBy::COMMAND_LINE.to_owned())),
        None => paused,
    };
    let Some(by) = paused else { return Ok(Vec::new()) };
    let mut session = before()?;
    let is_kept = session.paused() == Some(by.as_str());
    Ok(if is_kept { Vec::new() } else { pause(&mut session, &by).into_iter().collect() })
}

/// A journal that ends with a pause: nothing of the session starts until a person resumes it (DUR-11). Its standing
/// consents end.
pub(crate) fn with_pause(
    mut session: Session,
    id: &str,
    mut records: Vec<Record>,
    by: &str,
) -> Result<Vec<Record>, RestoreError> {
    replay(&mut session, id, Journaled { after: 0, records: records.clone(), cut: None }, |_, _, _| {})?;
    records.extend(pause(&mut session, by));
    for input in ends_of_consents(&session, by) {
        records.extend(added(&mut session, input));
    }
    Ok(records)
}

/// Pauses a session; the record of that. A pause is never refused.
fn pause(session: &mut Session, by: &str) -> Option<Record> {
    added(session, Input::Pause { by: by.to_owned() })
}

/// The record of an input at the end of a journal; none if it is refused.
fn added(session: &mut Session, input: Input) -> Option<Record> {
    let now = session.now();
    let advanced = advance(session, now, input.clone()).ok()?;
    Some(Record { digest: Some(advanced.digest), ..Record::new(now, input) })
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
    mut session: Session,
    id: &str,
    mut before: Vec<Record>,
    after: &[Record],
    results: &BTreeMap<CallId, Value>,
    by: &str,
) -> Result<Vec<Record>, RestoreError> {
    let now = before.last().map_or(Time::default(), |record| record.at);
    // Ids of inputs belong to the original; their senders did not send them to the fork.
    before.iter_mut().for_each(|record| record.id = None);
    let journaled = Journaled { after: 0, records: before.clone(), cut: None };
    let mut unfinished = replay(&mut session, id, journaled, |_, _, _| {})?.unfinished;
    let open: Vec<_> = unfinished.calls().map(|start| (start.id.clone(), start.tool.idempotent)).collect();
    let is_working = !open.is_empty() || !session.is_at_rest();
    let consents = ends_of_consents(&session, by);
    let mut add = |input: Input| {
        unfinished.apply_input(&input);
        let record = Record::new(now, input.clone());
        // A refused input changes nothing and is not stored.
        if let Ok(advanced) = advance(&mut session, now, input) {
            unfinished.add_tasks(advanced.tasks);
            before.push(Record { digest: Some(advanced.digest), ..record });
        }
    };
    // First, so that the following inputs do not start anything.
    if is_working {
        add(Input::Pause { by: by.to_owned() });
    }
    consents.into_iter().for_each(&mut add);
    for (id, is_harmless) in open {
        let ended = after.iter().map(|record| &*record.input).find(|input| match input {
            Input::Ended { id: of, outcome } => *of == id && !matches!(outcome, Outcome::Lost { .. }),
            _ => false,
        });
        match (ended, results.get(&id)) {
            (Some(input), _) => add(input.clone()),
            (None, Some(result)) => add(Input::Ended { id, outcome: Outcome::Value(result.clone()) }),
            // A read can be repeated when the fork is resumed.
            (None, None) if is_harmless => {}
            (None, None) => add(Input::InDoubt { id }),
        }
    }
    Ok(before)
}
