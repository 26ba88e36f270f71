//! The inbox, and answers.

use obelus_kernel::Time;
use obelus_kernel::policy::ConsentTerms;
use obelus_kernel::session::refusals::RefusalCode;
use obelus_kernel::session::{Decision, Input, Question, QuestionId, Session};
use obelus_runtime::people::{AnswerKind, QuestionView, ViewLine, terms_in_words};
use obelus_runtime::sessions::InboxId;
use obelus_runtime::{Language, system_clock};

use super::decided::decided_head;
use super::sessions::agent_in;
use super::{Service, check_id};
use crate::ChannelError;
use crate::types::{AnswerBody, ConsentOffer, InboxFilter, QuestionRow, Taken};
use crate::who::who;

impl Service {
    /// The open questions that match the filter.
    pub async fn inbox(&self, filter: InboxFilter, wanted: Option<Language>) -> Result<Vec<QuestionRow>, ChannelError> {
        let (only, agent) = (filter.session.clone(), filter.agent.clone());
        let sessions = self.blocking(move |host| {
            let ids: Vec<String> = match only {
                Some(session) => vec![session],
                None => {
                    let rows = host.inbox()?.into_iter();
                    let rows = rows.filter(|row| row.questions.as_ref().is_none_or(|open| !open.is_empty()));
                    rows.map(|row| row.session).collect()
                }
            };
            let named = ids.into_iter().map(|id| (agent_in(host, &id), id));
            Ok(named.filter(|(name, _)| agent.as_ref().is_none_or(|agent| agent == name)).collect::<Vec<_>>())
        });
        let mut all = Vec::new();
        for (agent, id) in sessions.await? {
            let (service, name) = (self.clone(), id.clone());
            // Unreadable sessions are skipped.
            let open = self.read(&id, move |session| service.open_questions(session, (&name, &agent), wanted)).await;
            all.extend(open.unwrap_or_default());
        }
        all.retain(|row| filter.wants(row));
        Ok(all)
    }

    fn open_questions(&self, session: &Session, of: (&str, &str), wanted: Option<Language>) -> Vec<QuestionRow> {
        let (language, now) = (self.language_of(session, wanted), system_clock());
        let open = session.questions().into_iter().filter(|question| question.is_open() && question.expires_at > now);
        open.map(|question| self.question_row(session, &question, of, language)).collect()
    }

    /// A question, open or decided, by its id `SESSION:QUESTION`.
    pub async fn question(&self, id: &str, wanted: Option<Language>) -> Result<QuestionRow, ChannelError> {
        let (session, number) = parts(id)?;
        let (service, name) = (self.clone(), session.to_owned());
        let of = name.clone();
        let agent = self.blocking(move |host| Ok(agent_in(host, &of))).await?;
        let read = move |session: &Session| {
            let language = service.language_of(session, wanted);
            let question = session.question(&number)?;
            Some(service.question_row(session, &question, (&name, &agent), language))
        };
        let row = self.read(session, read).await?.ok_or_else(|| ChannelError::UnknownQuestion(id.to_owned()))?;
        self.with_decision(row, wanted).await
    }

    /// Answers a question. `by` says who, and from where. With a digest the answer counts only for what was shown. An
    /// input with the same `input_id` is taken once (DUR-13).
    pub async fn answer(
        &self,
        id: &str,
        answer: AnswerBody,
        by: &str,
        digest: Option<&str>,
        input_id: Option<&str>,
    ) -> Result<Taken, ChannelError> {
        let (session, number) = parts(id)?;
        let (asked, offers) = {
            let number = number.clone();
            let read = move |session: &Session| (session.question(&number), session.consent_offers(&number));
            self.read(session, read).await?
        };
        let asked = asked.ok_or_else(|| ChannelError::UnknownQuestion(id.to_owned()))?;
        // The session refuses a decided question, or repeats its answer if the input is the same.
        let decision = decision_of(answer, &offers)?;
        let decide = |digest: Option<&str>| {
            let (decision, digest) = (decision.clone(), digest.map(str::to_owned));
            Input::Decide { question: number.clone(), decision, by: by.to_owned(), digest }
        };
        match self.tell(session, decide(digest), input_id).await {
            Err(ChannelError::Refused(refused)) if refused.code == RefusalCode::QuestionChanged => {
                if asked.is_open() {
                    Err(ChannelError::Changed(id.to_owned()))
                } else {
                    // Report that it was decided rather than that it has changed.
                    self.tell(session, decide(None), input_id).await
                }
            }
            done => done,
        }
    }
}

