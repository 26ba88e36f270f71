//! Ids of runs, checkpoints and interrupts. They are derived from what they name, so that they need not be stored.

use crate::types::QuestionRow;
use obelus_runtime::text::hex;
use sha2::{Digest as _, Sha256};

/// The kinds of objects that ids name.
#[derive(Clone, Copy)]
pub(super) enum IdKind {
    Run,
    Checkpoint,
}

/// The id of a record of a session's journal: a UUID (version 8) that ends with the record's number.
pub(super) fn id_of(kind: IdKind, session: &str, record: u64) -> String {
    let kind = match kind {
        IdKind::Run => "run",
        IdKind::Checkpoint => "checkpoint",
    };
    let hash = hex(&Sha256::digest(format!("{kind}\n{session}").as_bytes()));
    let (first, second, third, fourth) = (&hash[..8], &hash[8..12], &hash[12..15], &hash[15..18]);
    format!("{first}-{second}-8{third}-8{fourth}-{:012x}", record & 0xffff_ffff_ffff)
}

/// The record of an id, if it belongs to this session.
pub(super) fn record_of(kind: IdKind, session: &str, id: &str) -> Option<u64> {
    let record = u64::from_str_radix(id.rsplit_once('-')?.1, 16).ok()?;
    (id_of(kind, session, record) == id).then_some(record)
}

/// The id of an interrupt: the first half identifies the question, the second one what was shown.
pub(super) fn interrupt_id(question: &QuestionRow) -> String {
    let shown = question.digest.get(..16).unwrap_or_default();
    format!("{}{shown}", question_half(&question.id))
}

/// The half of an interrupt's id that identifies the question.
pub(super) fn question_half(question: &str) -> String {
    hex(&Sha256::digest(question.as_bytes())[..8])
}

/// Whether a text has the form of an interrupt's id.
pub(super) fn is_interrupt_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_id_is_valid_for_one_session_only() {
        let id = id_of(IdKind::Run, "a", 258);
        assert!(uuid::Uuid::parse_str(&id).is_ok() && id.ends_with("-000000000102"), "{id}");
        assert_eq!(record_of(IdKind::Run, "a", &id), Some(258));
        assert_eq!(record_of(IdKind::Run, "b", &id), None);
        assert_eq!(record_of(IdKind::Checkpoint, "a", &id), None);
        for wrong in ["", "-", "x", "00000000-0000-8000-8000-000000000102"] {
            assert_eq!(record_of(IdKind::Run, "a", wrong), None, "{wrong}");
        }
    }
}
