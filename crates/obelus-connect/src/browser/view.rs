//! What a page shows, in as few lines as it takes.
//!
//! Playwright writes a line for every box of a page. The model is shown those that say something: containers without a
//! role, a name and a text are left out, an address stands in the line of its link, and a state that the role implies is not
//! repeated. Every line begins with blanks and a dash, so that no text of a page begins a line.

use std::collections::HashMap;

/// Roles that are pressed by what they are.
const PRESSED: [&str; 8] = ["link", "button", "checkbox", "radio", "switch", "tab", "option", "menuitem"];

/// How many changed lines are told beside the page.
const MOST_TOLD: usize = 20;

/// A line of the tree: its depth in the tree, and what follows the dash.
struct Line<'a> {
    depth: usize,
    body: &'a str,
}

fn line(text: &str) -> Line<'_> {
    let body = text.trim_start_matches(' ');
    Line { depth: (text.len() - body.len()) / 2, body: body.strip_prefix("- ").unwrap_or(body) }
}

/// The lines of a page that say something.
pub(super) fn compact(page: &str) -> String {
    let lines: Vec<Line<'_>> = page.lines().map(line).collect();
    let mut kept = String::with_capacity(page.len());
    // The depths of the containers around a line that were left out.
    let mut left_out: Vec<usize> = Vec::new();
    for (at, this) in lines.iter().enumerate() {
        while left_out.last().is_some_and(|depth| *depth >= this.depth) {
            left_out.pop();
        }
        if is_wrapper(this.body) {
            left_out.push(this.depth);
            continue;
        }
        if this.body.starts_with("/url: ") {
            continue;
        }
        kept.extend(std::iter::repeat_n("  ", this.depth - left_out.len()));
        kept.push_str("- ");
        kept.push_str(&plain(this, &lines[at + 1..]));
        kept.push('\n');
    }
    kept.truncate(kept.trim_end_matches('\n').len());
    kept
}

/// A container that only holds other lines.
fn is_wrapper(body: &str) -> bool {
    let rest = body.strip_prefix("generic").or_else(|| body.strip_prefix("rowgroup"));
    let Some(states) = rest.and_then(|rest| rest.strip_suffix(':')) else { return false };
    states.split_terminator(']').all(|state| state == " [active" || state.starts_with(" [ref="))
}

/// A line without what its role implies, and with the address that it leads to.
fn plain(this: &Line<'_>, below: &[Line<'_>]) -> String {
    let role = this.body.split([' ', ':']).next().unwrap_or_default();
    let (colon, body) = this.body.strip_suffix(':').map_or(("", this.body), |body| (":", body));
    let body = match PRESSED.contains(&role) {
        true => body.strip_suffix(" [cursor=pointer]").unwrap_or(body),
        false => body,
    };
    let own = |line: &&Line<'_>| line.depth > this.depth;
    let address = below.first().filter(own).and_then(|line| line.body.strip_prefix("/url: "));
    let Some(address) = address.filter(|_| !colon.is_empty()) else { return format!("{body}{colon}") };
    let has_more = below.get(1).is_some_and(|line| own(&line));
    format!("{body} → {address}{}", if has_more { ":" } else { "" })
}

/// Lines without the ids, which are others each time a page is loaded.
pub(super) fn without_ids(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for (at, part) in text.split(" [ref=").enumerate() {
        plain.push_str(if at == 0 { part } else { part.split_once(']').map_or(part, |(_, rest)| rest) });
    }
    plain.replace(" [active]", "")
}

/// What is new on a page and what is gone, line by line, whatever the order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    pub(super) new: Vec<String>,
    pub(super) gone: Vec<String>,
}

impl Changes {
    /// Compares two pages.
    pub(super) fn between(before: &str, now: &str) -> Self {
        let trimmed = |page: &str| -> Vec<String> {
            without_ids(&compact(page)).lines().map(|line| line.trim_start().trim_end_matches(':').to_owned()).collect()
        };
        let (before, now) = (trimmed(before), trimmed(now));
        let mut counts: HashMap<&str, i64> = HashMap::new();
        before.iter().for_each(|line| *counts.entry(line).or_default() += 1);
        let mut new = Vec::new();
        for line in &now {
            let count = counts.entry(line).or_default();
            *count -= 1;
            if *count < 0 {
                new.push(line.clone());
            }
        }
        let mut gone = Vec::new();
        for line in &before {
            if let Some(count) = counts.get_mut(line.as_str()).filter(|count| **count > 0) {
                *count -= 1;
                gone.push(line.clone());
            }
        }
        Self { new, gone }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.new.is_empty() && self.gone.is_empty()
    }

