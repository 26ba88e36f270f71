//! The agents that can be named: those in folders of the user, and those that come with the program.

use std::path::{Path, PathBuf};

use crate::agent::{Agent, Problem};
use crate::bundled::{bundled_agents, is_bundled};

/// Finds agents by name. An agent of the user hides a bundled one of the same name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentCatalogue {
    roots: Vec<PathBuf>,
}

impl AgentCatalogue {
    /// The agents in these folders, each in a folder of its own with an `agent.yaml`, and the bundled ones.
    pub fn new(roots: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { roots: roots.into_iter().collect() }
    }

    /// The same for `agents` in the working folder and the folders in `OBELUS_AGENTS`.
    pub fn of_environment() -> Self {
        let named = std::env::var_os("OBELUS_AGENTS").map(|paths| std::env::split_paths(&paths).collect::<Vec<_>>());
        Self::new(std::iter::once(PathBuf::from("agents")).chain(named.unwrap_or_default()))
    }

    /// The folders of the user's agents.
    pub fn own(&self) -> Vec<PathBuf> {
        let folders = self.roots.iter().filter_map(|root| std::fs::read_dir(root).ok()).flatten();
        let folders = folders.filter_map(|entry| Some(entry.ok()?.path()));
        let mut found: Vec<PathBuf> = folders.filter(|path| path.join("agent.yaml").is_file()).collect();
        found.sort();
        found
    }

    /// The folders of all agents.
    pub fn all(&self) -> Vec<PathBuf> {
        let own = self.own();
        let is_own = |path: &PathBuf| own.iter().any(|own| own.file_name() == path.file_name());
        let bundled: Vec<PathBuf> = bundled_agents().into_iter().filter(|path| !is_own(path)).collect();
        own.into_iter().chain(bundled).collect()
    }

    /// The names of all agents, sorted, each once.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.all().iter().filter_map(|folder| name_of(folder)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The folder of the agent of this name. A path is no name.
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        self.all().into_iter().find(|folder| folder.file_name().is_some_and(|known| known == name))
    }

    /// The name that is most like this one.
    pub fn near(&self, name: &str) -> Option<String> {
        let names = self.names();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        obelus_kernel::closest(name, &names).map(str::to_owned)
    }

    /// Name and description of the agent in a folder, in a language or in its own, or what is wrong with it. Those that come with the program are in
    /// order, and are not read any further.
    pub fn title(folder: &Path, language: Option<&str>) -> Result<(String, Option<String>), Vec<Problem>> {
        if is_bundled(folder)
            && let Some(title) = Agent::bundled_title(folder, language)
        {
            return Ok(title);
        }
        Agent::load_in(folder, language).map(|agent| (agent.name, agent.description))
    }

    /// Reads the agent of this name in a language, or in its own; none where there is no such agent.
    pub fn load(&self, name: &str, language: Option<&str>) -> Option<Result<Agent, Vec<Problem>>> {
        self.find(name).map(|folder| Agent::load_in(&folder, language))
    }
}

/// The name of an agent is that of its folder.
fn name_of(folder: &Path) -> Option<String> {
    folder.file_name()?.to_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_of_a_bundled_agent_is_that_of_its_whole_file() {
        for folder in bundled_agents() {
            for language in [None, Some("ru"), Some("en")] {
                let agent = Agent::load_in(&folder, language).unwrap();
                assert_eq!(AgentCatalogue::title(&folder, language).unwrap(), (agent.name, agent.description));
            }
        }
    }

    #[test]
    fn an_agent_is_found_by_its_name_and_by_nothing_else() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../agents");
        let own = AgentCatalogue::new([root.clone()]);
        assert_eq!(own.find("crm"), Some(root.join("crm")), "an own agent hides the bundled one");
        assert_eq!(own.names(), AgentCatalogue::default().names());
        for wrong in ["", ".", "..", "../agents/crm", "crm/", "crm/agent.yaml", "/etc", "nobody"] {
            assert_eq!(own.find(wrong), None, "{wrong}");
        }
        assert_eq!(own.near("crn").as_deref(), Some("crm"));
        assert!(own.load("notes", Some("ru")).is_some_and(|agent| agent.is_ok()));
    }
}
