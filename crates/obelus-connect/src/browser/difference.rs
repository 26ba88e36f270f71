//! A page as it is shown, line by line, and its changes.
//!
//! Playwright's ids change with every page load. The ids that are shown are ours: an element keeps its id while pages
//! of one address contain it, and no id is reused. So unchanged parts need not be shown again.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::snapshot::{PageSnapshot, is_id};

/// Pages with more differences are not compared but shown whole.
const MOST_COMPARED: usize = 3_000_000;

/// The number of lines shown of a removed part.
const MOST_GONE: usize = 4;

/// One line of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct PageLine {
    /// As it is shown, with our id.
    text: String,
    /// Without ids and focus marks.
    plain: String,
    depth: usize,
    /// Playwright's id.
    own: Option<String>,
    /// Our id.
    id: Option<String>,
    /// Role and name of the element.
    what: (String, String),
}

/// A page as it is shown.
#[derive(Clone, Debug, Default)]
pub(super) struct ShownPage {
    rows: Vec<PageLine>,
    /// Our ids and Playwright's.
    ids: HashMap<String, String>,
}

/// Generates unique ids.
#[derive(Debug, Default)]
pub(super) struct Numbers(u32);

impl Numbers {
    fn next(&mut self) -> String {
        self.0 += 1;
        format!("e{}", self.0)
    }
}

impl ShownPage {
    /// The lines of a page. Elements of the previous page keep their ids.
    pub(super) fn new(page: &str, before: Option<&Self>, numbers: &mut Numbers) -> Self {
        let snapshot = PageSnapshot::parse(page);
        let mut elements = snapshot.elements().iter().peekable();
        let mut rows = Vec::new();
        for (at, text) in page.lines().enumerate() {
            let mut row = PageLine { text: text.to_owned(), ..PageLine::default() };
            row.depth = (text.len() - text.trim_start_matches(' ').len()) / 2;
            if let Some(element) = elements.next_if(|element| element.line == at) {
                row.own = Some(element.id.clone());
                row.what = (element.role.clone(), element.label.clone());
                row.plain = text.replace(&format!(" [ref={}]", element.id), "");
            } else {
                row.plain = text.to_owned();
            }
            row.plain = row.plain.replace(" [active]", "");
            rows.push(row);
        }
        if let Some(before) = before {
            carry(&before.rows, &mut rows);
        }
        let mut ids = HashMap::new();
        for row in &mut rows {
            let Some(own) = &row.own else { continue };
            let id = row.id.get_or_insert_with(|| numbers.next());
            row.text = row.text.replace(&format!("[ref={own}]"), &format!("[ref={id}]"));
            ids.insert(id.clone(), own.clone());
        }
        Self { rows, ids }
    }

    /// Playwright's id of a shown element.
    pub(super) fn own_id(&self, id: &str) -> Option<&str> {
        self.ids.get(id).map(String::as_str)
    }

    /// Playwright's lines with our ids. New elements get one.
    pub(super) fn renamed(&mut self, lines: &str, numbers: &mut Numbers) -> String {
        let shown: HashMap<String, String> = self.ids.iter().map(|(id, own)| (own.clone(), id.clone())).collect();
        let mut renamed = String::with_capacity(lines.len());
        for (at, part) in lines.split(" [ref=").enumerate() {
            if at == 0 {
                renamed.push_str(part);
                continue;
            }
            let (own, rest) = part.split_once(']').unwrap_or((part, ""));
            let id = shown.get(own).cloned().or_else(|| is_id(own).then(|| numbers.next()));
            let id = id.unwrap_or_default();
            self.ids.insert(id.clone(), own.to_owned());
            renamed.push_str(&format!(" [ref={id}]{rest}"));
        }
        renamed
    }

    /// The number of elements.
    pub(super) fn elements(&self) -> usize {
        self.rows.iter().filter(|row| row.id.is_some()).count()
    }

