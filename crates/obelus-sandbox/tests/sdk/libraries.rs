//! Third-party libraries for tests. They are installed once from their registries into the target folder, in the
//! versions that are pinned beside the test's scripts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder with the pinned versions, installed again if the pins change or the last attempt failed.
fn installed(folder: &Path, pins: &Path, install: impl FnOnce(&Path)) {
    let mark = folder.join("installed-pins");
    let pins = fs::read_to_string(pins).expect("the pins");
    if fs::read_to_string(&mark).ok().as_deref() != Some(pins.as_str()) {
        let _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder).expect("a folder for the libraries");
        install(folder);
        fs::write(&mark, pins).expect("a mark that it is done");
    }
}

/// Runs a program to its end and returns its output; a failure shows the output.
pub(crate) fn run(what: &str, command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{what}: {command:?} does not start: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{what}: {}\n{command:?}\nstdout:\n{stdout}\nstderr:\n{stderr}", output.status);
    stdout
}

/// The interpreter of a Python environment in this folder, with the packages of a requirements file.
pub(crate) fn python(folder: &Path, pins: &Path) -> PathBuf {
    installed(folder, pins, |folder| {
        run("a virtual environment needs python3 with venv", Command::new("python3").args(["-m", "venv"]).arg(folder));
        let mut pip = Command::new(folder.join("bin/python"));
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]);
        run("the libraries cannot be installed from PyPI; is it reachable?", pip.arg(pins));
    });
    folder.join("bin/python")
}

/// Installs the packages of `package.json` and `package-lock.json` of another folder into this one.
pub(crate) fn node_modules(folder: &Path, scripts: &Path) {
    installed(folder, &scripts.join("package-lock.json"), |folder| {
        for file in ["package.json", "package-lock.json"] {
            fs::copy(scripts.join(file), folder.join(file)).expect("the pins");
        }
        let mut npm = Command::new("npm");
        npm.args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"]).current_dir(folder);
        run("the libraries cannot be installed from the npm registry; is it reachable?", &mut npm);
    });
}
