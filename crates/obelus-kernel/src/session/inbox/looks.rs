//! Reads that show what a question would change, for whoever decides about it.
//!
//! A look is a read like any other: the gate must allow it without a person. It is no part of the turn, the model is
//! not shown its result, and the question can be answered while it is under way. If it fails, the question stays as it
//! is.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde_json::Value;

use crate::origin::Origins;
use crate::session::ids::{JobRef, LocalCall, QuestionNumber};
use crate::tool::Tool;

/// Looks that a question about many calls may take.
pub(in crate::session) const MOST_LOOKS: usize = 200;

/// Looks that wait or are under way, by question and call.
#[derive(Default)]
pub(in crate::session) struct Looks {
    queue: VecDeque<Look>,
    open: BTreeMap<(u64, u32), Look>,
}

/// A read for one call of a question.
#[derive(Clone)]
pub(in crate::session) struct Look {
    pub(in crate::session) question: QuestionNumber,
    /// The place of the call in the question.
    pub(in crate::session) index: usize,
    /// The job that waits.
    pub(in crate::session) at: JobRef,
    pub(in crate::session) tool: Arc<Tool>,
    pub(in crate::session) call: Arc<Value>,
    /// Where the parameters of the read come from.
    pub(in crate::session) origins: Origins,
    pub(in crate::session) attempt: u32,
}

impl Look {
    fn key(&self) -> (u64, u32) {
        (self.question.0, u32::try_from(self.index).unwrap_or(u32::MAX))
    }

    /// The call that a driver knows it by.
    pub(in crate::session) fn id(&self) -> LocalCall {
        let (question, call) = self.key();
        LocalCall::Look { question, call }
    }
}

impl Looks {
    pub(in crate::session) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.open.is_empty()
    }

    pub(in crate::session) fn add(&mut self, looks: Vec<Look>) {
        self.queue.extend(looks);
    }

    /// The next look, if fewer than so many are under way.
    pub(in crate::session) fn next(&mut self, most: usize) -> Option<Look> {
        if self.open.len() < most { self.queue.pop_front() } else { None }
    }

    /// A look is under way.
    pub(in crate::session) fn begin(&mut self, look: Look) {
        self.open.insert(look.key(), look);
    }

    /// A look has ended.
    pub(in crate::session) fn end(&mut self, question: u64, call: u32) -> Option<Look> {
        self.open.remove(&(question, call))
    }
}
