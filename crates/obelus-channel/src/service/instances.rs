//! The instances of a session: status and errors.

use std::collections::BTreeMap;

use obelus_kernel::Path;
use obelus_kernel::session::{CallReport, CallStatus, Session};
use obelus_runtime::Language;
use obelus_runtime::people::failure_in_words;
use serde_json::Value;

use super::Service;
use crate::ChannelError;
use crate::types::{ErrorGroup, InstanceCall, InstanceFilter, InstanceList, InstanceRow};

/// The limit of rows on a page, and of kinds of errors.
const MOST_LISTED: usize = 1000;
const MOST_ERRORS: usize = 50;

/// The status of an instance without calls in the latest turn.
const IDLE: &str = "idle";

impl Service {
    /// The matching instances of a session, with counts and errors of all of them.
    pub async fn instances(
        &self,
        id: &str,
        filter: InstanceFilter,
        wanted: Option<Language>,
    ) -> Result<InstanceList, ChannelError> {
        let service = self.clone();
        self.read(id, move |session| list(session, &filter, service.language_of(session, wanted))).await
    }
}

fn list(session: &Session, filter: &InstanceFilter, language: Language) -> InstanceList {
    let reports = session.calls();
    let mut calls: BTreeMap<&str, Vec<&CallReport>> = BTreeMap::new();
    for report in &reports {
        if let Some(name) = report.call.get("_instance").and_then(Value::as_str) {
            calls.entry(name).or_default().push(report);
        }
    }
    let names = session.context().instances().in_order();
    let none = Vec::new();
    let (mut counts, mut errors) = (BTreeMap::new(), BTreeMap::<(String, String), usize>::new());
    let mut matching: Vec<(&str, &[&CallReport])> = Vec::new();
    for name in &names {
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
        id: format!("{}.{}", report.place.0, report.place.1),
        headline: session.call_headline_in(&report.call, Some(language.code())),
        status: report.status.name().to_owned(),
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
    let error = report.error.as_ref().unwrap_or(&Value::Null);
    let code = error["code"].as_str().or_else(|| error["rule"].as_str()).unwrap_or("error");
    (code.to_owned(), failure_in_words(error, language))
}
