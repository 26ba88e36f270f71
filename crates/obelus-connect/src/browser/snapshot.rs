//! Parses Playwright's text form of a page: a tree of roles and names in lines, with an id for each element that can
//! be acted on.
//!
//! ```text
//! - navigation [ref=e3]:
//!   - link "Next" [ref=e4] [cursor=pointer]:
//!     - /url: /p2
//! - 'button "Total: 5" [disabled] [ref=e7]'
//! ```
//!
//! Names and texts come from the page and may imitate anything, such as an element's id. So a line is parsed from its
//! beginning, and quoted parts are skipped by the rules of their quotes.

use std::collections::HashMap;

use super::address::digest;

/// The number of characters kept of a name.
const LONGEST_LABEL: usize = 80;

/// Roles whose text was typed or chosen.
const TYPED: [&str; 6] = ["textbox", "searchbox", "combobox", "spinbutton", "slider", "listbox"];

/// An element with an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// Its id while this page is shown: `e12`, or `f3e12` in a frame or after a navigation.
    pub id: String,
    /// Its role: `button`, `link`, `textbox` …
    pub role: String,
    /// Its name, or empty.
    pub name: String,
    /// Its states: `disabled`, `checked`, `level=2` …
    pub states: Vec<String>,
    /// Its link target, as the page writes it.
    pub url: Option<String>,
    /// Its depth in the tree.
    pub depth: usize,
    /// The label by which it is found again: its name, cut to a readable length. Without a name, a digest of its
    /// text; never the text.
    pub label: String,
    /// The number of elements before it with the same role and label.
    pub nth: usize,
    /// Its line in the page, from 0.
    pub line: usize,
}

impl Element {
    /// Whether it has a state.
    pub fn is(&self, state: &str) -> bool {
        self.states.iter().any(|known| known == state)
    }
}

/// The elements of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageSnapshot {
    elements: Vec<Element>,
    places: HashMap<String, usize>,
}

impl PageSnapshot {
    /// Parses a tree. Lines of another form are skipped: they cannot be acted on.
    pub fn parse(text: &str) -> Self {
        let mut snapshot = Self::default();
        let mut seen: HashMap<(String, String), usize> = HashMap::new();
        // The line that the properties below belong to.
        let mut owner: Option<(usize, Option<usize>)> = None;
        for (at, line) in text.lines().enumerate() {
            let body = line.trim_start_matches(' ');
            let depth = (line.len() - body.len()) / 2;
            let Some(body) = body.strip_prefix("- ") else { continue };
            if let Some(url) = body.strip_prefix("/url: ") {
                if let Some((above, Some(place))) = owner
                    && above + 1 == depth
                {
                    snapshot.elements[place].url = Some(unquoted(url));
                }
                continue;
            }
            if body.starts_with('/') {
                continue;
            }
            let Some(Key { role, name, states, id, text }) = key(body) else { continue };
            let Some(id) = id.filter(|id| !snapshot.places.contains_key(id)) else {
                owner = Some((depth, None));
                continue;
            };
            let label = label(&role, &name, text.as_deref());
            let alike = seen.entry((role.clone(), label.clone())).or_default();
            let nth = *alike;
            *alike += 1;
            let place = snapshot.elements.len();
            snapshot.places.insert(id.clone(), place);
            snapshot.elements.push(Element { id, role, name, states, url: None, depth, label, nth, line: at });
            owner = Some((depth, Some(place)));
        }
        snapshot
    }

    /// All of them, in the order of the page.
    pub fn elements(&self) -> &[Element] {
        &self.elements
    }

    /// The element of this id.
    pub fn get(&self, id: &str) -> Option<&Element> {
        self.places.get(id).map(|place| &self.elements[*place])
    }

    /// The element with this role, label and index.
    pub fn find(&self, role: &str, label: &str, nth: usize) -> Option<&Element> {
        self.elements.iter().find(|element| element.nth == nth && element.role == role && element.label == label)
    }

    /// The other elements with its role and label.
    pub fn likes_of<'a>(&'a self, element: &'a Element) -> impl Iterator<Item = &'a Element> {
        let like =
            |other: &&Element| other.role == element.role && other.label == element.label && other.id != element.id;
        self.elements.iter().filter(like)
    }

