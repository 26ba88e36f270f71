//! Benchmarks: one table, with each figure beside that of a peer or of a physical limit from the same run.
//!
//! # Layout
//!
//! | file | subject |
//! |---|---|
//! | `row`, `table` | a figure with its peer and its goal; the table in the terminal, as JSON and in `docs/benchmarks.md` |
//! | `langgraph` | LangGraph in a Python environment of its own |
//! | `chain` | steps of chains, branches of fan-outs: in memory, durable, by command |
//! | `thread` | a conversation that grows |
//! | `kill` | effects repeated after a hard kill |
//! | `prompt` | characters sent to the model for a task, and the share that a cache has |
//! | `serve` | a server under load |
//! | `durable` | durability beside a plain append and sync |
//! | `instructions`, `stream` | growth in instructions, which does not depend on the load of the machine |
//! | `operator` | a step of the operator agent beside a snapshot by the browser |
//! | `restate` | a step on a Restate server beside a bare service |

mod chain;
mod durable;
mod instructions;
mod kill;
mod langgraph;
mod operator;
mod prompt;
mod restate;
mod row;
mod serve;
mod stream;
mod table;
mod thread;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::step::{cargo, step, target};
use langgraph::LangGraph;
use row::BenchRow;

const HELP: &str = "\
usage: cargo xtask bench [PART…] [--quick] [--json]

Measures Obelus beside LangGraph and beside what the machine can do at best, prints one table, and writes it to
docs/benchmarks.md if all parts were measured. LangGraph is installed from PyPI into the target folder, once. The release
build takes 10 minutes or more the first time; the measurement takes some minutes with --quick, else about half an hour.

  --quick   leaves out threads of 100,000 messages, LangGraph's fan-out of 10,000, and the parts in brackets; 400 streams
            and 1,000 idle sessions instead of 4,000 and 20,000
  --json    prints {machine, rows: [{name, unit, ours, beside, peer, ratio, goal, holds}]}

Parts; all of them by default:
  chain           a step of 10, 100 and 1,000: in memory, durable, by command
  fan             a branch of a fan-out of 100, 1,000 and 10,000
  thread          a conversation that grows
  kill            effects repeated after a hard kill
  prompt          characters sent to the model for a task, and the share that a cache has
  serve           a turn over HTTP; the memory of open streams and of a store of idle sessions, the first page of its list
  durable         durability beside a plain append and fdatasync
  [instructions]  growth in instructions (needs valgrind)
  [stream]        the reading of a streamed answer (needs valgrind)
  [operator]      a step of the operator beside a snapshot (needs node, npm and chromium)
  restate         only if it is named: a step on a Restate server, at most 5 minutes (needs npm)

Examples:
  cargo xtask bench --quick
  cargo xtask bench chain kill
  cargo xtask bench --quick --json | jq '.rows[] | select(.holds == false)'

The exit code is 1 if a goal was missed.
";

/// A part of the benchmarks.
struct BenchPart {
    name: &'static str,
    rows: fn(&BenchRun) -> Result<Vec<BenchRow>>,
    /// The examples that it runs.
    examples: &'static [&'static str],
    /// When it is measured, unless it is named.
    by_default: ByDefault,
}

/// Which runs measure a part that is not named.
#[derive(Clone, Copy, PartialEq)]
enum ByDefault {
    Always,
    /// All but those with `--quick`.
    Long,
    Never,
}

const PARTS: [BenchPart; 11] = [
    BenchPart { name: "chain", rows: chain::rows, examples: &["chain", "peer"], by_default: ByDefault::Always },
    BenchPart { name: "fan", rows: chain::fans, examples: &["chain"], by_default: ByDefault::Always },
    BenchPart { name: "thread", rows: thread::rows, examples: &["peer"], by_default: ByDefault::Always },
    BenchPart { name: "kill", rows: kill::rows, examples: &["peer"], by_default: ByDefault::Always },
    BenchPart { name: "prompt", rows: prompt::rows, examples: &[], by_default: ByDefault::Always },
    BenchPart { name: "serve", rows: serve::rows, examples: &[], by_default: ByDefault::Always },
    BenchPart { name: "durable", rows: durable::rows, examples: &["durable"], by_default: ByDefault::Always },
    BenchPart {
        name: "instructions",
        rows: instructions::rows,
        examples: &["cost", "chain"],
        by_default: ByDefault::Long,
    },
    BenchPart { name: "stream", rows: stream::rows, examples: &["cost"], by_default: ByDefault::Long },
    BenchPart { name: "operator", rows: operator::rows, examples: &["operator"], by_default: ByDefault::Long },
    BenchPart { name: "restate", rows: restate::rows, examples: &["throughput"], by_default: ByDefault::Never },
];

