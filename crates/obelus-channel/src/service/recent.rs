//! Recently decided questions, and the filter of questions.

use obelus_kernel::session::{Question, Session};
use obelus_runtime::Language;

use super::Service;
use super::sessions::agent_in;
use crate::ChannelError;
use crate::types::{InboxFilter, QuestionRow};

/// The limit of sessions that are searched: those with the latest records.
const MOST_SESSIONS: usize = 40;

/// The limit of questions.
const MOST_LISTED: usize = 200;

impl Service {
    /// Recently decided or expired questions, the latest first, from the sessions with the latest records.
    pub async fn recent(
        &self,
        filter: InboxFilter,
        limit: usize,
        wanted: Option<Language>,
    ) -> Result<Vec<QuestionRow>, ChannelError> {
        let (only, agent) = (filter.session.clone(), filter.agent.clone());
        let sessions = self.blocking(move |host| {
            let mut rows = host.list()?;
            rows.retain(|row| only.as_ref().is_none_or(|only| row.id == *only));
            rows.sort_by_key(|row| std::cmp::Reverse(row.last_at));
            let named = rows.into_iter().map(|row| (agent_in(host, &row.id), row.id));
            let named = named.filter(|(name, _)| agent.as_ref().is_none_or(|agent| agent == name));
            Ok(named.take(MOST_SESSIONS).collect::<Vec<_>>())
        });
        let mut all: Vec<QuestionRow> = Vec::new();
        for (agent, id) in sessions.await? {
            let (service, name) = (self.clone(), id.clone());
            let read = move |session: &Session| {
                let language = service.language_of(session, wanted);
                let decided = session.questions().into_iter().filter(|question: &Question| !question.is_open());
                let rows = decided.map(|question| service.question_row(session, &question, (&name, &agent), language));
                rows.collect::<Vec<_>>()
            };
            // Unreadable sessions are skipped.
            all.extend(self.read(&id, read).await.unwrap_or_default());
        }
        all.retain(|row| filter.wants(row));
        all.sort_by(|one, other| other.decided_at.cmp(&one.decided_at));
        all.truncate(limit.clamp(1, MOST_LISTED));
        Ok(all)
    }
}

impl InboxFilter {
    /// Whether a question matches the filter.
    pub(super) fn wants(&self, row: &QuestionRow) -> bool {
        let has = |text: &str| {
            let text = text.to_lowercase();
            let texts = [&row.id, &row.agent, &row.headline, &row.text, &row.description];
            texts.iter().any(|words| words.to_lowercase().contains(&text))
        };
        self.about.as_ref().is_none_or(|about| row.about.name() == about) && self.text.as_deref().is_none_or(has)
    }
}
