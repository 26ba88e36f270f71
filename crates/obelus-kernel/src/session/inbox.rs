//! The inbox: open questions, and people's decisions.
//!
//! It owns questions, decisions about calls, and elicitations of running calls. It knows only the ids of jobs: a
//! decision returns the jobs it releases.

mod elicitation;
mod elicitation_form;
mod naming;
mod question;
mod shown;
mod texts_by_people;
mod updates;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::ids::{JobRef, QuestionId, QuestionNumber};
use super::past::PastEffects;
use crate::policy::{Grounded, Reason};
use crate::time::Time;
pub(super) use elicitation::{Elicitation, check_answer};
pub use elicitation_form::ElicitationForm;
pub(super) use naming::{SessionReason, headline, names_in};
use obelus_notebook::describe::ValueMark;
pub use question::{About, AskedCall, Change, Question, QuestionStatus};
pub(super) use question::{Draft, Terms};
pub(super) use texts_by_people::each_text;
pub(super) use updates::ImportedTerms;

/// Questions and decisions of a session.
#[derive(Default)]
pub(super) struct Inbox {
    /// The number before the first question's (ASK-1).
    before_first: u64,
    all: BTreeMap<u64, Question>,
    /// Numbers of the open ones.
    open: BTreeSet<u64>,
    /// The latest question about each call: its number and the call's index in it.
    places: BTreeMap<String, (u64, usize)>,
    /// Hashes of denied calls, with the length of the context at that time.
    denied: BTreeMap<String, usize>,
    /// Hashes of approved calls.
    approved: BTreeMap<String, Approved>,
    /// The hashes of approved calls that have not ended, by job.
    granted: BTreeMap<JobRef, String>,
    /// Jobs that wait for the result of another one.
    joined: BTreeMap<JobRef, Vec<JobRef>>,
    /// Jobs that need a person, to be asked about together with those of other instances.
    asking: Vec<NeedsPerson>,
    /// Open elicitations, by job.
    elicitations: BTreeMap<JobRef, Vec<QuestionNumber>>,
    /// The question that the user's latest message may answer.
    answerable: Option<QuestionId>,
    /// People's texts in reasons, answers and edits.
    texts_by_people: Vec<String>,
}

/// The stored part of an inbox: without what only running jobs need. The past of the session is stored in it.
#[derive(Serialize, Deserialize)]
pub(super) struct InboxRecord<'a> {
    all: Cow<'a, BTreeMap<u64, Question>>,
    places: Cow<'a, BTreeMap<String, (u64, usize)>>,
    denied: Cow<'a, BTreeMap<String, usize>>,
    approved: Cow<'a, BTreeMap<String, Approved>>,
    answerable: Cow<'a, Option<QuestionId>>,
    #[serde(rename = "written", default)]
    texts_by_people: Cow<'a, [String]>,
    #[serde(flatten)]
    past: Cow<'a, PastEffects>,
}

/// A job that needs a person.
pub(super) struct NeedsPerson {
    pub(super) at: JobRef,
    pub(super) described: CallDescription,
    pub(super) reasons: Vec<Reason>,
    pub(super) grounded: Vec<Grounded>,
}

/// A call as text, and its untrusted values.
pub(super) struct CallDescription {
    pub(super) text: String,
    pub(super) marks: Vec<ValueMark>,
}

/// The state of an approved call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Approved {
    Running(JobRef),
    Done,
}

/// How a question ended.
pub(super) struct QuestionEnd<'a> {
    pub(super) status: QuestionStatus,
    pub(super) at: Time,
    pub(super) by: &'a str,
    pub(super) reason: Option<&'a str>,
}

/// Decided calls of a question: each with its hash and its waiting jobs.
pub(super) type DecidedCalls = Vec<(String, Vec<JobRef>)>;