    pub(super) fn text(&self) -> String {
        self.rows.iter().map(|row| row.text.as_str()).collect::<Vec<_>>().join("\n")
    }

    /// The changes since a page that was shown before: new (`+`), changed (`~`) and removed (`-`) lines with their
    /// context. Empty if nothing changed; none if the pages cannot be compared.
    pub(super) fn changes_since(&self, before: &Self) -> Option<String> {
        let is_same = |old: &PageLine, new: &PageLine| old.plain == new.plain && old.id == new.id;
        let pairs = aligned(&before.rows, &self.rows, is_same)?;
        let mut changes = ChangeLines { now: &self.rows, lines: BTreeMap::new(), gone: BTreeMap::new() };
        for (gone, new) in gaps(&pairs, before.rows.len(), self.rows.len()) {
            let known: HashSet<&String> = before.rows[gone.clone()].iter().filter_map(|row| row.id.as_ref()).collect();
            let mut changed = HashSet::new();
            for at in new.clone() {
                let is_known = self.rows[at].id.as_ref().is_some_and(|id| known.contains(id));
                changed.extend(self.rows[at].id.as_ref().filter(|_| is_known));
                changes.lines.insert(at, if is_known { '~' } else { '+' });
            }
            let left = before.rows[gone].iter().filter(|row| row.id.as_ref().is_none_or(|id| !changed.contains(id)));
            let left: Vec<&PageLine> = left.collect();
            if !left.is_empty() {
                changes.gone.insert(new.start, left);
            }
        }
        // A new focus is shown as a line.
        for (_, new) in &pairs {
            let row = &self.rows[*new];
            let had_it = |old: &&PageLine| old.id == row.id && old.text == row.text;
            if row.text.contains(" [active]") && row.id.is_some() && !before.rows.iter().any(|old| had_it(&old)) {
                changes.lines.insert(*new, '~');
            }
        }
        Some(changes.written())
    }
}

/// The lines that describe a change.
struct ChangeLines<'a> {
    now: &'a [PageLine],
    /// Lines of the page, each with its mark.
    lines: BTreeMap<usize, char>,
    /// Removed lines, by the line that followed them.
    gone: BTreeMap<usize, Vec<&'a PageLine>>,
}

impl ChangeLines<'_> {
    fn written(mut self) -> String {
        let places: Vec<usize> = self.lines.keys().chain(self.gone.keys()).copied().collect();
        for place in places {
            self.add_surroundings(place);
        }
        let mut text = String::new();
        let mut last = None;
        let places: std::collections::BTreeSet<usize> = self.lines.keys().chain(self.gone.keys()).copied().collect();
        for place in places {
            if last.is_some_and(|last| last + 1 < place) {
                text.push_str("  …\n");
            }
            for line in self.gone.get(&place).into_iter().flat_map(|gone| gone_lines(gone)) {
                text.push_str(&format!("- {line}\n"));
            }
            if let (Some(mark), Some(row)) = (self.lines.get(&place), self.now.get(place)) {
                text.push_str(&format!("{mark} {}\n", row.text));
                last = Some(place);
            }
        }
        text.truncate(text.trim_end().len());
        text
    }

    /// Adds the ancestors and neighbours of a line.
    fn add_surroundings(&mut self, place: usize) {
        let depth = self.now.get(place).or(self.now.last()).map_or(0, |row| row.depth);
        for near in [place.checked_sub(1), Some(place), Some(place + 1)].into_iter().flatten() {
            if near < self.now.len() {
                self.lines.entry(near).or_insert(' ');
            }
        }
        let mut depth = depth;
        for above in (0..place.min(self.now.len())).rev() {
            if self.now[above].depth < depth {
                depth = self.now[above].depth;
                self.lines.entry(above).or_insert(' ');
            }
        }
    }
}

