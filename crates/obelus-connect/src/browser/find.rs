//! Finds the browser and its MCP server on this machine, and reports what is missing.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use obelus_words::{Language, fill};

/// The tested version of Playwright MCP.
pub const PLAYWRIGHT_MCP: &str = "@playwright/mcp@0.0.83";

/// Names of Chromium's program.
const CHROMIUMS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// The parts of a browser that were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BrowserParts {
    /// The server, or the program that runs it.
    pub program: Option<PathBuf>,
    /// Its first arguments.
    pub arguments: Vec<String>,
    /// The browser.
    pub chromium: Option<PathBuf>,
    /// The missing parts.
    pub missing: Vec<MissingPart>,
}

/// A missing part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingPart {
    /// Its name.
    pub what: &'static str,
    /// Why it is not found.
    pub why: MissingReason,
    /// The command that installs it on Debian.
    pub command: String,
}

/// Why a part is not found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MissingReason {
    /// `OBELUS_PLAYWRIGHT_MCP` names a file that does not exist.
    NoScript(PathBuf),
    /// Playwright MCP is not installed.
    NotInstalled,
    /// There is no node on the path.
    NoNode,
    /// There is no Chromium on the path.
    NoChromium,
    /// `OBELUS_CHROMIUM` names something else than a program.
    NoProgram(PathBuf),
}

impl MissingReason {
    /// The reason for people.
    pub fn in_words(&self, language: Language) -> String {
        let words = &language.words().doctor;
        match self {
            Self::NoScript(file) => fill(words.no_script, &[&file.display().to_string()]),
            Self::NotInstalled => words.not_installed.to_owned(),
            Self::NoNode => words.no_node.to_owned(),
            Self::NoChromium => words.no_chromium.to_owned(),
            Self::NoProgram(file) => fill(words.no_program, &[&file.display().to_string()]),
        }
    }
}

impl BrowserParts {
    /// The missing parts and how to install them, for a person; none if nothing is missing.
    pub fn complaint(&self) -> Option<String> {
        let line = |missing: &MissingPart| {
            let why = missing.why.in_words(Language::English);
            format!("{}: {why}; install it by: {}", missing.what, missing.command)
        };
        (!self.missing.is_empty()).then(|| self.missing.iter().map(line).collect::<Vec<_>>().join("\n"))
    }
}

/// Looks for node, Playwright MCP and Chromium.
///
/// The server is the file that `OBELUS_PLAYWRIGHT_MCP` names, else `playwright-mcp` on the path, else the one
/// installed in `obelus/browser` in the user's data folder. The browser is what `OBELUS_CHROMIUM` names, else the one
/// on the path.
pub fn find() -> BrowserParts {
    find_by(&|name| std::env::var_os(name).filter(|value| !value.is_empty()))
}

/// The search for the parts.
struct BrowserSearch<'a> {
    env: &'a dyn Fn(&str) -> Option<OsString>,
    found: BrowserParts,
}

fn find_by(env: &dyn Fn(&str) -> Option<OsString>) -> BrowserParts {
    let mut search = BrowserSearch { env, found: BrowserParts::default() };
    let script = search.playwright_mcp();
    search.node(script);
    search.chromium();
    search.found
}

impl BrowserSearch<'_> {
    fn on_path(&self, name: &str) -> Option<PathBuf> {
        let folders = (self.env)("PATH")?;
        std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|file| is_program(file))
    }

    /// The server's script; none if it is a program on the path, or missing.
    fn playwright_mcp(&mut self) -> Option<PathBuf> {
        let data = (self.env)("XDG_DATA_HOME").map(PathBuf::from);
        let data = data.or_else(|| (self.env)("HOME").map(|home| PathBuf::from(home).join(".local/share")));
        let folder = data.map(|data| data.join("obelus/browser"));
        let shown = folder.as_deref().map_or("~/.local/share/obelus/browser".to_owned(), in_shell);
        let missing = |why: MissingReason| MissingPart {
            what: "Playwright MCP",
            why,
            command: format!("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm install --prefix {shown} {PLAYWRIGHT_MCP}"),
        };
        if let Some(named) = (self.env)("OBELUS_PLAYWRIGHT_MCP").map(PathBuf::from) {
            if named.is_file() {
                return Some(named);
            }
            self.found.missing.push(missing(MissingReason::NoScript(named)));
            return None;
        }
        self.found.program = self.on_path("playwright-mcp");
        if self.found.program.is_some() {
            return None;
        }
        let file = folder.map(|folder| folder.join("node_modules/@playwright/mcp/cli.js"));
        let script = file.filter(|file| file.is_file());
        if script.is_none() {
            self.found.missing.push(missing(MissingReason::NotInstalled));
        }
        script
    }

    /// Finds the program that runs the script.
    fn node(&mut self, script: Option<PathBuf>) {
        let node = self.on_path("node").or_else(|| self.on_path("nodejs"));
        if node.is_none() {
            let missing = MissingPart {
                what: "node",
                why: MissingReason::NoNode,
                command: "apt-get install -y --no-install-recommends nodejs npm".to_owned(),
            };
            self.found.missing.insert(0, missing);
        }
        if let (Some(node), Some(script)) = (node, script) {
            self.found.program = Some(node);
            self.found.arguments.push(script.to_string_lossy().into_owned());
        }
    }

    fn chromium(&mut self) {
        let (chromium, why) = match (self.env)("OBELUS_CHROMIUM").map(PathBuf::from) {
            Some(file) if is_program(&file) => (Some(file), MissingReason::NoChromium),
            Some(file) => (None, MissingReason::NoProgram(file)),
            None => (CHROMIUMS.iter().find_map(|name| self.on_path(name)), MissingReason::NoChromium),
        };
        if chromium.is_none() {
            let command = "apt-get install -y --no-install-recommends chromium fonts-liberation".to_owned();
            self.found.missing.push(MissingPart { what: "Chromium", why, command });
        }
        self.found.chromium = chromium;
    }
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

