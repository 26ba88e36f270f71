//! The open questions that each caller was last shown, for protocols whose answers need not name a question.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::types::QuestionRow;

/// The limit of remembered sessions and callers. Beyond it all are forgotten, and clients must look again.
const MOST: usize = 10_000;

/// Digests of the questions, by caller and session. They end with the process.
#[derive(Default)]
pub(super) struct ShownQuestions(Mutex<HashMap<(String, String), Vec<String>>>);

impl ShownQuestions {
    /// Notes that a caller is shown these open questions of a session.
    pub(super) fn add(&self, caller: &str, open: &[QuestionRow]) {
        let Some(first) = open.first() else { return };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST {
            all.clear();
        }
        all.insert((caller.to_owned(), first.session.clone()), open.iter().map(identity).collect());
    }

    /// Whether this question, as it is now, is the only one that the caller was last shown.
    pub(super) fn is_only(&self, caller: &str, question: &QuestionRow) -> bool {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let shown = all.get(&(caller.to_owned(), question.session.clone()));
        shown.is_some_and(|shown| *shown == [identity(question)])
    }
}

fn identity(question: &QuestionRow) -> String {
    format!("{} {}", question.id, question.digest)
}
