//! `obelus vectors`

use anyhow::{Result, anyhow};

use crate::cli::Vectors;
use crate::output::{self, Exit};

pub(crate) fn run(args: &Vectors) -> Result<Exit> {
    let report = obelus_vectors::run_paths(&args.paths).map_err(|error| anyhow!("{error}"))?;
    if args.json {
        output::json(&report.to_json());
    } else {
        output::answer(&output::visible(&report.to_text()));
    }
    Ok(if report.failed() == 0 { Exit::Done } else { Exit::Failed })
}
