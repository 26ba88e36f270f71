//! The context of an element, if others have the same role and name.
//!
//! A list has a button "Delete" in every row. If a row disappears before a person approves, the button at the same
//! index belongs to another row. So a digest of its context is part of what is approved.

use super::address::digest;

/// A container with more lines is not a row.
const MOST_LINES: usize = 40;

/// The number of equal elements to compare with.
const MOST_LIKES: usize = 200;

/// A container without a role.
const WRAPPER: &str = "- generic";

/// A digest of the context of the element at line `at`. `likes` are the lines of the elements with its role and name;
/// the nearest container that differs from all of theirs is used.
pub(super) fn around(page: &str, at: usize, likes: &[usize]) -> Option<String> {
    let lines: Vec<&str> = page.lines().collect();
    let own = containers(&lines, at);
    let others: Vec<Vec<String>> = likes.iter().take(MOST_LIKES).map(|like| containers(&lines, *like)).collect();
    let is_unique = |level: usize| others.iter().all(|other| other.get(level) != own.get(level));
    let level = (0..own.len()).find(|level| is_unique(*level));
    if let Some(text) = level.and_then(|level| own.get(level)) {
        return Some(digest(text));
    }
    // In a long list without rows, the lines before it identify it.
    let from = outermost(&lines, at);
    let before = (0..from).rev().find(|line| depth_of(lines[*line]) <= depth_of(lines[from]));
    let before = before.filter(|before| depth_of(lines[*before]) == depth_of(lines[from]));
    let before = before.map(|before| plain(&lines[before..from]));
    before.or_else(|| own.first().cloned()).map(|text| digest(&text))
}

/// Roles of fields, whose lines contain their values.
const FIELDS: [&str; 6] = ["textbox", "searchbox", "spinbutton", "combobox", "listbox", "slider"];

/// States that change while a form is filled in.
const STATES: [&str; 5] = [" [disabled]", " [checked]", " [checked=mixed]", " [selected]", " [expanded]"];

/// A page without the values of its fields, so that a button's context is the same before and after filling in its
/// form.
pub(super) fn without_values(page: &str) -> String {
    let mut field = None;
    let mut plain = String::with_capacity(page.len());
    for line in page.lines() {
        let depth = depth_of(line);
        if field.is_some_and(|field| depth > field) {
            plain.push_str(&format!("{}{WRAPPER}\n", " ".repeat(depth)));
            continue;
        }
        let role = line.trim_start_matches([' ', '-', '\'']).split([' ', ':']).next().unwrap_or_default();
        field = FIELDS.contains(&role).then_some(depth);
        let id = line.find(" [ref=").filter(|_| field.is_some());
        let end = id.and_then(|id| Some(id + line[id..].find(']')? + 1)).unwrap_or(line.len());
        let line = STATES.iter().fold(line[..end].to_owned(), |line, state| line.replace(state, ""));
        plain.push_str(&format!("{line}\n"));
    }
    plain
}

/// The ancestors of a line, from itself up, each with its number of lines, as long as they may be a row.
fn chain(lines: &[&str], at: usize) -> Vec<(usize, usize)> {
    let mut chain = Vec::new();
    let mut from = Some(at);
    while let Some(line) = from {
        let size = below(lines, line).unwrap_or(1);
        if line != at && size > MOST_LINES {
            break;
        }
        chain.push((line, size));
        from = (0..line).rev().find(|above| depth_of(lines[*above]) < depth_of(lines[line]));
    }
    chain
}

/// The texts of the containers around a line that contain something else too, from the nearest on.
fn containers(lines: &[&str], at: usize) -> Vec<String> {
    let chain = chain(lines, at);
    let Some((_, own)) = chain.first().copied() else { return Vec::new() };
    let has_more = |(level, (_, size)): &(usize, &(usize, usize))| *size > own + level;
    let rows = chain.iter().enumerate().skip(1).filter(has_more);
    rows.map(|(_, (line, size))| plain(&lines[*line..line + size])).collect()
}

/// The outermost ancestor that may still be a row.
fn outermost(lines: &[&str], at: usize) -> usize {
    chain(lines, at).last().map_or(at, |(line, _)| *line)
}

/// The number of lines of the element at this line, including itself.
fn below(lines: &[&str], at: usize) -> Option<usize> {
    let depth = depth_of(lines.get(at)?);
    Some(1 + lines[at + 1..].iter().take_while(|line| depth_of(line) > depth).count())
}

