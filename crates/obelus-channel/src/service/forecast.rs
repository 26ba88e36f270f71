//! The forecast of a fork.

use obelus_kernel::Effect;
use obelus_kernel::session::{Outcome, Session};
use obelus_runtime::Language;
use obelus_runtime::sessions::ForkedCall;

use super::{Service, check_id};
use crate::ChannelError;
use crate::types::{ForkForecastView, ForkedCallView};

/// The limit of calls of each kind.
const MOST_CALLS: usize = 200;

impl Service {
    /// The forecast of a fork at a record, or now: which calls it would repeat. Nothing is created.
    pub async fn fork_forecast(
        &self,
        id: &str,
        at: Option<u64>,
        wanted: Option<Language>,
    ) -> Result<ForkForecastView, ChannelError> {
        check_id(id)?;
        let name = id.to_owned();
        let forecast = self.blocking(move |host| Ok(host.fork_forecast(&name, at)?)).await?;
        let service = self.clone();
        self.read(id, move |session| {
            let language = service.language_of(session, wanted);
            let effects = |calls: &[ForkedCall]| views(session, calls, language, false);
            ForkForecastView {
                at: forecast.at,
                records: forecast.records,
                paused: forecast.is_paused,
                kept: effects(&forecast.done),
                known: views(session, &forecast.known, language, true),
                again: views(session, &forecast.again, language, true),
                in_doubt: views(session, &forecast.in_doubt, language, true),
                later: effects(&forecast.later),
            }
        })
        .await
    }
}

/// Calls for people, with or without reads.
fn views(session: &Session, calls: &[ForkedCall], language: Language, with_reads: bool) -> Vec<ForkedCallView> {
    let effect = |call: &ForkedCall| {
        let tool = call.call.tool().and_then(|name| session.context().tool(name));
        tool.map(|tool| tool.effect)
    };
    let is_shown = |call: &&ForkedCall| with_reads || effect(call) != Some(Effect::Read);
    let view = |call: &ForkedCall| ForkedCallView {
        id: call.id.to_string(),
        headline: session.call_headline_in(&call.call, Some(language.code())),
        tool: call.call.tool_name().to_owned(),
        effect: effect(call).map(|effect| effect.name().to_owned()),
        record: call.record,
        at: call.at.to_string(),
        failed: matches!(call.outcome, Some(Outcome::Error(_))),
    };
    calls.iter().filter(is_shown).take(MOST_CALLS).map(view).collect()
}
