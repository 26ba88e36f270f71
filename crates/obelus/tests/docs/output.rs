//! Compares the output in a document with that of a command.

/// Stands for any part of a line, or alone for any lines.
const ANYTHING: char = '…';

/// The difference between the output and the document, if any. A line of only `…` stands for any number of lines.
pub(crate) fn difference(shown: &[String], printed: &str) -> Option<String> {
    let printed: Vec<&str> = printed.lines().map(str::trim_end).collect();
    let shown: Vec<&str> = shown.iter().map(|line| line.trim_end()).collect();
    (!matches_lines(&shown, &printed))
        .then(|| format!("the document shows:\n{}\nit printed:\n{}", indented(&shown), indented(&printed)))
}

fn matches_lines(shown: &[&str], printed: &[&str]) -> bool {
    match (shown.split_first(), printed.split_first()) {
        (None, _) => printed.iter().all(|line| line.is_empty()),
        (Some((&"…", rest)), _) => (0..=printed.len()).any(|skipped| matches_lines(rest, &printed[skipped..])),
        (Some(_), None) => shown.iter().all(|line| line.is_empty()),
        (Some((line, shown_rest)), Some((text, printed_rest))) => {
            if matches_text(line, text) {
                return matches_lines(shown_rest, printed_rest);
            }
            // Empty lines are ignored.
            (line.is_empty() && matches_lines(shown_rest, printed))
                || (text.is_empty() && matches_lines(shown, printed_rest))
        }
    }
}

fn matches_text(shown: &str, printed: &str) -> bool {
    match shown.split_once(ANYTHING) {
        None => shown == printed,
        Some((before, after)) => printed.strip_prefix(before).is_some_and(|rest| {
            let starts = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
            starts.into_iter().any(|at| matches_text(after, &rest[at..]))
        }),
    }
}

fn indented(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("    {line}\n")).collect()
}

#[test]
fn an_ellipsis_matches_part_of_a_line_or_several_lines() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(difference(&lines("a … c\n…\nend"), "a b c\n1\n2\nend\n"), None);
    assert_eq!(difference(&lines("a"), "\na\n\n"), None);
    assert!(difference(&lines("a … d"), "a b c").is_some());
    assert!(difference(&lines("a"), "a\nb").is_some());
}
