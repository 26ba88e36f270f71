//! Creating, listing, reading and removing sessions.

use std::time::Duration;

use obelus_kernel::session::{About, AskedCall, CallStatus, Question, Session};
use obelus_runtime::sessions::{SessionStatus, SessionSummary};
use obelus_runtime::{Host, HostError, Language, SessionSpec, StoreError};
use serde_json::{Value, json};

use super::agents::schema_of;
use super::talk::turn_view;
use super::{Service, check_id, drawn_id, id_of_key};
use crate::types::{CallRow, NewSession, Page, PlanView, SessionList, SessionListRow, SessionView};
use crate::{ChannelError, types::ConsentRow};

/// The limit of sessions on a page.
const MOST_LISTED: usize = 200;

/// The time for a check of readiness.
const READY: Duration = Duration::from_secs(2);

impl Service {
    /// Creates a session with an agent.
    pub async fn create_session(&self, new: NewSession) -> Result<SessionView, ChannelError> {
        let id = new.id.unwrap_or_else(drawn_id);
        check_id(&id)?;
        if new.agent.is_empty() {
            return Err(ChannelError::BadRequest("`agent` is missing".to_owned()));
        }
        if new.lang.as_deref().is_some_and(|name| !["ru", "en"].contains(&name)) {
            return Err(ChannelError::BadRequest("`lang` is `ru` or `en`".to_owned()));
        }
        let wanted = new.lang.as_deref().map(|name| Language::named(Some(name)));
        let agent = self.load_agent(&new.agent, wanted).await?;
        // The agent's author sets the mode; only the server's operator may extend it (POL-1).
        if new.is_bound && new.mode.is_some_and(|mode| mode > agent.settings.mode) {
            return Err(ChannelError::Forbidden(crate::tokens::TokenRole::Admin.name()));
        }
        let has_input = schema_of(&agent, "input").is_some();
        let mut spec = SessionSpec::from_agent(agent);
        if let Some(input) = new.input {
            if !has_input {
                return Err(ChannelError::BadRequest("this agent has no schema of an input".to_owned()));
            }
            spec.give_input(input).map_err(|error| ChannelError::BadRequest(format!("`input`: {error}")))?;
        }
        if let Some(prepare) = &self.prepare {
            spec = prepare(spec);
        }
        self.host.create_in(&id, spec, new.mode).await?;
        self.session(&id, None).await
    }

    /// Creates a session once for the same key: its id is derived from the key and the caller's name. Returns whether
    /// it was created now.
    pub async fn create_session_once(
        &self,
        mut new: NewSession,
        caller: &str,
        key: Option<&str>,
    ) -> Result<(SessionView, bool), ChannelError> {
        let Some(key) = key else { return Ok((self.create_session(new).await?, true)) };
        let id = new.id.get_or_insert_with(|| id_of_key(caller, key)).clone();
        let agent = new.agent.clone();
        match self.create_session(new).await {
            Err(ChannelError::Host(HostError::Store(StoreError::Exists(_)))) => {
                let known = self.session(&id, None).await?;
                if known.agent == agent { Ok((known, false)) } else { Err(StoreError::Exists(id).into()) }
            }
            made => Ok((made?, true)),
        }
    }

    /// Whether the store can be read, with a time limit, so that a load balancer gets an answer in time.
    pub async fn is_ready(&self) -> bool {
        let read = self.blocking(|host| host.check_store().map_err(Into::into));
        tokio::time::timeout(READY, read).await.is_ok_and(|read| read.is_ok())
    }

    /// A session as it is now.
    pub async fn session(&self, id: &str, wanted: Option<Language>) -> Result<SessionView, ChannelError> {
        check_id(id)?;
        let (service, name) = (self.clone(), id.to_owned());
        let spec = self.blocking(move |host| Ok(host.spec(&name)?)).await?;
        let name = id.to_owned();
        let agent = spec.as_ref().map(SessionSpec::catalogue_name).ok_or_else(|| StoreError::Unknown(name.clone()))?;
        self.read(id, move |session| service.session_view(session, &name, agent, wanted)).await
    }

    fn session_view(&self, session: &Session, id: &str, agent: String, wanted: Option<Language>) -> SessionView {
        let language = self.language_of(session, wanted);
        let open = session.questions().into_iter().filter(Question::is_open);
        let (turn, whole) = session.spent();
        SessionView {
            id: id.to_owned(),
            lang: language.code().to_owned(),
            status: SessionStatus::of(session).into(),
            mode: session.settings().mode.name().to_owned(),
            paused_by: session.paused().map(str::to_owned),
            node: session.node().map(str::to_owned),
            questions: open.map(|question| self.question_row(session, &question, (id, &agent), language)).collect(),
            agent,
            turn: session.reply().map(|reply| turn_view(session, &reply, id, language)),
            spent: json!({"turn": turn, "session": whole}),
        }
    }

