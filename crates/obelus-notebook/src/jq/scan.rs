//! A look at the text of a filter before it is parsed: definitions are not supported, and the parser recurses, so that a
//! text that is nested too deep would overflow the stack, which ends the whole program.

/// The most operators and brackets within each other, and in one chain.
const MOST_DEPTH: usize = 256;

/// Keywords after which the rest belongs to them.
const NESTING: [&str; 10] = ["and", "or", "as", "elif", "try", "catch", "reduce", "foreach", "label", "not"];

/// A bracket or a text that is not closed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    /// The filter itself, brackets, or `if … end`.
    Code { opening: char, operators: usize },
    /// A text.
    Text,
}

/// Why a text is not parsed, if it is not.
pub(super) fn problem(text: &str) -> Option<String> {
    let mut scan = Scan { within: vec![Within::Code { opening: ' ', operators: 0 }], word: String::new(), before: ' ' };
    let mut chars = text.chars().chain([' ']).enumerate().peekable();
    let mut in_comment = false;
    while let Some((index, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        match scan.within.last() {
            Some(Within::Text) => match (c, next) {
                ('\\', Some('(')) => {
                    chars.next();
                    scan.open('(');
                }
                ('\\', Some(_)) => drop(chars.next()),
                ('"', _) => drop(scan.within.pop()),
                _ => {}
            },
            _ if in_comment => in_comment = c != '\n',
            _ if c.is_alphanumeric() || c == '_' => scan.word.push(c),
            _ => {
                let word = std::mem::take(&mut scan.word);
                if word == "def" && !matches!(scan.before, '.' | '$' | '@') {
                    let column = index + 1 - word.chars().count();
                    return Some(format!("column {column}: a filter is one expression; `def` is not supported"));
                }
                scan.keyword(&word);
                in_comment = c == '#';
                scan.sign(c, next);
                scan.before = c;
            }
        }
        if scan.depth() > MOST_DEPTH {
            return Some(format!("column {}: it is nested too deep, or its chain of operators is too long", index + 1));
        }
    }
    None
}

struct Scan {
    within: Vec<Within>,
    /// The letters of the word so far.
    word: String,
    /// The sign before the word.
    before: char,
}

impl Scan {
    fn open(&mut self, opening: char) {
        self.within.push(Within::Code { opening, operators: 0 });
    }

    /// Closes a level that was opened so; any other end is an error that the parser reports.
    fn close(&mut self, opened: char) {
        if matches!(self.within.last(), Some(Within::Code { opening, .. }) if *opening == opened) {
            self.within.pop();
        }
    }

    /// Counts one more operator at this level.
    fn count(&mut self) {
        if let Some(Within::Code { operators, .. }) = self.within.last_mut() {
            *operators += 1;
        }
    }

    fn keyword(&mut self, word: &str) {
        match word {
            _ if matches!(self.before, '.' | '$' | '@') => {}
            "if" => self.open('i'),
            "end" => self.close('i'),
            word if NESTING.contains(&word) => self.count(),
            _ => {}
        }
    }

    fn sign(&mut self, c: char, next: Option<char>) {
        let opening = match self.within.last() {
            Some(Within::Code { opening, .. }) => *opening,
            _ => ' ',
        };
        match c {
            '"' => self.within.push(Within::Text),
            '(' | '[' | '{' => self.open(c),
            ')' => self.close('('),
            ']' => self.close('['),
            '}' => self.close('{'),
            // The fields of an object and the arguments of a function stand beside each other.
            ',' if opening == '{' => self.begin_part(),
            ';' => self.begin_part(),
            '|' | ',' | '+' | '-' | '*' | '/' | '%' | '=' | '<' | '>' if !matches!(next, Some('=' | '/')) => {
                self.count();
            }
            _ => {}
        }
    }

    fn begin_part(&mut self) {
        if let Some(Within::Code { operators, .. }) = self.within.last_mut() {
            *operators = 0;
        }
    }

    fn depth(&self) -> usize {
        let of = |within: &Within| match within {
            Within::Code { operators, .. } => 1 + operators,
            Within::Text => 1,
        };
        self.within.iter().map(of).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_would_overflow_the_stack_is_refused() {
        for (opening, closing) in [
            ("(", ")"),
            ("[", "]"),
            ("{a:", "}"),
            ("{end:", "}"),
            ("-", ""),
            ("try ", ""),
            ("if . then ", " else . end"),
            ("map(", ")"),
            (". as $x | ", ""),
            ("reduce . as $x (.; ", ")"),
            ("\"\\(", ")\""),
            (". | ", ""),
            ("1 + ", ""),
            (". // ", ""),
            (". == ", ""),
            (". and ", ""),
        ] {
            let nested = |times: usize| format!("{}.{}", opening.repeat(times), closing.repeat(times));
            assert!(problem(&nested(10_000)).is_some_and(|problem| problem.contains("too deep")), "{opening}");
            assert_eq!(problem(&nested(60)), None, "{opening}");
        }
    }

    #[test]
    fn long_lists_of_fields_and_arguments_are_no_depth() {
        let fields: Vec<String> = (0..1_000).map(|n| format!("f{n}: (.a + {n})")).collect();
        assert_eq!(problem(&format!("{{{}}}", fields.join(", "))), None);
        let steps: Vec<&str> = std::iter::repeat_n("if .a then .b else .c end", 100).collect();
        assert_eq!(problem(&steps.join(" | ")), None);
        assert_eq!(problem(&format!("# {}\n.", "((((".repeat(1_000))), None);
    }

    #[test]
    fn a_definition_is_found_inside_a_text_too() {
        for wrong in ["def f: 1 + f; f", ". | (def f: f; f)", r#""\(def f: 1 + f; f)""#] {
            assert!(problem(wrong).is_some_and(|problem| problem.contains("`def` is not supported")), "{wrong}");
        }
        for fine in [".def", "\"def f: f\"", ".a.def | .definition", "\"\\\" def\""] {
            assert_eq!(problem(fine), None, "{fine}");
        }
    }
}
