//! Runs the commands of a document in one shell, in an empty folder, as its reader would.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command as Program, Stdio};

use crate::document::{Command, Step};

/// Separates the outputs and exit codes of commands; no command prints it.
const MARK: char = '\u{1e}';

/// The result of a command.
pub(crate) struct Ran {
    pub(crate) output: String,
    pub(crate) code: i32,
}

/// Runs all steps and returns the results of the commands. If the shell ends early, the rest is missing.
pub(crate) fn run(folder: &Path, steps: &[Step]) -> Vec<Ran> {
    let script = folder.join(".script");
    fs::write(&script, script_of(steps)).expect("a writable folder");
    let bin = Path::new(env!("CARGO_BIN_EXE_obelus")).parent().expect("a folder").to_owned();
    let path = std::env::join_paths(
        [bin].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    );
    let mut shell = Program::new("setsid");
    shell.args(["--wait", "timeout", "-k", "5", "300", "bash"]).arg(&script).current_dir(folder);
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if ["OBELUS_", "OPENAI_", "BITRIX_", "TELEGRAM_", "LC_", "CLICOLOR"].iter().any(|of| name.starts_with(of)) {
            shell.env_remove(name);
        }
    }
    shell.env("PATH", path.expect("a path")).env("HOME", folder).env("LANG", "C.UTF-8").env("NO_COLOR", "1");
    let ended = shell.stdin(Stdio::null()).stderr(Stdio::inherit()).output().expect("setsid, timeout and bash");
    ran(&String::from_utf8_lossy(&ended.stdout))
}

fn script_of(steps: &[Step]) -> String {
    let mut script = String::from("trap 'kill $(jobs -p) 2>/dev/null; wait 2>/dev/null' EXIT\n");
    for step in steps {
        match step {
            Step::File { name, text } => {
                let _ = writeln!(
                    script,
                    "mkdir -p \"$(dirname '{name}')\"\ncat > '{name}' <<'END OF FILE'\n{text}END OF FILE"
                );
            }
            Step::Command(Command { text, typed, .. }) => {
                let stdin = match typed.as_slice() {
                    [] => "</dev/null".to_owned(),
                    typed => format!("<<'END OF INPUT'\n{}\nEND OF INPUT", typed.join("\n")),
                };
                let _ = writeln!(script, "printf '\\036'\n{{ {text}\n}} 2>&1 {stdin}\nprintf '\\036%d\\n' $?");
            }
        }
    }
    script
}

fn ran(printed: &str) -> Vec<Ran> {
    let parts: Vec<&str> = printed.split(MARK).skip(1).collect();
    let pairs = parts.chunks_exact(2);
    pairs
        .map(|pair| Ran {
            output: pair[0].to_owned(),
            code: pair[1].lines().next().and_then(|code| code.parse().ok()).unwrap_or(-1),
        })
        .collect()
}
