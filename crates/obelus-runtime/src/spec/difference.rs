//! Compares a given spec with the stored one of a session.

use std::path::{Path, PathBuf};

use obelus_kernel::{Context, Message};
use obelus_words::{Language, fill};

use super::SessionSpec;

/// How a given spec differs from the session's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpecDifference {
    /// Another agent, or an agent instead of a file. The session's file.
    MadeOfFile(String),
    /// Another agent, or a file instead of an agent. The name and folder of the session's agent.
    MadeOfAgent(String, PathBuf),
    /// Another plan.
    Plan,
    /// Another input.
    Input,
    /// Another message of the context; its index.
    Message(usize),
    /// Another schema of the result.
    Schema,
}

impl SpecDifference {
    /// The difference as text for people.
    pub fn in_words(&self, language: Language) -> String {
        let words = &language.words().starting;
        match self {
            SpecDifference::MadeOfFile(name) => fill(words.made_of_file, &[name]),
            SpecDifference::MadeOfAgent(name, folder) => {
                fill(words.made_of_agent, &[name, &folder.display().to_string()])
            }
            SpecDifference::Plan => words.other_plan.to_owned(),
            SpecDifference::Input => words.other_input.to_owned(),
            SpecDifference::Message(index) => fill(words.other_message, &[&index.to_string()]),
            SpecDifference::Schema => words.other_schema.to_owned(),
        }
    }
}

impl SessionSpec {
    /// Why another spec cannot continue this session; none if it can. Settings, models, activities and servers may
    /// differ. An agent is the same if its folder is; its file may have changed.
    pub fn difference(&self, given: &SessionSpec) -> Option<SpecDifference> {
        if !self.agent.is_empty() || !given.agent.is_empty() {
            let is_same = !self.agent.is_empty() && !given.agent.is_empty() && is_same(&self.folder, &given.folder);
            if !is_same {
                return Some(self.made_of());
            }
            // The agent's file may have changed, but the input that a person gave must be the same.
            let stored = self.context.messages();
            let is_new = |message: &&Message| is_input(message) && !stored.contains(message);
            return given.context.messages().iter().any(|message| is_new(&message)).then_some(SpecDifference::Input);
        }
        context_difference(&self.context, &given.context)
            .or_else(|| (self.schema != given.schema).then_some(SpecDifference::Schema))
    }

    /// What a session was created from.
    fn made_of(&self) -> SpecDifference {
        if self.agent.is_empty() {
            SpecDifference::MadeOfFile(self.name.clone())
        } else {
            SpecDifference::MadeOfAgent(self.agent.clone(), self.folder.clone())
        }
    }
}

/// The stored context also has the tools of servers, and an input that need not be given again.
fn context_difference(stored: &Context, given: &Context) -> Option<SpecDifference> {
    let (stored, given) = (stored.messages(), given.messages());
    let is_same = |index: usize| matches!((stored.get(index), given.get(index)), (Some(stored), Some(given)) if stored.to_json() == given.to_json());
    let is_added = |message: &Message| matches!(message, Message::Tool(_)) || is_input(message);
    let index = match (0..given.len()).find(|index| !is_same(*index)) {
        Some(index) => index,
        None => given.len() + stored[given.len().min(stored.len())..].iter().position(|message| !is_added(message))?,
    };
    let either = [given.get(index), stored.get(index)];
    let either = || either.into_iter().flatten();
    Some(match () {
        () if either().any(is_input) => SpecDifference::Input,
        () if either().any(|message| matches!(message, Message::Plan(_))) => SpecDifference::Plan,
        () => SpecDifference::Message(index),
    })
}

fn is_input(message: &Message) -> bool {
    matches!(message, Message::Data(data) if data.is_input())
}

fn is_same(one: &Path, other: &Path) -> bool {
    let whole = |path: &Path| -> PathBuf {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        path.canonicalize().unwrap_or_else(|_| path.to_owned())
    };
    whole(one) == whole(other)
}
