//! Notices for people about servers: tools that changed, or that cannot be offered.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use obelus_kernel::visible;
use obelus_words::{Language, fill};

/// A notice about a server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ServerNews {
    /// It has more tools than the limit.
    TooManyTools {
        /// The server.
        server: String,
        /// How many it has.
        count: usize,
        /// The limit.
        most: usize,
    },
    /// Two of its tools have the same name.
    TwoTools {
        /// The server.
        server: String,
        /// The name.
        tool: String,
    },
    /// A tool cannot be offered.
    LeftOut {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
        /// Why, in English.
        why: String,
    },
    /// The agent's file names a tool that the server does not have.
    NoTool {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
    },
    /// A tool's definition changed since the session began, so it is not called.
    ToolChanged {
        /// The tool, with its server: `SERVER.TOOL`.
        tool: String,
        /// The English error, with what changed.
        error: String,
    },
}

impl ServerNews {
    /// The text for people.
    pub fn in_words(&self, language: Language) -> String {
        let words = &language.words().starting;
        match self {
            Self::TooManyTools { server, count, most } => {
                fill(words.tools_cut, &[server, &count.to_string(), &most.to_string()])
            }
            Self::TwoTools { server, tool } => fill(words.tool_twice, &[server, &visible(tool)]),
            Self::LeftOut { server, tool, why } => fill(words.tool_left_out, &[server, &visible(tool), &visible(why)]),
            Self::NoTool { server, tool } => fill(words.tool_not_there, &[server, &visible(tool)]),
            // The English error has more detail.
            Self::ToolChanged { error, .. } if language == Language::English => error.clone(),
            Self::ToolChanged { tool, .. } => fill(words.tool_changed, &[&visible(tool)]),
        }
    }
}

impl fmt::Display for ServerNews {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.in_words(Language::English))
    }
}

/// Receives notices.
pub(super) type NewsListener = Arc<dyn Fn(&ServerNews) + Send + Sync>;

/// Notices and their listener.
#[derive(Default)]
pub(super) struct NoticeSender(Mutex<Announcements>);

#[derive(Default)]
struct Announcements {
    listener: Option<NewsListener>,
    /// Notices from before there was a listener.
    early: Vec<ServerNews>,
    /// The latest change of each tool, reported once.
    changed: BTreeMap<String, ServerNews>,
    /// Other notices, each reported once.
    reported: BTreeSet<ServerNews>,
}

/// The limit of notices that wait for a listener.
const MOST_EARLY: usize = 100;

impl NoticeSender {
    pub(super) fn listen(&self, listener: NewsListener) {
        let early = {
            let mut state = self.lock();
            state.listener = Some(Arc::clone(&listener));
            std::mem::take(&mut state.early)
        };
        early.iter().for_each(|news| listener(news));
    }

    /// Reports a notice once.
    pub(super) fn report(&self, news: &ServerNews) {
        let mut state = self.lock();
        if state.reported.insert(news.clone()) {
            Self::deliver(state, news);
        }
    }

    /// Reports a changed tool, once for each change.
    pub(super) fn changed(&self, tool: &str, error: String) {
        let news = ServerNews::ToolChanged { tool: tool.to_owned(), error };
        let mut state = self.lock();
        if state.changed.get(tool) != Some(&news) {
            state.changed.insert(tool.to_owned(), news.clone());
            Self::deliver(state, &news);
        }
    }

    /// A tool is unchanged again; its next change is reported.
    pub(super) fn note_unchanged(&self, tool: &str) {
        self.lock().changed.remove(tool);
    }

    fn lock(&self) -> MutexGuard<'_, Announcements> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Releases the lock before it calls the listener, which may call back.
    fn deliver(mut state: MutexGuard<'_, Announcements>, news: &ServerNews) {
        match state.listener.clone() {
            Some(listener) => {
                drop(state);
                listener(news);
            }
            None if state.early.len() < MOST_EARLY => state.early.push(news.clone()),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_are_in_the_readers_language() {
        let server = || "notes".to_owned();
        let left_out = ServerNews::LeftOut { server: server(), tool: "a\u{1b}b".to_owned(), why: "why".to_owned() };
        assert_eq!(left_out.to_string(), "MCP server `notes`: its tool `a\\u{1b}b` is left out: why");
        let error = "the tool `add` is not what this session was given".to_owned();
        let changed = ServerNews::ToolChanged { tool: "notes.add".to_owned(), error: error.clone() };
        assert_eq!(changed.to_string(), error);
        let no_tool = ServerNews::NoTool { server: server(), tool: "ad".to_owned() };
        let many = ServerNews::TooManyTools { server: server(), count: 900, most: 500 };
        for news in [left_out, changed, no_tool, many] {
            let russian = news.in_words(Language::Russian);
            assert_eq!(Language::of(&russian), Language::Russian, "{russian}");
        }
    }
}
