//! Reports of a session: events for subscribers, and files for people.

use std::collections::BTreeSet;
use std::sync::Arc;

use obelus_kernel::session::{CallReport, CallStatus, Session};

use crate::events::{EventBody, Feed, StepView};
use crate::session_files::SessionFiles;
use crate::words::Language;

/// The number of steps that are looked up one by one.
const FEW: usize = 8;

/// Where reports go.
pub(crate) struct Reporter {
    pub(crate) feed: Arc<Feed>,
    /// The files for people beside the journal.
    pub(crate) files: Option<Box<SessionFiles>>,
    language: Language,
    /// The places of published steps that run or wait for a person.
    open: BTreeSet<(u32, u32)>,
    /// Whether steps have changed while nobody watched.
    is_behind: bool,
}

impl Reporter {
    pub(crate) fn new(feed: Arc<Feed>, files: Option<SessionFiles>, language: Option<&str>) -> Self {
        let language = Language::named(language);
        Self { feed, files: files.map(Box::new), language, open: BTreeSet::new(), is_behind: false }
    }

    /// The session's progress, with the steps that have changed since the last report.
    pub(crate) fn progress(&mut self, session: &mut Session) -> EventBody {
        // An open step is reported again: its text improves when a name becomes known.
        let mut places = std::mem::take(&mut self.open);
        places.extend(session.take_changed_calls());
        if std::mem::take(&mut self.is_behind) {
            places.extend(session.calls().iter().map(|report| report.place));
        }
        // Finding one report takes as long as the turn, so many are found in one pass.
        let reports: Vec<CallReport> = if places.len() <= FEW {
            places.into_iter().filter_map(|place| session.call_report(place)).collect()
        } else {
            session.calls().into_iter().filter(|report| places.contains(&report.place)).collect()
        };
        let steps = reports.into_iter().map(|report| self.step(report, session)).collect();
        EventBody::Moved { mode: session.settings().mode, is_asking: session.is_asking(), steps }
    }

    /// Nobody watches: the next report has all steps of the turn.
    pub(crate) fn skip(&mut self, session: &mut Session) {
        self.is_behind |= session.take_changed_calls().len() > 0;
    }

    fn step(&mut self, report: CallReport, session: &Session) -> StepView {
        if matches!(report.status, CallStatus::Running | CallStatus::Waiting) {
            self.open.insert(report.place);
        }
        StepView::of(report, session, self.language)
    }
}
