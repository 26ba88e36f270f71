//! Who sent an input or decided a question, as journals name them.

use std::fmt;

/// The sender of an input. Journals have its text, which must not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentBy<'a> {
    /// A person in chat.
    Terminal,
    /// A person who ran a command.
    CommandLine,
    /// The user, by a message of the conversation.
    Conversation,
    /// The agent, because of what the user said.
    AgentForUser,
    /// An edit of the state's file.
    StateFile,
    /// Nobody: the time ran out, or the rules changed.
    Nobody,
    /// The agent itself, by another plan.
    Agent,
    /// The call in question, which has ended.
    Call,
    /// A check whether an effect in doubt happened.
    Check,
    /// An import; the source is a file, or the quoted name of a session.
    ImportOf(&'a str),
    /// The copy of a session, after a record of the original.
    ForkOf {
        /// The original.
        session: &'a str,
        /// The last record that was copied.
        at: u64,
    },
    /// A person or program in a channel.
    InChannel {
        /// The channel.
        channel: &'a str,
        /// The name in that channel.
        name: &'a str,
    },
    /// Another text: embedders choose their own names.
    Other(&'a str),
}

const IMPORT_OF: &str = "the import of ";

impl<'a> SentBy<'a> {
    /// The text of [`SentBy::Terminal`].
    pub const TERMINAL: &'static str = "a person at the terminal";
    /// The text of [`SentBy::CommandLine`].
    pub const COMMAND_LINE: &'static str = "a person at the command line";
    /// The text of [`SentBy::StateFile`].
    pub const STATE_FILE: &'static str = "the state's file";
    /// The text of [`SentBy::Nobody`].
    pub const NOBODY: &'static str = "nobody";
    /// The text of [`SentBy::Conversation`].
    pub const CONVERSATION: &'static str = "the user, in conversation";
    /// The text of [`SentBy::AgentForUser`].
    pub const AGENT_FOR_USER: &'static str = "the agent, for the user";
    /// The text of [`SentBy::Agent`].
    pub const AGENT: &'static str = "the agent";
    /// The text of [`SentBy::Call`].
    pub const CALL: &'static str = "the call itself";
    /// The text of [`SentBy::Check`].
    pub const CHECK: &'static str = "a look";

    /// The sender that a journal names.
    pub fn of(text: &'a str) -> Self {
        match text {
            Self::TERMINAL => SentBy::Terminal,
            Self::COMMAND_LINE => SentBy::CommandLine,
            Self::STATE_FILE => SentBy::StateFile,
            Self::NOBODY => SentBy::Nobody,
            Self::CONVERSATION => SentBy::Conversation,
            Self::AGENT_FOR_USER => SentBy::AgentForUser,
            Self::AGENT => SentBy::Agent,
            Self::CALL => SentBy::Call,
            Self::CHECK => SentBy::Check,
            _ => Self::import(text).or_else(|| Self::fork(text)).unwrap_or_else(|| match text.split_once(':') {
                Some((channel, name)) => SentBy::InChannel { channel, name },
                None => SentBy::Other(text),
            }),
        }
    }

    /// Who has paused a session. The first pause wins; a pause after a fork and an import replace it.
    pub fn of_pause(before: Option<String>, by: String) -> String {
        match before {
            Some(before) if SentBy::import(&by).is_none() && SentBy::fork(&before).is_none() => before,
            _ => by,
        }
    }

    fn import(text: &'a str) -> Option<Self> {
        text.strip_prefix(IMPORT_OF).map(SentBy::ImportOf)
    }

    fn fork(text: &'a str) -> Option<Self> {
        let (session, at) = text.strip_prefix("the fork of `")?.rsplit_once("` at ")?;
        Some(SentBy::ForkOf { session, at: at.parse().ok()? })
    }
}

impl fmt::Display for SentBy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SentBy::Terminal => Self::TERMINAL,
            SentBy::CommandLine => Self::COMMAND_LINE,
            SentBy::StateFile => Self::STATE_FILE,
            SentBy::Nobody => Self::NOBODY,
            SentBy::Conversation => Self::CONVERSATION,
            SentBy::AgentForUser => Self::AGENT_FOR_USER,
            SentBy::Agent => Self::AGENT,
            SentBy::Call => Self::CALL,
            SentBy::Check => Self::CHECK,
            SentBy::ImportOf(source) => return write!(f, "{IMPORT_OF}{source}"),
            SentBy::ForkOf { session, at } => return write!(f, "the fork of `{session}` at {at}"),
            SentBy::InChannel { channel, name } => return write!(f, "{channel}:{name}"),
            SentBy::Other(text) => text,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_of_an_import_is_not_hidden_and_that_of_a_fork_hides_none() {
        let (import, fork) = ("the import of `a`", "the fork of `a` at 1");
        for (pauses, holds) in [
            (&["ann"][..], "ann"),
            (&["ann", "bob"], "ann"),
            (&[fork, import], import),
            (&["ann", import], import),
            (&[import, fork], import),
            (&[import, "ann"], import),
            (&[fork, "ann"], "ann"),
            (&["ann", fork], "ann"),
        ] {
            let held = pauses.iter().fold(None, |before, by| Some(SentBy::of_pause(before, (*by).to_owned())));
            assert_eq!(held.as_deref(), Some(holds), "{pauses:?}");
        }
    }

    #[test]
    fn a_sender_has_the_text_that_it_was_read_from() {
        let senders = [
            (SentBy::TERMINAL, SentBy::Terminal),
            (SentBy::COMMAND_LINE, SentBy::CommandLine),
            (SentBy::STATE_FILE, SentBy::StateFile),
            (SentBy::NOBODY, SentBy::Nobody),
            (SentBy::CONVERSATION, SentBy::Conversation),
            (SentBy::AGENT_FOR_USER, SentBy::AgentForUser),
            (SentBy::AGENT, SentBy::Agent),
            (SentBy::CALL, SentBy::Call),
            (SentBy::CHECK, SentBy::Check),
            ("the import of a: b.json", SentBy::ImportOf("a: b.json")),
            ("the fork of `a` at 7", SentBy::ForkOf { session: "a", at: 7 }),
            ("the fork of `a` at dawn", SentBy::Other("the fork of `a` at dawn")),
            ("telegram:42", SentBy::InChannel { channel: "telegram", name: "42" }),
            ("Anna", SentBy::Other("Anna")),
        ];
        for (text, sender) in senders {
            assert_eq!((SentBy::of(text), sender.to_string().as_str()), (sender, text));
        }
    }
}
