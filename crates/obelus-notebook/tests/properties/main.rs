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

#[path = "../common/cases.rs"]
mod common;

use proptest::test_runner::Config;

/// The configuration with this number of cases. The tests of waves reject plans with cycles, as many as there are.
fn cases(usual: u32) -> Config {
    Config { max_global_rejects: u32::MAX, ..common::cases(usual) }
}
