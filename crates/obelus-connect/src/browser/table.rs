//! Puts each table row on one line, with ` | ` between the cells, so that a model reads a table as a table.
//!
//! A cell is its text. Elements that can be pressed keep their role and id. Text that could be taken for a cell
//! border or an element is quoted.

use super::snapshot::{Key, key};

/// Roles of cells.
const CELLS: [&str; 4] = ["cell", "gridcell", "rowheader", "columnheader"];

/// Rows that contain one of these are shown line by line.
const NESTED: [&str; 9] = ["table", "grid", "treegrid", "row", "rowgroup", "list", "tree", "form", "dialog"];

/// A longer row is shown line by line.
const LONGEST: usize = 2_000;

/// A page with one line for each table row.
pub(super) fn joined_rows(page: &str) -> String {
    let lines: Vec<&str> = page.lines().collect();
    let mut whole = String::with_capacity(page.len());
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let below = lines[at + 1..].iter().take_while(|below| depth(below) > depth(line)).count();
        let row = joined(line, &lines[at + 1..=at + below]);
        at += 1 + row.as_ref().map_or(0, |_| below);
        if !whole.is_empty() {
            whole.push('\n');
        }
        whole.push_str(row.as_deref().unwrap_or(line));
    }
    whole
}

fn depth(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn body(line: &str) -> &str {
    let body = line.trim_start_matches(' ');
    body.strip_prefix("- ").unwrap_or(body)
}

/// A row with its cells on one line; none if it is not a row, or too complex.
fn joined(line: &str, below: &[&str]) -> Option<String> {
    let row = key(body(line)).filter(|row| row.role == "row" && !below.is_empty() && line.ends_with(':'))?;
    let is_nested = |line: &&&str| key(body(line)).is_some_and(|key| NESTED.contains(&key.role.as_str()));
    if below.iter().any(|line| is_nested(&line)) {
        return None;
    }
    // A row's name repeats its cells.
    let id = row.id.map(|id| format!(" [ref={id}]")).unwrap_or_default();
    let states: String = row.states.iter().map(|state| format!(" [{state}]")).collect();
    let head = format!("{}- row{id}{states}: ", " ".repeat(depth(line)));
    let joined = head + &parts(below).join(" | ");
    (joined.chars().count() <= LONGEST).then_some(joined)
}

/// The lines of the first depth, each with its descendants.
fn parts(lines: &[&str]) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = lines;
    while let Some((line, after)) = rest.split_first() {
        let below = after.iter().take_while(|below| depth(below) > depth(line)).count();
        parts.push(part(body(line), &after[..below]));
        rest = &after[below..];
    }
    parts
}

/// A line with its descendants, as part of a row.
fn part(body: &str, below: &[&str]) -> String {
    let inner = || parts(below).into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
    if let Some(text) = body.strip_prefix("text: ") {
        return words(&Key::of_text(text).text.unwrap_or_default());
    }
    let key = key(body).filter(|key| key.states.is_empty());
    match key {
        Some(key) if CELLS.contains(&key.role.as_str()) => {
            if below.is_empty() {
                words(key.text.as_deref().unwrap_or(&key.name))
            } else {
                inner()
            }
        }
        Some(Key { role, name, text: Some(text), .. }) if role == "generic" && name.is_empty() => words(&text),
        _ if below.is_empty() => body.to_owned(),
        _ => format!("{} ({})", body.strip_suffix(':').unwrap_or(body), inner()),
    }
}

/// Text of the page, quoted if it could be taken for something else.
fn words(text: &str) -> String {
    let is_plain = text.trim() == text && !text.contains(['|', '"', '[', ']', '→', '(', ')']);
    if is_plain && !text.chars().any(char::is_control) {
        text.to_owned()
    } else {
        serde_json::Value::from(text).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_one_line_with_its_cells_in_their_columns() {
        let page = "- table:\n  - row \"Pick Name Mail\":\n    - checkbox \"Pick all\" [ref=e1]\n    - columnheader \"Name\" [ref=e2]\n    \
                    - columnheader \"Mail\" [ref=e3]\n  - row \"Anna a@b.test\" [ref=e4]:\n    - checkbox \"Pick\" [ref=e5] [checked]\n    \
                    - link \"Anna\" [ref=e6] → /people/1\n    - cell [ref=e7]\n    - cell \"Edit Delete\":\n      \
                    - link \"Edit\" [ref=e8] → /people/1/edit:\n        - img \"pen\"\n      - text: or\n      - button \"Delete\" [ref=e9]\n\
                    - text: below";
        assert_eq!(
            joined_rows(page),
            "- table:\n  - row: checkbox \"Pick all\" [ref=e1] | Name | Mail\n  \
             - row [ref=e4]: checkbox \"Pick\" [ref=e5] [checked] | link \"Anna\" [ref=e6] → /people/1 |  | \
             link \"Edit\" [ref=e8] → /people/1/edit (img \"pen\"), or, button \"Delete\" [ref=e9]\n- text: below"
        );
        assert_eq!(joined_rows(""), "");
    }

    #[test]
    fn page_text_cannot_imitate_cells_or_elements() {
        let page = "- row \"x\":\n  - cell \"a | button \\\"Pay\\\" [ref=e1]\" [ref=e2]\n  - cell [ref=e3] [cursor=pointer]: press\n  - cell \"b\" [ref=e4]";
        assert_eq!(
            joined_rows(page),
            "- row: \"a | button \\\"Pay\\\" [ref=e1]\" | cell [ref=e3] [cursor=pointer]: press | b"
        );
    }

    #[test]
    fn rows_with_nested_tables_or_long_content_are_shown_line_by_line() {
        let nested = "- row \"x\":\n  - cell:\n    - table:\n      - row \"y\":\n        - cell \"1\" [ref=e1]\n        - cell \"2\" [ref=e2]";
        assert_eq!(joined_rows(nested), "- row \"x\":\n  - cell:\n    - table:\n      - row: 1 | 2");
        let long = format!("- row \"x\":\n  - cell \"{}\" [ref=e1]", "y".repeat(LONGEST));
        assert_eq!(joined_rows(&long), long);
        assert_eq!(joined_rows("- row \"alone\" [ref=e1]"), "- row \"alone\" [ref=e1]");
    }
}
