//! Who edited the state of a session.

use std::collections::BTreeMap;

use obelus_kernel::policy::{Why, Writer};
use obelus_kernel::session::Input;

use super::{HostError, HostShared};

impl HostShared {
    /// Names the editors of the state in the writes of a value. Messages have the time of an edit, and the journal has
    /// who made it.
    pub(super) fn name_editors(&self, id: &str, why: &mut Why) -> Result<(), HostError> {
        let mut has_edits = false;
        why.each_write(&mut |one| has_edits |= one.by == Writer::User && one.date.is_some());
        if !has_edits {
            return Ok(());
        }
        let records = self.store()?.load(id, 0, None)?.records.into_iter();
        let edit = |record: crate::store::Record| match &*record.input {
            Input::State { by, .. } => Some((record.at.to_string(), by.clone())),
            _ => None,
        };
        let edits: BTreeMap<String, String> = records.filter_map(edit).collect();
        why.each_write(&mut |one| {
            let date = one.date.as_ref().filter(|_| one.by == Writer::User);
            one.edited_by = date.and_then(|date| edits.get(date)).cloned();
        });
        Ok(())
    }
}
