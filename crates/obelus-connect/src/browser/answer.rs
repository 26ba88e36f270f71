//! Answers of the browser's server: sections, each with a headline.

use crate::mcp::ToolResult;

/// A dialog that must be answered first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Modal {
    /// `alert`, `confirm`, `prompt`, `beforeunload`, or `file` for a file chooser.
    pub(super) kind: String,
    /// The server's text, with text of the page in it.
    pub(super) words: String,
}

/// An answer of the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BrowserAnswer {
    pub(super) error: Option<String>,
    pub(super) result: Option<String>,
    pub(super) address: Option<String>,
    pub(super) title: Option<String>,
    pub(super) tabs: Option<String>,
    pub(super) modal: Option<Modal>,
    pub(super) snapshot: Option<String>,
    /// The number of downloaded files.
    pub(super) downloads: usize,
}

impl BrowserAnswer {
    pub(super) fn read(brought: &ToolResult) -> Self {
        let text = brought.texts.join("\n");
        let mut answer = Self::parse(&text);
        if brought.is_error && answer.error.is_none() {
            answer.error = Some(text);
        }
        answer
    }

    pub(super) fn parse(text: &str) -> Self {
        let mut answer = Self::default();
        // The text of a dialog may have several lines and look like anything. It comes last.
        let (text, modal) = match split_at_headline(text, "### Modal state\n") {
            Some((before, words)) => (before, Some(words)),
            None => (text, None),
        };
        if let Some(words) = modal {
            let quoted = words.strip_prefix("- [\"").and_then(|rest| rest.split_once('"'));
            let kind = quoted.map_or("file", |(kind, _)| kind).to_owned();
            answer.modal = Some(Modal { kind, words: words.trim_end().to_owned() });
        }
        let mut rest = text;
        while let Some((title, body)) = rest.strip_prefix("### ").and_then(|rest| rest.split_once('\n')) {
            // Lines of a page begin with a dash or a space, and errors may have several lines.
            let end = body.find("\n### ").map_or(body.len(), |at| at + 1);
            let (section, next) = body.split_at(end);
            answer.take(title, section.trim_end_matches('\n'));
            rest = next;
        }
        answer
    }

    fn take(&mut self, title: &str, section: &str) {
        match title {
            "Error" => self.error = Some(section.to_owned()),
            "Result" => self.result = Some(section.to_owned()),
            "Open tabs" => self.tabs = Some(section.to_owned()),
            "Page" => {
                let line = |start: &str| section.lines().find_map(|line| line.strip_prefix(start)).map(str::to_owned);
                self.address = line("- Page URL: ");
                self.title = line("- Page Title: ");
            }
            "Snapshot" => {
                let block = section.strip_prefix("```yaml\n").unwrap_or(section);
                self.snapshot = Some(block.strip_suffix("```").unwrap_or(block).trim_end_matches('\n').to_owned());
            }
            "Events" => {
                self.downloads = section.lines().filter(|line| line.starts_with("- Downloaded file ")).count();
            }
            _ => {}
        }
    }
}

fn split_at_headline<'a>(text: &'a str, headline: &str) -> Option<(&'a str, &'a str)> {
    let mut from = 0;
    while let Some(at) = text[from..].find(headline).map(|at| from + at) {
        if at == 0 || text[..at].ends_with('\n') {
            return Some((&text[..at], &text[at + headline.len()..]));
        }
        from = at + headline.len();
    }
    None
}

