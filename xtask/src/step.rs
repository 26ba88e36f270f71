//! Runs other programs, with a headline before and the time after.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

/// Runs a command that prints its own output. A failure is an error that names the step.
pub(crate) fn step(headline: &str, command: &mut Command) -> Result<()> {
    eprintln!("── {headline}");
    let start = Instant::now();
    let status = command.status().with_context(|| format!("{headline}: {} cannot be run", shown(command)))?;
    let seconds = start.elapsed().as_secs_f32();
    if !status.success() {
        bail!("{headline} FAILED after {seconds:.1} s: {} ended with {status}", shown(command));
    }
    eprintln!("   done in {seconds:.1} s");
    Ok(())
}

/// The `cargo` that runs this, at the root of the repository. It keeps nothing for incremental builds: what is built
/// here is mostly built once, and all tests would need another 9 GB of disk.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    command.args(arguments).current_dir(root()).env("CARGO_INCREMENTAL", "0");
    command
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// The target folder of cargo: this program is in `TARGET/PROFILE/`.
pub(crate) fn target() -> Result<PathBuf> {
    let program = std::env::current_exe().context("the path of this program is unknown")?;
    let target = program.parent().and_then(Path::parent).context("this program is not in a target folder")?;
    Ok(target.to_owned())
}

fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    format!("`{}`", words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" "))
}
