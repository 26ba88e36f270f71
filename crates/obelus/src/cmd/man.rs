//! `obelus man`: pages of the manual, for packages.

use anyhow::{Context as _, Result};
use clap::CommandFactory as _;

use crate::cli::{Cli, Man};
use crate::output::{self, Exit};

pub(crate) fn run(args: &Man) -> Result<Exit> {
    match &args.out {
        Some(folder) => {
            let place = || folder.display().to_string();
            std::fs::create_dir_all(folder).with_context(place)?;
            clap_mangen::generate_to(Cli::command(), folder).with_context(place)?;
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut page)?;
            output::answer(String::from_utf8_lossy(&page).trim_end());
        }
    }
    Ok(Exit::Done)
}
