//! The bundled agents.
//!
//! Their files are read like any others, from the virtual folder [`FOLDER`].

use std::path::{Path, PathBuf};

/// The virtual folder of the bundled agents.
const FOLDER: &str = "@bundled";

macro_rules! bundled {
    ($($file:literal),* $(,)?) => {
        [$(($file, include_str!(concat!("../../../agents/", $file)))),*]
    };
}

const FILES: [(&str, &str); 17] = bundled![
    "crm/agent.yaml",
    "crm/cases.json",
    "crm/playbook.yaml",
    "crm/tools/activities.yaml",
    "crm/tools/contacts.yaml",
    "crm/tools/deals.yaml",
    "crm/tools/events.yaml",
    "crm/tools/groups.yaml",
    "crm/tools/items.yaml",
    "crm/tools/leads.yaml",
    "crm/tools/tasks.yaml",
    "crm/tools/users.yaml",
    "notes/agent.yaml",
    "notes/cases.json",
    "notes/playbook.yaml",
    "operator/agent.yaml",
    "operator/mcp.lock",
];

/// The folders of the bundled agents.
pub(crate) fn bundled_agents() -> Vec<PathBuf> {
    let names = FILES.iter().filter_map(|(file, _)| file.strip_suffix("/agent.yaml"));
    names.map(|name| Path::new(FOLDER).join(name)).collect()
}

/// Whether a path is in the virtual folder.
pub fn is_bundled(path: &Path) -> bool {
    path.starts_with(FOLDER)
}

/// The files of a bundled agent: their paths in its folder, and their texts.
pub fn bundled_files(agent: &str) -> impl Iterator<Item = (&'static Path, &'static str)> {
    FILES.iter().filter_map(move |(file, text)| Some((Path::new(file).strip_prefix(agent).ok()?, *text)))
}

/// The virtual folder of the bundled agent that this folder is, or is an unchanged copy of.
pub(crate) fn original(folder: &Path) -> Option<PathBuf> {
    if is_bundled(folder) {
        return Some(folder.to_owned());
    }
    let name = folder.file_name()?.to_str()?;
    let mut files = bundled_files(name).peekable();
    files.peek()?;
    let is_same =
        |(file, text): (&Path, &str)| std::fs::read(folder.join(file)).is_ok_and(|own| own == text.as_bytes());
    files.all(is_same).then(|| Path::new(FOLDER).join(name))
}

/// The text of a bundled file.
pub(crate) fn text(path: &Path) -> Option<&'static str> {
    let inner = path.strip_prefix(FOLDER).ok()?;
    FILES.iter().find(|(file, _)| Path::new(file) == inner).map(|(_, text)| *text)
}

/// Whether this is the folder of a bundled agent.
pub(crate) fn is_folder(path: &Path) -> bool {
    text(&path.join("agent.yaml")).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Agent;

    #[test]
    fn every_file_of_the_agents_is_bundled() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../agents");
        let mut folders = vec![root.clone()];
        let mut count = 0;
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let inner = path.strip_prefix(&root).unwrap();
                    assert!(text(&Path::new(FOLDER).join(inner)).is_some(), "{} is not bundled", inner.display());
                    count += 1;
                }
            }
        }
        assert_eq!(count, FILES.len());
    }

    #[test]
    fn every_bundled_agent_is_valid() {
        for folder in bundled_agents() {
            if let Err(problems) = Agent::load(&folder) {
                panic!("{}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"));
            }
        }
    }
}
