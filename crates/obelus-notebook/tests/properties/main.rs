//! Properties that are true for all inputs.
//!
//! # Layout
//!
//! One file for each subject. [`generate`] creates the inputs. [`naive`] is a second implementation of the rules,
//! simple and slow. `PROPTEST_CASES` sets the number of inputs.

mod generate;
mod naive;
mod plans;

mod canonical;
mod expressions;
mod fold;
mod instances;
mod rejection;
mod rivals;
mod waves;

use proptest::test_runner::{Config, FileFailurePersistence};

/// The configuration with this number of cases, unless the environment sets another. Failing inputs are stored beside
/// the source.
#[expect(clippy::disallowed_methods, reason = "the number of cases is not the notebook's to know")]
fn cases(usual: u32) -> Config {
    let mut config = Config {
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        // The tests of waves reject plans with cycles.
        max_global_rejects: u32::MAX,
        ..Config::default()
    };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = usual;
    }
    config
}
