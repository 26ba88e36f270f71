//! Answering a question by keys, independent of any terminal.
//!
//! Nothing is approved by default: Enter, an unknown key, or several keys at once decide nothing.

use std::collections::BTreeSet;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use obelus_kernel::policy::ConsentTerms;
use obelus_kernel::session::{About, Decision, Question};
use obelus_runtime::people::typed_value;
use serde_json::Value;

use super::question;
use super::text::{PLAIN, StyledLine};
use crate::language::{Words, fill};
use crate::output::{BOLD, DIM};

/// The result of a key.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Pressed {
    /// The question is decided.
    Decided(Decision),
    /// The person must type a line, which [`ShownQuestion::typed`] reads.
    Type(Typing),
    /// The person wants to change the call.
    Edit,
    /// The person wants to see the details.
    Details,
    /// The question is postponed.
    Later,
    /// Ctrl-C.
    BreakOff,
    /// Ctrl-D.
    Leave,
    /// Nothing is decided; the text says why.
    Nothing(String),
}

/// What the person types.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Typing {
    /// The reason of a denial.
    Reason,
    /// The numbers of the approved calls.
    Numbers,
    /// The requested value.
    Answer,
    /// The number of the standing consent that is given along with the approval.
    Consent,
    /// The result of an effect that happened.
    Result,
}

/// A question shown to a person.
pub(crate) struct ShownQuestion<'a> {
    question: &'a Question,
    phrases: &'a Words,
    /// Standing consents that may be given along with the approval, and their texts (ASK-9).
    offers: Vec<(ConsentTerms, String)>,
    has_details: bool,
    /// Whether waiting steps need the result of an effect in doubt.
    needs_result: bool,
    /// Whether the person's own edit is shown, before it counts.
    is_edit: bool,
}

impl<'a> ShownQuestion<'a> {
    pub(crate) fn new(question: &'a Question, phrases: &'a Words) -> Self {
        Self { question, phrases, offers: Vec::new(), has_details: false, needs_result: false, is_edit: false }
    }

    /// Sets whether there are details to unfold.
    pub(crate) fn with_details(self, has_details: bool) -> Self {
        Self { has_details, ..self }
    }

    /// Sets whether waiting steps need the result of an effect in doubt.
    pub(crate) fn with_result_needed(self, needs_result: bool) -> Self {
        Self { needs_result, ..self }
    }

    /// The question as the person has edited it.
    pub(crate) fn edited(question: &'a Question, phrases: &'a Words) -> Self {
        Self { is_edit: true, ..Self::new(question, phrases) }
    }

    /// Sets the standing consents that may be given along with the approval.
    pub(crate) fn with_offers(self, offers: Vec<(ConsentTerms, String)>) -> Self {
        Self { offers, ..self }
    }

    /// The standing consents on offer, numbered.
    pub(crate) fn offer_lines(&self) -> Vec<StyledLine> {
        let line = |(number, (_, words)): (usize, &(ConsentTerms, String))| {
            StyledLine::of(BOLD, format!("  {number} ")).shown(PLAIN, words).hanging(4)
        };
        (1..).zip(&self.offers).map(line).collect()
    }

    fn is_many(&self) -> bool {
        let is_about_calls = matches!(self.question.about, About::Call | About::Plan);
        is_about_calls && question::open_calls(self.question).len() > 1
    }

    /// The keys that answer it: their letters and their meaning.
    fn keys(&self) -> Vec<(&'static [char], &'static str)> {
        let ask = &self.phrases.ask;
        let mut keys = match self.question.about {
            _ if self.is_edit => vec![(YES, ask.key_yes), (EDIT, ask.key_edit_again)],
            _ if self.is_many() => vec![(YES, ask.key_all), (PART, ask.key_part), (NO, ask.key_no)],
            About::Call => vec![(YES, ask.key_yes), (EDIT, ask.key_edit), (NO, ask.key_no)],
            About::Plan => vec![(YES, ask.key_yes), (NO, ask.key_no)],
            About::Input => vec![(ANSWER, ask.key_answer), (NO, ask.key_decline)],
            About::InDoubt => vec![(HAPPENED, ask.key_happened), (DID_NOT, ask.key_did_not)],
        };
        if !self.offers.is_empty() {
            keys.push((MORE, ask.key_more));
        }
        if self.has_details {
            keys.push((DETAILS, ask.key_details));
        }
        keys
    }