impl Inbox {
    /// The inbox to store, with the past; none while a job waits or runs for a question.
    pub(super) fn record<'a>(&'a self, past: &'a PastEffects) -> Option<InboxRecord<'a>> {
        let is_idle =
            self.granted.is_empty() && self.joined.is_empty() && self.asking.is_empty() && self.elicitations.is_empty();
        is_idle.then_some(InboxRecord {
            all: Cow::Borrowed(&self.all),
            places: Cow::Borrowed(&self.places),
            denied: Cow::Borrowed(&self.denied),
            approved: Cow::Borrowed(&self.approved),
            answerable: Cow::Borrowed(&self.answerable),
            texts_by_people: Cow::Borrowed(&self.texts_by_people),
            past: Cow::Borrowed(past),
        })
    }

    /// Takes over a stored inbox, and returns the past. Questions stay numbered after the same number.
    pub(super) fn restore(&mut self, stored: InboxRecord<'_>) -> PastEffects {
        self.all = stored.all.into_owned();
        self.open = self.all.values().filter(|question| question.is_open()).map(|known| known.number().0).collect();
        self.places = stored.places.into_owned();
        self.denied = stored.denied.into_owned();
        self.approved = stored.approved.into_owned();
        self.answerable = stored.answerable.into_owned();
        self.texts_by_people = stored.texts_by_people.into_owned();
        stored.past.into_owned()
    }

    /// The user's latest message may answer this question, if any.
    pub(super) fn set_answerable(&mut self, question: Option<QuestionId>) {
        self.answerable = question;
    }

    pub(super) fn is_answerable(&self, number: QuestionNumber) -> bool {
        self.answerable.as_ref().is_some_and(|id| id.local() == Some(number))
    }

    /// The number before the first question's.
    pub(super) fn before_first(&self) -> u64 {
        self.before_first
    }

    /// Numbers future questions after this number.
    pub(super) fn number_after(&mut self, number: u64) {
        self.before_first = number;
    }

