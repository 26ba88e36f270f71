//! The rules of today: what the agent's file says now holds for a session that was made earlier (POL-9).

use std::sync::Arc;

use serde_json::{Map, Value};

use super::ids::JobRef;
use super::settings::Settings;
use super::{Mode, Session};
use crate::message::Message;
use crate::policy::{Ruling, Verdict};

/// What the agent's file said when the session was last opened.
pub(super) struct FileRules {
    /// The mode of the file. A person may have chosen another one for the session since.
    mode: Mode,
    /// The settings of the file, where they are not those that the session was made with.
    pub(super) told: Option<Box<Settings>>,
}

impl FileRules {
    pub(super) fn of(settings: &Settings) -> Self {
        Self { mode: settings.mode, told: None }
    }
}

impl Session {
    /// The settings of the agent's file, as the session knows them.
    pub fn rules(&self) -> &Settings {
        self.rules.told.as_deref().unwrap_or(&self.settings)
    }

    /// The mode that the agent's file had when the session was last opened.
    pub fn file_mode(&self) -> Mode {
        self.rules.mode
    }

    /// Goes on under other rules: settings, and tools that are new or defined otherwise.
    pub(super) fn take_rules(&mut self, settings: Settings, tools: Map<String, Value>) {
        self.set_rules(settings);
        if !tools.is_empty() {
            self.memory.remember(Message::Tool(Box::new(tools)));
        }
    }

    /// Puts the settings of the file in place. The mode changes only where that of the file has changed: a person's
    /// choice for this session stays.
    pub(super) fn set_rules(&mut self, settings: Settings) {
        let mode = if settings.mode == self.rules.mode { self.settings.mode } else { settings.mode };
        let Settings { activities, persistent, orders_rows, .. } = (*self.settings).clone();
        self.rules = FileRules { mode: settings.mode, told: Some(Box::new(settings.clone())) };
        let policy = settings.policy.clone();
        self.memory.context.keep_spelling(!settings.guards_names);
        self.settings = Arc::new(Settings { activities, persistent, mode, orders_rows, ..settings });
        for child in self.delegates.iter_mut() {
            let own = Arc::make_mut(&mut child.settings);
            (own.policy, own.mode) = (policy.clone(), mode);
        }
    }

    /// Why a call that was allowed or approved earlier does not run under the rules of today.
    pub(super) fn refusal_of_today(&self, at: JobRef) -> Option<Verdict> {
        let call = self.scheduler.call(at);
        let tool = call.tool.as_deref().filter(|_| self.rules.told.is_some())?;
        // The definition of the tool may be another one today.
        let tool = self.memory.context.tool(&tool.name).map_or(tool, AsRef::as_ref);
        Some(self.verdict_on(at, call, tool)).filter(|verdict| verdict.ruling() == Ruling::Refuse)
    }
}