    /// The focused element: the innermost one that is marked active.
    pub fn active(&self) -> Option<&Element> {
        self.elements.iter().rev().find(|element| element.is("active"))
    }
}

/// Whether a text has the form of an element's id.
pub fn is_id(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let rest = match text.strip_prefix('f') {
        Some(rest) => {
            let Some(at) = rest.find('e') else { return false };
            let (frame, rest) = rest.split_at(at);
            if !digits(frame) {
                return false;
            }
            rest
        }
        None => text,
    };
    rest.strip_prefix('e').is_some_and(digits)
}

fn label(role: &str, name: &str, text: Option<&str>) -> String {
    match (name.char_indices().nth(LONGEST_LABEL), text) {
        (Some((end, _)), _) => format!("{}…~{}", &name[..end], digest(name)),
        (None, Some(text)) if name.is_empty() && !TYPED.contains(&role) => format!("~{}", digest(text)),
        (None, _) => name.to_owned(),
    }
}

/// A parsed line.
pub(super) struct Key {
    pub(super) role: String,
    pub(super) name: String,
    pub(super) states: Vec<String>,
    pub(super) id: Option<String>,
    /// The text after the colon.
    pub(super) text: Option<String>,
}

impl Key {
    /// A text without an element.
    pub(super) fn of_text(text: &str) -> Self {
        let (role, name, states) = ("text".to_owned(), String::new(), Vec::new());
        Self { role, name, states, id: None, text: Some(unquoted(text)) }
    }
}

/// Reads `role "name" [state] [ref=e1]`, quoted as a whole if YAML needs it.
pub(super) fn key(body: &str) -> Option<Key> {
    let (whole, behind);
    let mut rest = match body.strip_prefix('\'') {
        Some(quoted) => {
            (whole, behind) = single_quoted(quoted);
            whole.as_str()
        }
        None => {
            behind = "";
            body
        }
    };
    let end = rest.find([' ', ':', '[']).unwrap_or(rest.len());
    let role = rest[..end].to_owned();
    if role.is_empty() || role == "text" {
        return None;
    }
    rest = &rest[end..];
    let mut name = String::new();
    if let Some(quoted) = rest.strip_prefix(" \"") {
        let (text, after) = double_quoted(quoted);
        name = text;
        rest = after;
    }
    let mut states = Vec::new();
    let mut id = None;
    while let Some(inner) = rest.strip_prefix(" [") {
        let Some(end) = inner.find(']') else { break };
        match inner[..end].strip_prefix("ref=") {
            Some(found) if is_id(found) => id = Some(found.to_owned()),
            _ => states.push(inner[..end].to_owned()),
        }
        rest = &inner[end + 1..];
    }
    let text = rest.strip_prefix(": ").or_else(|| behind.strip_prefix(": ")).map(unquoted);
    Some(Key { role, name, states, id, text })
}

/// Reads single-quoted text after its opening quote; returns it and the rest. A quote in it is doubled.
fn single_quoted(text: &str) -> (String, &str) {
    let mut whole = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        if letter == '\'' && letters.next().map(|(_, letter)| letter) != Some('\'') {
            return (whole, &text[at + 1..]);
        }
        whole.push(letter);
    }
    (whole, "")
}

/// Reads double-quoted text after its opening quote; returns it and the rest.
fn double_quoted(text: &str) -> (String, &str) {
    let mut whole = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (whole, &text[at + 1..]),
            '\\' => match letters.next().map(|(_, letter)| letter) {
                Some('n') => whole.push('\n'),
                Some('t') => whole.push('\t'),
                Some('r') => whole.push('\r'),
                Some('b') => whole.push('\u{8}'),
                Some('f') => whole.push('\u{c}'),
                Some(kind @ ('u' | 'x')) => {
                    let length = if kind == 'u' { 4 } else { 2 };
                    let code = letters.by_ref().take(length).filter_map(|(_, letter)| letter.to_digit(16));
                    let code = code.fold(0, |code, digit| code * 16 + digit);
                    whole.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                Some(letter) => whole.push(letter),
                None => break,
            },
            letter => whole.push(letter),
        }
    }
    (whole, "")
}