/// The lines of a removed part; of many, the first and the last.
fn gone_lines(gone: &[&PageLine]) -> Vec<String> {
    if gone.len() <= MOST_GONE {
        return gone.iter().map(|row| row.text.clone()).collect();
    }
    let (first, last) = (&gone[..MOST_GONE - 2], gone[gone.len() - 1]);
    let between = format!("… {} more lines, up to", gone.len() - first.len() - 1);
    first.iter().map(|row| row.text.clone()).chain([between, last.text.clone()]).collect()
}

/// Gives elements of the previous page their old ids.
fn carry(before: &[PageLine], now: &mut [PageLine]) {
    let known: HashMap<&String, &PageLine> = before.iter().filter_map(|row| Some((row.own.as_ref()?, row))).collect();
    let is_it = |row: &PageLine, old: &&&PageLine| old.what == row.what;
    let same =
        |row: &PageLine| known.get(row.own.as_ref()?).filter(|old| is_it(row, old)).and_then(|old| old.id.clone());
    let found = now.iter().filter(|row| same(row).is_some()).count();
    // The page was not reloaded, so Playwright's ids match.
    if found * 2 > now.iter().filter(|row| row.own.is_some()).count() {
        now.iter_mut().for_each(|row| row.id = same(row));
        return;
    }
    let pairs = aligned(before, now, |old, new| old.plain == new.plain).unwrap_or_default();
    for (old, new) in &pairs {
        now[*new].id = before[*old].id.clone().filter(|_| now[*new].own.is_some());
    }
    for (gone, new) in gaps(&pairs, before.len(), now.len()) {
        let mut left: Vec<&PageLine> = before[gone].iter().filter(|row| row.id.is_some()).collect();
        for row in now[new].iter_mut().filter(|row| row.own.is_some()) {
            if let Some(at) = left.iter().position(|old| old.what == row.what) {
                row.id = left.remove(at).id.clone();
            }
        }
    }
}

/// The ranges between pairs, on both sides.
fn gaps(pairs: &[(usize, usize)], before: usize, now: usize) -> Vec<(std::ops::Range<usize>, std::ops::Range<usize>)> {
    let ends = pairs.iter().copied().chain([(before, now)]);
    let mut from = (0, 0);
    let mut gaps = Vec::new();
    for (old, new) in ends {
        if old > from.0 || new > from.1 {
            gaps.push((from.0..old, from.1..new));
        }
        from = (old + 1, new + 1);
    }
    gaps
}