fn depth_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Lines without parts that change: ids, the focus, and wrappers with their indentation.
fn plain(lines: &[&str]) -> String {
    let mut plain = String::new();
    for line in lines {
        let begins = plain.len();
        for (at, part) in line.split(" [").enumerate() {
            if at == 0 {
                plain.push_str(part.trim_start());
            } else if !part.starts_with("ref=") && !part.starts_with("active]") && !part.starts_with("cursor=") {
                plain.push_str(" [");
                plain.push_str(part);
            } else if let Some((_, rest)) = part.split_once(']') {
                plain.push_str(rest);
            }
        }
        if plain[begins..].trim_end_matches(':') == WRAPPER {
            plain.truncate(begins);
            continue;
        }
        plain.push('\n');
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::browser::PageSnapshot;

    fn name_at(snapshot: &PageSnapshot, line: usize) -> &str {
        snapshot.elements().iter().find(|element| element.line == line).map_or("", |element| &element.name)
    }

    fn arounds(page: &str) -> Vec<Option<String>> {
        let snapshot = PageSnapshot::parse(page);
        let buttons: Vec<_> = snapshot.elements().iter().filter(|element| element.role == "button").collect();
        let likes = |at: usize| {
            let others = buttons.iter().filter(|other| other.line != at && other.name == name_at(&snapshot, at));
            others.map(|other| other.line).collect::<Vec<_>>()
        };
        buttons.iter().map(|button| around(page, button.line, &likes(button.line))).collect()
    }

    #[test]
    fn rows_are_distinguished_and_recognised_later() {
        let page = "- list [ref=e1]:\n  - listitem [ref=e2]:\n    - text: Kettle\n    - generic [ref=e8]:\n      - button \"Delete\" [ref=e3]\n  \
                    - listitem [ref=e4]:\n    - text: Pot\n    - generic [ref=e9]:\n      - button \"Delete\" [active] [ref=e5]";
        let [Some(kettle), Some(pot)] = &arounds(page)[..] else { panic!("two rows") };
        assert_ne!(kettle, pot);
        let later = "- list [ref=f1e1]:\n  - listitem [ref=f1e4]:\n    - text: Pot\n    - generic [ref=f1e9]:\n      - button \"Delete\" [ref=f1e5]";
        assert_eq!(arounds(later), [Some(pot.clone())]);
    }

    #[test]
    fn rows_with_the_same_controls_are_distinguished_by_their_text() {
        let row = |name: &str, id: usize| {
            format!(
                "  - listitem [ref=e{id}]:\n    - text: {name}\n    - generic [ref=e{}]:\n      - button \"Edit\" [ref=e{}]\n      \
                 - button \"Delete\" [ref=e{}]\n",
                id + 1,
                id + 2,
                id + 3
            )
        };
        let page = format!("- list [ref=e1]:\n{}{}", row("Kettle", 10), row("Pot", 20));
        let all = arounds(&page);
        assert_ne!(all[1], all[3], "Delete of the kettle, and of the pot");
        let only = arounds(&format!("- list [ref=e1]:\n{}{}", row("Pot", 10), row("Cup", 20)));
        assert_eq!(only[1], all[3], "it is known again in another place");
    }

    #[test]
    fn a_row_with_new_wrappers_is_the_same_row() {
        let page = |button: &str, other: &str| {
            format!(
                "- list [ref=e1]:\n  - listitem [ref=e2]:\n    - text: Kettle\n{button}\n  - listitem [ref=e4]:\n    - text: Pot\n{other}"
            )
        };
        let plain = page("    - button \"More\" [ref=e3]", "    - button \"More\" [ref=e5]");
        let wrapped = page(
            "    - generic [ref=e8] [cursor=pointer]:\n      - generic [ref=e9]:\n        - button \"More\" [ref=e3]",
            "    - generic [ref=e6]:\n      - button \"More\" [ref=e5]",
        );
        assert_eq!(arounds(&plain), arounds(&wrapped));
        assert_ne!(arounds(&plain)[0], arounds(&plain)[1]);
        let named = page(
            "    - generic \"Sale\" [ref=e8]:\n      - button \"More\" [ref=e3]",
            "    - button \"More\" [ref=e5]",
        );
        assert_ne!(arounds(&plain)[0], arounds(&named)[0], "a wrapper with a name says something");
    }

    #[test]
    fn in_a_list_without_rows_the_preceding_text_identifies_an_element() {
        let mut page = "- main [ref=e1]:".to_owned();
        for number in 0..50 {
            page.push_str(&format!(
                "\n  - paragraph [ref=e{}]: Item {number}\n  - button \"Delete\" [ref=e{}]",
                number * 2 + 2,
                number * 2 + 3
            ));
        }
        let all = arounds(&page);
        assert!(all.iter().all(Option::is_some));
        assert_eq!(all.iter().collect::<std::collections::HashSet<_>>().len(), 50);
    }

    #[test]
    fn field_values_do_not_identify_a_row() {
        let row = |name: &str, count: &str, state: &str| {
            format!(
                "  - listitem [ref=e2]:\n    - text: {name}\n    - spinbutton \"Count\" [ref=e7]{count}\n    - combobox [ref=e8]:\n      \
                 - option \"Red\"{state}\n    - button \"Save\"{state} [ref=e3]\n"
            )
        };
        let page = |first: &str, count: &str, state: &str| {
            format!("- list [ref=e1]:\n{}{}", row(first, count, state), row("Pot", "", ""))
        };
        let plain = |page: &str| arounds(&without_values(page))[0].clone();
        let before = page("Kettle", "", " [disabled]");
        let after = page("Kettle", ": \"3\"", "");
        assert_ne!(arounds(&before)[0], arounds(&after)[0]);
        assert_eq!(plain(&before), plain(&after));
        assert_ne!(plain(&before), plain(&page("Cup", ": \"3\"", "")), "another row");
    }

    #[test]
    fn an_element_outside_rows_and_lists_has_no_surroundings() {
        assert_eq!(arounds("- button \"a\" [ref=e1]"), [None]);
        assert_eq!(arounds("- generic [ref=e2]:\n  - button \"a\" [ref=e1]"), [None]);
    }
}
