//! Starting what a session wants done.

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use obelus_kernel::session::{
    Answer, CallError, CallId, Input, Observation, Outcome, Question, Reply, RequestId, Session, Start, Task,
};
use serde_json::Value;

use super::doubt::{self, Doubt};
use super::{Driver, Event};
use crate::activity::Work;
use crate::elicitor::Elicitor;
use crate::observation::without_parts;
use crate::session_files::SessionFiles;
use crate::state_file::FileNews;

impl Driver {
    /// Starts everything that the session wants done; says so when the turn has come to rest.
    pub(super) fn hand_out(&mut self) -> Option<Reply> {
        if !self.shelved.is_empty() {
            self.take_from_shelf();
            self.done.extend(self.unsettled.drain(..));
        }
        let mut reply = None;
        while let Some(task) = self.session.poll() {
            match task {
                Task::Call(start) => self.start(*start),
                Task::AskModel { id } => {
                    self.tell_of_files(SessionFiles::asks);
                    self.ask(id);
                }
                Task::Load { id, path } => self.load(id, path),
                Task::Say(words) => (self.watch)(Event::Say(&words)),
                Task::Ask { id } => {
                    if let Some(question) = self.session.question(&id) {
                        (self.watch)(Event::Asked(&question));
                    }
                }
                Task::AskAgain { id, because } => {
                    if let Some(question) = self.session.question(&id).filter(Question::is_open) {
                        (self.watch)(Event::AskedAgain(&question, because));
                    }
                }
                Task::AnswerElicitation { id, key, answer } => self.elicitations.tell(id, key, answer),
                Task::Rest(rest) => reply = Some(*rest),
            }
        }
        (self.watch)(Event::Moved(&self.session));
        match &reply {
            Some(reply) => self.tell_of_files(|files, session| files.at_rest(session, reply)),
            // A state from outside need not begin a turn.
            None if self.session.is_at_rest() => self.tell_of_files(SessionFiles::if_put),
            None => {}
        }
        if let (Some(_), Some(journal)) = (&reply, &mut self.journal)
            && journal.wants_snapshot()
            && let Some(state) = self.session.checkpoint()
        {
            journal.keep_snapshot(state);
        }
        reply
    }

    /// Has something done about the files, and tells what people should know of it.
    pub(super) fn tell_of_files(&mut self, work: impl FnOnce(&mut SessionFiles, &Session) -> Vec<FileNews>) {
        let Some(files) = &mut self.files else { return };
        for news in work(files, &self.session) {
            (self.watch)(Event::Files(&news));
        }
    }

    pub(super) fn load(&mut self, id: CallId, path: String) {
        let folder = self.folder.clone();
        self.pending.push(Box::pin(async move {
            let request = load(folder, path).await;
            Input::Loaded { id, request }
        }));
    }

    pub(super) fn ask(&mut self, id: RequestId) {
        (self.watch)(Event::Asking);
        let Some(mut prompt) = self.session.prompt(&id) else { return };
        for picture in &mut prompt.pictures {
            picture.path = self.images.find(picture);
        }
        prompt.observation = self.slot.latest().filter(|seen| self.session.shows_observation(&id, &seen.digest));
        let seen = prompt.observation.clone();
        let answer = AssertUnwindSafe(self.model.ask_aloud(prompt, self.parts.of(&id))).catch_unwind();
        let stopped = Arc::clone(&self.stop).notified_owned();
        let failed = |code: &str, words: &str| Answer::Failed { code: code.to_owned(), message: words.to_owned() };
        self.pending.push(Box::pin(async move {
            let answer = tokio::select! {
                biased;
                answer = answer => answer.unwrap_or_else(|_| {
                    failed("panic", "the model's client failed; this is a mistake in the program")
                }),
                () = stopped => failed("stopped", "stopped before the model answered"),
            };
            Input::Answer { id, answer: without_what_was_seen(answer, seen.as_deref()) }
        }));
    }

