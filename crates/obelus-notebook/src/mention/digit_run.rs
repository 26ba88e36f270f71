//! Groups of digits with few signs between them, which may be a telephone number. A long list of digits is one run and is
//! scanned once, whatever the number of its groups.

use super::calendar;
use super::numbers::{end_of_digits, first_groups};

/// Signs between the groups of a telephone number.
const SIGNS: [char; 8] = [' ', '-', '‐', '–', '.', '/', '(', ')'];
/// The most signs between two groups.
const MOST_SIGNS: usize = 3;

/// The latest run of groups.
#[derive(Default)]
pub(super) struct DigitRun {
    /// The starts of its groups.
    starts: Vec<usize>,
    /// For each start, a summary of the groups to the end.
    tails: Vec<Tail>,
}

/// The groups of a run from one of them on.
#[derive(Clone, Copy)]
pub(super) struct Tail {
    /// The number of groups.
    pub(super) groups: usize,
    /// The number of digits.
    pub(super) digits: usize,
    /// The lengths of the first three groups; 0 where there is none.
    pub(super) first: [usize; 3],
    /// Whether there is one blank between any two groups, and nothing else.
    pub(super) only_blanks: bool,
    /// Whether a group has more than four digits.
    pub(super) has_long: bool,
    /// The end of the run.
    pub(super) end: usize,
}

impl DigitRun {
    /// The groups from a position on, where digits begin; none if a date or a time begins there.
    pub(super) fn tail(&mut self, text: &str, start: usize) -> Option<Tail> {
        if self.starts.binary_search(&start).is_err() {
            *self = Self::at(text, start);
        }
        self.starts.binary_search(&start).ok().map(|index| self.tails[index])
    }

    /// The run that begins at a position.
    fn at(text: &str, start: usize) -> Self {
        let mut run = Self::default();
        let (mut lengths, mut blanks, mut from) = (Vec::new(), Vec::new(), start);
        let end = loop {
            // Neither a date nor a time has four groups.
            let (groups, signs) = first_groups(text, from, 4);
            if calendar::is_date(&groups, &signs) || calendar::is_time(&groups, &signs) {
                break text[..from].trim_end_matches([' ', '-', '.', '/', '(', ')']).len();
            }
            let end = end_of_digits(text, from);
            run.starts.push(from);
            lengths.push(end - from);
            let rest = &text[end..];
            let digits = rest.trim_start_matches(SIGNS);
            let signs = &rest[..rest.len() - digits.len()];
            let is_next = digits.starts_with(|next: char| next.is_ascii_digit());
            if signs.is_empty() || signs.chars().count() > MOST_SIGNS || !is_next {
                break end;
            }
            blanks.push(signs == " ");
            from = text.len() - digits.len();
        };
        let mut tail = Tail { groups: 0, digits: 0, first: [0; 3], only_blanks: true, has_long: false, end };
        for (index, length) in lengths.iter().enumerate().rev() {
            tail = Tail {
                groups: tail.groups + 1,
                digits: tail.digits + length,
                first: [*length, tail.first[0], tail.first[1]],
                only_blanks: tail.only_blanks && blanks.get(index).is_none_or(|is_blank| *is_blank),
                has_long: tail.has_long || *length > 4,
                end,
            };
            run.tails.push(tail);
        }
        run.tails.reverse();
        run
    }
}
