//! A fuzz test of vectors: a file of cases is refused, or its cases run.

#[path = "../../../fuzz/engine.rs"]
#[expect(dead_code, reason = "each crate uses a part of it")]
mod engine;

use std::path::Path;

use engine::{fuzz_some, lossy};
use obelus_vectors::run_file;

#[test]
fn vectors_are_refused_or_run() {
    fuzz_some("vectors", 300, |input| {
        run_file(Path::new("cases.json"), &lossy(input)).is_ok_and(|cases| !cases.is_empty())
    });
}
