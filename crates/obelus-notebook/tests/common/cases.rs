//! The number of cases of a property.

use proptest::test_runner::{Config, FileFailurePersistence};

/// The configuration with this number of cases, unless `PROPTEST_CASES` sets another. Failing inputs are stored beside
/// the source.
#[expect(clippy::disallowed_methods, reason = "the number of cases is not the crate's to know")]
pub(crate) fn cases(usual: u32) -> Config {
    let mut config = Config {
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..Config::default()
    };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = usual;
    }
    config
}
