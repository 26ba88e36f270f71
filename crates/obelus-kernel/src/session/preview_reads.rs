//! Reads what a question would change, for the person who decides.

use obelus_notebook::dotted::below;

use serde_json::Value;

use super::Session;
use super::ids::{JobRef, LocalCall, QuestionId, QuestionNumber, Routed};
use super::inbox::Change;
use super::input::Outcome;
use super::output::{RepeatReason, Start, Task};
use super::previews::{MOST_PREVIEW_READS, PreviewRead};
use crate::call::Call;
use crate::origin::Origins;
use crate::policy::{Place, Proposal};
use crate::tool::Effect;

impl Session {
    /// Starts the preview reads of a question: one for every call whose tool declares one.
    pub(super) fn start_preview(&mut self, number: QuestionNumber) {
        if !self.settings.before {
            return;
        }
        let reads = self.reads_of(&Routed::own(number)).into_iter().take(MOST_PREVIEW_READS).collect();
        self.calls_beside_steps.previews.add(reads);
        self.start_reads();
    }

    /// The read for one call, if there is one and it needs no person.
    fn preview_read(&self, question: QuestionNumber, index: usize, at: JobRef) -> Option<PreviewRead> {
        self.scheduler.find(at)?;
        let call = self.scheduler.call(at);
        let before = call.tool.as_ref()?.before.as_ref()?;
        let proposal = before.preview_call(&self.scheduler.frozen(at)?.params(call))?;
        let (read, faults) = Call::read(&proposal, self.context());
        let tool = read.tool.clone().filter(|tool| faults.is_empty() && tool.effect == Effect::Read)?;
        self.settings.activity_of(&tool, read.activity.as_deref()).filter(|_| read.delegate.is_none())?;
        // The read's parameters are parts of the call, and have their origins.
        let provenance = self.provenance(at);
        let of = |name: &str| {
            let path = before.params.iter().find(|(known, _)| known == name).map(|(_, path)| path.as_str());
            path.and_then(|path| provenance.of_path(call, path)).unwrap_or_default()
        };
        let all = || before.params.iter().fold(Origins::default(), |all, (name, _)| all.joined(&of(name)));
        let origins = |place: Place<'_>| {
            Some(match place {
                Place::Call | Place::Scopes => all(),
                Place::Param(path) | Place::Path(path) => of(path.split('.').next().unwrap_or(path)),
            })
        };
        let verdict =
            self.settings.gate().judge(&Proposal::new(&read, &tool, &|| read.outline(), &origins, Origins::NONE));
        let (call, origins) = (proposal, all());
        verdict.is_allowed().then_some(PreviewRead { question, index, at, tool, call, origins, attempt: 0 })
    }

    fn start_reads(&mut self) {
        let room = usize::try_from(self.settings.max_parallel.max(1)).unwrap_or(usize::MAX);
        while let Some(read) = self.calls_beside_steps.previews.next(room) {
            self.send_preview_read(read);
        }
    }

    fn send_preview_read(&mut self, mut read: PreviewRead) {
        let named = read.tool.fixed_name("_activity");
        if !self.inbox.is_open(read.question) || self.settings.activity_of(&read.tool, named).is_none() {
            return;
        }
        read.attempt += 1;
        let mut start = self.start_of(Routed::own(read.id()), &read.tool, named, read.call.clone());
        start.attempt = read.attempt;
        self.tasks.push(Task::Call(Box::new(start)));
        self.calls_beside_steps.previews.begin(read);
    }

    /// Takes the outcome of a read, also of one that the driver has repeated for a person who decides.
    pub(super) fn take_preview_read(&mut self, question: u64, call: u32, outcome: &Outcome) {
        let ended = self.calls_beside_steps.previews.end(question, call);
        let (id, of_question) = (LocalCall::PreviewRead { question, call }, Routed::own(QuestionNumber(question)));
        let again = || self.reads_of(&of_question).into_iter().find(|read| read.id() == id);
        let Some(read) = ended.or_else(again) else { return };
        if let Outcome::Value(result) = outcome {
            self.note_changes(&read, result);
        }
        self.start_reads();
    }

    /// Repeats a read that was running when its driver died.
    pub(super) fn repeat_preview_read(&mut self, question: u64, call: u32) {
        let Some(read) = self.calls_beside_steps.previews.end(question, call) else { return };
        self.send_preview_read(read);
        self.start_reads();
    }

    /// The reads that show what an open question changes, each with the index of its call. A driver may repeat them
    /// to see whether something has changed; the session does not learn of it.
    pub fn fresh_preview_reads(&self, id: &QuestionId) -> Vec<(usize, Start)> {
        let reads = self.reads_of(id).into_iter().take(MOST_PREVIEW_READS);
        let start = |read: PreviewRead| {
            let named = read.tool.fixed_name("_activity");
            (read.index, self.start_of(Routed::own(read.id()), &read.tool, named, read.call.clone()))
        };
        reads.map(start).collect()
    }

    /// The changes that an open question would make, compared with a new read of the record.
    pub fn fresh_changes(&self, id: &QuestionId, index: usize, result: &Value) -> Vec<Change> {
        let read = self.reads_of(id).into_iter().find(|read| read.index == index);
        read.and_then(|read| self.changes_by(&read, result)).unwrap_or_default()
    }

    fn reads_of(&self, id: &QuestionId) -> Vec<PreviewRead> {
        let Some(question) = id.local().filter(|number| self.inbox.is_open(*number)) else { return Vec::new() };
        let calls = self.inbox.get(question).map(|asked| asked.calls.iter()).into_iter().flatten().enumerate();
        let jobs = calls.filter_map(|(index, call)| Some((index, *call.jobs.first()?)));
        jobs.filter_map(|(index, at)| self.preview_read(question, index, at)).collect()
    }

    /// Adds the current values to the question.
    fn note_changes(&mut self, read: &PreviewRead, result: &Value) {
        if !self.inbox.is_open(read.question) {
            return;
        }
        let Some(changes) = self.changes_by(read, result) else { return };
        let (call, frozen) = (self.scheduler.call(read.at), self.scheduler.frozen(read.at));
        let of = call.tool.as_ref().zip(frozen);
        let name = of.and_then(|(tool, frozen)| self.naming().name_of_record(tool, &frozen.call, result));
        self.inbox.note_changes(read.question, read.index, changes, name);
        self.name_values(read.question);
        let id = Routed::own(read.question);
        self.tasks.push(Task::AskAgain { id, because: RepeatReason::MoreIsKnown });
    }

    /// The changes that a call would make in a record.
    fn changes_by(&self, read: &PreviewRead, result: &Value) -> Option<Vec<Change>> {
        self.scheduler.find(read.at)?;
        let call = self.scheduler.call(read.at);
        let (frozen, tool) = (self.scheduler.frozen(read.at)?, call.tool.as_ref()?);
        let before = tool.before.as_ref()?;
        let params = frozen.params(call);
        let provenance = self.provenance(read.at);
        let change = |(field, after): (&String, &Value)| {
            let now = before.now(result, field);
            let now_from =
                now.map(|(name, _)| read.tool.origin_at(&below(&before.result, name)).clone().joined(&read.origins));
            Change {
                call: read.index,
                field: field.clone(),
                before: now.map(|(_, value)| value.clone()),
                after: after.clone(),
                before_from: now_from.unwrap_or_default(),
                after_from: provenance.of_path(call, &below(&before.fields, field)).unwrap_or_default(),
            }
        };
        Some(before.written(&params).into_iter().map(change).collect())
    }
}
