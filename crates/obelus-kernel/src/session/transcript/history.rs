//! The entries of a transcript in order. Sent entries stay unchanged until the limit is reached: then the oldest
//! become lines all at once, so that a provider's cache is lost once and not with every request.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::pending_call::PendingCall;
use obelus_notebook::transcript_entry::{CallEntry, CallStatus, TranscriptEntry, TranscriptEvent};

/// The limit of unsent entries. Over it, the older half is left out.
const MOST_UNSENT: usize = 200;
/// How many budgets long a prompt may be because of unsent entries.
const MOST_BUDGETS: usize = 4;

/// The events, oldest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in crate::session) struct History {
    entries: Vec<TranscriptEntry>,
    /// How many of them the latest request has.
    sent: usize,
    /// The number of the current batch.
    batch: u64,
    /// Calls that follow the entries, and are no entries yet.
    #[serde(skip)]
    calls: VecDeque<PendingCall>,
}

impl History {
    /// Adds a call. Its entry is made when something reads the entries.
    pub(in crate::session) fn push_call(&mut self, call: PendingCall) {
        self.calls.push_back(call);
        self.limit_unsent();
    }

    /// Makes the entries of pending calls.
    pub(in crate::session) fn flush(&mut self) {
        std::mem::take(&mut self.calls).into_iter().for_each(|call| self.insert(call.event()));
    }

    pub(in crate::session) fn has_pending_calls(&self) -> bool {
        !self.calls.is_empty()
    }

    pub(in crate::session) fn push(&mut self, event: TranscriptEvent) {
        self.flush();
        self.insert(event);
    }

    fn insert(&mut self, event: TranscriptEvent) {
        let entry = TranscriptEntry::new(self.batch, event);
        let at = match &entry.what {
            // Concurrent calls end in any order: they are listed in the order of the answer.
            TranscriptEvent::Call(call) => {
                let is_later = |other: &TranscriptEntry| match &other.what {
                    TranscriptEvent::Call(other) => other.place > call.place,
                    _ => false,
                };
                let later = self.entries[self.sent..].iter().rev().take_while(|other| is_later(other)).count();
                self.entries.len() - later
            }
            _ => self.entries.len(),
        };
        // Observations since the latest request were not shown, and nothing refers to them.
        if matches!(entry.what, TranscriptEvent::Observed { is_part: false, .. }) {
            let unsent = self.entries.split_off(self.sent);
            self.entries.extend(unsent.into_iter().filter(|entry| !entry.shows_observation()));
        }
        self.entries.insert(at.min(self.entries.len()), entry);
        self.limit_unsent();
    }

    /// Leaves out the older half of too many unsent entries. Without model requests, as in a plan that a person runs,
    /// nothing else shortens the history. No entries are made of calls that are left out.
    fn limit_unsent(&mut self) {
        if self.entries.len() - self.sent + self.calls.len() <= MOST_UNSENT {
            return;
        }
        let (sent, until) = (self.sent, self.entries.len().min(self.sent + MOST_UNSENT / 2));
        let mut omitted = Omitted::default();
        self.calls.drain(..MOST_UNSENT / 2 - (until - sent)).for_each(|call| omitted.add_call(&call.entry));
        // The model's answer stays: the calls are its own.
        let is_answer = |entry: &TranscriptEntry| matches!(entry.what, TranscriptEvent::Answer { .. });
        self.leave_out(omitted, |at, entry| (sent..until).contains(&at) && !is_answer(entry));
    }

    /// Prepares a request that shows everything so far, within this many characters.
    pub(in crate::session) fn note_request(&mut self, budget: usize) {
        self.flush();
        self.fold_observations();
        self.make_room(budget);
        self.sent = self.entries.len();
        self.batch += 1;
    }

    /// What the latest request shows.
    pub(in crate::session) fn sent(&self) -> &[TranscriptEntry] {
        &self.entries[..self.sent]
    }

    /// Calls that no request has shown yet, each with its index.
    pub(in crate::session) fn unsent_calls(&self) -> impl Iterator<Item = (usize, &CallEntry)> {
        self.entries.iter().enumerate().skip(self.sent).filter_map(|(at, entry)| match &entry.what {
            TranscriptEvent::Call(call) => Some((at, &**call)),
            _ => None,
        })
    }

    /// Whether an entry says that the call of this place waits for a person.
    pub(in crate::session) fn has_shown_waiting(&self, place: (u32, u32)) -> bool {
        self.entries.iter().any(|entry| match &entry.what {
            TranscriptEvent::Call(call) => call.place == place && call.status == CallStatus::Waiting,
            _ => false,
        })
    }

