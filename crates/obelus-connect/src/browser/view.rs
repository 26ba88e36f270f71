//! The compact text of a page.
//!
//! Playwright writes a line for every box of a page. Only useful lines are shown: containers without role, name and
//! text are left out, an address is part of its link's line, and states implied by the role are omitted. Every line
//! begins with blanks and a dash, so that text of a page cannot begin a line.

use std::collections::HashMap;

use super::snapshot::{Key, key};

/// Roles that can be pressed.
const PRESSED: [&str; 8] = ["link", "button", "checkbox", "radio", "switch", "tab", "option", "menuitem"];

/// Container roles that are left out if they hold one thing.
const HOLDERS: [&str; 6] = ["cell", "rowheader", "columnheader", "listitem", "caption", "paragraph"];

/// Container roles that need no id, because only their contents are acted on.
const STRUCTURE: [&str; 20] = [
    "banner",
    "main",
    "contentinfo",
    "navigation",
    "complementary",
    "region",
    "article",
    "group",
    "form",
    "search",
    "table",
    "row",
    "rowgroup",
    "cell",
    "rowheader",
    "columnheader",
    "list",
    "listitem",
    "paragraph",
    "caption",
];

/// Roles with labels beside them.
const CONTROLS: [&str; 8] =
    ["textbox", "searchbox", "combobox", "spinbutton", "checkbox", "radio", "switch", "listbox"];

/// A line of the tree: its depth, and its text after the dash.
struct TreeLine<'a> {
    depth: usize,
    body: &'a str,
}

fn line(text: &str) -> TreeLine<'_> {
    let body = text.trim_start_matches(' ');
    TreeLine { depth: (text.len() - body.len()) / 2, body: body.strip_prefix("- ").unwrap_or(body) }
}

/// The useful lines of a page.
pub(super) fn compact(page: &str) -> String {
    let lines: Vec<TreeLine<'_>> = page.lines().map(line).filter(|line| !is_separator(line.body)).collect();
    let mut output = String::with_capacity(page.len());
    // The depths of left-out containers around a line.
    let mut left_out: Vec<usize> = Vec::new();
    // The depth of a closed dialog.
    let mut closed: Option<usize> = None;
    for (at, this) in lines.iter().enumerate() {
        while left_out.last().is_some_and(|depth| *depth >= this.depth) {
            left_out.pop();
        }
        if closed.is_some_and(|depth| this.depth > depth) {
            continue;
        }
        closed = is_closed(this.body).then_some(this.depth);
        if closed.is_some() {
            continue;
        }
        if is_wrapper(this, &lines[at + 1..]) {
            left_out.push(this.depth);
            continue;
        }
        if this.body.starts_with("/url: ") || repeats_a_name(&lines, at) {
            continue;
        }
        output.extend(std::iter::repeat_n("  ", this.depth - left_out.len()));
        output.push_str("- ");
        output.push_str(&plain(this, &lines[at + 1..]));
        output.push('\n');
    }
    output.truncate(output.trim_end_matches('\n').len());
    without_loose_ends(&output)
}

/// Lines without icon characters, and without a colon if nothing is below.
fn without_loose_ends(page: &str) -> String {
    let depth = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let mut lines = page.lines().peekable();
    let mut whole = String::with_capacity(page.len());
    while let Some(line) = lines.next() {
        let is_holder = lines.peek().is_some_and(|next| depth(next) > depth(line));
        let line = if is_holder { line } else { line.strip_suffix(':').unwrap_or(line) };
        whole.extend(line.chars().filter(|letter| !is_icon(*letter)));
        if lines.peek().is_some() {
            whole.push('\n');
        }
    }
    whole
}

/// A character of an icon font.
fn is_icon(letter: char) -> bool {
    ('\u{e000}'..='\u{f8ff}').contains(&letter)
}

/// A closed dialog, as `mark.js` names it.
fn is_closed(body: &str) -> bool {
    ["dialog \"(closed)\"", "alertdialog \"(closed)\""].iter().any(|closed| body.starts_with(closed))
}