    /// The line with the keys.
    pub(crate) fn key_line(&self) -> StyledLine {
        let mut line = StyledLine::of(PLAIN, "  ");
        for (letters, words) in self.keys() {
            line = line.own(BOLD, letters[0].to_string()).own(DIM, format!(" {words}   "));
        }
        let ask = &self.phrases.ask;
        let escape = if self.is_edit { ask.key_back } else { ask.key_later };
        line.own(BOLD, "Esc").own(DIM, format!(" {escape}")).hanging(2)
    }

    /// The result of a key. `more` are keys that arrived together with it.
    pub(crate) fn key(&self, key: KeyEvent, more: &[KeyEvent]) -> Pressed {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if is_control => return Pressed::BreakOff,
            KeyCode::Char('d') if is_control => return Pressed::Leave,
            KeyCode::Esc if more.is_empty() => return Pressed::Later,
            _ => {}
        }
        // A letter followed by Enter is accepted; other sequences may be a paste or blind typing.
        if !more.iter().all(|key| key.code == KeyCode::Enter) {
            return Pressed::Nothing(self.phrases.ask.one_key.to_owned());
        }
        let KeyCode::Char(letter) = key.code else { return self.nothing() };
        if is_control || key.modifiers.contains(KeyModifiers::ALT) {
            return self.nothing();
        }
        let letter = letter.to_lowercase().next().unwrap_or(letter);
        match self.keys().into_iter().map(|(letters, _)| letters).find(|letters| letters.contains(&letter)) {
            Some(YES) => Pressed::Decided(Decision::Approve { only: None }),
            Some(NO) => Pressed::Type(Typing::Reason),
            Some(PART) => Pressed::Type(Typing::Numbers),
            Some(ANSWER) => Pressed::Type(Typing::Answer),
            Some(MORE) => Pressed::Type(Typing::Consent),
            Some(HAPPENED) if self.needs_result => Pressed::Type(Typing::Result),
            Some(HAPPENED) => Pressed::Decided(Decision::Happened { result: Value::Null }),
            Some(DID_NOT) => Pressed::Decided(Decision::DidNot),
            Some(EDIT) => Pressed::Edit,
            Some(DETAILS) => Pressed::Details,
            _ if self.is_many() && EDIT.contains(&letter) => Pressed::Nothing(self.phrases.ask.no_edit.to_owned()),
            _ => self.nothing(),
        }
    }

    fn nothing(&self) -> Pressed {
        let mut names: Vec<String> = self.keys().iter().map(|(letters, _)| letters[0].to_string()).collect();
        names.push("Esc".to_owned());
        Pressed::Nothing(fill(self.phrases.ask.press_a_key, &[&names.join(", ")]))
    }

    /// The decision in a typed line, or its error; `None` if it changes nothing.
    pub(crate) fn typed(&self, what: &Typing, line: &str) -> Result<Option<Decision>, String> {
        let ask = &self.phrases.ask;
        let line = line.trim();
        match what {
            Typing::Reason => {
                let reason = if line.is_empty() { ask.no_reason } else { line };
                Ok(Some(Decision::Deny { reason: reason.to_owned() }))
            }
            Typing::Answer if line.is_empty() => Ok(None),
            Typing::Answer => Ok(Some(Decision::Value { value: typed_value(line, self.question.schema.as_ref()) })),
            Typing::Result => Ok(Some(Decision::Happened { result: result(line, self.phrases)? })),
            Typing::Consent if line.is_empty() => Ok(None),
            Typing::Consent => {
                let number = line.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                let chosen = number.and_then(|number| self.offers.get(number));
                let all: Vec<usize> = (0..self.offers.len()).collect();
                let (terms, _) = chosen.ok_or_else(|| fill(ask.bad_numbers, &[line, &listed(&all)]))?;
                Ok(Some(Decision::Consent { terms: terms.clone(), until: None }))
            }
            Typing::Numbers if line.is_empty() => Ok(None),
            Typing::Numbers => {
                let open = question::open_calls(self.question);
                let only = numbers(line, &open).map_err(|wrong| fill(ask.bad_numbers, &[&wrong, &listed(&open)]))?;
                Ok(Some(Decision::Approve { only: Some(only.into_iter().collect()) }))
            }
        }
    }

    /// The decision as text.
    pub(crate) fn confirmed(&self, decision: &Decision) -> String {
        let ask = &self.phrases.ask;
        match decision {
            Decision::Approve { only: Some(only) } => fill(ask.approved_some, &[&listed(only)]),
            Decision::Approve { only: None } => ask.approved.to_owned(),
            Decision::Consent { terms, .. } => {
                let words = self.offers.iter().find(|(offered, _)| offered == terms).map(|(_, words)| words.as_str());
                fill(ask.consented, &[words.unwrap_or(&terms.tool)])
            }
            Decision::Deny { reason } | Decision::DenySome { reason, .. } => fill(ask.denied, &[reason]),
            Decision::Edit { .. } => ask.edited.to_owned(),
            Decision::Value { .. } => ask.answered.to_owned(),
            Decision::Happened { .. } => ask.happened.to_owned(),
            Decision::DidNot => ask.did_not.to_owned(),
        }
    }
}

