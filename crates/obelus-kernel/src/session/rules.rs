//! The current rules: the agent's current file applies to sessions created earlier (POL-9).

use std::sync::Arc;

use serde_json::{Map, Value};

use super::ids::JobRef;
use super::inbox::{About, AskedCall, SessionReason};
use super::sent_by::SentBy;
use super::settings::Settings;
use super::{Mode, Session};
use crate::call::freeze::fitted;
use crate::message::Message;
use crate::policy::CallRefusal;

impl Session {
    /// The settings of the agent's file.
    pub fn rules(&self) -> &Settings {
        self.call_rules.file.changed().unwrap_or(&self.settings)
    }

    /// The mode that the agent's file had when the session was last opened.
    pub fn file_mode(&self) -> Mode {
        self.call_rules.file.mode()
    }

    /// Continues under other rules: settings, and new, changed or removed tools.
    pub(super) fn take_rules(&mut self, settings: Settings, tools: Map<String, Value>, removed: &[String]) {
        self.set_rules(settings);
        let below = self.delegates.rules_below(self.context(), &tools, removed);
        if !tools.is_empty() {
            self.memory.remember(Message::Tool(Box::new(tools)));
        }
        self.expire_misfits(removed);
        below.into_iter().for_each(|(at, rules)| self.give_to_delegate(at, rules));
    }

    /// Expires questions about calls that no longer fit their tools (CALL-3): an approval must not run them. A plan is
    /// checked call by call when it runs, so it expires only with a tool.
    fn expire_misfits(&mut self, removed: &[String]) {
        for number in self.inbox.open_where(|question| matches!(question.about, About::Call | About::Plan)) {
            let Some(question) = self.inbox.get(number) else { continue };
            let open: Vec<usize> = question.open_calls().collect();
            let misfit = |index: usize| Some((index, self.misfit(&question.calls[index], removed)?));
            let misfits: Vec<(usize, SessionReason)> = open.iter().filter_map(|&index| misfit(index)).collect();
            let Some(&(_, reason)) = misfits.first() else { continue };
            let is_plan = question.about == About::Plan;
            let ended = if is_plan { open } else { misfits.into_iter().map(|(index, _)| index).collect() };
            self.deny(number, &ended, reason.text(self.settings.language.as_deref()), SentBy::NOBODY);
            self.inbox.mark_expired(number);
        }
    }

    /// Why a call that waits no longer fits its tool.
    fn misfit(&self, asked: &AskedCall, removed: &[String]) -> Option<SessionReason> {
        let name = asked.call.tool()?;
        if removed.iter().any(|gone| gone == name) {
            return Some(SessionReason::ToolRemoved);
        }
        let (at, tool) = (*asked.jobs.first()?, self.context().tool(name)?);
        let params = self.scheduler.frozen(at)?.params(self.scheduler.call(at));
        fitted(params, tool).err().map(|_| SessionReason::ToolChanged)
    }

    /// Applies the file's settings. The mode changes only if the file's mode has changed: a person's choice for this
    /// session stays.
    pub(super) fn set_rules(&mut self, settings: Settings) {
        let mode = if settings.mode == self.call_rules.file.mode() { self.settings.mode } else { settings.mode };
        // Journals of earlier versions name no activities here: the session keeps its own.
        let known = if settings.activities.is_empty() { &self.settings } else { &settings };
        let (activities, persistent) = (known.activities.clone(), self.settings.persistent);
        self.call_rules.file.replace(settings.clone());
        self.settings = Arc::new(Settings { activities, persistent, mode, ..settings });
        let own = Arc::clone(&self.settings);
        self.delegates.iter_mut().for_each(|child| child.inherit_rules(&own));
    }

    /// Applies the parent's rules to a delegate, to its delegates, and to their calls that were approved before. A
    /// delegate keeps its way of planning.
    fn inherit_rules(&mut self, parent: &Settings) {
        let Settings { planning, persistent, .. } = *self.settings;
        let settings = Settings { planning, persistent, ..parent.for_delegate() };
        self.call_rules.file.replace(settings.clone());
        self.settings = Arc::new(settings);
        let own = Arc::clone(&self.settings);
        self.delegates.iter_mut().for_each(|child| child.inherit_rules(&own));
    }

    /// Why a call that was allowed, approved or started earlier is refused now: by the mode, which may have been lowered
    /// since then, or by rules that have changed (POL-9).
    pub(super) fn current_refusal(&self, at: JobRef) -> Option<CallRefusal> {
        self.scheduler.find(at)?;
        let call = self.scheduler.call(at);
        let tool = call.tool.as_deref()?;
        let by_rules = || {
            self.call_rules.file.changed()?;
            // The tool's definition may have changed.
            let tool = self.context().tool(&tool.name).map_or(tool, AsRef::as_ref);
            self.verdict_on(at, call, tool).or_refusal().err()
        };
        self.gate().refusal_by_mode(tool).or_else(by_rules)
    }
}
