//! `obelus new` and `obelus agents copy`: an agent's folder to begin from.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use obelus_runtime::files::bundled_files;

use super::agents::name_notes;
use crate::cli::New;
use crate::language::{fill, words_of};
use crate::output::{self, Exit, visible};

const ENGLISH: [(&str, &str); 2] =
    [("agent.yaml", include_str!("new/agent.yaml")), ("playbook.yaml", include_str!("new/playbook.yaml"))];
const RUSSIAN: [(&str, &str); 2] =
    [("agent.yaml", include_str!("new/ru/agent.yaml")), ("playbook.yaml", include_str!("new/ru/playbook.yaml"))];

pub(crate) fn new(args: &New) -> Result<Exit> {
    check_name(&args.name)?;
    let files = if words_of(None).code == "ru" { RUSSIAN } else { ENGLISH };
    let files =
        files.map(|(path, text)| (PathBuf::from(path), text.replace("NAME\n", &format!("{}\n", in_yaml(&args.name)))));
    make(&args.folder, &args.name, files, words_of(None).starting.folder_exists)
}

pub(crate) fn copy(agent: &str, name: Option<&str>, folder: &Path) -> Result<Exit> {
    let name = name.unwrap_or(agent);
    check_name(name)?;
    let renamed = |path: &Path, text: &str| {
        if path == Path::new("agent.yaml") {
            text.replacen(&format!("name: {agent}\n"), &format!("name: {}\n", in_yaml(name)), 1)
        } else {
            text.to_owned()
        }
    };
    let files: Vec<_> = bundled_files(agent).map(|(path, text)| (path.to_owned(), renamed(path, text))).collect();
    if files.is_empty() {
        bail!("{}", fill(words_of(None).starting.no_bundled, &[&visible(agent)]));
    }
    make(folder, name, files, words_of(None).starting.copy_exists)
}

/// A name in YAML: quoted if it would be read as something else than text, such as `null`, `on` or `12`.
fn in_yaml(name: &str) -> String {
    const WORDS: [&str; 9] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];
    let is_word = WORDS.contains(&name.to_ascii_lowercase().as_str());
    if is_word || !name.starts_with(|first: char| first.is_ascii_alphabetic()) {
        format!("\"{name}\"")
    } else {
        name.to_owned()
    }
}

/// Writes the files into a new folder, and prints the next steps. `exists` says that there is such a folder.
fn make(agents: &Path, name: &str, files: impl IntoIterator<Item = (PathBuf, String)>, exists: &str) -> Result<Exit> {
    let folder = agents.join(name);
    let shown = visible(&folder.display().to_string());
    fs::create_dir_all(agents).with_context(|| visible(&agents.display().to_string()))?;
    match fs::create_dir(&folder) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!("{}", fill(exists, &[&shown]))
        }
        made => made.with_context(|| shown.clone())?,
    }
    for (path, text) in files {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&path, text).with_context(|| visible(&path.display().to_string()))?;
        output::answer(&visible(&path.display().to_string()));
    }
    name_notes(&folder, name).iter().for_each(|note| output::note(&visible(note)));
    // Agents in `agents` are found by name.
    let agent = if agents == Path::new("agents") { name } else { &shown };
    output::note(&fill(words_of(None).starting.made_agent, &[agent, agent]));
    Ok(Exit::Done)
}

/// Checks a name, which becomes part of a path and of commands.
fn check_name(name: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > 64 || !name.chars().all(is_plain) {
        bail!("{}", fill(words_of(None).starting.bad_agent_name, &[&visible(name)]));
    }
    Ok(())
}