/// The packages of the examples.
const EXAMPLES: [(&str, &[&str]); 4] = [
    ("obelus-runtime", &["chain", "durable", "peer"]),
    ("obelus-kernel", &["cost"]),
    ("obelus-connect", &["operator"]),
    ("obelus-restate", &["throughput"]),
];

/// The arguments of the command.
#[derive(Debug, Default, PartialEq)]
struct Arguments {
    parts: Vec<String>,
    quick: bool,
    json: bool,
}

/// A run of the benchmarks.
pub(crate) struct BenchRun {
    /// Fewer rounds and smaller sizes.
    quick: bool,
}

/// Runs the parts that the arguments name.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    if arguments.iter().any(|word| matches!(*word, "--help" | "-h" | "help")) {
        print(HELP);
        return Ok(());
    }
    let arguments = read(arguments)?;
    let is_wanted = |part: &&BenchPart| {
        if arguments.parts.is_empty() {
            match part.by_default {
                ByDefault::Always => true,
                ByDefault::Long => !arguments.quick,
                ByDefault::Never => false,
            }
        } else {
            arguments.parts.iter().any(|name| name == part.name)
        }
    };
    let parts: Vec<&BenchPart> = PARTS.iter().filter(is_wanted).collect();
    build(&parts)?;
    let run = BenchRun { quick: arguments.quick };
    let (mut rows, mut failures) = (Vec::new(), Vec::new());
    for part in parts {
        // A part that fails does not lose the figures of the others, which took minutes.
        match (part.rows)(&run) {
            Ok(measured) => rows.extend(measured),
            Err(error) => failures.push(format!("bench {}: {error:#}", part.name)),
        }
    }
    std::fs::remove_dir_all(target()?.join("bench-work")).ok();
    let machine = machine(arguments.quick);
    if arguments.json {
        print(&format!("{:#}\n", table::json(&machine, &rows)));
    } else {
        print(&table::text(&rows));
    }
    if arguments.parts.is_empty() && failures.is_empty() {
        table::write(&table::markdown(&machine, &rows))?;
    }
    if !failures.is_empty() {
        bail!("{}", failures.join("\n"));
    }
    let missed: Vec<String> = rows.iter().filter(|row| row.holds() == Some(false)).map(of_goal).collect();
    if missed.is_empty() {
        Ok(())
    } else {
        bail!("{} of {} goals missed: {}", missed.len(), rows.len(), missed.join("; "))
    }
}

fn of_goal(row: &BenchRow) -> String {
    format!("{} ({})", row.name.trim(), row.beside)
}

/// Parses the arguments; the error lists the valid ones.
fn read(words: &[&str]) -> Result<Arguments> {
    let mut arguments = Arguments::default();
    for word in words {
        match *word {
            "--quick" => arguments.quick = true,
            "--json" => arguments.json = true,
            part if PARTS.iter().any(|known| known.name == part) => arguments.parts.push(part.to_owned()),
            other => bail!("bench: `{other}` is no part and no option; `cargo xtask bench --help` lists them"),
        }
    }
    Ok(arguments)
}

/// Builds the program as users install it, then the examples separately: together, the program would get the features
/// of tests.
fn build(parts: &[&BenchPart]) -> Result<()> {
    let release = ["build", "--release", "--quiet"];
    // This part alone does not run it.
    if parts.iter().any(|part| part.name != "restate") {
        step("building `obelus` for release", cargo(&release).args(["--package", "obelus", "--bin", "obelus"]))?;
    }
    for (package, all) in EXAMPLES {
        let is_wanted = |example: &&str| parts.iter().any(|part| part.examples.contains(example));
        let examples: Vec<&str> = all.iter().copied().filter(is_wanted).collect();
        if examples.is_empty() {
            continue;
        }
        let mut build = cargo(&release);
        build.args(["--package", package]);
        for example in &examples {
            build.args(["--example", example]);
        }
        step(&format!("building {} for release", examples.join(", ")), &mut build)?;
    }
    Ok(())
}

