//! Properties that hold for every input.
//!
//! # Layout
//!
//! One file for each subject. [`generate`] makes the inputs. [`naive`] is a second implementation of the rules, as plain
//! as possible and slow. `PROPTEST_CASES` sets how many inputs are tried.

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

/// The number of cases, unless the environment sets another. Inputs that failed once are kept beside the source.
#[expect(clippy::disallowed_methods, reason = "the number of cases is not the notebook's to know")]
fn cases(usual: u32) -> Config {
    let mut config = Config {
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        // The tests of waves reject plans whose calls wait for each other.
        max_global_rejects: u32::MAX,
        ..Config::default()
    };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = usual;
    }
    config
}
