//! The files of a session for people: its state, and the log of its iterations.

use std::path::{Path, PathBuf};

use obelus_kernel::Time;
use obelus_kernel::session::{Input, Reply, Session, Start};

use crate::StoreError;
use crate::iteration_log::{IterationLog, Rotation};
use crate::restore::TurnStates;
use crate::state_file::{FileNews, StateFile, StateNews};

/// The files of one session.
pub(crate) struct SessionFiles {
    state: StateFile,
    log: IterationLog,
    /// Whether the state was replaced from outside and has not been written since.
    is_replaced: bool,
}

impl SessionFiles {
    /// The files of a session in the store's folder.
    pub(crate) fn open(folder: &Path, session: &str) -> Result<Self, StoreError> {
        let log = IterationLog::open(folder, session, Rotation::default())?;
        Ok(Self { state: StateFile::open(folder, session)?, log, is_replaced: false })
    }

    /// Removes them, and the session's pictures.
    pub(crate) fn remove(folder: &Path, session: &str) -> Result<(), StoreError> {
        StateFile::remove(folder, session)?;
        let pictures = Self::pictures(folder, session);
        match std::fs::remove_dir_all(&pictures) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(StoreError::Folder(pictures, error));
            }
            _ => {}
        }
        IterationLog::remove(folder, session)
    }

    /// The folder for a session's pictures.
    pub(crate) fn pictures(folder: &Path, session: &str) -> PathBuf {
        folder.join("shots").join(session)
    }

    /// Begins with a session and its states during its latest turn.
    pub(crate) fn begin(&mut self, session: &Session, states: TurnStates) {
        self.log.begin(session);
        self.state.recognise(&session.state(), |visit| states.visit(visit));
    }

    pub(crate) fn read_edits(&mut self, session: &Session) -> StateNews {
        self.state.read_edits(session)
    }

    pub(crate) fn edits_adopted(&mut self) -> FileNews {
        self.state.edits_adopted()
    }

    pub(crate) fn log_input(&mut self, at: Time, input: &Input) {
        self.is_replaced |= matches!(input, Input::State { .. });
        self.log.log_input(at, input);
    }

    pub(crate) fn began(&mut self, start: &Start) {
        self.log.began(start);
    }

    /// The model is asked: writes the state, and logs an iteration if the model has answered before.
    pub(crate) fn on_model_asked(&mut self, session: &Session) -> Vec<FileNews> {
        let state = session.state();
        let written = self.state.write_on(&state);
        let logged = if self.log.is_answered() { self.log.end_iteration(session, state, None) } else { None };
        written.into_iter().chain(logged).collect()
    }

    /// The state was replaced from outside: writes it.
    pub(crate) fn replace(&mut self, session: &Session) -> Vec<FileNews> {
        self.is_replaced = true;
        self.write_if_replaced(session)
    }

    /// Writes the state if it was replaced from outside.
    pub(crate) fn write_if_replaced(&mut self, session: &Session) -> Vec<FileNews> {
        if std::mem::take(&mut self.is_replaced) {
            self.state.write(&session.state()).into_iter().collect()
        } else {
            Vec::new()
        }
    }

    /// The turn rests: writes the state and the log.
    pub(crate) fn at_rest(&mut self, session: &Session, reply: &Reply) -> Vec<FileNews> {
        self.is_replaced = false;
        let state = session.state();
        let written = self.state.write(&state);
        written.into_iter().chain(self.log.end_iteration(session, state, Some(reply))).collect()
    }
}