/// A value without YAML quotes.
fn unquoted(text: &str) -> String {
    text.strip_prefix('"').map_or_else(|| text.to_owned(), |quoted| double_quoted(quoted).0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn roles(snapshot: &PageSnapshot) -> Vec<(&str, &str, &str)> {
        snapshot.elements().iter().map(|e| (e.id.as_str(), e.role.as_str(), e.name.as_str())).collect()
    }

    #[test]
    fn a_recorded_snapshot_is_read() {
        let snapshot = PageSnapshot::parse(include_str!("testdata/everything.yml"));
        assert_eq!(snapshot.elements().len(), 66);
        let mail = snapshot.get("e10").unwrap();
        assert_eq!((mail.role.as_str(), mail.url.as_deref()), ("link", Some("mailto:a@example.test")));
        let script = snapshot.get("e7").unwrap();
        assert_eq!(script.url.as_deref(), Some("javascript:void(fetch('/api/js',{method:'POST'}))"));
        assert!(snapshot.get("e25").unwrap().is("disabled") && snapshot.get("e26").unwrap().is("disabled"));
        assert!(snapshot.get("e31").unwrap().is("checked"));
        let evil = snapshot.get("e52").unwrap();
        assert_eq!((evil.name.as_str(), evil.is("disabled")), ("evil\" [ref=e5] [disabled]", false));
        assert!(snapshot.get("e99").is_none() && snapshot.get("e77").is_none(), "texts have no ids");
        let framed = snapshot.get("f1e5").unwrap();
        assert_eq!((framed.name.as_str(), framed.depth), ("Send", 4));
        assert_eq!(snapshot.active().unwrap().id, "e1");
        assert_eq!(snapshot.find("button", "Sub", 0).unwrap().id, "e60");
        let unnamed = snapshot.get("e53").unwrap();
        assert!(unnamed.label.starts_with('~') && !unnamed.label.contains("Clickable"), "{unnamed:?}");
        assert_eq!(snapshot.get("e12").unwrap().label, "", "what was typed is no label");
    }

    #[test]
    fn yaml_quotes_are_removed() {
        let text = "- 'button \"Total: it''s 5 [ref=e9]\" [disabled] [ref=e7]':\n  - /placeholder: x\n  - text: \"- [ref=e8]\"\n\
                    - link \"a \\\"b\\\" \\u0416\" [ref=e2]:\n  - /url: \"#a\\\\b\"\n- button \"x\" [ref=e3]\n- button \"x\" [ref=e4]";
        let snapshot = PageSnapshot::parse(text);
        assert_eq!(
            roles(&snapshot),
            [
                ("e7", "button", "Total: it's 5 [ref=e9]"),
                ("e2", "link", "a \"b\" Ж"),
                ("e3", "button", "x"),
                ("e4", "button", "x")
            ]
        );
        assert_eq!(snapshot.get("e2").unwrap().url.as_deref(), Some("#a\\b"));
        assert_eq!(snapshot.find("button", "x", 1).unwrap().id, "e4");
    }

    #[test]
    fn element_ids_are_distinguished_from_other_words() {
        for id in ["e1", "e120", "f3e12", "f12e1"] {
            assert!(is_id(id), "{id}");
        }
        for other in ["", "e", "E1", "f1", "fe1", "f1e", "e1 ", "e1,e2", "#e1", "e1x", "button", "f1f1e1", "e١"] {
            assert!(!is_id(other), "{other}");
        }
    }

    /// A node that can be written in Playwright's notation.
    #[derive(Clone, Debug)]
    struct SnapshotNode {
        role: &'static str,
        name: String,
        text: Option<String>,
        url: Option<String>,
        children: Vec<SnapshotNode>,
    }

    fn needs_quotes(text: &str) -> bool {
        text.is_empty()
            || text.trim() != text
            || text.starts_with(['-', '&', '*', ']', ',', '?', '!', '>', '|', '@', '"', '\'', '#', '%', '['])
            || text.contains(['{', '}', '`', '\n', '\r'])
            || text.contains(": ")
            || text.contains(" #")
            || text.ends_with(':')
            || text.chars().any(char::is_control)
            || text.parse::<f64>().is_ok()
    }

    fn value(text: &str) -> String {
        if needs_quotes(text) {
            let mut quoted = String::from('"');
            for letter in text.chars() {
                match letter {
                    '\\' | '"' => quoted.extend(['\\', letter]),
                    '\n' => quoted.push_str("\\n"),
                    letter if letter.is_control() => quoted.push_str(&format!("\\x{:02x}", letter as u32)),
                    letter => quoted.push(letter),
                }
            }
            quoted + "\""
        } else {
            text.to_owned()
        }
    }

    fn write(
        node: &SnapshotNode,
        depth: usize,
        next: &mut usize,
        lines: &mut Vec<String>,
        expected: &mut Vec<Element>,
    ) {
        *next += 1;
        let id = format!("e{next}");
        let mut key = node.role.to_owned();
        if !node.name.is_empty() {
            key.push_str(&format!(" {}", serde_json::to_string(&node.name).unwrap()));
        }
        key.push_str(&format!(" [ref={id}]"));
        let key = if needs_quotes(&key) { format!("'{}'", key.replace('\'', "''")) } else { key };
        let indent = "  ".repeat(depth);
        let has_more = node.url.is_some() || node.text.is_some() || !node.children.is_empty();
        let line = lines.len();
        lines.push(format!("{indent}- {key}{}", if has_more { ":" } else { "" }));
        if let Some(url) = &node.url {
            lines.push(format!("{indent}  - /url: {}", value(url)));
        }
        if let Some(text) = &node.text {
            lines.push(format!("{indent}  - text: {}", value(text)));
        }
        let alike = expected.iter().filter(|e| e.role == node.role && e.name == node.name).count();
        let (role, name, label) = (node.role.to_owned(), node.name.clone(), node.name.clone());
        expected.push(Element {
            id,
            role,
            name,
            states: Vec::new(),
            url: node.url.clone(),
            depth,
            label,
            nth: alike,
            line,
        });
        for child in &node.children {
            write(child, depth + 1, next, lines, expected);
        }
    }

    fn words() -> impl Strategy<Value = String> {
        prop_oneof![
            "[ -~Жé\n]{0,20}",
            Just("x [ref=e3]".to_owned()),
            Just("a\" [ref=e2] [disabled]: '".to_owned()),
            Just("- button \"b\" [ref=e1]".to_owned()),
        ]
    }

    fn nodes() -> impl Strategy<Value = SnapshotNode> {
        let role = prop::sample::select(vec!["button", "link", "textbox", "generic"]);
        let leaf = (role, words(), prop::option::of(words()), prop::option::of(words()))
            .prop_map(|(role, name, text, url)| SnapshotNode { role, name, text, url, children: Vec::new() });
        leaf.prop_recursive(4, 24, 4, |inner| {
            (inner.clone(), prop::collection::vec(inner, 0..4))
                .prop_map(|(node, children)| SnapshotNode { children, ..node })
        })
    }

    proptest! {
        #[test]
        fn all_and_only_the_elements_of_a_page_are_found(roots in prop::collection::vec(nodes(), 0..4)) {
            let (mut next, mut lines, mut expected) = (0, Vec::new(), Vec::new());
            for root in &roots {
                write(root, 0, &mut next, &mut lines, &mut expected);
            }
            let snapshot = PageSnapshot::parse(&lines.join("\n"));
            prop_assert_eq!(snapshot.elements(), &expected[..]);
            for element in &expected {
                prop_assert_eq!(snapshot.get(&element.id), Some(element));
                prop_assert_eq!(snapshot.find(&element.role, &element.label, element.nth), Some(element));
            }
        }

        #[test]
        fn any_text_is_read_without_a_panic(text in "(?s).{0,200}", lines in prop::collection::vec("[ ]{0,4}- '?[a-z]{0,6} ?\"?.{0,12}\"?( \\[ref=f?[0-9]?e[0-9]{1,2}\\])?:?", 0..12)) {
            PageSnapshot::parse(&text);
            let all = lines.join("\n");
            let found = PageSnapshot::parse(&all);
            prop_assert!(found.elements().iter().all(|element| is_id(&element.id)));
        }
    }
}