    /// Removes the result of a call.
    pub(in crate::session) fn forget_result(&mut self, at: usize) {
        let Some(entry) = self.entries.get_mut(at) else { return };
        if let TranscriptEvent::Call(call) = &mut entry.what {
            call.result = None;
            call.at.clear();
            *entry = TranscriptEntry::new(entry.batch, entry.what.clone());
        }
    }

    /// Whether the model's latest answer has this text.
    pub(in crate::session) fn answer_has(&self, text: &str) -> bool {
        let answer = self.entries.iter().rev().find_map(|entry| match &entry.what {
            TranscriptEvent::Answer { say, output, .. } => Some((say, output)),
            _ => None,
        });
        let in_output = |output: &Value| match output {
            Value::Object(fields) => fields.values().any(|field| field == text),
            other => other == text,
        };
        answer.is_some_and(|(say, output)| say.as_deref() == Some(text) || in_output(output))
    }

    /// Keeps only texts.
    pub(in crate::session) fn keep_texts_only(&mut self) {
        self.flush();
        let text = |entry: TranscriptEntry| match entry.what {
            TranscriptEvent::Answer { say: Some(text), .. } => Some(TranscriptEvent::Assistant { text }),
            TranscriptEvent::Answer { output: Value::String(text), .. } => Some(TranscriptEvent::Assistant { text }),
            text @ (TranscriptEvent::User { .. } | TranscriptEvent::Assistant { .. }) => Some(text),
            _ => None,
        };
        let texts = std::mem::take(&mut self.entries).into_iter().filter_map(text);
        self.entries = texts.map(|event| TranscriptEntry::new(self.batch, event)).collect();
        self.sent = 0;
    }

    /// The driver has lost the observations.
    pub(in crate::session) fn forget_observations(&mut self) {
        for entry in self.entries.iter_mut().filter(|entry| entry.shows_observation()) {
            *entry = entry.digest().unwrap_or_else(|| entry.clone());
        }
    }

    /// The index of the last whole observation: it and the changes since are the current one.
    fn current_observation(&self) -> usize {
        let is_whole = |entry: &TranscriptEntry| matches!(entry.what, TranscriptEvent::Observed { is_part: false, .. });
        self.entries.iter().rposition(is_whole).unwrap_or(self.entries.len())
    }

    /// Turns observations before the current one into lines. Resending an old page with every request costs more than
    /// a cache saves, and what precedes it stays a prefix of the next request.
    fn fold_observations(&mut self) {
        let current = self.current_observation();
        for entry in self.entries[..current].iter_mut().filter(|entry| entry.shows_observation()) {
            *entry = entry.digest().unwrap_or_else(|| entry.clone());
        }
    }

    fn size(&self) -> usize {
        self.entries.iter().map(|entry| entry.size).sum()
    }

    /// Over the budget, shortens sent entries to half of it. Unsent entries stay whole, unless they alone are several
    /// times as long.
    fn make_room(&mut self, budget: usize) {
        if self.size() > budget {
            self.shorten(budget / 2, self.sent);
        }
        if self.size() > budget.saturating_mul(MOST_BUDGETS) {
            self.shorten(budget, self.entries.len());
        }
    }

    /// Shortens the first entries: results become lines, then the oldest entries are removed, lasting ones last.
    fn shorten(&mut self, target: usize, first: usize) {
        let mut size = self.size();
        let current = self.current_observation();
        for (at, entry) in self.entries[..first].iter_mut().enumerate() {
            if size <= target {
                return;
            }
            let is_current = at >= current && entry.shows_observation();
            if entry.is_digest || is_current {
                continue;
            }
            if let Some(digest) = entry.digest() {
                size -= entry.size - digest.size;
                *entry = digest;
            }
        }
        let unshortened = self.entries.len() - first;
        for takes_lasting in [false, true] {
            let (mut size, first) = (self.size(), self.entries.len() - unshortened);
            let current = self.current_observation();
            self.leave_out(Omitted::default(), |at, entry| {
                let is_current = at >= current && entry.shows_observation();
                let goes = at < first && size > target && !is_current && (takes_lasting || !entry.is_lasting());
                if goes {
                    size -= entry.size;
                }
                goes
            });
        }
    }

