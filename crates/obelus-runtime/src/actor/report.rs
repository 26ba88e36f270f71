//! Reports of a session: events for subscribers, and files for people.

use std::collections::BTreeSet;
use std::sync::Arc;

use obelus_kernel::session::{CallStatus, Session};

use crate::events::{EventBody, Feed, StepView};
use crate::session_files::SessionFiles;
use crate::words::Language;

/// Where reports go.
pub(crate) struct Report {
    pub(crate) feed: Arc<Feed>,
    /// The files for people beside the journal.
    pub(crate) files: Option<Box<SessionFiles>>,
    language: Language,
    /// The places of published steps that run or wait for a person.
    open: BTreeSet<(u32, u32)>,
    /// Whether steps have changed while nobody watched.
    is_behind: bool,
}

impl Report {
    pub(crate) fn new(feed: Arc<Feed>, files: Option<SessionFiles>, language: Option<&str>) -> Self {
        let language = Language::named(language);
        Self { feed, files: files.map(Box::new), language, open: BTreeSet::new(), is_behind: false }
    }

    /// The session's progress, with the steps that have changed since the last report.
    pub(crate) fn moved(&mut self, session: &mut Session) -> EventBody {
        // An open step is reported again: its text improves when a name becomes known.
        let mut places = std::mem::take(&mut self.open);
        places.extend(session.take_changed_calls());
        if std::mem::take(&mut self.is_behind) {
            places.extend(session.calls().iter().map(|report| report.place));
        }
        let steps = places.into_iter().filter_map(|place| self.step(place, session)).collect();
        EventBody::Moved { mode: session.settings().mode, is_asking: session.is_asking(), steps }
    }

    /// Nobody watches: the next report has all steps of the turn.
    pub(crate) fn skip(&mut self, session: &mut Session) {
        self.is_behind |= session.take_changed_calls().len() > 0;
    }

    fn step(&mut self, place: (u32, u32), session: &Session) -> Option<StepView> {
        let report = session.call_report(place)?;
        if matches!(report.status, CallStatus::Running | CallStatus::Waiting) {
            self.open.insert(place);
        }
        Some(StepView::of(report, session, self.language))
    }
}