    /// In words that repeat nothing of the page, so that they may be kept.
    pub(super) fn counted(&self) -> String {
        match (self.new.len(), self.gone.len()) {
            (0, 0) => "nothing that is shown has changed".to_owned(),
            (new, gone) => format!("what is shown has changed: lines that are new: {new}, gone: {gone}"),
        }
    }

    /// For the model, beside the page; none where too much has changed to be told.
    pub(super) fn told(&self) -> Option<String> {
        if self.is_empty() || self.new.len() + self.gone.len() > MOST_TOLD {
            return None;
        }
        let part = |title: &str, lines: &[String]| match lines {
            [] => String::new(),
            lines => format!("\n{title}:{}", lines.iter().map(|line| format!("\n  {line}")).collect::<String>()),
        };
        Some(format!("{}{}", part("New since the last observation", &self.new), part("Gone since then", &self.gone)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::browser::PageSnapshot;

    #[test]
    fn opr_10_wrappers_are_left_out_and_addresses_stand_with_their_links() {
        let page = "- generic [active] [ref=e1]:\n  - generic [ref=e2]:\n    - link \"Home\" [ref=e3] [cursor=pointer]:\n      - /url: /a\n    \
                    - link \"Row\" [ref=e4] [cursor=pointer]:\n      - /url: \"#x\"\n      - img [ref=e5]\n  - generic [ref=e6]: words\n  \
                    - generic [ref=e7] [cursor=pointer]:\n    - text: pressed";
        assert_eq!(
            compact(page),
            "- link \"Home\" [ref=e3] → /a\n- link \"Row\" [ref=e4] → \"#x\":\n  - img [ref=e5]\n- generic [ref=e6]: words\n\
             - generic [ref=e7] [cursor=pointer]:\n  - text: pressed"
        );
        assert_eq!(compact(""), "");
    }

    #[test]
    fn what_is_shown_of_a_page_that_a_browser_wrote_down_is_shorter_and_has_its_controls() {
        let page = include_str!("testdata/everything.yml");
        let shown = compact(page);
        assert!(shown.len() * 10 < page.len() * 9, "{} of {}", shown.len(), page.len());
        let (all, left) = (PageSnapshot::parse(page), PageSnapshot::parse(&shown));
        for element in all.elements().iter().filter(|element| element.role != "generic") {
            assert!(left.get(&element.id).is_some_and(|found| found.name == element.name), "{element:?}");
        }
    }

    #[test]
    fn a_page_that_was_loaded_again_is_the_same() {
        assert_eq!(
            without_ids("- a \"x\" [ref=e1] [cursor=pointer]:\n  - b [ref=f2e3]"),
            without_ids("- a \"x\" [ref=f1e1] [cursor=pointer]:\n  - b [ref=f3e3]")
        );
        assert_ne!(without_ids("- a \"x\" [ref=e1]"), without_ids("- a \"y\" [ref=e1]"));
    }

    #[test]
    fn opr_15_what_changed_is_told_in_words_and_that_nothing_did() {
        let before = "- button \"Add\" [ref=e1]\n- text: 0 things";
        let now = "- button \"Add\" [active] [ref=f1e1]\n- text: 1 thing\n- link \"Basket\" [ref=f1e2]";
        let changes = Changes::between(before, now);
        assert_eq!((changes.new.len(), changes.gone.len()), (2, 1));
        assert_eq!(changes.counted(), "what is shown has changed: lines that are new: 2, gone: 1");
        assert!(changes.told().unwrap().contains("\n  - link \"Basket\""), "{changes:?}");
        assert_eq!(Changes::between(before, before).counted(), "nothing that is shown has changed");
        assert_eq!(Changes::between(before, before).told(), None);
    }
}