    /// Removes entries, and notes their number at the beginning, beside `omitted` others.
    fn leave_out(&mut self, mut omitted: Omitted, mut goes: impl FnMut(usize, &TranscriptEntry) -> bool) {
        let mut entries = Vec::with_capacity(self.entries.len());
        let mut sent = 0;
        for (at, entry) in std::mem::take(&mut self.entries).into_iter().enumerate() {
            let is_out = goes(at, &entry);
            match entry.what {
                TranscriptEvent::LeftOut { count, calls } => {
                    omitted.count += count;
                    calls.into_iter().for_each(|(name, n)| *omitted.calls.entry(name).or_insert(0) += n);
                }
                TranscriptEvent::Call(call) if is_out => omitted.add_call(&call),
                _ if is_out => omitted.count += 1,
                what => {
                    sent += usize::from(at < self.sent);
                    entries.push(TranscriptEntry { what, ..entry });
                }
            }
        }
        let Omitted { count, calls } = omitted;
        if count > 0 {
            entries.insert(0, TranscriptEntry::new(0, TranscriptEvent::LeftOut { count, calls }));
            sent += usize::from(self.sent > 0);
        }
        self.entries = entries;
        self.sent = sent;
    }
}

/// What is left of removed entries (see [`TranscriptEvent::LeftOut`]).
#[derive(Default)]
struct Omitted {
    count: usize,
    calls: BTreeMap<String, usize>,
}

impl Omitted {
    fn add_call(&mut self, call: &CallEntry) {
        self.count += 1;
        if call.changes || call.status != CallStatus::Done {
            *self.calls.entry(name_and_status(call)).or_insert(0) += 1;
        }
    }
}

fn name_and_status(call: &CallEntry) -> String {
    format!("{} {}", call.call.tool().unwrap_or("a call"), call.status.name())
}

#[cfg(test)]
mod tests {
    use obelus_notebook::call_json::CallJson;
    use serde_json::json;

    use super::*;
    use crate::time::Time;

    fn call(place: u32, tool: &str, status: CallStatus, result: &str) -> TranscriptEvent {
        TranscriptEvent::Call(Box::new(CallEntry {
            place: (0, place),
            call: CallJson::of_tool(tool),
            status,
            error: None,
            at: Vec::new(),
            result: Some(result.into()),
            changes: tool == "make",
            approved: false,
        }))
    }

    fn user(text: &str) -> TranscriptEvent {
        TranscriptEvent::User { text: text.to_owned(), time: Time(0) }
    }

    fn shown(history: &History) -> Vec<String> {
        let word = |entry: &TranscriptEntry| match &entry.what {
            TranscriptEvent::Call(call) => {
                let digest = if entry.is_digest { " digest" } else { "" };
                format!("{} {}{digest}", call.call.tool().unwrap(), call.status.name())
            }
            TranscriptEvent::User { text, .. } => text.clone(),
            TranscriptEvent::LeftOut { count, calls } => format!("{count} left out {calls:?}"),
            other => format!("{other:?}"),
        };
        history.sent().iter().map(word).collect()
    }

    #[test]
    fn calls_are_listed_in_the_order_of_writing_and_sent_entries_do_not_move() {
        let mut history = History::default();
        history.push(call(1, "b", CallStatus::Done, ""));
        history.push(call(0, "a", CallStatus::Done, ""));
        history.note_request(10_000);
        history.push(call(0, "late", CallStatus::Done, ""));
        history.note_request(10_000);
        assert_eq!(shown(&history), ["a done", "b done", "late done"]);
        assert_eq!(history.sent().iter().map(|entry| entry.batch).collect::<Vec<_>>(), [0, 0, 1]);
    }

    #[test]
    fn over_the_budget_the_oldest_results_become_lines_down_to_half_of_it() {
        let mut history = History::default();
        let long = "x".repeat(200);
        for n in 0..10 {
            history.push(call(n, "read", CallStatus::Done, &long));
        }
        history.note_request(3_400);
        assert!(shown(&history).iter().all(|line| line == "read done"), "it fits");
        history.push(call(10, "read", CallStatus::Done, &"y".repeat(900)));
        history.note_request(3_400);
        let lines = shown(&history);
        assert_eq!(lines[0], "read done digest");
        assert_eq!(lines.last().unwrap(), "read done", "the model has not seen it yet");
        assert!(history.size() <= 1_700, "{}", history.size());
        let before = history.clone();
        history.push(user("more"));
        history.note_request(3_400);
        assert_eq!(history.sent()[..11], *before.sent(), "nothing is rewritten until there is no room again");
    }

    fn observed(address: &str, chars: usize, is_part: bool) -> TranscriptEvent {
        let about = json!({"address": address, "digest": address, "chars": chars});
        TranscriptEvent::Observed { tool: "observe".to_owned(), about, is_part }
    }

