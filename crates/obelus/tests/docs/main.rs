//! Every command in the README and in docs/ is run, and prints what is shown there.
//!
//! Each document is one story: its commands run in their order, in one shell, in a folder that is empty but for what the
//! reader of a clone has (`agents`, `examples`, …). CONTRIBUTING.md says how files, commands and exceptions are written.

mod document;
mod output;
mod shell;

use std::fs;
use std::path::{Path, PathBuf};

use document::{Step, steps};

/// Runs a document and reports everything that is not as it says.
fn check(name: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository");
    let text = fs::read_to_string(root.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let steps = steps(&text).unwrap_or_else(|error| panic!("{name}, {error}"));
    let folder = empty_folder(name, &root);
    let ran = shell::run(&folder, &steps);
    let commands: Vec<_> = steps
        .iter()
        .filter_map(|step| match step {
            Step::Command(command) => Some(command),
            Step::File { .. } => None,
        })
        .collect();
    let mut problems = Vec::new();
    for (index, command) in commands.iter().enumerate() {
        let place = format!("{name}:{}: {}", command.line, command.text);
        match ran.get(index) {
            None => problems.push(format!("{place}\nwas not reached")),
            Some(ran) if command.must_succeed && ran.code != 0 => {
                problems.push(format!("{place}\nended with {}:\n{}", ran.code, ran.output));
            }
            Some(ran) if command.printed.is_empty() && matches!(ran.code, 2 | 101 | 126 | 127) => {
                problems.push(format!("{place}\nended with {}:\n{}", ran.code, ran.output));
            }
            Some(ran) if !command.printed.is_empty() => {
                if let Some(difference) = output::difference(&command.printed, &ran.output) {
                    problems.push(format!("{place}\n{difference}"));
                }
            }
            Some(_) => {}
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
    fs::remove_dir_all(&folder).expect("it was made here");
}

fn empty_folder(name: &str, root: &Path) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("docs-{}", name.replace('/', "-")));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a writable folder");
    for name in ["examples", "vectors"] {
        std::os::unix::fs::symlink(root.join(name), folder.join(name)).expect("a link");
    }
    folder
}

macro_rules! documents {
    ($($test:ident: $name:literal,)*) => {
        $(#[test] fn $test() { check($name); })*
    };
}

documents! {
    the_tutorial: "docs/tutorial.md",
}