// Russian letters are the first letters of the Russian words. The letter at the position of `y` on a Russian keyboard
// is `н`, which means «нет» (no).
const YES: &[char] = &['y', 'д'];
const NO: &[char] = &['n', 'н'];
const EDIT: &[char] = &['e', 'и'];
const PART: &[char] = &['p', 'ч'];
const ANSWER: &[char] = &['a', 'о'];
const HAPPENED: &[char] = &['h', 'п'];
const DID_NOT: &[char] = &['r', 'в'];
// The letter at the same position of a Russian keyboard.
const MORE: &[char] = &['m', 'ь'];
// No letter: the key of `d` has another meaning on a Russian keyboard.
const DETAILS: &[char] = &['?'];

/// The typed result: JSON, or plain text; null if it is not known.
fn result(line: &str, phrases: &Words) -> Result<Value, String> {
    match serde_json::from_str(line) {
        Ok(value) => Ok(value),
        Err(_) if line.is_empty() => Ok(Value::Null),
        Err(error) if line.starts_with(['{', '[', '"']) => Err(fill(phrases.ask.bad_params, &[&error.to_string()])),
        Err(_) => Ok(line.into()),
    }
}

/// Reads `1-3, 7` as indexes of open calls; the error is the part that is not in the list.
pub(crate) fn numbers(line: &str, open: &[usize]) -> Result<BTreeSet<usize>, String> {
    let mut all = BTreeSet::new();
    for part in line.split([',', ' ', ';']).filter(|part| !part.is_empty()) {
        let number = |text: &str| text.trim().parse::<usize>().ok().and_then(|n| n.checked_sub(1));
        let range = part.split_once(['-', '–']).map_or((number(part), number(part)), |(a, b)| (number(a), number(b)));
        let (Some(first), Some(last)) = range else { return Err(part.to_owned()) };
        let last_open = open.last().copied().unwrap_or_default();
        if first > last || last > last_open || (first..=last).any(|index| !open.contains(&index)) {
            return Err(part.to_owned());
        }
        all.extend(first..=last);
    }
    if all.is_empty() { Err(line.to_owned()) } else { Ok(all) }
}

