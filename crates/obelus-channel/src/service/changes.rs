//! Changes of the lists of sessions and questions.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use obelus_kernel::session::QuestionId;
use obelus_runtime::people::AnswerKind;
use obelus_runtime::sessions::InboxId;
use obelus_runtime::sessions::{HostNews, NewsFeed, SessionStatus};
use obelus_runtime::{EventBody, Language, SessionEvent};

use super::Service;
use super::sessions::agent_in;
use crate::types::ListChange;
use crate::who::who;

/// Changes from now on, for one watcher. They are not repeated: latecomers read the lists.
pub struct Changes {
    service: Service,
    news: NewsFeed,
    language: Language,
    /// The last reported status of each session.
    statuses: HashMap<String, SessionStatus>,
    agents: HashMap<String, String>,
    queue: VecDeque<ListChange>,
}

impl Service {
    /// Changes of the lists of sessions and questions from now on.
    pub fn changes(&self, wanted: Option<Language>) -> Changes {
        Changes {
            service: self.clone(),
            news: self.host.news(),
            language: wanted.unwrap_or_else(|| self.language()),
            statuses: HashMap::new(),
            agents: HashMap::new(),
            queue: VecDeque::new(),
        }
    }
}

impl Changes {
    /// The next change. None once the host is gone. It is cancel-safe.
    pub async fn next(&mut self) -> Option<ListChange> {
        loop {
            if let Some(change) = self.queue.pop_front() {
                return Some(change);
            }
            match self.news.next().await? {
                HostNews::Made { session } => self.add_session(&session).await,
                HostNews::Removed { session } => {
                    self.statuses.remove(&*session);
                    self.agents.remove(&*session);
                    return Some(ListChange::Removed { session: session.to_string() });
                }
                HostNews::Event { session, event } => self.hear(&session, &event).await,
                HostNews::Missed => return Some(ListChange::Missed),
            }
        }
    }

    async fn hear(&mut self, session: &Arc<str>, event: &SessionEvent) {
        let (id, whole) = (session.to_string(), |question: &QuestionId| InboxId::new(session, question).to_string());
        let change = match &event.body {
            EventBody::QuestionAsked { question } => {
                let question = whole(&question.id);
                Some(ListChange::QuestionAsked { session: id, agent: self.agent(session).await, question })
            }
            EventBody::QuestionExpired { question } => {
                let question = whole(question);
                Some(ListChange::QuestionExpired { session: id, agent: self.agent(session).await, question })
            }
            EventBody::QuestionDecided { question, decision, by } => Some(ListChange::QuestionDecided {
                session: id,
                agent: self.agent(session).await,
                question: whole(question),
                decision: AnswerKind::of(decision),
                by: by.clone(),
                by_words: who(by, self.language),
            }),
            _ => None,
        };
        self.queue.extend(change);
        let moves = matches!(
            event.body,
            EventBody::UserSaid { .. }
                | EventBody::QuestionAsked { .. }
                | EventBody::QuestionDecided { .. }
                | EventBody::QuestionExpired { .. }
                | EventBody::Paused { .. }
                | EventBody::Resumed { .. }
                | EventBody::Stopped
                | EventBody::StateEdited { .. }
                | EventBody::Rested { .. }
        );
        if moves {
            self.add_session(session).await;
        }
    }

    /// Reads the status of a session, and reports it if it has changed.
    async fn add_session(&mut self, session: &Arc<str>) {
        let Ok(status) = self.service.read(session, SessionStatus::of).await else { return };
        if self.statuses.insert(session.to_string(), status) != Some(status) {
            let agent = self.agent(session).await;
            self.queue.push_back(ListChange::Session { session: session.to_string(), agent, status });
        }
    }

    async fn agent(&mut self, session: &Arc<str>) -> String {
        if let Some(known) = self.agents.get(&**session) {
            return known.clone();
        }
        let id = session.to_string();
        let agent = self.service.blocking(move |host| Ok(agent_in(host, &id))).await.unwrap_or_default();
        self.agents.insert(session.to_string(), agent.clone());
        agent
    }
}
