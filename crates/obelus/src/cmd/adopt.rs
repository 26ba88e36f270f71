//! `obelus sessions adopt`: imports the state of another program as a session (B24-7).

use std::path::Path;

use anyhow::{Result, anyhow};
use obelus_kernel::session::sent_by::SentBy;
use obelus_kernel::session::{Mode, Question, Session};
use obelus_kernel::text::without_position;
use obelus_runtime::people::{QuestionView, refused_in_words};
use obelus_runtime::sessions::InboxId;
use obelus_runtime::{Host, HostError, SessionSpec, StoreError};
use serde_json::{Value, json};

use super::agents;
use super::people::Narrator;
use super::run::{load_agent, on};
use crate::command_error::wrong;
use crate::input;
use crate::language::{fill, words_of};
use crate::output::{self, Exit, visible};

/// An import.
pub(crate) struct Import<'a> {
    pub(crate) file: &'a Path,
    pub(crate) agent: &'a str,
    /// The name of the session; by default the file's.
    pub(crate) session: Option<&'a str>,
    /// By default the agent's.
    pub(crate) mode: Option<Mode>,
}

pub(crate) fn adopt(host: &Host, import: &Import<'_>, as_json: bool) -> Result<Exit> {
    let Import { file, agent, session, mode } = *import;
    let name = input::name(file);
    let id = match session {
        Some(id) => id.to_owned(),
        None => file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default(),
    };
    let state: Value = serde_json::from_str(&input::text(file)?).map_err(|error| {
        let words = error.to_string();
        let words = without_position(&words);
        anyhow!("{name}:{}:{}: {words}", error.line(), error.column())
    })?;
    let spec = SessionSpec::from_agent(load_agent(&agents::locate(agent)?, None)?);
    let words = words_of(spec.language.as_deref());
    let (state, open, narrator) = on(async {
        let by = SentBy::ImportOf(&name).to_string();
        // An invalid state is refused before anything is stored.
        let handle = match host.adopt(&id, spec, state, mode, &by).await {
            Err(HostError::Store(error @ StoreError::Exists(_))) => {
                let error = error.in_words(words.language);
                return Err(wrong(fill(words.carried.adopt_exists, &[&error]), words));
            }
            Err(HostError::Refused(refused)) => {
                let refused = refused_in_words(&refused, None, words.language);
                return Err(wrong(format!("{name}: {refused}"), words));
            }
            adopted => adopted?,
        };
        let name = id.clone();
        let read = move |session: &Session| {
            let narrator = Narrator::of(session);
            let view = |question: &Question| {
                QuestionView::of(session, question, narrator.phrases.language)
                    .under(InboxId::new(&name, &question.id).to_string())
            };
            let open = session.questions().iter().filter(|question| question.is_open()).map(view).collect();
            (session.state(), open, narrator)
        };
        let seen: (Value, Vec<QuestionView>, Narrator) = handle.inspect(read).await?;
        host.close().await;
        Ok(seen)
    })?;
    if as_json {
        output::json(&json!({"session": id, "state": state}));
        return Ok(Exit::Done);
    }
    for question in &open {
        output::answer(&narrator.question(question, false));
    }
    output::note(&fill(narrator.phrases.carried.adopted, &[&visible(&id), &id]));
    Ok(Exit::Done)
}
