//! `obelus vectors`

use anyhow::{Result, anyhow};

use crate::cli::Vectors;
use crate::input;
use crate::output::{self, Exit};

pub(crate) fn run(args: &Vectors) -> Result<Exit> {
    let mut report = obelus_vectors::Report::default();
    for file in obelus_vectors::find_files(&args.paths).map_err(|error| anyhow!("{error}"))? {
        let text = input::text(&file)?;
        report.outcomes.extend(obelus_vectors::run_file(&file, &text).map_err(|error| anyhow!("{error}"))?);
    }
    if args.json {
        output::json(&report.to_json());
    } else {
        output::answer(&output::visible(&report.to_text()));
    }
    Ok(if report.failed() == 0 { Exit::Done } else { Exit::Failed })
}
