//! Performs the tasks of a session, and publishes events.

use obelus_kernel::Time;
use obelus_kernel::dialect::Piece;
use obelus_kernel::session::{Input, Question, Refused, Reply, Start, Task};

use super::intake::AcceptedInput;
use super::parts::PartOf;
use super::{Actor, EventBody};
use crate::effect::needs_person;
use crate::model::Part;
use crate::secret::without_secrets_of;
use crate::session_files::SessionFiles;
use crate::state_file::FileNews;
use crate::store::CheckpointData;
use crate::summary::SessionSummary;
use obelus_kernel::session::RequestId;

impl Actor {
    /// Performs the tasks of durable inputs.
    pub(super) fn perform_taken(&mut self, all: Vec<AcceptedInput>) {
        let mut rest = None;
        let mut latest = self.clock.latest();
        for AcceptedInput { at, input, tasks, changes_memory, events, is_speculative } in all {
            self.record += 1;
            latest = at;
            self.before(&input);
            if let Some(files) = &mut self.report.files {
                files.log_input(at, &input);
            }
            // If somebody has subscribed since the input was taken, events are created from the current session.
            self.publish(at, || {
                events.unwrap_or_else(|| EventBody::of(&self.session, at, &input, changes_memory, &tasks))
            });
            for task in tasks {
                match task {
                    Task::Call(start) if is_speculative => self.log_start(&start),
                    task => rest = self.perform(task).or(rest),
                }
            }
        }
        self.finish(latest, rest);
    }

    /// Forgets a call that has ended, and shows the end of a streamed answer.
    pub(super) fn before(&mut self, input: &Input) {
        match input {
            Input::Ended { id, .. } | Input::InDoubt { id } | Input::DidNot { id, .. } => self.work.forget(id),
            Input::Answer { id, .. } => {
                let text = self.work.streamed.end(id);
                self.publish_writing(text);
            }
            _ => {}
        }
    }

    fn publish_writing(&mut self, text: String) {
        if !text.is_empty() {
            self.publish_transient(EventBody::Writing { text });
        }
    }

    /// Performs a task; returns the reply if the turn comes to rest.
    pub(super) fn perform(&mut self, task: Task) -> Option<Box<Reply>> {
        match task {
            Task::Call(start) => {
                self.log_start(&start);
                self.work.start(*start);
            }
            Task::AskModel { id } => {
                self.about_files(SessionFiles::on_model_asked);
                self.ask(id);
            }
            Task::Load { id, path } => self.work.load(id, path),
            Task::AnswerElicitation { id, key, answer } => self.work.elicitations.send_answer(id, key, answer),
            Task::Rest(reply) => {
                self.recovery.on_rest();
                return Some(reply);
            }
            // Subscribers are told by events.
            Task::Say(_) | Task::Ask { .. } | Task::AskAgain { .. } => {}
        }
        None
    }

    fn log_start(&mut self, start: &Start) {
        if let Some(files) = &mut self.report.files {
            files.began(start);
        }
    }

    fn ask(&mut self, id: RequestId) {
        let Some(mut prompt) = self.session.prompt(&id) else { return };
        for picture in &mut prompt.pictures {
            picture.path = self.pictures.images.find(picture);
        }
        prompt.observation =
            self.work.slot.latest().filter(|latest| self.session.shows_observation(&id, &latest.digest));
        self.work.slot.fill(&mut prompt);
        self.work.ask(id, prompt);
    }

    /// Resumes the tasks of an earlier process, unless the session is paused.
    pub(super) fn resume_tasks(&mut self) {
        for task in self.recovery.take_tasks(&self.session) {
            match task {
                Task::Call(start) => self.work.reconcile(*start),
                Task::AskModel { id } => {
                    self.publish_transient(EventBody::ModelAsked { request: id.clone() });
                    self.ask(id);
                }
                Task::Load { id, path } => self.work.load(id, path),
                _ => {}
            }
        }
    }

    /// Asks about calls of an earlier process that only a person can settle, while the session is paused: a question
    /// starts nothing (DUR-11). The other tasks wait until it is resumed.
    pub(super) async fn ask_during_pause(&mut self) {
        if self.session.paused().is_none() {
            return;
        }
        let activities = self.work.activities();
        for id in self.recovery.take_in_doubt(|start| needs_person(&activities, start)) {
            // An input that could not be stored is offered again.
            let _ = self.take_inputs([Input::InDoubt { id }]).await;
        }
    }