    /// The visible addresses, with a mark on those that are only a line.
    fn pages(history: &History) -> Vec<String> {
        let word = |entry: &TranscriptEntry| match &entry.what {
            TranscriptEvent::Observed { about, .. } => {
                Some(format!("{}{}", about["address"].as_str()?, if entry.is_digest { "~" } else { "" }))
            }
            _ => None,
        };
        history.sent().iter().filter_map(word).collect()
    }

    #[test]
    fn opr_10_a_left_page_becomes_a_line_and_earlier_entries_are_unchanged() {
        let mut history = History::default();
        history.push(user("go"));
        history.push(observed("page", 5_000, false));
        history.note_request(48_000);
        history.push(observed("page, changed", 300, true));
        history.note_request(48_000);
        assert_eq!(pages(&history), ["page", "page, changed"], "a page and its changes are the current one");
        let before = history.clone();
        history.push(observed("next", 9_000, false));
        history.note_request(48_000);
        assert_eq!(pages(&history), ["page~", "page, changed~", "next"]);
        assert_eq!(history.sent()[..1], before.sent()[..1]);
        history.forget_observations();
        assert_eq!(pages(&history), ["page~", "page, changed~", "next~"]);
    }

    #[test]
    fn the_current_page_is_kept_over_any_budget_and_an_unsent_one_is_dropped() {
        let mut history = History::default();
        history.push(observed("unseen", 100, false));
        history.push(observed("page", 9_000, false));
        history.push(user("hello"));
        history.note_request(1_000);
        history.push(observed("page, changed", 100, true));
        history.note_request(1_000);
        assert_eq!(pages(&history), ["page", "page, changed"]);
    }

    #[test]
    fn reads_and_texts_are_shortened_before_changes_denials_and_failures() {
        let mut history = History::default();
        for n in 0..30 {
            history.push(user(&format!("message {n} {}", "z".repeat(30))));
            history.push(call(n, "read", CallStatus::Done, "r"));
        }
        history.push(call(0, "make", CallStatus::Done, "m"));
        history.push(call(1, "make", CallStatus::Denied, "m"));
        history.push(call(2, "read", CallStatus::Failed, "m"));
        history.note_request(100_000);
        history.push(user("now"));
        history.note_request(1_000);
        let lines = shown(&history);
        assert!(lines[0].ends_with("left out {}"), "{lines:?}");
        for kept in ["make done digest", "make denied digest", "read failed digest", "now"] {
            assert!(lines.iter().any(|line| line == kept), "{kept}: {lines:?}");
        }
        assert!(history.size() <= 500 + 40, "{}", history.size());
    }

    #[test]
    fn changes_beyond_the_budget_are_counted() {
        let mut history = History::default();
        for n in 0..100 {
            history.push(call(n, "make", CallStatus::Done, "m"));
        }
        history.note_request(100_000);
        history.note_request(1_000);
        assert_eq!(shown(&history)[0].split_once(' ').unwrap().1.split(' ').next(), Some("left"));
        let TranscriptEvent::LeftOut { count, calls } = &history.sent()[0].what else { panic!("{history:?}") };
        assert_eq!(calls["make done"], *count);
        assert_eq!(count + history.sent().len() - 1, 100);
    }

    #[test]
    fn the_number_of_unsent_entries_is_limited() {
        let mut history = History::default();
        for n in 0..5_000 {
            history.push(call(n, "make", CallStatus::Done, "m"));
        }
        assert!(history.entries.len() <= MOST_UNSENT + 1, "{}", history.entries.len());
        history.note_request(1_000);
        assert!(history.size() <= 4_000, "{}", history.size());
        let TranscriptEvent::LeftOut { count, calls } = &history.sent()[0].what else { panic!("{history:?}") };
        assert_eq!((calls["make done"], count + history.sent().len() - 1), (*count, 5_000));
    }

    #[test]
    fn a_one_off_request_keeps_only_the_texts() {
        let mut history = History::default();
        history.push(user("hello"));
        let (say, output, calls) = (Some("hi".to_owned()), Value::Null, vec![CallJson::of_tool("t")]);
        history.push(TranscriptEvent::Answer { node: None, thought: None, say, calls, output });
        history.push(call(0, "read", CallStatus::Done, "r"));
        history.note_request(1_000);
        history.keep_texts_only();
        history.note_request(1_000);
        let words = history.sent().iter().map(|entry| entry.what.clone()).collect::<Vec<_>>();
        assert_eq!(words, [user("hello"), TranscriptEvent::Assistant { text: "hi".to_owned() }]);
    }
}