/// Replaces an error of the browser with our own text. The original may quote the page, so it is only searched for
/// known phrases.
pub(super) fn in_our_words(error: &str) -> String {
    const KNOWN: [(&str, &str); 12] = [
        ("element is not editable", "the field cannot be typed into"),
        ("element is not enabled", "the element is disabled"),
        ("element is not visible", "the element is not visible"),
        ("element is outside of the viewport", "the element cannot be brought into view"),
        ("intercepts pointer events", "something else lies over the element"),
        ("did not find some options", "the list has no such option"),
        ("is not a <select>", "the element is no list to choose from"),
        ("Element is not an <input>", "the element cannot be typed into"),
        ("not found in the current page snapshot", "the element is gone"),
        ("does not handle the modal state", "a dialog is open"),
        ("has been closed", "the page was closed"),
        ("Timeout", "it took too long"),
    ];
    let code = error.split("net::").nth(1).map(|rest| {
        let end = rest.find(|letter: char| !(letter.is_ascii_uppercase() || letter == '_')).unwrap_or(rest.len());
        format!("the network says {}", &rest[..end])
    });
    let known = KNOWN.iter().find(|(theirs, _)| error.contains(theirs)).map(|(_, ours)| (*ours).to_owned());
    code.or(known).unwrap_or_else(|| "the browser could not do it".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_of_an_answer_are_separated() {
        let answer = BrowserAnswer::parse(
            "### Open tabs\n- 0: (current) [A](http://a.test/)\n- 1: [B](http://b.test/)\n### Page\n- Page URL: http://a.test/\n\
             - Page Title: A ### Snapshot\n### Snapshot\n```yaml\n- button \"### Error\" [ref=e1]\n```\n### Events\n\
             - Downloading file a ...\n- Downloaded file a to \"out/a\"",
        );
        assert_eq!(answer.address.as_deref(), Some("http://a.test/"));
        assert_eq!(answer.title.as_deref(), Some("A ### Snapshot"));
        assert_eq!(answer.snapshot.as_deref(), Some("- button \"### Error\" [ref=e1]"));
        assert_eq!((answer.downloads, answer.error, answer.modal), (1, None, None));
        assert!(answer.tabs.unwrap().contains("b.test"));
        assert_eq!(BrowserAnswer::parse("### Snapshot\n```yaml\n\n```").snapshot.as_deref(), Some(""));
    }

    #[test]
    fn text_of_a_dialog_is_not_parsed_as_a_section() {
        let answer = BrowserAnswer::parse(
            "### Error\nError: Tool \"browser_snapshot\" does not handle the modal state.\n### Modal state\n\
             - [\"confirm\" dialog with message \"a\n### Snapshot\n```yaml\n- button \"x\" [ref=e1]\n```\"]: can be handled",
        );
        assert_eq!(answer.modal.unwrap().kind, "confirm");
        assert_eq!(answer.snapshot, None);
        let answer = BrowserAnswer::parse("### Modal state\n- [File chooser]: can be handled by browser_file_upload");
        assert_eq!(answer.modal.unwrap().kind, "file");
    }

    #[test]
    fn errors_do_not_quote_the_page() {
        let error = "TimeoutError: Timeout 5000ms exceeded.\n - locator resolved to <input value=\"canary\"/>\n - element is not editable";
        assert_eq!(in_our_words(error), "the field cannot be typed into");
        let error = "Error: net::ERR_NAME_NOT_RESOLVED at https://canary.test/";
        assert_eq!(in_our_words(error), "the network says ERR_NAME_NOT_RESOLVED");
        assert_eq!(in_our_words("canary"), "the browser could not do it");
    }

    #[test]
    fn fuzz_any_answer_about_a_page_is_read() {
        use crate::browser::{PageSnapshot, is_id};
        crate::fuzz::fuzz("browser", |input| {
            let text = String::from_utf8_lossy(input);
            let answer = BrowserAnswer::parse(&text);
            let _ = in_our_words(&text);
            let Some(page) = answer.snapshot else { return answer.modal.is_some() };
            let snapshot = PageSnapshot::parse(&page);
            for element in snapshot.elements() {
                assert!(is_id(&element.id) && page.contains(&format!("[ref={}]", element.id)));
                assert_eq!(snapshot.get(&element.id), Some(element));
                assert_eq!(snapshot.find(&element.role, &element.label, element.nth), Some(element));
                assert!(element.label.chars().count() <= 100);
            }
            !snapshot.elements().is_empty()
        });
    }
}
