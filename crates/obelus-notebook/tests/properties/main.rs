//! What holds for every input, and not only for those that somebody thought of.
//!
//! # Layout
//!
//! One file for each subject; [`generate`] makes the inputs, [`naive`] is the other opinion: the rules written
//! down as plainly as they can be, without a thought for speed. `PROPTEST_CASES` sets how many inputs are tried.

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

/// So many cases, unless the environment asks for another number. What has failed once stands beside the source.
#[expect(clippy::disallowed_methods, reason = "the number of cases is not the notebook's to know")]
fn cases(usual: u32) -> Config {
    let mut config = Config {
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        // Plans whose calls wait for each other are thrown away where waves are looked at.
        max_global_rejects: u32::MAX,
        ..Config::default()
    };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = usual;
    }
    config
}