impl BenchRun {
    /// Rounds in which two sides are measured in turn. The number is odd, so that the median is one of the values.
    fn rounds(&self) -> usize {
        if self.quick { 3 } else { 9 }
    }

    /// Prints what is measured next.
    #[expect(clippy::unused_self, reason = "only a run has something to say")]
    fn say(&self, what: &str) {
        eprintln!("── {what}");
    }

    /// An empty folder for the files of a part.
    #[expect(clippy::unused_self, reason = "only a run has files")]
    fn folder(&self, name: &str) -> Result<String> {
        let folder = target()?.join("bench-work").join(name);
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        std::fs::create_dir_all(&folder)?;
        Ok(folder.display().to_string())
    }
}

/// Describes the machine, the day and the kind of run.
fn machine(quick: bool) -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ")).map(|(_, name)| name);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("unknown").to_owned();
    let date =
        Command::new("date").arg("+%Y-%m-%d").output().map(|out| String::from_utf8_lossy(&out.stdout).into_owned());
    format!(
        "{}, {cores} cores, load {load} at the end, {}, beside {}{}",
        model.unwrap_or("an unknown CPU"),
        date.unwrap_or_default().trim(),
        LangGraph::name(),
        if quick { ", with `--quick`" } else { "" }
    )
}

/// The folder with the built examples.
fn programs() -> Result<PathBuf> {
    Ok(target()?.join("release/examples"))
}

/// Figures by name.
type Figures = BTreeMap<String, f64>;

/// Runs a program that prints lines with a name and a number.
fn figures(command: &mut Command) -> Result<Figures> {
    Ok(figures_of(&output(command)?))
}

/// The output of a program. If it fails, the error has its messages.
fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("{} cannot be run", command.get_program().display()))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        bail!("{command:?} ended with {}:\n{words}", output.status);
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Parses lines with a name and a number.
fn figures_of(text: &str) -> Figures {
    let read = |line: &str| Some((line.split_once(' ')?.0.to_owned(), line.split_once(' ')?.1.parse().ok()?));
    text.lines().filter_map(read).collect()
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

#[expect(clippy::print_stdout, reason = "the table is what the command is for")]
fn print(text: &str) {
    print!("{text}");
}

/// `1234567` as `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Arguments, EXAMPLES, HELP, PARTS, figures_of, grouped, median, read};

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!([1, 999, 1000, 1_234_567].map(grouped), ["1", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn the_median_is_the_middle_value() {
        assert_eq!(median(vec![9.0, 1.0, 2.0]), 2.0);
    }

    #[test]
    fn figures_are_read_by_name_and_other_lines_are_left_out() {
        let figures = figures_of("rate 2.5\nsome words here\n10 3\n");
        assert_eq!(figures.into_iter().collect::<Vec<_>>(), [("10".to_owned(), 3.0), ("rate".to_owned(), 2.5)]);
    }

    #[test]
    fn options_and_parts_are_accepted_in_any_order() {
        let parts = vec!["kill".to_owned()];
        assert_eq!(read(&["kill", "--json", "--quick"]).unwrap(), Arguments { parts, quick: true, json: true });
        let error = read(&["--fast"]).unwrap_err().to_string();
        assert!(error.contains("`--fast`") && error.contains("--help"), "{error}");
    }

    #[test]
    fn every_example_of_a_part_is_built() {
        let known = |example: &&str| EXAMPLES.iter().any(|(_, all)| all.contains(example));
        assert!(PARTS.iter().flat_map(|part| part.examples).all(known));
    }

    #[test]
    fn the_help_names_every_part() {
        for part in PARTS {
            assert!(HELP.contains(&format!("  {} ", part.name)) || HELP.contains(&format!("[{}]", part.name)));
        }
    }
}
