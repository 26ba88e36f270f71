//! The cost of durability, compared with a plain append and `fdatasync`, by number of sessions and of records.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::Figures;
use crate::step::target;

/// Prints the figures; returns whether every target is met.
pub(super) fn measure() -> Result<bool> {
    super::build("obelus-runtime", "durable")?;
    let target = target()?;
    let program = target.join("release/examples/durable");
    let folder = target.join("bench-durable");
    std::fs::create_dir_all(&folder)?;
    let run = |arguments: &[&str]| figures(&program, &folder, arguments);

    let one = run(&["one"])?;
    let many = run(&["many"])?;
    let bytes = run(&["bytes"])?;
    let opened = |sessions: &str| -> Result<Figures> {
        run(&["fill", sessions])?;
        run(&["open"])
    };
    let (few, all) = (opened("10")?, opened("100000")?);
    let aged = |records: &str| -> Result<Figures> {
        run(&["age", records])?;
        run(&["resume"])
    };
    let (young, old) = (aged("1000")?, aged("100000")?);
    std::fs::remove_dir_all(&folder)?;

    let met = print_throughput(&one, &many, &bytes);
    Ok(met & print_growth([&few, &all], [&young, &old]))
}

/// Steps per second and bytes on disk.
fn print_throughput(one: &Figures, many: &Figures, bytes: &Figures) -> bool {
    print(["durability", "this", "compared", "ratio", "target"].map(str::to_owned));
    print_rows(&[
        ("one session, steps a second", one["rate"], one["raw"], one["ratio"], Target::Least(0.35)),
        ("64 sessions, steps a second", many["rate"], many["raw"], many["ratio"], Target::Least(0.25)),
        ("  records, the store alone", many["store_rate"], many["raw"], many["store_ratio"], Target::Shown),
        ("bytes on disk, by JSON", bytes["ratio"] * bytes["json"], bytes["json"], bytes["ratio"], Target::Most(3.0)),
        (
            "  while the store is open",
            bytes["while_held"] * bytes["json"],
            bytes["json"],
            bytes["while_held"],
            Target::Shown,
        ),
    ])
}

/// How opening and restoring grow with the number of sessions and records.
fn print_growth([few, all]: [&Figures; 2], [young, old]: [&Figures; 2]) -> bool {
    let megabytes = (all["resident_kb"] - few["resident_kb"]) / 1024.0;
    print_rows(&[
        (
            "opening, 100,000 sessions, ms",
            all["milliseconds"],
            few["milliseconds"],
            all["milliseconds"] / few["milliseconds"],
            Target::Most(2.0),
        ),
        (
            "memory for them, MB",
            all["resident_kb"] / 1024.0,
            few["resident_kb"] / 1024.0,
            megabytes,
            Target::Most(20.0),
        ),
        (
            "restoring 100,000 records, ms",
            old["milliseconds"],
            young["milliseconds"],
            old["milliseconds"] / young["milliseconds"],
            Target::Most(3.0),
        ),
        (
            "  without a snapshot, ms",
            old["without_snapshot"],
            young["without_snapshot"],
            old["without_snapshot"] / young["without_snapshot"],
            Target::Shown,
        ),
    ])
}

/// The subject, the figure, the reference, the ratio, the target.
type Measure = (&'static str, f64, f64, f64, Target);

/// Prints the rows; returns whether every target is met.
fn print_rows(rows: &[Measure]) -> bool {
    let mut met = true;
    for (what, this, beside, ratio, target) in rows {
        let (words, holds) = match target {
            Target::Least(least) => (format!("≥ {least:.2}"), ratio >= least),
            Target::Most(most) => (format!("≤ {most}"), ratio <= most),
            Target::Shown => (String::new(), true),
        };
        met &= holds;
        print([(*what).to_owned(), format!("{this:.1}"), format!("{beside:.1}"), format!("{ratio:.2}"), words]);
    }
    met
}

/// The target of a ratio.
#[derive(Clone, Copy)]
enum Target {
    Least(f64),
    Most(f64),
    /// No target.
    Shown,
}

fn figures(program: &Path, folder: &Path, arguments: &[&str]) -> Result<Figures> {
    let (figure, rest) = arguments.split_first().context("a figure")?;
    let output =
        Command::new(program).arg(figure).arg(folder).args(rest).output().context("`durable` cannot be run")?;
    if !output.status.success() {
        bail!("`durable {}` failed:\n{}", arguments.join(" "), String::from_utf8_lossy(&output.stderr));
    }
    Ok(super::figures_of(&String::from_utf8(output.stdout)?))
}

#[expect(clippy::print_stdout, reason = "the table is what the command is for")]
fn print([what, this, beside, ratio, target]: [String; 5]) {
    println!("{what:32} {this:>12} {beside:>12} {ratio:>8} {target:>8}");
}
