//! Tests of the portal with unmodified Bitrix24 client libraries.
//!
//! The libraries are installed once from their registries into the target folder; their versions are pinned beside
//! the scripts. Without access to the registries these tests fail and say so.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use obelus_sandbox::{Portal, SandboxOptions};

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sdk")
}

/// A folder with the pinned versions installed. It is made anew when the pins change or the last attempt failed.
fn installed(name: &str, pins: &str, install: impl FnOnce(&Path)) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sandbox-sdk").join(name);
    let mark = folder.join("installed-pins");
    let pins = fs::read_to_string(scripts().join(pins)).expect("the pins");
    if fs::read_to_string(&mark).ok().as_deref() != Some(pins.as_str()) {
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder for the libraries");
        install(&folder);
        fs::write(&mark, pins).expect("a mark that it is done");
    }
    folder
}

/// Runs a program to its end and returns its output; a failure shows the output.
fn run(what: &str, command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{what}: {command:?} does not start: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{what}: {}\n{command:?}\nstdout:\n{stdout}\nstderr:\n{stderr}", output.status);
    stdout
}

/// A Python environment, made once for all tests.
static PYTHON: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = installed("python", "requirements.txt", |folder| {
        run("a virtual environment needs python3 with venv", Command::new("python3").args(["-m", "venv"]).arg(folder));
        let mut pip = Command::new(folder.join("bin/python"));
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]);
        run(
            "the libraries cannot be installed from PyPI; is it reachable?",
            pip.arg(scripts().join("requirements.txt")),
        );
    });
    folder.join("bin/python")
});

fn node_modules() -> PathBuf {
    installed("node", "package-lock.json", |folder| {
        for file in ["package.json", "package-lock.json"] {
            fs::copy(scripts().join(file), folder.join(file)).expect("the pins");
        }
        let mut npm = Command::new("npm");
        npm.args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"]).current_dir(folder);
        run("the library cannot be installed from the npm registry; is it reachable?", &mut npm);
    })
}

/// Starts a portal and runs the script against it.
fn check(tls: bool, mut program: Command, script: &str) -> String {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let options = SandboxOptions { rate: false, tls, ..SandboxOptions::default() };
    let portal = runtime.block_on(Portal::start(options)).expect("a portal");
    let certificate = portal.write_certificate(Path::new(env!("CARGO_TARGET_TMPDIR"))).expect("a file");
    program.arg(scripts().join(script)).env("SANDBOX_URL", portal.base_url()).env("PYTHONDONTWRITEBYTECODE", "1");
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"] {
        program.env_remove(name);
    }
    if let Some(path) = &certificate {
        for name in ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"] {
            program.env(name, path);
        }
    }
    let said = run(script, &mut program);
    runtime.block_on(portal.stop());
    if let Some(path) = certificate {
        let _ = fs::remove_file(path);
    }
    said
}

#[test]
fn fast_bitrix24_works_with_the_portal() {
    assert_eq!(check(false, Command::new(&*PYTHON), "fast_bitrix24_check.py"), "fast_bitrix24: ok\n");
}

#[test]
fn b24pysdk_works_with_the_portal() {
    assert_eq!(check(true, Command::new(&*PYTHON), "b24pysdk_check.py"), "b24pysdk: ok\n");
}

#[test]
fn b24jssdk_works_with_the_portal() {
    let mut node = Command::new("node");
    node.env("SDK_FOLDER", node_modules());
    assert_eq!(check(true, node, "b24jssdk_check.mjs"), "b24jssdk: ok\n");
}
