//! POL-4, POL-6: where values come from, and that nothing untrusted steers an action unseen.
//!
//! # Layout
//!
//! [`memory`] holds the labels of memory against the rule as it is written. [`steering`] plays whole sessions and
//! follows what is not trusted by a mark in the values themselves, without a look at any label: [`world`] says what
//! happens, [`driver`] lets it happen and watches. [`stories`] are single cases that a vector cannot tell.

mod driver;
mod memory;
mod steering;
mod stories;
mod world;

use proptest::test_runner::{Config, FileFailurePersistence};

/// So many cases, unless the environment asks for another number. What has failed once stands beside the source.
#[expect(clippy::disallowed_methods, reason = "the number of cases is not the kernel's to know")]
fn cases(usual: u32) -> Config {
    let mut config = Config {
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..Config::default()
    };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = usual;
    }
    config
}