/// A container without information: one without a role, or a cell or item with one thing in it.
fn is_wrapper(this: &TreeLine<'_>, below: &[TreeLine<'_>]) -> bool {
    let Some(body) = this.body.strip_suffix(':') else { return false };
    let (role, states) = body.split_once(' ').unwrap_or((body, ""));
    let says_nothing = states.split_terminator(']').all(|state| {
        let state = state.trim_start();
        state == "[active" || state.starts_with("[ref=")
    });
    let one_thing = || {
        let own = below.iter().take_while(|line| line.depth > this.depth);
        own.filter(|line| line.depth == this.depth + 1 && !line.body.starts_with('/')).count() == 1
    };
    says_nothing && (matches!(role, "generic" | "rowgroup") || HOLDERS.contains(&role) && one_thing())
}

/// Separators between words, such as the bars between links.
fn is_separator(body: &str) -> bool {
    let text = body.strip_prefix("text: ").map(|text| text.trim_matches('"'));
    let is_icon = body.starts_with("generic ") && body.ends_with(is_icon);
    is_icon || text.is_some_and(|text| text.chars().all(|c| "/|\\›»«·•.,:;–—- ".contains(c) || self::is_icon(c)))
}

/// Whether a text repeats the name of a control beside it or around it.
fn repeats_a_name(lines: &[TreeLine<'_>], at: usize) -> bool {
    let Some(Key { role, name, text, states, .. }) = text_of(lines[at].body) else { return false };
    if !matches!(role.as_str(), "text" | "generic") || !states.is_empty() || lines[at].body.ends_with(':') {
        return false;
    }
    // A label is a text, or an element with it as its name.
    let text = match (name.as_str(), text) {
        ("", Some(text)) => text,
        (_, None) if !name.is_empty() => name,
        _ => return false,
    };
    let is_control = |line: &&TreeLine<'_>| {
        let key = text_of(line.body).filter(|key| key.id.is_some() && CONTROLS.contains(&key.role.as_str()));
        key.is_some_and(|key| key.name == text)
    };
    let says = |line: &&TreeLine<'_>| !is_wrapper(line, &[]);
    let depth = lines[at].depth;
    let holder = lines[..at].iter().rev().find(|line| line.depth < depth && says(line)).map(|line| line.body);
    let is_inside = holder.and_then(text_of).is_some_and(|key| {
        PRESSED.contains(&key.role.as_str()) && key.name.trim_matches(|c: char| is_icon(c) || c == ' ') == text.trim()
    });
    if is_inside {
        return true;
    }
    let after = lines[at + 1..].iter().find(says);
    let before = lines[..at].iter().rev().find(says);
    after.filter(is_control).or_else(|| before.filter(is_control)).is_some()
}

fn text_of(body: &str) -> Option<Key> {
    match body.strip_prefix("text: ") {
        Some(text) => Some(Key::of_text(text)),
        None => key(body),
    }
}

/// A line without states implied by its role, and with its link's address.
fn plain(this: &TreeLine<'_>, below: &[TreeLine<'_>]) -> String {
    let role = this.body.split([' ', ':']).next().unwrap_or_default();
    let (colon, body) = this.body.strip_suffix(':').map_or(("", this.body), |body| (":", body));
    let needs_no_id = !colon.is_empty() && STRUCTURE.contains(&role) && !body.ends_with(" [cursor=pointer]");
    if let Some((body, "")) = body
        .rsplit_once(" [ref=")
        .filter(|_| needs_no_id)
        .map(|(body, id)| (body, id.split_once(']').map_or("", |(_, rest)| rest)))
    {
        return format!("{body}:");
    }
    let body = if PRESSED.contains(&role) { body.strip_suffix(" [cursor=pointer]").unwrap_or(body) } else { body };
    let own = |line: &&TreeLine<'_>| line.depth > this.depth;
    let address = below.first().filter(own).and_then(|line| line.body.strip_prefix("/url: "));
    let Some(address) = address.filter(|_| !colon.is_empty()) else { return format!("{body}{colon}") };
    let has_more = below.get(1).is_some_and(|line| own(&line));
    format!("{body} → {address}{}", if has_more { ":" } else { "" })
}

/// Lines without ids, which change with every page load.
pub(super) fn without_ids(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for (at, part) in text.split(" [ref=").enumerate() {
        plain.push_str(if at == 0 { part } else { part.split_once(']').map_or(part, |(_, rest)| rest) });
    }
    plain.replace(" [active]", "")
}

