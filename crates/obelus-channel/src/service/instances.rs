//! The instances of a session: status and errors.

use std::collections::BTreeMap;
use std::sync::Arc;

use obelus_kernel::Path;
use obelus_kernel::session::CallId;
use obelus_kernel::session::report_error::ReportError;
use obelus_kernel::session::{CallReport, CallStatus, Outcome, Session};
use obelus_runtime::people::failure_in_words;
use obelus_runtime::{EventBody, EventNumber, Language, SessionEvent};

use super::{Service, check_id};
use crate::ChannelError;
use crate::types::{ErrorGroup, InstanceCall, InstanceFilter, InstanceList, InstanceRow};

/// The limit of rows on a page, and of kinds of errors.
const MOST_LISTED: usize = 1000;
const MOST_ERRORS: usize = 50;

/// The status of an instance without calls.
const IDLE: &str = "idle";

impl Service {
    /// The matching instances of a session, with counts and errors of all of them.
    pub async fn instances(
        &self,
        id: &str,
        filter: InstanceFilter,
        wanted: Option<Language>,
    ) -> Result<InstanceList, ChannelError> {
        check_id(id)?;
        let name = id.to_owned();
        let events = self.blocking(move |host| Ok(host.history_after(&name, EventNumber::START)?)).await?;
        let service = self.clone();
        let read = move |session: &Session| {
            let reports = with_earlier(session.distinct_calls(), &events);
            list(session, &reports, &filter, service.language_of(session, wanted))
        };
        self.read(id, read).await
    }
}

/// The calls of one turn, by their places.
type TurnCalls = BTreeMap<(u32, u32), CallReport>;

/// The calls of the latest turn, and for other instances those of the latest turn in which they had some.
fn with_earlier(mut reports: Vec<CallReport>, events: &[Arc<SessionEvent>]) -> Vec<CallReport> {
    let mut turn = 0;
    let mut earlier: BTreeMap<String, (u32, TurnCalls)> = BTreeMap::new();
    let mut instances: BTreeMap<(u32, u32), String> = BTreeMap::new();
    for event in events {
        match &event.body {
            EventBody::UserSaid { .. } => turn += 1,
            EventBody::CallBegan { id, call, .. } => {
                let (Some(place), Some(name)) = (id.place(), call.instance()) else { continue };
                let (of_turn, calls) = earlier.entry(name.to_owned()).or_default();
                if *of_turn != turn {
                    (*of_turn, *calls) = (turn, TurnCalls::new());
                }
                let (call, status) = (call.clone(), CallStatus::Running);
                calls.insert(place, CallReport { place, call, status, error: None });
                instances.insert(place, name.to_owned());
            }
            EventBody::CallEnded { id, outcome } => {
                let place = id.place().and_then(|place| Some((place, instances.get(&place)?)));
                let calls = place.and_then(|(place, name)| earlier.get_mut(name)?.1.get_mut(&place));
                if let Some(report) = calls {
                    (report.status, report.error) = match outcome {
                        Outcome::Error(error) => (CallStatus::Failed, Some(Box::new(ReportError::from(error)))),
                        Outcome::Lost { .. } => (CallStatus::Waiting, None),
                        _ => (CallStatus::Done, None),
                    };
                }
            }
            _ => {}
        }
    }
    for name in reports.iter().filter_map(|report| report.call.instance()) {
        earlier.remove(name);
    }
    reports.extend(earlier.into_values().flat_map(|(_, calls)| calls.into_values()));
    reports
}

fn list(session: &Session, reports: &[CallReport], filter: &InstanceFilter, language: Language) -> InstanceList {
    let mut calls: BTreeMap<&str, Vec<&CallReport>> = BTreeMap::new();
    for report in reports {
        if let Some(name) = report.call.instance() {
            calls.entry(name).or_default().push(report);
        }
    }
    let names = session.context().instances();
    let none = Vec::new();
    let (mut counts, mut errors) = (BTreeMap::new(), BTreeMap::<(String, String), usize>::new());
    let mut matching: Vec<(&str, &[&CallReport])> = Vec::new();
    for name in names {
        let of: &[&CallReport] = calls.get(name.as_str()).unwrap_or(&none);
        let (status, failed) = (status_of(of), failed_of(of));
        *counts.entry(status.to_owned()).or_default() += 1;
        let (code, message) = failed.map(|report| error_of(report, language)).unzip();
        if let (Some(code), Some(message)) = (code.clone(), message) {
            *errors.entry((code, message)).or_default() += 1;
        }
        let is_wanted = filter.status.as_ref().is_none_or(|wanted| wanted == status)
            && filter.error.as_ref().is_none_or(|wanted| code.as_ref() == Some(wanted))
            && filter.text.as_ref().is_none_or(|text| name.to_lowercase().contains(&text.to_lowercase()));
        if is_wanted {
            matching.push((name, of));
        }
    }
    let after = filter.after.as_ref().and_then(|after| matching.iter().position(|(name, _)| name == after));
    let from = after.map_or(0, |at| at + 1);
    let limit = filter.limit.clamp(1, MOST_LISTED);
    let part: Vec<_> = matching.iter().skip(from).take(limit).collect();
    let rows: Vec<InstanceRow> = part.iter().map(|(name, of)| row(session, name, of, language)).collect();
    let next = rows.last().filter(|_| from + limit < matching.len()).map(|row| row.instance.clone());
    let group = |((code, message), count)| ErrorGroup { code, message, count };
    let mut errors: Vec<ErrorGroup> = errors.into_iter().map(group).collect();
    errors.sort_by_key(|group| std::cmp::Reverse(group.count));
    errors.truncate(MOST_ERRORS);
    InstanceList { total: names.len(), matching: matching.len(), counts, errors, rows, next }
}

fn row(session: &Session, name: &str, calls: &[&CallReport], language: Language) -> InstanceRow {
    let (code, error) = failed_of(calls).map(|report| error_of(report, language)).unzip();
    let call = |report: &&CallReport| InstanceCall {
        id: CallId::at(report.place).to_string(),
        headline: session.call_headline_in(&report.call, Some(language.code())),
        status: report.status,
    };
    InstanceRow {
        instance: name.to_owned(),
        status: status_of(calls).to_owned(),
        error,
        code,
        calls: calls.iter().map(call).collect(),
        input: session.context().read(&Path::root("input"), Some(name)).map(|input| super::graph::cut(&input).0),
    }
}

/// The most important status of several calls: failed, then running, then done.
fn status_of(calls: &[&CallReport]) -> &'static str {
    let order = [
        CallStatus::Failed,
        CallStatus::Refused,
        CallStatus::Denied,
        CallStatus::Waiting,
        CallStatus::Running,
        CallStatus::Ready,
        CallStatus::Blocked,
        CallStatus::Planned,
        CallStatus::Done,
        CallStatus::Skipped,
    ];
    let has = |status: &CallStatus| calls.iter().any(|report| report.status == *status);
    order.into_iter().find(has).map_or(IDLE, CallStatus::name)
}

fn failed_of<'a>(calls: &[&'a CallReport]) -> Option<&'a CallReport> {
    let is_amiss = |report: &&&CallReport| {
        matches!(report.status, CallStatus::Failed | CallStatus::Refused) && report.error.is_some()
    };
    calls.iter().find(is_amiss).copied()
}

/// The code and text of an error.
fn error_of(report: &CallReport, language: Language) -> (String, String) {
    let error = report.error.as_deref();
    let code = error.and_then(ReportError::code_or_rule).unwrap_or_else(|| "error".to_owned());
    (code, error.map(|error| failure_in_words(error, language)).unwrap_or_default())
}
