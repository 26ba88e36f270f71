//! Reports of a session: events for subscribers, and files for people.

use std::collections::HashMap;
use std::sync::Arc;

use obelus_kernel::session::{CallReport, CallStatus, Session};

use crate::events::{EventBody, Feed, StepView};
use crate::report::missing_data;
use crate::session_files::SessionFiles;
use crate::words::Language;

/// Where reports go.
pub(crate) struct Report {
    pub(crate) feed: Arc<Feed>,
    /// The files for people beside the journal.
    pub(crate) files: Option<Box<SessionFiles>>,
    language: Language,
    /// The last published status of each step, by place.
    steps: HashMap<(u32, u32), CallStatus>,
}

impl Report {
    pub(crate) fn new(feed: Arc<Feed>, files: Option<SessionFiles>, language: Option<&str>) -> Self {
        Self { feed, files: files.map(Box::new), language: Language::named(language), steps: HashMap::new() }
    }

    /// The session's progress, with the steps that have changed since the last report.
    pub(crate) fn moved(&mut self, session: &Session) -> EventBody {
        let mut calls = session.calls();
        // Places are not reused: those of earlier turns can be removed.
        if self.steps.len() > calls.len() {
            self.steps.retain(|place, _| calls.iter().any(|report| report.place == *place));
        }
        // A step is reported when its status changes. The text of a running one may improve as names become known.
        calls.retain(|report| {
            let before = self.steps.insert(report.place, report.status);
            matches!(report.status, CallStatus::Running | CallStatus::Waiting) || before != Some(report.status)
        });
        let view = |report: CallReport| StepView {
            place: report.place,
            headline: session.call_headline(&report.call),
            consent: session.consent_of(report.place).map(|consent| consent.number),
            lacks: report.error.as_ref().and_then(|_| missing_data(&report, session, self.language)),
            report,
        };
        EventBody::Moved {
            mode: session.settings().mode,
            is_asking: session.is_asking(),
            steps: calls.into_iter().map(view).collect(),
        }
    }
}