    pub(super) fn start(&mut self, start: Start) {
        (self.watch)(Event::Began(&start));
        if let Some(files) = &mut self.files {
            files.began(&start);
        }
        let id = start.id.clone();
        let Some(activity) = self.activities.get(start.activity()) else {
            let error = CallError::new("no_activity", format!("there is no activity `{}`", start.activity()));
            self.pending.push(Box::pin(std::future::ready(Input::Ended { id, outcome: Outcome::Error(error) })));
            return;
        };
        let limit = activity.time_limit().unwrap_or(Duration::from_secs(start.seconds));
        let is_harmless = start.tool.idempotent;
        let work = Work::new(start, self.elicitations.elicitor(&id), Arc::clone(&self.slot));
        let take_off = work.take_off();
        // What may not be done twice is kept, to look whether it happened if its answer gets lost.
        let doubt =
            (!is_harmless).then(|| Doubt { id: id.clone(), activity: Arc::clone(activity), work: work.clone(), limit });
        let work = AssertUnwindSafe(activity.run(work)).catch_unwind();
        let mut work = work.map(move |ended| {
            let outcome = ended.unwrap_or_else(|_| {
                let words = "the activity failed; this is a mistake in its code";
                failed(is_harmless, "panic", words.to_owned())
            });
            take_off(outcome)
        });
        // What needs no waiting needs no clock either, and no place among those that wait.
        let ready = match ((&mut work).now_or_never(), &doubt) {
            (Some(outcome), None) => return self.done.push_back(Input::Ended { id, outcome }),
            (Some(outcome), Some(_)) if !matches!(outcome, Outcome::Lost { .. }) => {
                return self.done.push_back(Input::Ended { id, outcome });
            }
            (ready, _) => ready,
        };
        let elicitor = self.elicitations.latest();
        let stopped = Arc::clone(&self.stop).notified_owned();
        self.pending.push(Box::pin(async move {
            let to_end = async {
                let outcome = match ready {
                    Some(outcome) => outcome,
                    None => elicitor.limited(limit, work).await.unwrap_or_else(|| {
                        failed(is_harmless, "timeout", format!("no result within {}", seconds(limit)))
                    }),
                };
                match (outcome, doubt) {
                    (Outcome::Lost { message }, Some(doubt)) => doubt.settle(message).await,
                    (outcome, _) => Input::Ended { id: id.clone(), outcome },
                }
            };
            tokio::select! {
                biased;
                input = to_end => input,
                () = stopped => match is_harmless {
                    true => {
                        let outcome = failed(true, "stopped", "ended before it had a result".to_owned());
                        Input::Ended { id, outcome }
                    }
                    // It may have happened: a person is asked, as after a crash.
                    false => Input::InDoubt { id },
                },
            }
        }));
    }

    /// A call that was under way when everything stopped. Its activity may be able to tell what became of it.
    pub(super) fn reconcile(&mut self, start: Start) {
        let id = start.id.clone();
        let activity = self.activities.get(start.activity()).filter(|_| !start.tool.idempotent);
        let limit = activity.and_then(|activity| activity.time_limit()).unwrap_or(Duration::from_secs(start.seconds));
        let attempt = start.attempt;
        let work = Work::new(start, Elicitor::nobody(), Arc::clone(&self.slot));
        let take_off = work.take_off();
        match activity.and_then(|activity| activity.reconcile(work)) {
            None => self.unsettled.push(Input::InDoubt { id }),
            Some(look) => self.pending.push(Box::pin(async move {
                let found = doubt::found(id, attempt, limit, look, "the work was interrupted").await;
                doubt::without_what_was_seen(found, take_off)
            })),
        }
    }
}

/// Some servers repeat in an error what they were sent, and what was seen is to be written nowhere.
fn without_what_was_seen(answer: Answer, seen: Option<&Observation>) -> Answer {
    match (answer, seen) {
        (Answer::Failed { code, message }, Some(seen)) => {
            Answer::Failed { code, message: without_parts(&message, &seen.text) }
        }
        (answer, _) => answer,
    }
}

/// How a call ends that has no result: in doubt, unless doing it again does no harm.
fn failed(is_harmless: bool, code: &str, message: String) -> Outcome {
    match is_harmless {
        true => Outcome::Error(CallError::new(code, message)),
        false => Outcome::Lost { message },
    }
}

fn seconds(limit: Duration) -> String {
    let seconds = limit.as_secs_f64();
    format!("{seconds} second{}", if seconds == 1.0 { "" } else { "s" })
}

/// A delegate's saved request. Links that lead out of the folder are not followed.
async fn load(folder: Option<PathBuf>, path: String) -> Result<Value, String> {
    let folder = folder.ok_or("this session has no folder for delegates")?;
    let read = move || {
        let whole = folder.join(&path);
        let real = whole.canonicalize().map_err(|error| format!("{path}: {error}"))?;
        let inside = folder.canonicalize().map_err(|error| format!("{path}: {error}"))?;
        if !real.starts_with(&inside) {
            return Err(format!("{path}: it leads out of the agent's folder"));
        }
        let text = crate::read::read_text(&real).map_err(|error| format!("{path}: {error}"))?;
        crate::request::read_document(&real, &text).map_err(|error| error.to_string())
    };
    tokio::task::spawn_blocking(read).await.map_err(|error| error.to_string())?
}
