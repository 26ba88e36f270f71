//! Reads that show what a question would change, for the person who decides.
//!
//! A preview read is one that the gate must allow without a person. It is not part of the turn, the model does not see
//! its result, and the question can be answered meanwhile. If it fails, the question is unchanged.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::ids::{JobRef, LocalCall, QuestionNumber};
use crate::origin::Origins;
use crate::tool::Tool;
use obelus_notebook::call_json::CallJson;

/// The limit of reads for one question.
pub(super) const MOST_PREVIEW_READS: usize = 200;

/// Queued and running reads, by question and call.
#[derive(Default)]
pub(super) struct PreviewReads {
    queue: VecDeque<PreviewRead>,
    open: BTreeMap<(u64, u32), PreviewRead>,
}

/// A read for one call of a question.
pub(super) struct PreviewRead {
    pub(super) question: QuestionNumber,
    /// The index of the call in the question.
    pub(super) index: usize,
    /// The job that waits.
    pub(super) at: JobRef,
    pub(super) tool: Arc<Tool>,
    pub(super) call: CallJson,
    /// The origins of the read's parameters.
    pub(super) origins: Origins,
    pub(super) attempt: u32,
}

impl PreviewRead {
    fn key(&self) -> (u64, u32) {
        (self.question.0, u32::try_from(self.index).unwrap_or(u32::MAX))
    }

    /// The driver's id of it.
    pub(super) fn id(&self) -> LocalCall {
        let (question, call) = self.key();
        LocalCall::PreviewRead { question, call }
    }
}

impl PreviewReads {
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.open.is_empty()
    }

    pub(super) fn add(&mut self, reads: Vec<PreviewRead>) {
        self.queue.extend(reads);
    }

    /// The next read, if fewer than `most` are running.
    pub(super) fn next(&mut self, most: usize) -> Option<PreviewRead> {
        if self.open.len() < most { self.queue.pop_front() } else { None }
    }

    /// Marks a read as running.
    pub(super) fn begin(&mut self, read: PreviewRead) {
        self.open.insert(read.key(), read);
    }

    /// Ends a read.
    pub(super) fn end(&mut self, question: u64, call: u32) -> Option<PreviewRead> {
        self.open.remove(&(question, call))
    }
}
