//! The rows as a table in the terminal, as JSON, and in `docs/benchmarks.md`.

use anyhow::{Context, Result};
use serde_json::Value;

use super::row::BenchRow;
use crate::step::root;

/// The markers of the table in the document. Text outside of them is written by hand.
const BEGIN: &str = "<!-- written by cargo xtask bench -->";
const END: &str = "<!-- end of what cargo xtask bench writes -->";

const HEADS: [&str; 7] = ["", "unit", "Obelus", "peer", "ratio", "goal", "holds"];

/// The cells of a row, in the order of [`HEADS`].
fn cells(row: &BenchRow) -> [String; 7] {
    let holds = match row.holds() {
        Some(true) => "yes",
        Some(false) => "NO",
        None if row.peer.is_none() => "not measured",
        None => "",
    };
    [
        format!("{} | {}", row.name, row.beside),
        row.unit.to_owned(),
        number(row.ours),
        row.peer.map(number).unwrap_or_default(),
        row.ratio().map(number).unwrap_or_default(),
        row.goal.in_words(),
        holds.to_owned(),
    ]
}

/// The table for a terminal.
pub(super) fn text(rows: &[BenchRow]) -> String {
    let lines: Vec<[String; 7]> = std::iter::once(HEADS.map(str::to_owned)).chain(rows.iter().map(cells)).collect();
    let widths: Vec<usize> =
        (0..7).map(|at| lines.iter().map(|line| line[at].chars().count()).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for line in &lines {
        for (at, cell) in line.iter().enumerate() {
            let space = " ".repeat(widths[at] - cell.chars().count());
            // Figures are right-aligned.
            text.push_str(&if (2..5).contains(&at) { format!("{space}{cell}  ") } else { format!("{cell}{space}  ") });
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

/// All rows as one JSON document.
pub(super) fn json(machine: &str, rows: &[BenchRow]) -> Value {
    serde_json::json!({"machine": machine, "rows": rows.iter().map(BenchRow::to_json).collect::<Vec<_>>()})
}

/// The table in Markdown, below the machine and the date.
pub(super) fn markdown(machine: &str, rows: &[BenchRow]) -> String {
    let mut text =
        format!("Measured on {machine}.\n\n| what | beside | unit | Obelus | peer | ratio | goal | holds |\n");
    text.push_str("|---|---|---|---:|---:|---:|---|---|\n");
    for row in rows {
        text.push_str(&format!("| {} |\n", cells(row).join(" | ")));
    }
    text
}

/// Puts the table between the markers of `docs/benchmarks.md`.
pub(super) fn write(table: &str) -> Result<()> {
    let path = root().join("docs/benchmarks.md");
    let old = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let new = placed(&old, table).with_context(|| format!("{} needs the lines {BEGIN} and {END}", path.display()))?;
    std::fs::write(&path, new).with_context(|| path.display().to_string())
}

/// The document with this table between its markers; none if it has no markers.
fn placed(document: &str, table: &str) -> Option<String> {
    let (before, rest) = document.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{}\n{END}{after}", table.trim_end()))
}

/// A figure with three significant digits.
fn number(figure: f64) -> String {
    match figure.abs() {
        0.0 => "0".to_owned(),
        size if size >= 100.0 => super::grouped(figure.round() as u64),
        size if size >= 10.0 => format!("{figure:.1}"),
        size if size >= 0.01 => format!("{figure:.2}"),
        _ => format!("{figure:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::row::Goal;
    use super::super::row::tests::row;
    use super::{BEGIN, END, markdown, number, placed, text};

    #[test]
    fn a_row_below_its_goal_is_marked() {
        let rows = [row(2.0, Some(400.0), Goal::Ratio(100.0)), row(2.0, Some(40.0), Goal::Ratio(100.0))];
        let lines = text(&rows);
        let ends: Vec<&str> = lines.lines().skip(1).filter_map(|line| line.split_whitespace().last()).collect();
        assert_eq!(ends, ["yes", "NO"]);
        let document = markdown("a machine", &rows);
        assert!(
            document.ends_with("| a step | LangGraph | µs | 2.00 | 40.0 | 20.0 | ratio ≥ 100 | NO |\n"),
            "{document}"
        );
    }

    #[test]
    fn text_outside_the_markers_is_preserved() {
        let document = format!("# Title\n\nby hand\n\n{BEGIN}\nold\n{END}\n\nby hand too\n");
        let written = placed(&document, "new\n").unwrap();
        assert_eq!(written, format!("# Title\n\nby hand\n\n{BEGIN}\nnew\n{END}\n\nby hand too\n"));
        assert_eq!(placed(&written, "new").as_ref(), Some(&written), "the same again");
        assert_eq!(placed("no markers", "new"), None);
    }

    #[test]
    fn figures_have_three_significant_digits() {
        assert_eq!([0.0, 0.0012, 1.234, 45.67, 1234.5].map(number), ["0", "0.0012", "1.23", "45.7", "1,235"]);
    }
}