    /// Adds a question; returns its number.
    pub(super) fn add(&mut self, draft: Draft, terms: Terms) -> QuestionNumber {
        let number = self.all.last_key_value().map_or(self.before_first, |(last, _)| *last) + 1;
        let question = Question::new(number, draft, terms);
        if question.about == About::Call {
            let hashes = question.calls.iter().map(|asked| asked.hash.clone()).enumerate();
            self.places.extend(hashes.map(|(index, hash)| (hash, (number, index))));
        }
        if let Some(elicitation) = &question.elicitation {
            self.elicitations.entry(elicitation.job).or_default().push(QuestionNumber(number));
        }
        self.all.insert(number, question);
        self.open.insert(number);
        QuestionNumber(number)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Question> {
        self.all.values()
    }

    pub(super) fn open(&self) -> impl Iterator<Item = &Question> {
        self.open.iter().filter_map(|number| self.all.get(number))
    }

    pub(super) fn get(&self, number: QuestionNumber) -> Option<&Question> {
        self.all.get(&number.0)
    }

    fn get_mut(&mut self, number: QuestionNumber) -> Option<&mut Question> {
        self.all.get_mut(&number.0)
    }

    pub(super) fn is_open(&self, number: QuestionNumber) -> bool {
        self.open.contains(&number.0)
    }

    /// Numbers of the open questions that satisfy a condition.
    pub(super) fn open_where(&self, holds: impl Fn(&Question) -> bool) -> Vec<QuestionNumber> {
        self.open().filter(|question| holds(question)).map(Question::number).collect()
    }

    /// The open question about exactly this call, and its index in it.
    pub(super) fn about(&self, hash: &str) -> Option<(QuestionNumber, usize)> {
        let &(number, index) = self.places.get(hash)?;
        let question = self.all.get(&number).filter(|question| question.is_open())?;
        let asked = &question.calls[index];
        (asked.decided.is_none() && asked.hash == hash).then_some((QuestionNumber(number), index))
    }

    /// The open question about this job's effect.
    pub(super) fn doubt_about(&self, at: JobRef) -> Option<QuestionNumber> {
        let mut doubts = self.open().filter(|question| question.about == About::InDoubt);
        let is_of_job = |asked: &AskedCall| asked.jobs.first() == Some(&at);
        doubts.find(|question| question.calls.iter().any(is_of_job)).map(Question::number)
    }

    /// The steps of a question's calls.
    pub(super) fn steps_of(&self, number: QuestionNumber) -> Vec<u32> {
        self.get(number).into_iter().flat_map(Question::jobs).map(|job| job.step).collect()
    }

    /// Makes a job wait for a call that is already asked about.
    pub(super) fn join_question(&mut self, number: QuestionNumber, index: usize, at: JobRef) {
        if let Some(question) = self.get_mut(number) {
            question.calls[index].jobs.push(at);
        }
    }

    /// The places of calls that joined one that was already asked about.
    pub(super) fn joined_places(&self) -> BTreeSet<(u32, u32)> {
        let asked = self.all().flat_map(|question| &question.calls);
        asked.flat_map(|asked| asked.places().skip(1)).collect()
    }

    /// When the next reminder or expiry is due.
    pub(super) fn timeout(&self) -> Option<Time> {
        let due = |question: &Question| question.remind_at.unwrap_or(question.expires_at).min(question.expires_at);
        self.open().map(due).min()
    }

    /// Questions whose reminder is due; each has one reminder.
    pub(super) fn take_reminders(&mut self, now: Time) -> Vec<QuestionNumber> {
        let due = self.open_where(|question| question.remind_at.is_some_and(|at| at <= now));
        for number in &due {
            if let Some(question) = self.get_mut(*number) {
                question.remind_at = None;
            }
        }
        due
    }

    /// Decides calls of a question, and ends it when none is open; returns what that releases.
    pub(super) fn decide_calls(
        &mut self,
        number: QuestionNumber,
        indexes: &[usize],
        is_yes: bool,
        end: QuestionEnd<'_>,
    ) -> DecidedCalls {
        let Some(question) = self.get_mut(number) else { return DecidedCalls::new() };
        let reason = if is_yes { None } else { end.reason };
        let released = indexes.iter().map(|&index| question.calls[index].decide(is_yes, end.at, reason)).collect();
        if question.open_calls().next().is_none() {
            self.end(number, &end);
        }
        released
    }

    /// Ends a question.
    pub(super) fn end(&mut self, number: QuestionNumber, end: &QuestionEnd<'_>) {
        self.open.remove(&number.0);
        if let Some(question) = self.all.get_mut(&number.0) {
            question.status = end.status;
            question.decided_at = Some(end.at);
            question.by = Some(end.by.to_owned());
            question.reason = end.reason.map(str::to_owned);
        }
    }

    /// Records that an approved call runs as this job.
    pub(super) fn grant(&mut self, hash: String, at: JobRef) {
        self.granted.insert(at, hash.clone());
        self.approved.insert(hash, Approved::Running(at));
    }

    /// The state of this call, if a person approved it.
    pub(super) fn approved(&self, hash: &str) -> Option<Approved> {
        self.approved.get(hash).copied()
    }

    /// Records a denial, with the length of the context.
    pub(super) fn note_denial(&mut self, hash: String, length: usize) {
        self.denied.insert(hash, length);
    }

    /// The length of the context when a call was denied.
    pub(super) fn denied(&self, hash: &str) -> Option<usize> {
        self.denied.get(hash).copied()
    }

    /// A denied call may be asked about again.
    pub(super) fn forget_denial(&mut self, hash: &str) {
        self.denied.remove(hash);
    }

    /// Whether exactly this call was decided, or is being asked about.
    pub(super) fn knows(&self, hash: &str) -> bool {
        self.about(hash).is_some() || self.denied.contains_key(hash) || self.approved.contains_key(hash)
    }

    /// Whether nothing was ever asked or denied here.
    pub(super) fn is_blank(&self) -> bool {
        self.all.is_empty() && self.denied.is_empty()
    }

    /// Makes one job's result count for another one as well.
    pub(super) fn join(&mut self, at: JobRef, primary: JobRef) {
        self.joined.entry(primary).or_default().push(at);
        let asked = self.all.values_mut().flat_map(|question| &mut question.calls);
        let is_of = |asked: &&mut AskedCall| asked.jobs.first() == Some(&primary) && !asked.jobs.contains(&at);
        asked.filter(is_of).for_each(|asked| asked.jobs.push(at));
    }

    /// Ends a job: an approval is removed unless the job is done. Returns the jobs that waited for it.
    pub(super) fn close_job(&mut self, at: JobRef, is_done: bool) -> Vec<JobRef> {
        if self.granted.is_empty() && self.joined.is_empty() {
            return Vec::new();
        }
        let granted = self.granted.remove(&at);
        // The same call may have been approved again meanwhile.
        if let Some(hash) = granted.filter(|hash| self.approved.get(hash) == Some(&Approved::Running(at))) {
            if is_done {
                self.approved.insert(hash, Approved::Done);
            } else {
                // Another attempt needs another approval.
                self.approved.remove(&hash);
            }
        }
        self.joined.remove(&at).unwrap_or_default()
    }

    /// A job of a template needs a person.
    pub(super) fn ask_later(&mut self, asking: NeedsPerson) {
        self.asking.push(asking);
    }

    pub(super) fn take_needs_person(&mut self) -> Vec<NeedsPerson> {
        std::mem::take(&mut self.asking)
    }

    /// The context has become shorter: updates all stored lengths.
    pub(super) fn shift_lengths(&mut self, length: impl Fn(usize) -> usize) {
        self.denied.values_mut().for_each(|since| *since = length(*since));
        self.all.values_mut().for_each(|question| question.asked_after = length(question.asked_after));
    }

    /// Whether a running call waits for a person.
    pub(super) fn has_elicitations(&self) -> bool {
        !self.elicitations.is_empty()
    }

    /// The jobs that have open elicitations.
    pub(super) fn eliciting_jobs(&self) -> Vec<JobRef> {
        self.elicitations.keys().copied().collect()
    }

    /// An elicitation has been answered.
    pub(super) fn close_elicitation(&mut self, job: JobRef, number: QuestionNumber) {
        if let Some(open) = self.elicitations.get_mut(&job) {
            open.retain(|known| *known != number);
            if open.is_empty() {
                self.elicitations.remove(&job);
            }
        }
    }

    /// Removes the open elicitations of a job that no longer runs.
    pub(super) fn take_elicitations(&mut self, job: JobRef) -> Option<Vec<QuestionNumber>> {
        self.elicitations.remove(&job)
    }
}

#[cfg(test)]
mod tests {
    use obelus_notebook::call_json::CallJson;