/// The longest common subsequence of two pages. None if it would take too long.
fn aligned(
    before: &[PageLine],
    now: &[PageLine],
    same: impl Fn(&PageLine, &PageLine) -> bool,
) -> Option<Vec<(usize, usize)>> {
    let shorter = before.len().min(now.len());
    let first = (0..shorter).take_while(|at| same(&before[*at], &now[*at])).count();
    let from_end = |at: usize| same(&before[before.len() - 1 - at], &now[now.len() - 1 - at]);
    let last = (0..shorter - first).take_while(|at| from_end(*at)).count();
    let (old, new) = (&before[first..before.len() - last], &now[first..now.len() - last]);
    if old.len().saturating_mul(new.len()) > MOST_COMPARED {
        return None;
    }
    // The length of the longest common subsequence from each pair of lines on.
    let width = new.len() + 1;
    let mut longest = vec![0_u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            longest[i * width + j] = if same(&old[i], &new[j]) {
                longest[(i + 1) * width + j + 1] + 1
            } else {
                longest[(i + 1) * width + j].max(longest[i * width + j + 1])
            };
        }
    }
    let mut pairs: Vec<(usize, usize)> = (0..first).map(|at| (at, at)).collect();
    let (mut i, mut j) = (0, 0);
    while i < old.len() && j < new.len() {
        if same(&old[i], &new[j]) {
            pairs.push((first + i, first + j));
            (i, j) = (i + 1, j + 1);
        } else if longest[(i + 1) * width + j] >= longest[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs.extend((0..last).rev().map(|at| (before.len() - 1 - at, now.len() - 1 - at)));
    Some(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: &str = "- main:\n  - heading \"Hugo\" [level=1]\n  - textbox \"Mail\" [ref=f1e3]: old@example.test\n  \
                        - checkbox \"Active\" [checked] [ref=f1e4]\n  - button \"Save\" [ref=f1e5]\n  - list:\n    \
                        - listitem: one\n    - listitem: two\n- contentinfo";

    fn pair(before: &str, now: &str) -> (ShownPage, ShownPage, String) {
        let mut numbers = Numbers::default();
        let first = ShownPage::new(before, None, &mut numbers);
        let then = ShownPage::new(now, Some(&first), &mut numbers);
        let changes = then.changes_since(&first).unwrap();
        (first, then, changes)
    }

    #[test]
    fn opr_10_a_reloaded_page_keeps_the_ids_of_unchanged_elements() {
        let now = FORM.replace("f1e", "f2e").replace("old@", "new@").replace(" [checked]", "").replace(
            "- main:\n",
            "- main:\n  - list:\n    - listitem: The user was changed.\n    - link \"Undo\" [ref=f2e9]\n",
        );
        let (first, then, changes) = pair(FORM, &now);
        assert_eq!((first.own_id("e1"), then.own_id("e1")), (Some("f1e3"), Some("f2e3")));
        assert_eq!((then.own_id("e3"), then.own_id("e4"), then.own_id("e5")), (Some("f2e5"), Some("f2e9"), None));
        assert_eq!(
            changes,
            "  - main:\n+   - list:\n+     - listitem: The user was changed.\n+     - link \"Undo\" [ref=e4]\n    \
             - heading \"Hugo\" [level=1]\n~   - textbox \"Mail\" [ref=e1]: new@example.test\n\
             ~   - checkbox \"Active\" [ref=e2]\n    - button \"Save\" [ref=e3]"
        );
    }

    #[test]
    fn removed_and_moved_elements_are_reported_with_their_position() {
        let (_, then, changes) = pair(FORM, &FORM.replace("  - button \"Save\" [ref=f1e5]\n", ""));
        assert!(then.own_id("e3").is_none(), "an id of something that is gone means nothing");
        assert_eq!(
            changes,
            "  - main:\n  …\n    - checkbox \"Active\" [checked] [ref=e2]\n-   - button \"Save\" [ref=e3]\n    - list:\n      - listitem: one"
        );
        let long: String = (0..9).map(|n| format!("\n- text: {n}")).collect();
        let (.., changes) = pair(&format!("- main{long}"), "- main");
        assert_eq!(changes, "  - main\n- - text: 0\n- - text: 1\n- … 6 more lines, up to\n- - text: 8");
        assert_eq!(pair(FORM, &FORM.replace("f1e", "f7e")).2, "", "nothing changed");
    }

    #[test]
    fn a_moved_element_keeps_its_id_and_ids_are_unique() {
        let rows = |names: [(&str, u32); 2]| {
            names.map(|(name, id)| format!("- text: {name}\n- button \"Delete\" [ref=e{id}]")).join("\n")
        };
        let (first, then, changes) = pair(&rows([("A", 7), ("B", 8)]), &rows([("B", 8), ("A", 7)]));
        assert_eq!((first.own_id("e1"), then.own_id("e1")), (Some("e7"), Some("e7")), "{changes}");
        assert!(changes.contains("[ref=e2]"), "{changes}");
        let (_, then, _) = pair("- button \"A\" [ref=e1]", "- link \"B\" [ref=e1]");
        assert_eq!((then.own_id("e1"), then.own_id("e2")), (None, Some("e1")));
    }

    #[test]
    fn a_name_that_looks_like_an_id_is_not_an_id() {
        let mut numbers = Numbers(40);
        let page = ShownPage::new("- button \"x [ref=e2]\" [ref=e1]\n- button \"y\" [ref=e2]", None, &mut numbers);
        assert_eq!((page.own_id("e41"), page.own_id("e42"), page.own_id("e2")), (Some("e1"), Some("e2"), None));
    }
}
