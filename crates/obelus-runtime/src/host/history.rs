//! Events that are no longer in memory, read from the journal.

use std::sync::Arc;

use super::{HostError, Inner};
use crate::events::{EventBody, EventNumber, SessionEvent};
use crate::restore::{InputEffects, advance, view_at};
use crate::spec::SessionSpec;
use crate::store::{Record, StoreError};
use obelus_kernel::session::Input;

impl Inner {
    /// The events of a session between two numbers, without transient ones.
    pub(crate) fn history(
        &self,
        id: &str,
        after: EventNumber,
        upto: EventNumber,
    ) -> Result<Vec<Arc<SessionEvent>>, HostError> {
        let store = self.store()?;
        let genesis = store.genesis(id)?.ok_or_else(|| StoreError::Unknown(id.to_owned()))?;
        let spec = SessionSpec::from_genesis(genesis)?;
        let connections = self.connector.resume(&spec, None)?;
        let session_factory = super::open::session_factory(id, &spec, &connections);
        // The record itself may have more events.
        let first = after.record.saturating_sub(1);
        let mut session = view_at(store, id, &session_factory, Some(first))?;
        let mut all = Vec::new();
        for (kept, record) in store.load(id, first, Some(upto.record))?.records.into_iter().zip(first + 1..) {
            let Record { at, input, .. } = kept;
            let before = session.context().length();
            // Older versions journaled inputs before they were taken, including refused ones.
            let Ok(InputEffects { tasks, .. }) = advance(&mut session, at, Input::clone(&input)) else { continue };
            let bodies = EventBody::of(&session, at, &input, session.context().length() > before, &tasks);
            let numbered = (1..).zip(bodies).map(|(part, body)| (EventNumber { record, part }, body));
            let wanted = numbered.filter(|(number, _)| *number > after && *number <= upto);
            all.extend(wanted.map(|(number, body)| Arc::new(SessionEvent { number, at, is_passing: false, body })));
        }
        Ok(all)
    }
}
