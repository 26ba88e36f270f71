//! LangGraph in a Python environment of its own below the target folder, and its figures.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::Figures;
use crate::step::{root, step, target};

/// The peer's packages for `pip`. The versions are pinned, so that figures are comparable.
const PACKAGES: [&str; 3] = ["langgraph==1.2.20", "langgraph-checkpoint-sqlite==3.1.2", "langgraph-cli[inmem]==0.4.40"];

/// A Python environment with LangGraph.
pub(crate) struct LangGraph {
    folder: PathBuf,
}

impl LangGraph {
    /// Creates the environment if it does not exist yet. The error names what is missing.
    pub(crate) fn installed() -> Result<Self> {
        let folder = target()?.join("bench-langgraph");
        let (mark, wanted) = (folder.join("installed"), PACKAGES.join(" "));
        if std::fs::read_to_string(&mark).is_ok_and(|installed| installed == wanted) {
            return Ok(Self { folder });
        }
        if Command::new("python3").arg("--version").output().is_err() {
            bail!("the comparison with LangGraph needs Python: on Debian and Ubuntu, `apt-get install python3-venv`");
        }
        let mut make = Command::new("python3");
        make.args(["-m", "venv", "--clear"]).arg(&folder);
        step("a Python environment for LangGraph", &mut make)
            .context("Python cannot make one; on Debian and Ubuntu, `apt-get install python3-venv`")?;
        let mut pip = Command::new(folder.join("bin/python"));
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(PACKAGES);
        step("installing LangGraph from PyPI, once", &mut pip)
            .context("LangGraph could not be installed: is there a network, and can PyPI be reached?")?;
        std::fs::write(mark, wanted)?;
        Ok(Self { folder })
    }

    /// Its version, for the table.
    pub(crate) fn name() -> String {
        PACKAGES[0].replace("langgraph==", "LangGraph ")
    }

    /// A program of the environment: `python`, `langgraph`.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.folder.join("bin").join(name)
    }

    /// The command that runs `bench/langgraph_peer.py`.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.program("python"));
        command.arg(script()).args(arguments);
        command.env("LANGSMITH_TRACING", "false");
        command
    }

    /// Runs `bench/langgraph_peer.py` and returns its figures.
    pub(crate) fn figures(&self, arguments: &[&str]) -> Result<Figures> {
        super::figures(&mut self.command(arguments))
    }
}

/// The script that does the same work with LangGraph.
pub(crate) fn script() -> PathBuf {
    root().join("bench/langgraph_peer.py")
}

/// The CPU time of a whole command including its children, in microseconds.
pub(crate) fn cpu_of(rounds: usize, program: &Path, arguments: &[String]) -> Result<f64> {
    let mut command = Command::new("python3");
    command.arg(root().join("bench/cpu_of.py")).arg(rounds.to_string()).arg(program).args(arguments);
    Ok(super::figures(&mut command)?["cpu_us"])
}