/// A path, quoted for a shell.
fn in_shell(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+@".contains(c));
    if is_plain { text.into_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    struct Machine(PathBuf);

    impl Machine {
        fn new(name: &str, programs: &[&str]) -> Self {
            let root = std::env::temp_dir().join(format!("obelus-find-{}-{name}", std::process::id()));
            let _ = std::fs::remove_dir_all(&root);
            std::fs::create_dir_all(root.join("bin")).unwrap();
            for program in programs {
                let file = root.join("bin").join(program);
                std::fs::write(&file, "#!/bin/sh\n").unwrap();
                std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
            }
            Self(root)
        }

        fn find(&self, more: &[(&str, &Path)]) -> BrowserParts {
            find_by(&|name| match name {
                "PATH" => Some(self.0.join("bin").into()),
                "HOME" => Some(self.0.clone().into()),
                _ => more.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_os_str().to_owned()),
            })
        }
    }

    impl Drop for Machine {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn on_a_machine_without_a_browser_the_error_says_what_to_install() {
        let machine = Machine::new("bare", &[]);
        let found = machine.find(&[]);
        let what: Vec<_> = found.missing.iter().map(|missing| missing.what).collect();
        assert_eq!(
            (what, found.program.clone(), found.chromium.clone()),
            (vec!["node", "Playwright MCP", "Chromium"], None, None)
        );
        let words = found.complaint().unwrap();
        let folder = machine.0.join(".local/share/obelus/browser");
        assert!(words.contains(&format!("npm install --prefix {} {PLAYWRIGHT_MCP}", folder.display())), "{words}");
        assert!(words.contains("apt-get install -y --no-install-recommends chromium fonts-liberation"), "{words}");
    }

    #[test]
    fn installed_programs_are_found_in_order_of_preference() {
        let machine = Machine::new("full", &["node", "chromium"]);
        let cli = machine.0.join(".local/share/obelus/browser/node_modules/@playwright/mcp/cli.js");
        std::fs::create_dir_all(cli.parent().unwrap()).unwrap();
        std::fs::write(&cli, "").unwrap();
        let found = machine.find(&[]);
        assert_eq!(found.program, Some(machine.0.join("bin/node")));
        assert_eq!((found.arguments, found.missing), (vec![cli.display().to_string()], vec![]));
        assert_eq!(found.chromium, Some(machine.0.join("bin/chromium")));

        let other = machine.0.join("other.js");
        std::fs::write(&other, "").unwrap();
        let found = machine.find(&[("OBELUS_PLAYWRIGHT_MCP", &other)]);
        assert_eq!(found.arguments, [other.display().to_string()], "what is named wins");
        let found = machine.find(&[("OBELUS_PLAYWRIGHT_MCP", Path::new("/nowhere.js"))]);
        assert!(found.complaint().unwrap().contains("there is no file /nowhere.js"), "{found:?}");
        let found = machine.find(&[("OBELUS_CHROMIUM", Path::new("/nowhere"))]);
        assert!(found.chromium.is_none() && found.complaint().unwrap().contains("OBELUS_CHROMIUM"), "{found:?}");
    }

    #[test]
    fn a_server_on_the_path_is_started_directly() {
        let machine = Machine::new("path", &["node", "playwright-mcp", "google-chrome"]);
        let found = machine.find(&[]);
        assert_eq!((found.program, found.arguments), (Some(machine.0.join("bin/playwright-mcp")), vec![]));
        assert_eq!((found.chromium, found.missing), (Some(machine.0.join("bin/google-chrome")), vec![]));
    }

    #[test]
    fn a_folder_is_quoted_for_the_shell() {
        assert_eq!(in_shell(Path::new("/a/b c'd")), r"'/a/b c'\''d'");
    }
}
