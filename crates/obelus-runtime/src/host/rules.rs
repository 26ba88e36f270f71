//! The current rules: when a session is opened, its agent's file is read again, and its rules apply (POL-9).

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use obelus_kernel::Context;
use obelus_kernel::session::{Input, Mode, Session, Settings};
use serde_json::Map;
use tokio::sync::oneshot;

use super::{HostError, Slot};
use crate::activity::Activities;
use crate::actor::{ActorCommand, InputCommand, ended_refusal};
use crate::agent::Agent;
use crate::bundled::is_folder;
use crate::spec::SessionSpec;
use crate::words::Language;

/// Changes of the agent's file since the session was last opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RulesChange {
    /// Whether the policy has changed.
    pub policy: bool,
    /// The old and the new mode.
    pub mode: Option<(Mode, Mode)>,
    /// Whether limits or other settings have changed.
    pub settings: bool,
    /// New and changed tools.
    pub tools: Vec<String>,
    /// Tools that were removed from the file: they do not run.
    pub removed: Vec<String>,
    /// The file is missing, and the session keeps its rules.
    pub missing: Option<PathBuf>,
}

/// The current content of the file.
struct CurrentFile {
    settings: Settings,
    /// The tools of an agent; those of a request are part of it.
    context: Option<Context>,
}

/// The input for changed rules, if any. `bound` are the activities that the session is connected to.
pub(super) fn change_since_opened(
    spec: &SessionSpec,
    session: &Session,
    bound: &Activities,
) -> Result<(Option<Input>, RulesChange), HostError> {
    let file = match current_file(spec)? {
        Ok(Some(file)) => file,
        Ok(None) => return Ok((None, RulesChange::default())),
        Err(missing) => return Ok((None, RulesChange { missing: Some(missing), ..RulesChange::default() })),
    };
    let mut change = RulesChange::default();
    let mut tools = Map::new();
    let mut settings = file.settings;
    let language = Language::named(settings.language.as_deref());
    if let Some(context) = &file.context {
        for tool in context.tools().filter(|tool| !spec.withheld.contains(&tool.name)) {
            if session.context().tool(&tool.name).is_none_or(|known| known.schema != tool.schema) {
                change.tools.push(tool.name.clone());
                tools.insert(tool.name.clone(), tool.schema.clone());
            }
        }
        let of_servers = spec.mcp.as_ref().map(|mcp| mcp.tools.as_slice()).unwrap_or_default();
        let is_gone = |name: &String| context.tool(name).is_none() && !of_servers.contains(name);
        change.removed = session.context().tools().map(|tool| tool.name.clone()).filter(is_gone).collect();
        settings.policy = settings.policy.refusing(&change.removed, language.words().session.tool_removed);
    }
    let plain = |settings: &Settings, mode| Settings {
        activities: BTreeSet::new(),
        persistent: false,
        mode,
        ..settings.clone()
    };
    let (known, mut now) = (plain(session.rules(), session.file_mode()), plain(&settings, settings.mode));
    // The journal names the activities, so that the past is the same whatever the file binds later (DUR-12).
    let activities = bound.names();
    if known == now && tools.is_empty() && activities == session.rules().activities {
        return Ok((None, RulesChange::default()));
    }
    // The policy also refuses removed tools. That alone is no change of the file's policy.
    let gone = language.words().session.tool_removed;
    let same = [known.policy.clone(), known.policy.clone().refusing(&change.removed, gone)];
    change.policy = !same.contains(&now.policy);
    change.mode = (known.mode != now.mode).then_some((known.mode, now.mode));
    change.settings = Settings { policy: now.policy.clone(), mode: now.mode, ..known } != now;
    now.activities = activities;
    Ok((Some(Input::Rules { settings: Box::new(now), tools, removed: change.removed.clone() }), change))
}

/// The current content of a session's file; the path if the file is missing; none for a request without a file.
fn current_file(spec: &SessionSpec) -> Result<Result<Option<CurrentFile>, PathBuf>, HostError> {
    if spec.agent.is_empty() {
        let settings = spec.local.settings.clone();
        return Ok(Ok(settings.map(|settings| CurrentFile { settings: *settings, context: None })));
    }
    let file = spec.folder.join("agent.yaml");
    if !is_folder(&spec.folder) && !file.exists() {
        return Ok(Err(file));
    }
    let agent = Agent::load_in(&spec.folder, spec.settings.language.as_deref()).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        HostError::Agent(lines.join("\n"))
    })?;
    Ok(Ok(Some(CurrentFile { settings: agent.settings, context: Some(agent.context) })))
}

/// Gives the input to a session that was just opened.
pub(super) async fn send_input(slot: &Arc<Slot>, input: Input) -> Result<(), HostError> {
    let (answer, answered) = oneshot::channel();
    slot.send_live(ActorCommand::Input(Box::new(InputCommand { input, id: None, is_first: true, answer })))?;
    answered.await.map_err(|_| ended_refusal())??;
    Ok(())
}

/// Adds bindings of the current file for activities that the session did not have. They apply when the journal names
/// them.
pub fn with_present_bindings(mut spec: SessionSpec) -> SessionSpec {
    let known = bound_names(&spec);
    let Some(lot) = spec.activities.first_mut().filter(|_| !spec.agent.is_empty()) else { return spec };
    let Ok(agent) = Agent::load_in(&spec.folder, spec.settings.language.as_deref()) else { return spec };
    // An activity may be bound by another file, such as that of `--activities`.
    for (name, binding) in agent.activities.into_iter().filter(|(name, _)| !known.contains(name)) {
        spec.local.later_activities.insert(name.clone());
        lot.bound.insert(name, binding);
    }
    spec
}

/// The spec for reading a session: with the names of bindings that the agent's file has got since, but without the
/// bindings, which may have errors.
pub(super) fn with_later_names(mut spec: SessionSpec) -> SessionSpec {
    spec.local.later_activities = with_present_bindings(spec.clone()).local.later_activities;
    spec
}

/// The names in the bindings of a spec.
pub(super) fn bound_names(spec: &SessionSpec) -> BTreeSet<String> {
    spec.activities.iter().flat_map(|lot| lot.bound.keys().cloned()).collect()
}