    /// The input for a partial answer: a call that may start early, or the request's usage. Text is only published.
    pub(super) fn take_part(&mut self, (id, part): PartOf) -> Option<Input> {
        match part {
            // Text of a delegate or of a model call is not shown to the user.
            Part::Piece(Piece::Words(text)) => {
                if self.session.is_solving(&id) {
                    let text = self.work.streamed.add(&id, &text);
                    self.publish_writing(text);
                }
                None
            }
            Part::Piece(Piece::Call { index, call }) => {
                let index = u32::try_from(index).ok()?;
                let is_early = self.session.may_start_early(&id, index, &call);
                is_early.then(|| without_secrets_of(Input::Partial { id, index, call }))
            }
            Part::Used(used) => Some(Input::Used { id, used }),
        }
    }

    /// Ends a batch: publishes steps, writes files, and checkpoints a resting session now and then.
    pub(super) fn finish(&mut self, at: Time, rest: Option<Box<Reply>>) {
        self.lifetime.on_inputs();
        // If the next batch follows at once, its report has these steps too.
        let has_next_batch = self.work.has_outcomes() && rest.is_none();
        if !self.report.feed.is_watched() {
            self.report.skip(&mut self.session);
        } else if !has_next_batch {
            let progress = self.report.progress(&mut self.session);
            self.report.feed.publish_transient(at, [progress]);
        }
        let is_at_rest = self.session.is_at_rest();
        match &rest {
            Some(reply) => self.about_files(|files, session| files.at_rest(session, reply)),
            // A state from outside may come without a turn.
            None if is_at_rest => self.about_files(SessionFiles::write_if_replaced),
            None => {}
        }
        if self.lifetime.is_checkpoint_urgent(self.record) {
            self.store_checkpoint();
        }
    }

    /// Whether the session rests and is not yet checkpointed. A broken one differs from its journal. While a detached
    /// call runs nothing is stored: if the process ends now, the call is in doubt, and lists must ask about it.
    pub(super) fn needs_checkpoint(&self) -> bool {
        let is_new = self.lifetime.is_beyond_checkpoint(self.record) && self.journal.is_some();
        let is_at_work = !self.work.is_empty() || !self.recovery.is_done();
        is_new && self.session.is_at_rest() && !is_at_work && !self.writing.is_broken()
    }

    /// Stores a resting session: a checkpoint, its open questions and its summary.
    pub(super) fn store_checkpoint(&mut self) {
        let Some(journal) = self.journal.as_ref().filter(|_| self.needs_checkpoint()) else { return };
        self.session.prepare_checkpoint();
        let open = self.session.questions().into_iter().filter(Question::is_open);
        let questions = open.map(|question| question.to_json()).collect();
        let (checkpoint, summary) = (self.session.checkpoint(), SessionSummary::of(&self.session, journal.agent()));
        journal.store_checkpoint(self.record, CheckpointData { checkpoint, questions, summary: Some(summary) });
        self.lifetime.on_checkpoint(self.record);
    }

    /// Works on the files, and publishes notices.
    fn about_files(&mut self, work: impl FnOnce(&mut SessionFiles, &obelus_kernel::session::Session) -> Vec<FileNews>) {
        if let Some(files) = &mut self.report.files {
            let news = work(files, &self.session);
            self.publish_file_news(news);
        }
    }

    pub(super) fn publish_file_news(&mut self, all: Vec<FileNews>) {
        all.into_iter().for_each(|news| self.publish_transient(EventBody::Files { news }));
    }

    pub(super) fn publish_failure(&mut self, refused: &Refused) {
        self.publish_transient(EventBody::Failed { code: refused.code.name(), text: refused.text.clone() });
    }

    /// Publishes an event without a number of its own.
    fn publish_transient(&mut self, body: EventBody) {
        if self.report.feed.has_consumers() {
            self.report.feed.publish_transient(self.clock.latest(), [body]);
        }
    }

    /// Publishes the events of the latest record.
    pub(super) fn publish(&self, at: Time, events: impl FnOnce() -> Vec<EventBody>) {
        if !self.report.feed.skip_record(self.record) {
            self.report.feed.publish(self.record, at, events());
        }
    }
}
