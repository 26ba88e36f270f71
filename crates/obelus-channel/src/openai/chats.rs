//! The session of a conversation.
//!
//! A client of this protocol sends the whole conversation each time. Its session is named by the header
//! `X-Session-Id`, else by `user`, else by the conversation itself: a digest of the messages before the last one. The
//! digest of what a client will send next is stored with each answer. If another session has the same digest, a line
//! is added to the answer to distinguish them.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use obelus_runtime::text::hex;
use obelus_runtime::{HostError, StoreError};
use sha2::{Digest as _, Sha256};

use super::request::ChatRequest;
use crate::ChannelError;
use crate::http::{Access, App};
use crate::service::check_id;
use crate::types::NewSession;

/// The mapping from conversations to sessions, one file each.
pub(super) struct Chats {
    folder: PathBuf,
}

/// The session of a request.
pub(super) struct ChatSession {
    pub(super) session: String,
    /// Whether the conversation itself identifies it.
    pub(super) is_by_words: bool,
}

impl Chats {
    pub(super) fn new(store: &Path) -> Self {
        Self { folder: store.join("chats") }
    }

    /// Finds or creates the session of a request.
    pub(super) async fn find(
        &self,
        app: &App,
        access: &Access,
        request: &ChatRequest,
        named: Option<&str>,
    ) -> Result<ChatSession, ChannelError> {
        let caller = &access.caller.name;
        if let Some(named) = named {
            check_id(named)?;
            return self.made(app, request, Some(named.to_owned()), false).await;
        }
        if let Some(user) = &request.user {
            let id = digest_of(&["user", caller, &request.model, user]);
            return self.made(app, request, Some(id), false).await;
        }
        if request.before.is_empty() {
            return self.made(app, request, access.id_of_key("chat"), true).await;
        }
        let path = self.folder.join(digest(caller, &request.model, &request.before));
        let known = match fs::read_to_string(path) {
            Ok(id) => app.service().agent_of_session(&id).await?.map(|_| id),
            Err(_) => None,
        };
        known.map(|session| ChatSession { session, is_by_words: true }).ok_or(ChannelError::UnknownChat)
    }

    /// The session with this id, created if necessary.
    async fn made(
        &self,
        app: &App,
        request: &ChatRequest,
        id: Option<String>,
        is_by_words: bool,
    ) -> Result<ChatSession, ChannelError> {
        if let Some(id) = &id
            && let Some(agent) = app.service().agent_of_session(id).await?
        {
            return if agent == request.model {
                Ok(ChatSession { session: id.clone(), is_by_words })
            } else {
                Err(ChannelError::Unsupported(format!("this session belongs to the model `{agent}`")))
            };
        }
        let lang = app.service().lang_of(&request.words);
        let new = NewSession { agent: request.model.clone(), id: id.clone(), lang, ..NewSession::default() };
        match (app.service().create_session(new).await, id) {
            // Another request was faster.
            (Err(ChannelError::Host(HostError::Store(StoreError::Exists(_)))), Some(session)) => {
                Ok(ChatSession { session, is_by_words })
            }
            (made, _) => Ok(ChatSession { session: made?.id, is_by_words }),
        }
    }

    /// Stores the digest of what a client will send before its next message. Returns false if another session has the
    /// same digest.
    pub(super) async fn keep(
        &self,
        app: &App,
        caller: &str,
        request: &ChatRequest,
        reply: &str,
        session: &str,
    ) -> bool {
        let mut next = request.before.clone();
        next.push(("user".to_owned(), request.words.clone()));
        next.push(("assistant".to_owned(), reply.to_owned()));
        let path = self.folder.join(digest(caller, &request.model, &next));
        if self.write(&path, session).is_ok() {
            return true;
        }
        match fs::read_to_string(&path) {
            Ok(known) if known == session => true,
            Ok(known) => match app.service().agent_of_session(&known).await {
                Ok(Some(_)) => false,
                // The conversation's session was removed.
                _ => fs::remove_file(&path).is_ok() && self.write(&path, session).is_ok(),
            },
            // The client will be told that the conversation is unknown.
            Err(_) => true,
        }
    }

    /// Writes a new file.
    fn write(&self, path: &Path, session: &str) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(session.as_bytes())
    }
}

/// Removes the conversations of a session.
pub(super) fn forget(store: &Path, session: &str) {
    let files = fs::read_dir(store.join("chats")).into_iter().flatten().filter_map(Result::ok);
    for file in files {
        if fs::read_to_string(file.path()).is_ok_and(|kept| kept.lines().any(|id| id == session)) {
            let _ = fs::remove_file(file.path());
        }
    }
}

/// The digest of a conversation. It includes the caller, so that only they find it.
fn digest(caller: &str, model: &str, messages: &[(String, String)]) -> String {
    let words = messages.iter().flat_map(|(role, words)| [role.as_str(), words.trim()]);
    digest_of(&["chat", caller, model].into_iter().chain(words).collect::<Vec<_>>())
}

/// The digest of several texts.
fn digest_of(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        // Lengths separate the parts.
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    hex(&hash.finalize()[..16])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_is_found_by_its_caller_and_its_messages() {
        let said = |role: &str, words: &str| (role.to_owned(), words.to_owned());
        let talk = [said("user", "a"), said("assistant", "b\n")];
        let same = [said("user", "a"), said("assistant", "b")];
        assert_eq!(digest("anna", "m", &talk), digest("anna", "m", &same));
        assert_ne!(digest("anna", "m", &talk), digest("boris", "m", &talk));
        assert_ne!(digest("anna", "m", &talk), digest("anna", "m", &[said("user", "ab"), said("assistant", "")]));
    }
}
