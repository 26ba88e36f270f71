//! Finds agents by name: the user's, and the bundled ones.

use std::path::{Path, PathBuf};

use crate::agent::{Agent, Problem};
use crate::bundled::{self, bundled_agents, bundled_files, is_bundled};
use crate::read::read_text;

/// Finds agents by name. A user's agent hides a bundled one of the same name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentCatalogue {
    roots: Vec<PathBuf>,
}

impl AgentCatalogue {
    /// The agents in these folders, each in a folder of its own with an `agent.yaml`, and the bundled ones.
    pub fn new(roots: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { roots: roots.into_iter().collect() }
    }

    /// The agents in `agents` in the working folder, in the folders of `OBELUS_AGENTS`, and the bundled ones.
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

    /// The folder of the agent with this name. A path is not a name.
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        self.all().into_iter().find(|folder| folder.file_name().is_some_and(|known| known == name))
    }

    /// The files of an agent, each with its path in the agent's folder and its text; none if there is no such agent.
    /// Files of other types, and those that may be secret, are left out.
    pub fn files(&self, name: &str) -> Option<Vec<(String, String)>> {
        let folder = self.find(name)?;
        if is_bundled(&folder) {
            let file = |(file, text): (&Path, &str)| Some((file.to_str()?.to_owned(), text.to_owned()));
            return Some(bundled_files(name).filter_map(file).collect());
        }
        let mut names = Vec::new();
        add_files(&folder, Path::new(""), 0, &mut names);
        names.sort();
        names.truncate(MOST_FILES);
        let read = |name: PathBuf| Some((name.to_str()?.to_owned(), read_text(&folder.join(&name)).ok()?));
        Some(names.into_iter().filter_map(read).collect())
    }

    /// The most similar name.
    pub fn near(&self, name: &str) -> Option<String> {
        let names = self.names();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        obelus_kernel::closest(name, &names).map(str::to_owned)
    }

    /// Name and description of the agent in a folder, in a language or its default, or its errors. Bundled agents and
    /// unchanged copies of them are not checked.
    pub fn title(folder: &Path, language: Option<&str>) -> Result<(String, Option<String>), Vec<Problem>> {
        if let Some(bundled) = bundled::original(folder)
            && let Some(title) = Agent::bundled_title(&bundled, language)
        {
            return Ok(title);
        }
        Agent::load_in(folder, language).map(|agent| (agent.name, agent.description))
    }

    /// Reads the agent with this name in a language or its default; none if there is no such agent.
    pub fn load(&self, name: &str, language: Option<&str>) -> Option<Result<Agent, Vec<Problem>>> {
        self.find(name).map(|folder| Agent::load_in(&folder, language))
    }
}

/// The file types of agents.
const ENDINGS: [&str; 7] = ["yaml", "yml", "json", "md", "txt", "lock", "jq"];

/// The limit of files of an agent, and of folder depth.
const MOST_FILES: usize = 100;
const DEEPEST: usize = 3;

/// Adds the names of an agent's files below a folder. Links are not followed.
fn add_files(root: &Path, inner: &Path, depth: usize, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(root.join(inner)).into_iter().flatten().filter_map(Result::ok) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let lower = name.to_lowercase();
        let could_be_secret = ["token", "secret", "key", "password"].iter().any(|word| lower.contains(word));
        let Ok(kind) = entry.file_type() else { continue };
        let path = inner.join(&name);
        let has_ending = path.extension().and_then(|ending| ending.to_str()).is_some_and(|end| ENDINGS.contains(&end));
        if name.starts_with('.') || could_be_secret || into.len() > MOST_FILES {
            continue;
        }
        if kind.is_dir() && depth < DEEPEST {
            add_files(root, &path, depth + 1, into);
        } else if kind.is_file() && has_ending {
            into.push(path);
        }
    }
}

/// The name of an agent, which is its folder's.
fn name_of(folder: &Path) -> Option<String> {
    folder.file_name()?.to_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_of_a_bundled_agent_equals_that_of_its_file() {
        for folder in bundled_agents() {
            for language in [None, Some("ru"), Some("en")] {
                let agent = Agent::load_in(&folder, language).unwrap();
                assert_eq!(AgentCatalogue::title(&folder, language).unwrap(), (agent.name, agent.description));
            }
        }
    }

    #[test]
    fn a_copy_of_a_bundled_agent_is_checked_once_it_is_changed() {
        let root = std::env::temp_dir().join(format!("obelus-copy-{}", std::process::id()));
        let folder = root.join("notes");
        std::fs::create_dir_all(&folder).unwrap();
        for (file, text) in bundled_files("notes") {
            std::fs::write(folder.join(file), text).unwrap();
        }
        assert_eq!(bundled::original(&folder), Some(PathBuf::from("@bundled/notes")));
        assert_eq!(AgentCatalogue::title(&folder, None).unwrap().0, "notes");
        std::fs::write(folder.join("agent.yaml"), "name: notes\nmodle: x").unwrap();
        assert_eq!(bundled::original(&folder), None);
        assert!(AgentCatalogue::title(&folder, None).is_err());
        std::fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn an_agent_is_found_only_by_its_name() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../agents");
        let own = AgentCatalogue::new([root.clone()]);
        assert_eq!(own.find("crm"), Some(root.join("crm")), "an own agent hides the bundled one");
        assert_eq!(own.names(), AgentCatalogue::default().names());
        for wrong in ["", ".", "..", "../agents/crm", "crm/", "crm/agent.yaml", "/etc", "nobody"] {
            assert_eq!(own.find(wrong), None, "{wrong}");
        }
        assert_eq!(own.near("crn").as_deref(), Some("crm"));
        assert!(own.load("notes", Some("ru")).is_some_and(|agent| agent.is_ok()));
        let names = |agents: &AgentCatalogue| -> Vec<String> {
            agents.files("crm").unwrap_or_default().into_iter().map(|(name, _)| name).collect()
        };
        assert!(names(&own).contains(&"tools/deals.yaml".to_owned()), "{:?}", names(&own));
        assert_eq!(names(&own), names(&AgentCatalogue::default()));
        assert_eq!(own.files("../agents/crm"), None);
    }
}