/// The session and question of an id.
pub(super) fn parts(id: &str) -> Result<(&str, QuestionId), ChannelError> {
    let unknown = || ChannelError::UnknownQuestion(id.chars().take(100).collect());
    let InboxId { session, question } = InboxId::parse(id).ok_or_else(unknown)?;
    check_id(session)?;
    Ok((session, question))
}

fn decision_of(answer: AnswerBody, offers: &[ConsentTerms]) -> Result<Decision, ChannelError> {
    Ok(match answer {
        AnswerBody::Approve { only } => Decision::Approve { only },
        AnswerBody::Deny { reason, only: None } => Decision::Deny { reason },
        AnswerBody::Deny { reason, only: Some(only) } => Decision::DenySome { only, reason },
        AnswerBody::Edit { params } => Decision::Edit { params },
        AnswerBody::Value { value } => Decision::Value { value },
        AnswerBody::Happened { result } => Decision::Happened { result },
        AnswerBody::DidNot => Decision::DidNot,
        AnswerBody::Consent { code, until } => {
            let terms = offers.iter().find(|terms| terms.code() == code);
            let terms =
                terms.ok_or_else(|| ChannelError::BadRequest("no consent with this code is offered".to_owned()))?;
            let time = |text: String| {
                Time::parse(&text).ok_or_else(|| {
                    ChannelError::BadRequest("`until` is a time such as 2027-01-01T00:00:00Z".to_owned())
                })
            };
            Decision::Consent { terms: terms.clone(), until: until.map(time).transpose()? }
        }
    })
}

impl Service {
    /// A question of a session for channels.
    pub(super) fn question_row(
        &self,
        session: &Session,
        question: &Question,
        (id, agent): (&str, &str),
        language: Language,
    ) -> QuestionRow {
        let whole = InboxId::new(id, &question.id).to_string();
        let pages = self.host.pictures(id);
        let mut view = QuestionView::with_pages(session, question, pages, language).under(&whole);
        if let Some(head) = decided_head(question, None, language) {
            (view.head, view.answers) = (head, Vec::new());
        }
        let offers = if question.is_open() { session.consent_offers(&question.id) } else { Vec::new() };
        let offer = |terms: &ConsentTerms| ConsentOffer {
            scope: terms.scope.name().to_owned(),
            covers: terms_in_words(terms, session, language),
            code: terms.code(),
        };
        QuestionRow {
            id: whole,
            session: id.to_owned(),
            agent: agent.to_owned(),
            headline: session.headline(question),
            about: question.about,
            status: question.status,
            requested_at: question.requested_at.to_string(),
            expires_at: question.expires_at.to_string(),
            answers: answers_of(question, &view, &offers),
            digest: view.digest.clone(),
            calls: question.calls.iter().map(|asked| (*asked.call).clone()).collect(),
            description: question.description.clone(),
            reasons: question.reasons.iter().map(ToString::to_string).collect(),
            schema: question.schema.clone(),
            text: text_of(&view),
            has_picture: view.picture.is_some(),
            // The server's file paths are not shown.
            view: QuestionView { picture: None, ..view },
            consents: offers.iter().map(offer).collect(),
            by_words: question.by.as_deref().map(|by| who(by, language)),
            by: question.by.clone(),
            decided_at: question.decided_at.map(|at| at.to_string()),
            reason: question.reason.clone(),
            decision: None,
        }
    }
}

/// The lines of a view, without their tones.
pub(super) fn text_of(view: &QuestionView) -> String {
    let text = |line: &ViewLine| line.pieces.iter().map(|(_, text)| text.as_str()).collect::<String>();
    view.lines().iter().map(text).collect::<Vec<_>>().join("\n")
}

/// The possible answers; none for a decided question.
fn answers_of(question: &Question, view: &QuestionView, offers: &[ConsentTerms]) -> Vec<AnswerKind> {
    let own = view.answers.iter().copied().filter(|_| question.is_open());
    own.chain((!offers.is_empty()).then_some(AnswerKind::Consent)).collect()
}