    use super::*;

    const JOB: JobRef = JobRef { step: 0, job: 0 };
    const TERMS: Terms =
        Terms { is_payment: false, now: Time(0), remind_after: Some(5), expire_after: 10, asked_after: 0 };

    fn asked(inbox: &mut Inbox, hashes: &[&str]) -> QuestionNumber {
        let call = |hash: &&str| AskedCall::new(CallJson::of_tool("t"), (*hash).to_owned(), vec![JOB]);
        inbox.add(Draft::new(About::Call, hashes.iter().map(call).collect(), String::new()), TERMS)
    }

    fn end(status: QuestionStatus) -> QuestionEnd<'static> {
        QuestionEnd { status, at: Time(1), by: "a person", reason: Some("why") }
    }

    #[test]
    fn a_question_about_several_calls_ends_with_the_last_of_them() {
        let mut inbox = Inbox::default();
        let number = asked(&mut inbox, &["a", "b"]);
        let released = inbox.decide_calls(number, &[0], true, end(QuestionStatus::Approved));
        assert_eq!(released, [("a".to_owned(), vec![JOB])]);
        assert!(inbox.is_open(number) && inbox.about("a").is_none() && inbox.about("b").is_some());
        inbox.decide_calls(number, &[1], false, end(QuestionStatus::Denied));
        assert!(!inbox.is_open(number));
        assert_eq!(inbox.get(number).unwrap().calls[0].reason, None, "a yes has no reason");
    }
}
