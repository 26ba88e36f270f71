//! What is told of a session: events for whoever watches, and files for people.

use std::collections::BTreeMap;
use std::sync::Arc;

use obelus_kernel::session::{CallReport, CallStatus, Session};

use crate::events::{EventBody, Feed, StepView};
use crate::report::missing_data;
use crate::session_files::SessionFiles;
use crate::words::Language;

/// Who is told what.
pub(crate) struct Report {
    pub(crate) feed: Arc<Feed>,
    /// What is kept for people beside the journal.
    pub(crate) files: Option<Box<SessionFiles>>,
    language: Language,
    /// How the steps stood when they were last told.
    steps: BTreeMap<(u32, u32), CallStatus>,
}

impl Report {
    pub(crate) fn new(feed: Arc<Feed>, files: Option<SessionFiles>, language: Option<&str>) -> Self {
        Self { feed, files: files.map(Box::new), language: Language::named(language), steps: BTreeMap::new() }
    }

    /// How the session stands, with the steps that have moved since this was last told.
    pub(crate) fn moved(&mut self, session: &Session) -> EventBody {
        let calls = session.calls();
        let known = std::mem::take(&mut self.steps);
        self.steps = calls.iter().map(|report| (report.place, report.status)).collect();
        // The words for a step that is under way may get better as names become known.
        let has_moved = |report: &CallReport| {
            matches!(report.status, CallStatus::Running | CallStatus::Waiting)
                || known.get(&report.place) != Some(&report.status)
        };
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
            steps: calls.into_iter().filter(has_moved).map(view).collect(),
        }
    }
}
