//! What stands around an element, where others have its role and its name.
//!
//! A list has a button "Delete" in every row. If a row is gone by the time somebody agreed, the button at the same place
//! belongs to another one; so what stands beside it is part of what was agreed to, as a digest.

use super::address::digest;
use super::snapshot::Element;

/// A container with more lines than this is no row.
const MOST_LINES: usize = 40;

/// An element that only holds others.
const WRAPPER: &str = "- generic";

/// A digest of what stands around the element at a line of a page.
pub(super) fn around(page: &str, element: &Element) -> Option<String> {
    let lines: Vec<&str> = page.lines().collect();
    let at = element.line;
    let own = below(&lines, at)?;
    // The nearest container that has something else in it: more lines than lead down to the element, and its own.
    let (mut from, mut chain) = (at, own);
    while let Some(above) = (0..from).rev().find(|line| depth_of(lines[*line]) < depth_of(lines[from])) {
        let size = below(&lines, above)?;
        if size > MOST_LINES {
            break;
        }
        chain += 1;
        if size > chain {
            return Some(digest(&plain(&lines[above..above + size])));
        }
        from = above;
    }
    // In a long list without rows, what comes right before it says which one it is.
    let before = (0..from).rev().find(|line| depth_of(lines[*line]) <= depth_of(lines[from]))?;
    (depth_of(lines[before]) == depth_of(lines[from])).then(|| digest(&plain(&lines[before..from])))
}

/// How many lines belong to the one at this place, itself among them.
fn below(lines: &[&str], at: usize) -> Option<usize> {
    let depth = depth_of(lines.get(at)?);
    Some(1 + lines[at + 1..].iter().take_while(|line| depth_of(line) > depth).count())
}

fn depth_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Lines without what is another each time: ids, which element has the keyboard's attention, and wrappers that say nothing,
/// with the depth that they make.
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

    fn arounds(page: &str) -> Vec<Option<String>> {
        let snapshot = PageSnapshot::parse(page);
        let buttons = snapshot.elements().iter().filter(|element| element.role == "button");
        buttons.map(|button| around(page, button)).collect()
    }

    #[test]
    fn rows_are_told_apart_and_known_again() {
        let page = "- list [ref=e1]:\n  - listitem [ref=e2]:\n    - text: Kettle\n    - generic [ref=e8]:\n      - button \"Delete\" [ref=e3]\n  \
                    - listitem [ref=e4]:\n    - text: Pot\n    - generic [ref=e9]:\n      - button \"Delete\" [active] [ref=e5]";
        let [Some(kettle), Some(pot)] = &arounds(page)[..] else { panic!("two rows") };
        assert_ne!(kettle, pot);
        let later = "- list [ref=f1e1]:\n  - listitem [ref=f1e4]:\n    - text: Pot\n    - generic [ref=f1e9]:\n      - button \"Delete\" [ref=f1e5]";
        assert_eq!(arounds(later), [Some(pot.clone())]);
    }

    #[test]
    fn a_row_that_is_wrapped_anew_is_the_same() {
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
    fn in_a_list_without_rows_what_comes_before_counts() {
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
    fn an_element_that_stands_alone_has_nothing_around_it() {
        assert_eq!(arounds("- button \"a\" [ref=e1]"), [None]);
        assert_eq!(arounds("- generic [ref=e2]:\n  - button \"a\" [ref=e1]"), [None]);
    }
}