/// Indexes as a list counted from one: `1-3, 7`.
pub(crate) fn listed(indexes: &[usize]) -> String {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for index in indexes.iter().map(|index| index + 1) {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == index => *last = index,
            _ => parts.push((index, index)),
        }
    }
    let part =
        |(first, last): &(usize, usize)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    parts.iter().map(part).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::question::sample::{about_one, about_three};
    use super::*;
    use crate::language::words_of;

    fn key(c: char) -> KeyEvent {
        KeyEvent::from(KeyCode::Char(c))
    }

    fn enter() -> KeyEvent {
        KeyEvent::from(KeyCode::Enter)
    }

    fn with_one<T>(see: impl FnOnce(&ShownQuestion<'_>) -> T) -> T {
        see(&ShownQuestion::new(&about_one().1, words_of(Some("en"))).with_details(true))
    }

    #[test]
    fn y_approves_once_and_enter_does_not_approve() {
        with_one(|asked| {
            assert_eq!(asked.key(key('y'), &[]), Pressed::Decided(Decision::Approve { only: None }));
            assert_eq!(asked.key(key('д'), &[enter()]), Pressed::Decided(Decision::Approve { only: None }));
            for nothing in [enter(), key(' '), key('x'), key('\t'), KeyEvent::from(KeyCode::F(1))] {
                assert!(matches!(asked.key(nothing, &[]), Pressed::Nothing(_)), "{nothing:?}");
            }
            assert!(matches!(
                asked.key(KeyEvent::new(KeyCode::Char('y'), KeyModifiers::CONTROL), &[]),
                Pressed::Nothing(_)
            ));
            assert!(matches!(
                asked.key(KeyEvent::new(KeyCode::Char('y'), KeyModifiers::ALT), &[]),
                Pressed::Nothing(_)
            ));
        });
    }

    #[test]
    fn a_paste_that_begins_with_y_approves_nothing() {
        with_one(|asked| {
            assert!(matches!(asked.key(key('y'), &[key('e'), key('s')]), Pressed::Nothing(_)));
            assert!(matches!(asked.key(key('y'), &[enter(), key('y')]), Pressed::Nothing(_)));
        });
    }

    #[test]
    fn the_yes_key_has_the_same_meaning_in_both_keyboard_layouts() {
        // Each Latin letter with the Russian letter at the same position of the keyboard.
        let places = "qйwцeуrкtеyнuгiшoщpзaфsыdвfаgпhрjоkлlдzяxчcсvмbиnтmь";
        let places: Vec<char> = places.chars().collect();
        with_one(|asked| {
            for pair in places.chunks(2) {
                let means_yes = |c| asked.key(key(c), &[]) == Pressed::Decided(Decision::Approve { only: None });
                if means_yes(pair[1]) {
                    assert!(matches!(asked.key(key(pair[0]), &[]), Pressed::Nothing(_)), "{pair:?}");
                }
            }
        });
    }

    #[test]
    fn n_asks_for_a_reason_and_accepts_an_empty_one() {
        with_one(|asked| {
            assert_eq!(asked.key(key('n'), &[]), Pressed::Type(Typing::Reason));
            let said = |line| asked.typed(&Typing::Reason, line);
            assert_eq!(said(" too much "), Ok(Some(Decision::Deny { reason: "too much".to_owned() })));
            assert_eq!(said(""), Ok(Some(Decision::Deny { reason: "declined".to_owned() })));
        });
    }

    #[test]
    fn e_edits_and_question_mark_shows_the_details() {
        with_one(|asked| {
            assert_eq!(asked.key(key('e'), &[]), Pressed::Edit);
            assert_eq!(asked.key(key('и'), &[]), Pressed::Edit);
            assert_eq!(asked.key(key('?'), &[]), Pressed::Details);
            // On a Russian keyboard the key of `d` means that an effect did not happen.
            assert!(matches!(asked.key(key('d'), &[]), Pressed::Nothing(_)));
            assert!(asked.key_line().plain().contains("? details"));
        });
    }

    #[test]
    fn a_shown_edit_counts_only_after_a_yes() {
        let (_, question) = about_one();
        let asked = ShownQuestion::edited(&question, words_of(Some("en")));
        assert_eq!(asked.key(key('y'), &[]), Pressed::Decided(Decision::Approve { only: None }));
        assert_eq!(asked.key(key('e'), &[]), Pressed::Edit);
        assert!(matches!(asked.key(enter(), &[]), Pressed::Nothing(_)));
        assert_eq!(asked.key(KeyEvent::from(KeyCode::Esc), &[]), Pressed::Later);
    }

    #[test]
    fn some_of_many_calls_can_be_chosen() {
        let (_, question) = about_three();
        let asked = ShownQuestion::new(&question, words_of(Some("en")));
        assert_eq!(asked.key(key('y'), &[]), Pressed::Decided(Decision::Approve { only: None }));
        assert_eq!(asked.key(key('p'), &[]), Pressed::Type(Typing::Numbers));
        assert!(matches!(asked.key(key('e'), &[]), Pressed::Nothing(words) if words.contains("edited as one")));
        let chosen = |line| asked.typed(&Typing::Numbers, line);
        assert_eq!(chosen("1, 3"), Ok(Some(Decision::Approve { only: Some(vec![0, 2]) })));
        assert_eq!(chosen("2-3"), Ok(Some(Decision::Approve { only: Some(vec![1, 2]) })));
        assert_eq!(chosen(""), Ok(None));
        for wrong in ["0", "4", "3-1", "1-99999999999", "one", "-", ","] {
            assert!(chosen(wrong).unwrap_err().contains("The list has: 1-3"), "{wrong}");
        }
    }

    #[test]
    fn the_result_of_an_effect_in_doubt_is_asked_for_if_later_steps_need_it() {
        let (_, mut question) = about_one();
        question.about = About::InDoubt;
        let asked = ShownQuestion::new(&question, words_of(Some("en")));
        assert_eq!(asked.key(key('h'), &[]), Pressed::Decided(Decision::Happened { result: Value::Null }));
        let asked = asked.with_result_needed(true);
        assert_eq!(asked.key(key('h'), &[]), Pressed::Type(Typing::Result));
        let typed = |line| asked.typed(&Typing::Result, line);
        for (line, result) in [("{\"id\": 5}", serde_json::json!({"id": 5})), ("A-5", "A-5".into()), ("", Value::Null)]
        {
            assert_eq!(typed(line), Ok(Some(Decision::Happened { result })), "{line}");
        }
        assert!(typed("{\"id\": 5").unwrap_err().contains("not JSON"));
    }

    #[test]
    fn some_calls_of_a_plan_can_be_chosen_and_a_plan_of_one_call_has_no_part() {
        let (_, mut plan) = about_three();
        plan.about = About::Plan;
        let asked = ShownQuestion::new(&plan, words_of(Some("en")));
        assert_eq!(asked.key(key('p'), &[]), Pressed::Type(Typing::Numbers));
        let chosen = asked.typed(&Typing::Numbers, "2-3");
        assert_eq!(chosen, Ok(Some(Decision::Approve { only: Some(vec![1, 2]) })));
        plan.calls.truncate(1);
        let asked = ShownQuestion::new(&plan, words_of(Some("en")));
        assert!(matches!(asked.key(key('p'), &[]), Pressed::Nothing(_)));
        assert_eq!(asked.key(key('y'), &[]), Pressed::Decided(Decision::Approve { only: None }));
    }

    #[test]
    fn leaving_does_not_decide() {
        with_one(|asked| {
            assert_eq!(asked.key(KeyEvent::from(KeyCode::Esc), &[]), Pressed::Later);
            assert_eq!(asked.key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL), &[]), Pressed::BreakOff);
            assert_eq!(asked.key(KeyEvent::new(KeyCode::Char('d'), KeyModifiers::CONTROL), &[]), Pressed::Leave);
        });
    }
}
