//! Tests of the portal with unmodified Bitrix24 client libraries.
//!
//! The libraries are installed once from their registries into the target folder; their versions are pinned beside
//! the scripts. Without access to the registries these tests fail and say so.

#[path = "sdk/libraries.rs"]
mod libraries;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use obelus_sandbox::{Portal, SandboxOptions};

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sdk")
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("sandbox-sdk").join(name)
}

/// A Python environment, made once for all tests.
static PYTHON: LazyLock<PathBuf> =
    LazyLock::new(|| libraries::python(&folder("python"), &scripts().join("requirements.txt")));

fn node_modules() -> PathBuf {
    libraries::node_modules(&folder("node"), &scripts());
    folder("node")
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
    let said = libraries::run(script, &mut program);
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
