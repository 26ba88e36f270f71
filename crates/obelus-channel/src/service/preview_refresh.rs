//! Checks whether records have changed since a question was asked.

use obelus_kernel::session::{Change, Session, quoted_value};
use obelus_runtime::people::Titles;
use obelus_runtime::{Language, system_clock};

use super::Service;
use super::questions::parts;
use crate::ChannelError;
use crate::types::{LookRow, LookView};

impl Service {
    /// Reads again the records that an open question would change; returns the values that differ from those shown.
    pub async fn refresh_preview(&self, id: &str, wanted: Option<Language>) -> Result<LookView, ChannelError> {
        let (session, number) = parts(id)?;
        let handle = self.open(session).await?;
        let asked = number.clone();
        let question = handle.inspect(move |session| session.question(&asked)).await?;
        let question = question.ok_or_else(|| ChannelError::UnknownQuestion(id.to_owned()))?;
        let found = handle.refresh_preview(&number).await?;
        let found = found.ok_or_else(|| ChannelError::NotFound(format!("a look for {id}")))?;
        let service = self.clone();
        let compare = move |session: &Session| {
            let language = service.language_of(session, wanted);
            let titles = Titles::of(session.context_of(&number), language.code());
            let now = found.into_iter().flat_map(|(_, changes)| changes);
            let differs = |now: &Change| {
                let is_same = |shown: &&Change| shown.call == now.call && shown.field == now.field;
                let shown = question.changes.iter().find(is_same)?;
                (shown.before != now.before).then(|| {
                    let tool = question.calls.get(now.call).and_then(|asked| asked.call.tool());
                    row(now, shown, tool.unwrap_or_default(), &titles, language)
                })
            };
            let rows: Vec<LookRow> = now.filter_map(|now| differs(&now)).collect();
            LookView { changed: !rows.is_empty(), looked_at: system_clock().to_string(), rows }
        };
        Ok(handle.inspect(compare).await?)
    }
}

fn row(now: &Change, shown: &Change, tool: &str, titles: &Titles, language: Language) -> LookRow {
    let value = |change: &Change| match &change.before {
        Some(value) => quoted_value(value),
        None => language.words().questions.not_set.to_owned(),
    };
    let place = titles.place_of(tool, &now.field);
    LookRow {
        call: now.call,
        label: titles.param(tool, &place).unwrap_or_else(|| obelus_kernel::visible(&place)),
        place,
        shown: value(shown),
        now: value(now),
    }
}
