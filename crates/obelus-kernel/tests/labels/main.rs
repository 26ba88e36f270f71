//! POL-4, POL-6: provenance of values; untrusted data does not choose the target of a call without a person's approval.
//!
//! # Layout
//!
//! [`memory`] compares the labels of memory with the text of the rule. [`steering`] plays whole sessions and follows
//! untrusted data by marks in the values, independently of labels: [`world`] generates the events, [`driver`] plays and
//! checks them. [`stories`] are single cases that vectors cannot express.

mod driver;
mod memory;
mod steering;
mod stories;
mod world;

use proptest::test_runner::{Config, FileFailurePersistence};

/// The number of cases, unless `PROPTEST_CASES` sets another. Failed cases are stored beside the source.
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