/// New and removed lines of a page, in any order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct LineChanges {
    pub(super) new: Vec<String>,
    pub(super) gone: Vec<String>,
}

impl LineChanges {
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

    /// The counts of changes. They quote nothing of the page, so they may be stored.
    pub(super) fn counted(&self) -> String {
        match (self.new.len(), self.gone.len()) {
            (0, 0) => "nothing that is shown has changed".to_owned(),
            (new, gone) => format!("what is shown has changed: lines that are new: {new}, gone: {gone}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::browser::{Element, PageSnapshot};

    #[test]
    fn opr_10_wrappers_are_omitted_and_addresses_follow_their_links() {
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
    fn the_view_of_a_recorded_page_is_shorter_and_keeps_its_controls() {
        let page = include_str!("testdata/everything.yml");
        let shown = compact(page);
        assert!(shown.len() * 10 < page.len() * 9, "{} of {}", shown.len(), page.len());
        let (all, left) = (PageSnapshot::parse(page), PageSnapshot::parse(&shown));
        let is_shown = |element: &&Element| {
            let is_filled = page.lines().nth(element.line).is_some_and(|line| line.ends_with(':'));
            element.role != "generic" && !(is_filled && STRUCTURE.contains(&element.role.as_str()))
        };
        for element in all.elements().iter().filter(is_shown) {
            assert!(left.get(&element.id).is_some_and(|found| found.name == element.name), "{element:?}");
        }
    }

    #[test]
    fn opr_10_redundant_cells_labels_and_separators_are_omitted_and_containers_have_no_id() {
        let page = "- main [ref=e1]:\n  - table [ref=e2]:\n    - row [ref=e3]:\n      - cell [ref=e4]:\n        \
                    - checkbox \"Pick\" [ref=e5]\n      - cell \"a@b.test\" [ref=e6]\n  - text: \"|\"\n  \
                    - generic [ref=e7]: \"Name:\"\n  - generic [ref=e8]:\n    - textbox \"Name:\" [ref=e9]: Anna\n  \
                    - list [ref=e10] [cursor=pointer]:\n    - listitem [ref=e11]: one";
        assert_eq!(
            compact(page),
            "- main:\n  - table:\n    - row:\n      - checkbox \"Pick\" [ref=e5]\n      - cell \"a@b.test\" [ref=e6]\n  \
             - textbox \"Name:\" [ref=e9]: Anna\n  - list [ref=e10] [cursor=pointer]:\n    - listitem [ref=e11]: one"
        );
    }

    #[test]
    fn closed_dialogs_and_icon_font_characters_are_omitted() {
        let page = "- dialog \"(closed)\" [ref=e1]:\n  - button \"Discard\" [ref=e2]\n- dialog \"Save\" [ref=e3]:\n  \
                    - button \"Keep\" [ref=e4]\n- link \"\u{f015} Home\" [ref=e5] [cursor=pointer]:\n  - /url: /\n  \
                    - generic [ref=e6]: \u{f015}\n  - text: Home";
        assert_eq!(
            compact(page),
            "- dialog \"Save\" [ref=e3]:\n  - button \"Keep\" [ref=e4]\n- link \" Home\" [ref=e5] → /"
        );
    }

    #[test]
    fn a_reloaded_page_without_changes_is_the_same_page() {
        assert_eq!(
            without_ids("- a \"x\" [ref=e1] [cursor=pointer]:\n  - b [ref=f2e3]"),
            without_ids("- a \"x\" [ref=f1e1] [cursor=pointer]:\n  - b [ref=f3e3]")
        );
        assert_ne!(without_ids("- a \"x\" [ref=e1]"), without_ids("- a \"y\" [ref=e1]"));
    }

    #[test]
    fn opr_15_changes_are_described_and_so_is_the_absence_of_changes() {
        let before = "- button \"Add\" [ref=e1]\n- text: 0 things";
        let now = "- button \"Add\" [active] [ref=f1e1]\n- text: 1 thing\n- link \"Basket\" [ref=f1e2]";
        let changes = LineChanges::between(before, now);
        assert_eq!((changes.new.len(), changes.gone.len()), (2, 1));
        assert_eq!(changes.counted(), "what is shown has changed: lines that are new: 2, gone: 1");
        assert_eq!(LineChanges::between(before, before).counted(), "nothing that is shown has changed");
    }
}
