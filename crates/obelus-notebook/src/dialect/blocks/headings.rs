//! Headings of blocks in all accepted forms.

/// A block of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::dialect) enum Block {
    Thought,
    Action,
    Assistant,
}

impl Block {
    const ALL: [Block; 3] = [Block::Thought, Block::Action, Block::Assistant];

    pub(super) fn name(self) -> &'static str {
        match self {
            Block::Thought => "THOUGHT",
            Block::Action => "ACTION",
            Block::Assistant => "ASSISTANT",
        }
    }
}

/// A heading of a block.
#[derive(Clone, Copy, Debug)]
pub(in crate::dialect) struct Heading {
    pub(in crate::dialect) block: Block,
    /// The offset of its line.
    pub(super) start: usize,
    /// The offset of its content, which may begin on the same line.
    pub(in crate::dialect) content: usize,
    /// Whether it is in capitals, emphasised or a Markdown heading. A plain `Action:` may be prose.
    pub(super) strong: bool,
}

/// Marks of emphasis, the longest first.
const EMPHASIS: [&str; 6] = ["***", "**", "__", "*", "_", "`"];

/// White space, and characters without width.
pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{feff}' | '\u{200b}'..='\u{200d}' | '\u{2060}')
}

pub(super) fn is_blank(line: &str) -> bool {
    line.chars().all(is_space)
}

/// Whether a line is, or begins as, a code fence.
pub(super) fn is_fence(line: &str) -> bool {
    let line = line.trim_start_matches(is_space);
    line.starts_with("```") || line.starts_with("~~~")
}

/// All headings from this byte offset on.
pub(super) fn all(text: &str, from: usize) -> Vec<Heading> {
    let mut start = from;
    let mut found = Vec::new();
    for line in text[from..].split_inclusive('\n') {
        found.extend(of_line(line, start));
        start += line.len();
    }
    found
}

/// The heading at the beginning of a line, whose offset is `start`.
pub(in crate::dialect) fn of_line(line: &str, start: usize) -> Option<Heading> {
    let mut rest = line.trim_start_matches(is_space);
    let bare = rest.trim_start_matches('#');
    let is_title = bare.len() < rest.len() && rest.len() - bare.len() <= 6;
    if is_title {
        rest = bare.trim_start_matches(is_space);
    }
    rest = after_list_mark(rest);
    let opened = EMPHASIS.into_iter().find(|mark| rest.starts_with(mark));
    rest = rest[opened.map_or(0, str::len)..].trim_start_matches(is_space);
    let block = Block::ALL.into_iter().find(|block| {
        let name = block.name();
        rest.get(..name.len()).is_some_and(|word| word.eq_ignore_ascii_case(name))
    })?;
    let (word, mut rest) = rest.split_at(block.name().len());
    let strong = is_title || opened.is_some() || word == block.name();
    let closed = opened.filter(|mark| rest.trim_start_matches(is_space).starts_with(mark));
    if let Some(mark) = closed {
        rest = &rest.trim_start_matches(is_space)[mark.len()..];
    }
    if is_blank(rest) {
        return strong.then_some(Heading { block, start, content: start + line.len() - rest.len(), strong });
    }
    let separated = rest.trim_start_matches(is_space);
    let mut body = separated.strip_prefix([':', '：']);
    if strong {
        // A hyphen without a space before it is part of the word: `ACTION-список`.
        let is_apart = separated.len() < rest.len();
        body = body.or_else(|| separated.strip_prefix(['-', '–', '—']).filter(|_| is_apart));
    }
    let mut body = body?;
    if let (Some(mark), None) = (opened, closed) {
        let inner = body.trim_start_matches(is_space);
        body = inner.strip_prefix(mark).unwrap_or(body);
    }
    Some(Heading { block, start, content: start + line.len() - body.len(), strong })
}

pub(super) fn looks_like_heading(line: &str) -> bool {
    of_line(line, 0).is_some()
}

/// The rest of a line after a list mark: `- `, `* `, `1. ` or `1) `.
fn after_list_mark(line: &str) -> &str {
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let marked =
        if number.len() < line.len() { number.strip_prefix(['.', ')']) } else { line.strip_prefix(['-', '*', '+']) };
    match marked {
        Some(rest) if rest.starts_with(is_space) => rest.trim_start_matches(is_space),
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_recognised_in_any_markup() {
        for (line, strong, content) in [
            ("ACTION:", true, ""),
            ("ACTION: []", true, " []"),
            ("  action: []", false, " []"),
            ("Action：[]", false, "[]"),
            ("**ACTION:** []", true, " []"),
            ("**ACTION**: []", true, " []"),
            ("**Action:**", true, ""),
            ("### ACTION", true, ""),
            ("### **Action**", true, ""),
            ("## Action:", true, ""),
            ("__ACTION__ — []", true, " []"),
            ("ACTION - []", true, " []"),
            ("2. ACTION: []", true, " []"),
            ("* action: []", false, " []"),
            ("`ACTION`: []", true, " []"),
            ("\u{feff}ACTION:\u{a0}[]", true, "\u{a0}[]"),
            ("ACTION\r", true, "\r"),
        ] {
            let heading = of_line(line, 0).unwrap_or_else(|| panic!("{line:?}"));
            assert_eq!(
                (heading.block, heading.strong, &line[heading.content..]),
                (Block::Action, strong, content),
                "{line:?}"
            );
        }
    }

    #[test]
    fn prose_is_not_a_heading() {
        for line in [
            "action",
            "Action",
            "action - list",
            "ACTIONS: []",
            "ACTION-список",
            "ACTION items",
            "\"ACTION: []\"",
            "the ACTION: []",
            "Actionable: yes",
            "\\ACTION:",
            "ДЕЙСТВИЕ: []",
            "####### ACTION",
            "",
        ] {
            assert!(of_line(line, 0).is_none(), "{line:?}");
        }
    }
}
