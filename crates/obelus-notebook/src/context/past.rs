//! Checkpoints of a context. Old messages are loaded on demand.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Context, View};
use crate::message::{Message, Role};
use crate::tool::Tool;

/// Loads the messages that are not in a checkpoint, oldest first.
pub type LoadPast = Arc<dyn Fn() -> Result<Vec<Message>, String> + Send + Sync>;

/// A gap in the list of messages, and how to fill it.
#[derive(Clone)]
pub(super) struct Past {
    /// The position of the gap.
    at: usize,
    /// The number of missing messages.
    count: usize,
    load: LoadPast,
    loaded: Arc<OnceLock<Result<Vec<Message>, String>>>,
    /// The whole list, built on demand after each append.
    whole: OnceLock<Vec<Message>>,
}

impl fmt::Debug for Past {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Past").field("at", &self.at).field("count", &self.count).finish_non_exhaustive()
    }
}

impl Past {
    fn messages(&self) -> &[Message] {
        let load = || {
            let messages = (self.load)()?;
            if messages.len() == self.count {
                Ok(messages)
            } else {
                Err(format!("{} messages were kept, and {} are there", self.count, messages.len()))
            }
        };
        self.loaded.get_or_init(load).as_deref().unwrap_or_default()
    }
}

/// A stored context: its fold and its latest messages.
#[derive(Serialize, Deserialize)]
pub struct ContextCheckpoint<'a> {
    /// The number of all messages.
    length: usize,
    /// The number of messages at the beginning, which are not stored: the restoring side has them.
    opening: usize,
    /// The latest messages.
    recent: Vec<Value>,
    views: Vec<(Cow<'a, str>, Cow<'a, View>)>,
    instances: Vec<Cow<'a, str>>,
    /// The latest plan.
    plan: Option<Value>,
    /// Tools whose definitions differ from the opening.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    tools: Map<String, Value>,
}

/// How many of the latest messages are stored. Prompts rarely show older ones.
const RECENT: usize = 64;

impl Context {
    /// All messages, oldest first. Loads missing ones.
    pub fn messages(&self) -> &[Message] {
        match &self.past {
            None => &self.messages,
            Some(past) => past.whole.get_or_init(|| {
                let (opening, recent) = self.messages.split_at(past.at);
                [opening, past.messages(), recent].concat()
            }),
        }
    }

    /// Appends to the list.
    pub(super) fn push(&mut self, message: Message) {
        if let Some(past) = &mut self.past {
            past.whole = OnceLock::new();
        }
        self.messages.push(message);
    }

    /// How many messages there are.
    pub fn length(&self) -> usize {
        self.messages.len() + self.past.as_ref().map_or(0, |past| past.count)
    }

    /// The first messages, which are always in memory. `count` must not exceed the opening of the checkpoint.
    pub fn opening(&self, count: usize) -> &[Message] {
        &self.messages[..count.min(self.messages.len())]
    }

    /// All messages, newest first. Missing ones are loaded when the iterator reaches them.
    pub fn latest(&self) -> impl Iterator<Item = &Message> {
        let (opening, recent) = self.messages.split_at(self.past.as_ref().map_or(0, |past| past.at));
        let before = std::iter::once_with(|| self.past.as_ref().map_or(&[][..], Past::messages).iter().rev());
        recent.iter().rev().chain(before.flatten()).chain(opening.iter().rev())
    }

    /// The author's texts. They are at the beginning, so they are always in memory.
    pub fn system_texts(&self) -> impl Iterator<Item = &str> {
        self.messages.iter().filter_map(|message| match message {
            Message::Text(text) if text.role == Role::System => Some(text.text.as_str()),
            _ => None,
        })
    }

    /// The error of loading the missing messages, if it failed.
    pub fn unreadable(&self) -> Option<&str> {
        self.past.as_ref()?.loaded.get()?.as_ref().err().map(String::as_str)
    }

    /// The data to restore the context; the first `opening` messages are not stored.
    pub fn checkpoint(&self, opening: usize) -> Option<ContextCheckpoint<'_>> {
        let length = self.length();
        let first = (length - RECENT.min(length)).max(opening);
        let recent: Vec<Value> = self.latest().take(length - first).map(Message::to_json).collect();
        let is_here = |message: &Message| !matches!(message, Message::Text(text) if text.role == Role::System);
        // The author's texts are in the opening. A context with later ones has no checkpoint.
        let is_plain = self.messages.iter().skip(opening).all(is_here);
        let is_open = self.past.as_ref().is_none_or(|past| past.at == opening);
        let plan = self.plan().map(|plan| Message::Plan(plan.clone()).to_json());
        (is_plain && is_open && self.messages.len() >= opening).then(|| ContextCheckpoint {
            length,
            opening,
            recent: recent.into_iter().rev().collect(),
            views: self.views.iter().map(|(kind, view)| (Cow::Borrowed(&**kind), Cow::Borrowed(view))).collect(),
            instances: self.instances.iter().map(|name| Cow::Borrowed(&**name)).collect(),
            plan,
            tools: self.later_tools(opening),
        })
    }

    /// Tools whose definitions differ from the opening.
    fn later_tools(&self, opening: usize) -> Map<String, Value> {
        let mut known: BTreeMap<&str, &Value> = BTreeMap::new();
        for message in self.opening(opening) {
            if let Message::Tool(tools) = message {
                known.extend(tools.iter().map(|(name, schema)| (name.as_str(), schema)));
            }
        }
        let is_later = |tool: &&Arc<Tool>| known.get(tool.name.as_str()) != Some(&&tool.schema);
        self.tools().filter(is_later).map(|tool| (tool.name.clone(), tool.schema.clone())).collect()
    }

    /// Restores a checkpoint onto the opening messages.
    pub fn restore(&mut self, checkpoint: ContextCheckpoint<'_>, load: LoadPast) -> Result<(), String> {
        let ContextCheckpoint { length, opening, recent, views, instances, plan, tools } = checkpoint;
        if self.past.is_some() || self.messages.len() != opening || opening + recent.len() > length {
            return Err(format!("it began with {opening} messages, and not {}", self.messages.len()));
        }
        let read = |value: Value| Message::from_value(value).map(|parsed| parsed.message).map_err(|e| e.to_string());
        let count = length - opening - recent.len();
        let recent: Vec<Message> = recent.into_iter().map(read).collect::<Result<_, _>>()?;
        self.plan_before = match plan.map(read).transpose()? {
            Some(Message::Plan(plan)) => Some(plan),
            _ => None,
        };
        self.plan = None;
        for (name, schema) in &tools {
            self.define(Tool::parse(name, schema).map_err(|fault| fault.to_string())?);
        }
        self.messages.extend(recent);
        self.views = views.into_iter().map(|(kind, view)| (kind.into(), view.into_owned())).collect();
        self.instances.extend(instances.into_iter().map(Cow::into_owned));
        if count > 0 {
            self.past = Some(Past { at: opening, count, load, loaded: Arc::default(), whole: OnceLock::new() });
        }
        Ok(())
    }

    /// The messages that a checkpoint does not store.
    pub fn left_out(&self, opening: usize) -> Vec<Message> {
        let length = self.length();
        let first = (length - RECENT.min(length)).max(opening);
        self.messages()[opening.min(first)..first].to_vec()
    }
}
