//! The browser's server if an agent's file names none: Playwright MCP with this machine's Chromium.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Once;

use serde_json::{Map, Value, json};

use super::find::{BrowserParts, find};
use super::offer;
use super::section::BrowserSection;
use crate::activity::BindingError;

/// No cut by the server: pages are cut when they are shown.
const MOST: usize = 2_000_000;

/// The prefix of output folders; the process id follows.
const FOLDER: &str = "obelus-browser-";

/// A private folder for the server's own files: page logs and downloads. It is removed on drop.
#[derive(Debug)]
pub struct OutputFolder(PathBuf);

impl OutputFolder {
    fn new(base: &Path) -> io::Result<Self> {
        for number in 0.. {
            let folder = base.join(format!("{FOLDER}{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&folder) {
                Ok(()) => return Ok(Self(folder)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::StorageFull.into())
    }

    /// Its path.
    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// Removes it after the server has ended.
    pub fn remove(&self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Removes folders that ended processes have left.
fn clear(base: &Path) {
    let own = std::fs::metadata("/proc/self").map(|about| about.uid()).ok();
    for entry in std::fs::read_dir(base).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(FOLDER)?.split('-').next()?.parse::<u32>().ok());
        let Some(process) = process else { continue };
        let ours = entry.metadata().is_ok_and(|about| about.is_dir() && Some(about.uid()) == own);
        if ours && !Path::new(&format!("/proc/{process}")).exists() {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

impl BrowserSection {
    /// The servers of an agent: those of its file, and the browser's unless the file has one of its name. An error
    /// says what is missing on this machine and how to install it.
    pub fn servers(
        &self,
        mcp: &Map<String, Value>,
    ) -> Result<(Map<String, Value>, Option<OutputFolder>), BindingError> {
        let mut all = mcp.clone();
        if all.contains_key(&self.server) {
            return Ok((all, None));
        }
        let wrong = |problem| BindingError { binding: "browser".to_owned(), field: String::new(), problem };
        let found = find();
        static CLEARED: Once = Once::new();
        CLEARED.call_once(|| clear(&std::env::temp_dir()));
        let folder = OutputFolder::new(&std::env::temp_dir())
            .map_err(|error| wrong(format!("there is no folder for the browser: {error}")))?;
        let spec = self.spec(&found, folder.folder(), rustix::process::geteuid().is_root()).map_err(wrong)?;
        all.insert(self.server.clone(), spec);
        Ok((all, Some(folder)))
    }

    fn spec(&self, found: &BrowserParts, outputs: &Path, is_root: bool) -> Result<Value, String> {
        if let Some(complaint) = found.complaint() {
            return Err(complaint);
        }
        let (Some(program), Some(chromium)) = (&found.program, &found.chromium) else {
            return Err("there is no browser; `obelus doctor` says how to install it".to_owned());
        };
        let mut command = vec![program.to_string_lossy().into_owned()];
        command.extend(found.arguments.iter().cloned());
        let mut flags =
            vec!["--isolated", "--codegen", "none", "--snapshot-mode", "none", "--no-webmcp", "--caps", "vision"];
        // Service workers would bypass the guard. We wait for pages ourselves, so the server's wait is short.
        flags.extend(["--block-service-workers", "--timeout-settle", "50", "--console-level", "error"]);
        flags.extend((!self.headed).then_some("--headless"));
        // Chromium's sandbox does not work for root.
        flags.extend(is_root.then_some("--no-sandbox"));
        command.extend(flags.into_iter().map(str::to_owned));
        command.extend(["--executable-path".to_owned(), chromium.to_string_lossy().into_owned()]);
        command.extend(["--output-dir".to_owned(), outputs.to_string_lossy().into_owned()]);
        command.extend(self.arguments.iter().cloned());
        // The server can upload only files below its folder.
        let cwd = self.uploads.as_deref().filter(|folder| folder.is_dir()).unwrap_or(outputs);
        Ok(
            json!({"command": command, "cwd": cwd, "timeout": 90, "start": 60, "offer": offer::names().collect::<Vec<_>>(), "most": MOST}),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(value: Value) -> BrowserSection {
        BrowserSection::parse(value.as_object().unwrap(), Path::new("/")).unwrap()
    }

    #[test]
    fn a_server_configured_in_the_file_is_not_changed() {
        let mcp = json!({"browser": {"command": ["x"]}, "notes": {"command": ["y"]}});
        let (servers, outputs) = section(json!({})).servers(mcp.as_object().unwrap()).unwrap();
        assert_eq!((Value::Object(servers), outputs.is_none()), (mcp, true));
    }

    #[test]
    fn the_server_is_started_with_guard_options() {
        let found = BrowserParts {
            program: Some("/usr/bin/node".into()),
            arguments: vec!["cli.js".to_owned()],
            chromium: Some("/usr/bin/chromium".into()),
            missing: Vec::new(),
        };
        let spec = |value: Value, is_root| {
            let spec = section(value).spec(&found, Path::new("/out"), is_root).unwrap();
            spec["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let has = |command: &[String], word: &str| command.iter().any(|known| known == word);
        let command = spec(json!({"arguments": ["--proxy-server", "p"]}), false);
        assert_eq!(command[..2], ["/usr/bin/node", "cli.js"]);
        assert!(
            has(&command, "--headless") && has(&command, "--block-service-workers") && has(&command, "--proxy-server")
        );
        assert!(!has(&command, "--no-sandbox"));
        let command = spec(json!({"headed": true}), true);
        assert!(has(&command, "--no-sandbox") && !has(&command, "--headless"));
        let nothing = section(json!({})).spec(&BrowserParts::default(), Path::new("/out"), false).unwrap_err();
        assert!(nothing.contains("obelus doctor"), "{nothing}");
    }

    #[test]
    fn the_output_folder_is_removed_with_its_owner() {
        let base = std::env::temp_dir().join(format!("obelus-outputs-{}", std::process::id()));
        std::fs::create_dir_all(&base).unwrap();
        let left = base.join(format!("{FOLDER}4294967294-0"));
        std::fs::create_dir_all(left.join("a")).unwrap();
        clear(&base);
        let outputs = OutputFolder::new(&base).unwrap();
        let other = OutputFolder::new(&base).unwrap();
        assert!(!left.exists() && outputs.folder().is_dir() && outputs.folder() != other.folder());
        std::fs::write(outputs.folder().join("page.png"), "x").unwrap();
        let folder = outputs.folder().to_owned();
        drop(outputs);
        assert!(!folder.exists() && other.folder().exists());
        drop(other);
        std::fs::remove_dir(&base).unwrap();
    }
}
