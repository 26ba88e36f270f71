//! The conformance suite of MCP: its scenarios for clients, in both eras of the protocol.
//!
//! The suite starts a client and a server for each scenario. The client is this test binary, started again as
//! [`the_client`].

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use obelus_kernel::text::glob_matches;

use crate::peers::npm;

#[path = "../../examples/mcp_conformance.rs"]
#[expect(dead_code, reason = "its own `main` is for the example")]
mod client;

const SUITE: &str = "@modelcontextprotocol/conformance@0.2.0-alpha.12";

/// The version of Node. The suite needs a newer one than most machines have.
const NODE: &str = "22.23.3";

/// Scenarios that fail, and why. Those that pass must be removed from this list.
const NOT_PASSED: [(&str, &str); 3] = [
    ("auth/enterprise-managed-authorization", "there is no identity provider whose tokens could be exchanged"),
    ("auth/wif-jwt-bearer", "there is no workload identity whose tokens could be exchanged"),
    ("auth/dpop*", "tokens are not bound to a key: they are bearer tokens"),
];

/// Node and the suite, if they can be installed.
fn installed() -> Option<(PathBuf, PathBuf)> {
    let machine = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        _ => return None,
    };
    let (node, package) = (format!("node-linux-{machine}/bin/node"), format!("node-linux-{machine}@{NODE}"));
    let suite = npm(&[SUITE, &package], "@modelcontextprotocol/conformance/dist/index.js")?;
    let node = npm(&[SUITE, &package], &node)?;
    Some((node, suite))
}

/// Runs all scenarios of a revision; says which passed.
fn scenarios(revision: &str, is_told: bool, suite_name: &str) -> Option<BTreeMap<String, bool>> {
    let (node, suite) = installed()?;
    let folder =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("conformance-{suite_name}-{revision}-{is_told}"));
    let _ = std::fs::remove_dir_all(&folder);
    let me = std::env::current_exe().unwrap();
    // A path without spaces, because the suite splits the command at them.
    let find_out = if is_told { "" } else { "env -u MCP_CONFORMANCE_PROTOCOL_VERSION " };
    let client = format!("{find_out}{} conformance::the_client --exact --ignored --nocapture", me.display());
    let ran = Command::new(node)
        .arg(suite)
        .args(["client", "--suite", suite_name])
        // Extensions have no revision.
        .args(if suite_name == "all" { vec!["--spec-version", revision] } else { vec![] })
        .args(["--command", &client, "--output-dir"])
        .arg(&folder)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    let result = |line: &str| {
        let (passed, rest) = match line.trim_start() {
            line if line.starts_with('✓') => (true, line.trim_start_matches('✓')),
            line if line.starts_with('✗') => (false, line.trim_start_matches('✗')),
            _ => return None,
        };
        Some((rest.split_once(": ")?.0.trim().to_owned(), passed))
    };
    let results: BTreeMap<_, _> = said.lines().filter_map(result).collect();
    assert!(results.len() >= 5, "the suite did not run: {said}");
    Some(results)
}

fn is_as_listed(revision: &str, is_told: bool) {
    check(revision, scenarios(revision, is_told, "all"));
}

fn check(revision: &str, results: Option<BTreeMap<String, bool>>) {
    let Some(results) = results else { return };
    let listed = |name: &str| NOT_PASSED.iter().any(|(glob, _)| glob_matches(glob, name));
    let wrong: Vec<_> = results.iter().filter(|(name, passed)| listed(name) == **passed).collect();
    assert!(wrong.is_empty(), "{revision}: failed though it is not on the list, or passed though it is: {wrong:?}");
    let passed = results.values().filter(|passed| **passed).count();
    eprintln!("{revision}: {passed} scenarios passed, {} did not, as listed", results.len() - passed);
}

#[test]
fn scenarios_of_2025_11_25_pass_except_the_listed_ones() {
    is_as_listed("2025-11-25", true);
}

#[test]
fn scenarios_of_2026_07_28_pass_except_the_listed_ones() {
    is_as_listed("2026-07-28", true);
}

#[test]
fn scenarios_of_both_versions_pass_with_version_detection() {
    is_as_listed("2025-11-25", false);
    is_as_listed("2026-07-28", false);
}

#[test]
fn scenarios_of_extensions_pass_except_the_listed_ones() {
    check("extensions", scenarios("2025-11-25", false, "extensions"));
}

/// The client that the suite starts. The last argument is the address of the server.
#[tokio::test]
#[ignore = "it is started by the suite"]
async fn the_client() {
    let url = std::env::args().next_back().unwrap_or_default();
    if std::env::var_os("MCP_CONFORMANCE_SCENARIO").is_some() {
        client::run(&url).await.unwrap_or_else(|words| panic!("{words}"));
    }
}