    /// Sessions, newest first. Unreadable ones are included with that status.
    pub async fn sessions(&self, page: Page) -> Result<SessionList, ChannelError> {
        let limit = page.limit.clamp(1, MOST_LISTED);
        let mut rows = self.blocking(move |host| Ok(host.page(page.after.as_deref(), limit + 1)?)).await?;
        let has_more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows.last().filter(|_| has_more).map(|row| row.id.clone());
        let mut sessions = Vec::new();
        for row in rows {
            let SessionSummary { status, title, questions, agent } = self.summary(&row.id).await?;
            sessions.push(SessionListRow {
                id: row.id,
                agent,
                status: status.into(),
                created: row.created.to_string(),
                last: row.last_at.map(|at| at.to_string()),
                records: row.records,
                title,
                questions,
            });
        }
        Ok(SessionList { sessions, next })
    }

    /// The entry of a session in lists. A session that is not in memory is not restored, if its summary is stored.
    pub(crate) async fn summary(&self, id: &str) -> Result<SessionSummary, ChannelError> {
        let id = id.to_owned();
        if let Some(handle) = self.host.find(&id) {
            let name = id.clone();
            let agent = self.blocking(move |host| Ok(agent_in(host, &name))).await?;
            if let Ok(summary) = handle.inspect(move |session| SessionSummary::of(session, &agent)).await {
                return Ok(summary);
            }
        }
        let work = move |host: &Host| {
            let summary = host.summary(&id);
            Ok(summary.unwrap_or_else(|_| SessionSummary::unreadable(agent_in(host, &id))))
        };
        self.blocking(work).await
    }

    /// Removes a session and all its data.
    pub async fn remove(&self, id: &str) -> Result<(), ChannelError> {
        check_id(id)?;
        self.host.remove(id).await?;
        if let Some(forget) = self.forget.clone() {
            let id = id.to_owned();
            self.blocking(move |_| {
                forget(&id);
                Ok(())
            })
            .await?;
        }
        Ok(())
    }

    /// The state of a session, now or after a record.
    pub async fn state(&self, id: &str, at: Option<u64>) -> Result<Value, ChannelError> {
        self.read_at(id, at, Session::state).await
    }

    /// The messages of a session's context, now or after a record.
    pub async fn messages(&self, id: &str, at: Option<u64>) -> Result<Value, ChannelError> {
        self.read_at(id, at, |session| session.context().to_json()).await
    }

    /// The calls of the latest turn with their statuses.
    pub async fn plan(&self, id: &str, wanted: Option<Language>) -> Result<PlanView, ChannelError> {
        let (service, name) = (self.clone(), id.to_owned());
        self.read(id, move |session| {
            let language = service.language_of(session, wanted);
            PlanView { session: name, calls: call_rows(session, &session.distinct_calls(), language) }
        })
        .await
    }

    /// The provenance of an expression's value, such as `†state.deal.title`. The `†` may be omitted.
    pub async fn why(&self, id: &str, expr: &str, instance: Option<&str>) -> Result<Value, ChannelError> {
        let expr = if expr.starts_with('†') { expr.to_owned() } else { format!("†{expr}") };
        let instance = instance.map(str::to_owned);
        let why = self.read(id, move |session| session.why(&expr, instance.as_deref())).await?;
        let mut why = why.map_err(|fault| ChannelError::BadRequest(fault.to_string()))?;
        if why.is_absent() {
            return Err(ChannelError::NotWritten);
        }
        let id = id.to_owned();
        self.blocking(move |host| {
            host.name_editors(&id, &mut why)?;
            Ok(why.to_json())
        })
        .await
    }

    /// The standing consents of the session.
    pub async fn consents(&self, id: &str, wanted: Option<Language>) -> Result<Vec<ConsentRow>, ChannelError> {
        let service = self.clone();
        self.read(id, move |session| {
            let language = service.language_of(session, wanted);
            let row = |consent: &obelus_kernel::policy::StandingConsent| ConsentRow {
                id: consent.id(),
                covers: obelus_runtime::people::terms_in_words(&consent.terms, session, language),
                holds: consent.holds(session.now()),
                by: consent.by.clone(),
                at: consent.at.to_string(),
                until: consent.until.map(|until| until.to_string()),
                uses: consent.uses,
            };
            session.consents().iter().map(row).collect()
        })
        .await
    }
}

pub(super) fn call_rows(
    session: &Session,
    calls: &[obelus_kernel::session::CallReport],
    language: Language,
) -> Vec<CallRow> {
    // A call that was stopped at work waits until a person says whether it happened.
    let doubts: Vec<(u32, u32)> = if session.is_at_rest() {
        session
            .questions()
            .iter()
            .filter(|question| question.is_open() && question.about == About::InDoubt)
            .flat_map(|question| question.calls.iter().flat_map(AskedCall::places).collect::<Vec<_>>())
            .collect()
    } else {
        Vec::new()
    };
    let status = |report: &obelus_kernel::session::CallReport| match report.status {
        CallStatus::Running if doubts.contains(&report.place) => CallStatus::Waiting,
        status => status,
    };
    let row = |report: &obelus_kernel::session::CallReport| CallRow {
        headline: session.call_headline_in(&report.call, Some(language.code())),
        call: (*report.call).clone(),
        status: status(report),
        error: report.error.clone(),
    };
    calls.iter().map(row).collect()
}

pub(super) fn agent_in(host: &Host, id: &str) -> String {
    host.spec(id).ok().flatten().as_ref().map(SessionSpec::catalogue_name).unwrap_or_default()
}
