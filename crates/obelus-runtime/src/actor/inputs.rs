//! Inputs from people, and their edits of the state file.

use obelus_kernel::session::sent_by::SentBy;
use obelus_kernel::session::{Input, Refused};

use super::{Actor, Incoming, InputCommand};
use crate::secret::without_secrets_of;
use crate::state_file::StateNews;

impl Actor {
    /// Takes an input now, or after a pending edit of the state file.
    pub(super) async fn take_command_input(&mut self, command: InputCommand) {
        if concerns_turn(&command.input) && !self.inputs.deferred.is_empty() {
            self.inputs.deferred.push_back(command);
        } else {
            self.handle_input(command).await;
        }
    }

    /// Takes an input and answers its sender.
    pub(super) async fn handle_input(&mut self, command: InputCommand) {
        match self.is_taken(&command) {
            Ok(None) => {}
            Ok(Some(record)) => return command.answer(Ok(record)),
            Err(refused) => return command.answer(Err(refused)),
        }
        // The disk may have space again.
        self.writing.retry();
        if concerns_turn(&command.input) {
            match self.adopt_edits().await {
                Err(refused) => return command.answer(Err(refused)),
                Ok(true) if !self.session.is_at_rest() => return self.inputs.deferred.push_front(command),
                Ok(_) => {}
            }
        }
        let taken = self.accept_input(&command).await;
        command.answer(taken);
    }

    /// The record of the same input if it was taken before (DUR-13). A different input with its id is refused.
    fn is_taken(&self, command: &InputCommand) -> Result<Option<u64>, Refused> {
        match (&command.id, &self.journal) {
            (None, _) => Ok(None),
            (Some(_), _) if command.is_first => Ok(None),
            (Some(id), None) => Ok(self.inputs.records_of_ids.get(id).copied()),
            (Some(id), Some(journal)) => journal.taken(id, &without_secrets_of(command.input.clone())),
        }
    }

    async fn accept_input(&mut self, command: &InputCommand) -> Result<u64, Refused> {
        // The input may answer a question that is asked here.
        self.ask_during_pause().await;
        let now = self.clock.now();
        let mut batch = Vec::new();
        // Expired questions can no longer be answered.
        if self.session.timeout().is_some_and(|due| due <= now) {
            batch.push(Incoming::new(now, Input::Tick));
        }
        let has_words = matches!(command.input, Input::User { .. } | Input::Start);
        if has_words {
            batch.extend(
                self.pictures.attached.send(self.record).into_iter().map(|picture| Incoming::new(now, picture)),
            );
        }
        batch.push(Incoming { at: now, input: without_secrets_of(command.input.clone()), id: command.id.clone() });
        self.take(batch).await.inspect_err(|_| self.pictures.attached.keep())?;
        // The input is the last one of its batch, so the latest record is its own.
        let record = self.record;
        if has_words {
            self.pictures.attached.clear();
        }
        if let Some(id) = command.id.clone().filter(|_| self.journal.is_none()) {
            self.inputs.records_of_ids.insert(id, record);
        }
        if matches!(command.input, Input::Stop) {
            self.work.stop_all();
        }
        self.recovery.wake();
        self.ask_during_pause().await;
        self.resume_tasks();
        Ok(record)
    }

    /// Gives the session a person's changes of the state file (DUR-7), if there are any.
    async fn adopt_edits(&mut self) -> Result<bool, Refused> {
        let may = self.session.is_at_rest() && self.session.paused().is_none();
        let Some(files) = self.report.files.as_mut().filter(|_| may) else { return Ok(false) };
        let state = match files.read_edits(&self.session) {
            StateNews::Nothing => return Ok(false),
            StateNews::News(news) => {
                self.publish_file_news(vec![news]);
                return Ok(false);
            }
            StateNews::Edited(state) => state,
        };
        let edit = Input::State { state, by: SentBy::STATE_FILE.to_owned(), is_whole: false };
        self.take_inputs([without_secrets_of(edit)]).await?;
        if let Some(files) = &mut self.report.files {
            let news = files.edits_adopted();
            self.publish_file_news(vec![news]);
        }
        Ok(true)
    }
}

/// Whether an input begins or advances a turn: edits of the state file are taken before it.
fn concerns_turn(input: &Input) -> bool {
    matches!(input, Input::User { .. } | Input::Start | Input::RunPlan | Input::Decide { .. })
}
