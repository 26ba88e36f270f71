//! `obelus completions`

use clap::CommandFactory;

use crate::cli::{Cli, Completions};
use crate::output::{self, Exit};

pub(crate) fn run(args: &Completions) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "obelus", &mut script);
    output::answer(String::from_utf8_lossy(&script).trim_end());
    Exit::Done
}
