//! A question as a person reads it: what would happen, by the author's names, and why it is asked.
//!
//! The words and values are the kernel's, made from the frozen call, with nothing left out. Here names of tools and
//! parameters are replaced by what their author calls them, and everything else is passed on as it is.

use anstyle::{AnsiColor, Style};
use obelus_kernel::policy::Reason;
use obelus_kernel::session::{About, Change, Named, Question};
use serde_json::Value;

use super::phrases::{Phrases, fill};
use super::text::{Line, PLAIN, paragraphs};
use super::titles::Titles;
use crate::output::{BOLD, DIM, YELLOW};

/// One call of a question in words.
struct DescribedCall {
    title: String,
    /// What it is for, where it is one of many.
    instance: Option<String>,
    fields: Vec<Field>,
}

/// One line of a call, and where its value comes from if that is not trusted.
#[derive(Clone, PartialEq)]
struct Field {
    line: Line,
    from: Option<String>,
    /// It matters little to people, and stands with others like it behind the rest.
    is_detail: bool,
}

impl Field {
    /// The line with its mark.
    fn marked(self) -> Line {
        match self.from {
            Some(from) => self.line.own(MARK, format!("   ← {from}")),
            None => self.line,
        }
    }
}

/// What is not trusted is marked in this colour.
const MARK: Style = AnsiColor::Yellow.on_default();

impl DescribedCall {
    /// What it is, and what it is for.
    fn head(&self, line: Line) -> Line {
        let line = line.shown(BOLD, &self.title);
        match &self.instance {
            Some(instance) => line.own(PLAIN, "  ").shown(PLAIN, instance),
            None => line,
        }
    }
}

/// A question in lines, without the keys that answer it.
pub(crate) fn lines(question: &Question, titles: &Titles, phrases: &Phrases) -> Vec<Line> {
    let ask = &phrases.ask;
    let told: Vec<DescribedCall> = told(question, titles, phrases);
    let open: Vec<usize> = open_calls(question);
    let many = question.about == About::Call && question.calls.len() > 1;
    let head = match question.about {
        About::Call if many => fill(ask.calls, &[&(phrases.steps)(open.len() as u64)]),
        About::Call => ask.call.to_owned(),
        About::Plan => ask.plan.to_owned(),
        About::Input => ask.input.to_owned(),
        About::InDoubt => ask.in_doubt.to_owned(),
    };
    let mut lines = vec![Line::of(YELLOW, "? ").own(BOLD, head).own(DIM, format!("  {}", question.id))];
    match question.about {
        About::Input => lines.extend(asked_for(question, titles, phrases)),
        About::Call if many => {
            let title = told.first().map(|told| told.title.clone()).unwrap_or_default();
            lines.push(Line::of(PLAIN, "  ").shown(BOLD, &title));
            let common = in_common(&told);
            let is_own = |field: &Field| !common.contains(field);
            // The same mark on every line would hide the list: a sign stands for it, and is explained below.
            let mut marks = Vec::new();
            for (index, told) in told.into_iter().enumerate().filter(|(index, _)| open.contains(index)) {
                let own = told.fields.into_iter().filter(is_own).collect();
                lines.push(in_a_row(index, DescribedCall { fields: own, ..told }, &mut marks));
            }
            lines.extend(common.into_iter().map(|field| indented(field.marked(), 4)));
            lines.extend(explained(marks));
        }
        About::Plan => {
            for (index, told) in told.into_iter().enumerate() {
                lines.push(told.head(Line::of(PLAIN, format!("  {}. ", index + 1))).hanging(5));
                lines.extend(told.fields.into_iter().map(|field| indented(field.marked(), 5)));
            }
        }
        About::Call | About::InDoubt => {
            for told in told {
                lines.push(told.head(Line::of(PLAIN, "  ")));
                let mut marks = repeated(&told.fields);
                let (details, fields): (Vec<Field>, Vec<Field>) =
                    told.fields.into_iter().partition(|field| field.is_detail);
                for field in fields {
                    let is_repeated = field.from.as_ref().is_some_and(|from| marks.contains(from));
                    let line = if is_repeated { signed(field, &mut marks) } else { field.marked() };
                    lines.push(indented(line, 4));
                }
                if !details.is_empty() {
                    lines.push(indented(side_by_side(Line::new(), details, &mut marks), 4));
                }
                lines.extend(explained(marks));
            }
        }
    }
    let tool = question.calls.first().and_then(|asked| asked.call["_tool"].as_str()).unwrap_or_default();
    let reasons = reasons_in_words(&question.reasons, tool, titles, phrases);
    if !reasons.is_empty() {
        lines.push(Line::of(PLAIN, "  ").own(DIM, ask.because).shown(DIM, &reasons.join("; ")).hanging(4));
    }
    lines
}

/// What is asked for: by the agent, or by a call at work, whose own words are shown as such.
fn asked_for(question: &Question, titles: &Titles, phrases: &Phrases) -> Vec<Line> {
    let (Some(tool), Some((head, words))) = (question.asked_by(), question.description.split_once('\n')) else {
        return paragraphs(PLAIN, &question.description, "  ");
    };
    let who = Line::of(PLAIN, "  ").shown(PLAIN, &fill(phrases.ask.asked_by, &[&titles.tool(tool)]));
    let who = match split_mark(head).1 {
        Some(from) => who.own(MARK, format!("   ← {}", marked(from, titles, phrases))),
        None => who,
    };
    let mut lines = vec![who.hanging(4)];
    lines.extend(paragraphs(PLAIN, words, "  "));
    lines
}

/// Indexes of the calls that are still to be decided.
pub(crate) fn open_calls(question: &Question) -> Vec<usize> {
    (0..question.calls.len()).filter(|index| question.calls[*index].decided.is_none()).collect()
}

/// The parameters of a question's only open call, to be edited.
pub(crate) fn params(question: &Question) -> Option<Value> {
    let [index] = open_calls(question)[..] else { return None };
    let fields = question.calls[index].call.as_object()?;
    let is_param = |name: &str| !name.starts_with('_') && !ASIDES.contains(&name);
    Some(fields.iter().filter(|(name, _)| is_param(name)).map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// What a call may say beside its parameters.
const ASIDES: [&str; 6] =
    ["comment", "requires_confirmation", "confirmed", "confirmation_decision", "confirmation_reason", "http_method"];

fn indented(field: Line, columns: usize) -> Line {
    let mut line = Line::of(PLAIN, " ".repeat(columns));
    line.append(field);
    line.hanging(columns + 2)
}

/// What is the same in all of them is said once.
fn in_common(told: &[DescribedCall]) -> Vec<Field> {
    let Some((first, rest)) = told.split_first() else { return Vec::new() };
    first.fields.iter().filter(|field| rest.iter().all(|other| other.fields.contains(field))).cloned().collect()
}

/// One of many calls on one line.
fn in_a_row(index: usize, told: DescribedCall, marks: &mut Vec<String>) -> Line {
    let mut line = Line::of(PLAIN, format!("  {:>3}. ", index + 1));
    if let Some(instance) = &told.instance {
        line = line.shown(BOLD, instance).own(PLAIN, "  ");
    }
    side_by_side(line, told.fields, marks).hanging(7)
}

/// Some fields on one line.
fn side_by_side(mut line: Line, fields: Vec<Field>, marks: &mut Vec<String>) -> Line {
    for (n, field) in fields.into_iter().enumerate() {
        if n > 0 {
            line = line.own(DIM, " · ");
        }
        line.append(signed(field, marks));
    }
    line
}

/// The line with a sign in place of its mark.
fn signed(field: Field, marks: &mut Vec<String>) -> Line {
    let Some(from) = field.from else { return field.line };
    let known = marks.iter().position(|mark| *mark == from);
    let number = known.unwrap_or_else(|| {
        marks.push(from);
        marks.len() - 1
    });
    field.line.own(MARK, format!(" {}", sign(number + 1)))
}

/// The marks that stand on more than one line, in their order.
fn repeated(fields: &[Field]) -> Vec<String> {
    let mut marks: Vec<String> = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        let Some(from) = &field.from else { continue };
        if !marks.contains(from) && fields[index + 1..].iter().any(|other| other.from.as_ref() == Some(from)) {
            marks.push(from.clone());
        }
    }
    marks
}

/// What the signs stand for.
fn explained(marks: Vec<String>) -> impl Iterator<Item = Line> {
    let signs = (1..).zip(marks);
    signs.map(|(number, from)| Line::of(MARK, format!("    {} {from}", sign(number))).hanging(6))
}

/// What stands for the so-manieth mark.
fn sign(number: usize) -> String {
    if number == 1 { "⚠".to_owned() } else { format!("⚠{number}") }
}

/// The calls of a question, taken apart from its description: each begins with a line that does not stand in.
fn told(question: &Question, titles: &Titles, phrases: &Phrases) -> Vec<DescribedCall> {
    let mut all: Vec<DescribedCall> = Vec::new();
    let mut tool = String::new();
    for line in question.description.lines() {
        match line.strip_prefix("  ") {
            None => {
                let (name, mark) = split_mark(line);
                let call = question.calls.get(all.len()).map(|asked| &*asked.call);
                tool = call.and_then(|call| call["_tool"].as_str()).unwrap_or(name).to_owned();
                let title = titles.tool(&tool)
                    + &mark.map(|from| format!("   ← {}", marked(from, titles, phrases))).unwrap_or_default();
                all.push(DescribedCall { title, instance: None, fields: Vec::new() });
            }
            // Not a parameter of that name, which is followed by its value.
            Some(field) if field.starts_with("for ") && !field.starts_with("for = ") => {
                if let Some(told) = all.last_mut() {
                    told.instance = Some(field["for ".len()..].to_owned());
                }
            }
            Some(field) if field.starts_with("result joins by ") => {
                let how = field["result joins by ".len()..].trim_matches('"');
                if let Some(last) = all.last_mut().and_then(|told| told.fields.last_mut()) {
                    last.line.append(Line::new().shown(DIM, &format!(" ({how})")));
                }
            }
            Some(field) => {
                let now = now_of(question, all.len().saturating_sub(1), field, &tool, titles);
                let names = &question.names;
                if let (Some(told), Some(line)) =
                    (all.last_mut(), field_line(field, now, names, &tool, titles, phrases))
                {
                    told.fields.push(line);
                }
            }
        }
    }
    all
}

/// What stands now where a line of a description says what would: none if nobody looked.
fn now_of<'a>(question: &'a Question, call: usize, field: &str, tool: &str, titles: &Titles) -> Option<&'a Change> {
    let (name, _) = field.split_once(" = ")?;
    question.changes.iter().find(|change| change.call == call && titles.place_of(tool, &change.field) == name)
}

/// What the kernel says of the place that a result is written to.
const RESULT_TO: &str = "result to ";

/// A line of a call's description, with the names that people know, and beside it what is there now.
fn field_line(
    field: &str,
    now: Option<&Change>,
    names: &[Named],
    tool: &str,
    titles: &Titles,
    phrases: &Phrases,
) -> Option<Field> {
    let (field, mark) = split_mark(field);
    let name = field.split_once(" = ").map_or("", |(name, _)| name);
    let is_detail = field.starts_with(RESULT_TO) || titles.is_detail(tool, name);
    let line = if let Some(aside) = field.strip_prefix("beside the call, in the agent's words: ") {
        let (name, value) = aside.split_once(" = ")?;
        match name {
            "comment" | "confirmation_reason" => Line::of(DIM, phrases.ask.in_agents_words).shown(DIM, value),
            // They ask for this very question, or are no part of what would happen.
            "requires_confirmation" | "confirmed" => return None,
            _ => Line::new().shown(DIM, aside),
        }
    } else if let Some(path) = field.strip_prefix(RESULT_TO) {
        Line::of(DIM, phrases.ask.result_to).shown(DIM, path.trim_matches('"'))
    } else {
        match field.split_once(" = ") {
            Some((name, value)) => {
                let number = || titles.is_id(tool, name).then(|| phrases.ask.number.to_owned());
                let is_of = |named: &&Named, value: &str| {
                    named.place.eq_ignore_ascii_case(name) && short(&named.value).as_str() == value
                };
                let called = |value: &str| match names.iter().find(|named| is_of(named, value)) {
                    // The name for whoever reads it, and the value, for that is what will be written.
                    Some(named) => format!("«{}» ({value})", named.name),
                    None => value.to_owned(),
                };
                let after_words = called(value);
                let before_words = |before: &Value| called(&short(before));
                let name = titles.param(tool, name).or_else(number).unwrap_or_else(|| name.to_owned());
                let value = after_words.as_str();
                let line = Line::new().shown(PLAIN, &name).own(PLAIN, ": ");
                match now {
                    None => line.shown(BOLD, value),
                    Some(Change { before: None, .. }) => {
                        line.own(DIM, phrases.ask.now_unknown).own(PLAIN, " → ").shown(BOLD, value)
                    }
                    Some(Change { before: Some(before), after, .. }) => {
                        let line = line.own(DIM, phrases.ask.now).shown(PLAIN, &before_words(before));
                        let line = line.own(PLAIN, " → ").shown(BOLD, value);
                        if before == after { line.own(DIM, phrases.ask.no_change) } else { line }
                    }
                }
            }
            None => Line::new().shown(PLAIN, field),
        }
    };
    Some(Field { line, from: mark.map(|from| marked(from, titles, phrases)), is_detail })
}

/// A value on one line, in the form in which the kernel shows values.
fn short(value: &Value) -> String {
    const MOST: usize = 200;
    let text = value.to_string();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// The kernel's mark of what is not trusted, apart from the line. Values stand in quotes, so nothing else ends so.
fn split_mark(line: &str) -> (&str, Option<&str>) {
    let found = line.strip_suffix(", not trusted").and_then(|rest| rest.rsplit_once("   ← from "));
    found.map_or((line, None), |(line, from)| (line, Some(from)))
}

fn marked(from: &str, titles: &Titles, phrases: &Phrases) -> String {
    let names: Vec<String> = from.split(", ").map(|name| name.trim_matches('"').to_owned()).collect();
    fill(phrases.ask.not_trusted, &[&sources(&names, titles)])
}

/// Names of tools in a list, as their author calls them.
fn sources(names: &[String], titles: &Titles) -> String {
    names.iter().map(|name| format!("«{}»", titles.tool(name))).collect::<Vec<_>>().join(", ")
}

/// Why a person is asked. Where values come from stands on their lines already, and is not repeated if anything else is
/// to be said.
fn reasons_in_words(reasons: &[Reason], tool: &str, titles: &Titles, phrases: &Phrases) -> Vec<String> {
    let is_target = |reason: &Reason| matches!(reason, Reason::UntrustedTarget { .. });
    let others: Vec<&Reason> = reasons.iter().filter(|reason| !is_target(reason)).collect();
    if !others.is_empty() {
        return others.into_iter().map(|reason| reason_in_words(reason, tool, titles, phrases)).collect();
    }
    // Targets of the same sources are one sentence.
    let mut groups: Vec<(&Vec<String>, Vec<&str>)> = Vec::new();
    for reason in reasons {
        let Reason::UntrustedTarget { path, sources } = reason else { continue };
        match groups.iter_mut().find(|(known, _)| *known == sources) {
            Some((_, paths)) => paths.push(path),
            None => groups.push((sources, vec![path])),
        }
    }
    let words = |(from, paths): (&Vec<String>, Vec<&str>)| {
        let params: Vec<String> = paths.iter().map(|name| param_in_words(name, tool, titles)).collect();
        let phrase = if params.len() == 1 { phrases.why.comes_from } else { phrases.why.come_from };
        fill(phrase, &[&params.join(", "), &sources(from, titles)])
    };
    groups.into_iter().map(words).collect()
}

/// What a parameter is called within a sentence.
fn param_in_words(name: &str, tool: &str, titles: &Titles) -> String {
    titles.param(tool, name).map_or_else(|| name.to_owned(), |title| format!("«{title}»"))
}

/// A reason in the language of the conversation; the words of an author are left as they are.
fn reason_in_words(reason: &Reason, tool: &str, titles: &Titles, phrases: &Phrases) -> String {
    let why = &phrases.why;
    match reason {
        Reason::Risky(path) => fill(why.sets, &[&param_in_words(path, tool, titles)]),
        Reason::ProposedAfterReading(from) | Reason::PlannedAfterReading(from) => {
            fill(why.after_reading, &[&sources(from, titles)])
        }
        Reason::UntrustedTarget { path, sources: from } => {
            fill(why.comes_from, &[&param_in_words(path, tool, titles), &sources(from, titles)])
        }
        Reason::Deletes => why.deletes.to_owned(),
        Reason::Configures => why.configures.to_owned(),
        Reason::AgentAsks => why.agent_asks.to_owned(),
        Reason::Listed(_) => why.policy_asks.to_owned(),
        Reason::PlanNeedsApproval => why.plan.to_owned(),
        Reason::Interrupted => why.interrupted.to_owned(),
        Reason::AnswerLost(known) => fill(why.lost, &[known]),
        Reason::Author(_) | Reason::NotListed(_) | Reason::Mode(..) => reason.to_string(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::cmd::chat::titles::tests::sample;
    use obelus_kernel::Context;
    use obelus_kernel::session::{Answer, Input, Mode, Session, Settings, Solution, Task};
    use serde_json::json;
    use std::sync::Arc;

    /// The question that a session asks when its model answers with these calls.
    pub(crate) fn asked(extra: Value, calls: Value) -> Question {
        let tools = json!({"type": "tool", "tool": {
            "crm.deal.update": {"x-trust": "trusted", "x-effect": "update", "x-risky": ["fields.OPPORTUNITY"], "properties": {
                "id": {"type": "integer"}, "fields": {"type": "object"}, "to": {}, "items": {"type": "array", "items": {"type": "integer"}}}},
        }});
        let mut messages = vec![tools];
        messages.extend(extra.as_array().cloned().unwrap_or_default());
        let context = Context::from_value(messages.into()).expect("a context");
        let settings =
            Settings { mode: Mode::Full, activities: ["crm.deal.update".to_owned()].into(), ..Settings::default() };
        let mut session = Session::new("s", context, None, Arc::new(settings)).expect("a session");
        session.handle(obelus_kernel::Time(0), Input::User { text: "go".to_owned() }).expect("words");
        let Some(Task::AskModel { id }) = session.poll() else { panic!("the model is asked") };
        let solution = Solution::from_value(json!({"calls": calls})).expect("a solution");
        session
            .handle(obelus_kernel::Time(0), Input::Answer { id, answer: Answer::Solution { solution, tokens: 1 } })
            .expect("an answer");
        session.questions().into_iter().next().expect("a question")
    }

    /// A question about one call.
    pub(crate) fn about_one() -> Question {
        asked(
            json!([]),
            json!([{"_tool": "crm.deal.update", "id": 7, "fields": {"OPPORTUNITY": 100_000}, "comment": "как просили",
            "requires_confirmation": true}]),
        )
    }

    /// A question about the same call for three instances.
    pub(crate) fn about_three() -> Question {
        let data: Vec<Value> = ["Анна", "Борис", "Глеб"]
            .iter()
            .zip(1..)
            .map(|(name, id)| json!({"type": "input", "_instance": name, "data": {"id": id}}))
            .collect();
        asked(data.into(), json!([{"_tool": "crm.deal.update", "id": "†input.id", "fields": {"OPPORTUNITY": 5}}]))
    }

    fn told(question: &Question, code: &'static str) -> Vec<String> {
        let lines = lines(question, &sample(code), Phrases::of(Some(code)));
        lines.iter().map(Line::plain).collect()
    }

    #[test]
    fn a_call_is_told_by_its_authors_names_and_nothing_is_left_out() {
        assert_eq!(
            told(&about_one(), "ru"),
            [
                "? Нужно ваше решение  q1",
                "  Изменить сделку",
                "    Сделка: 7",
                "    Сумма: 100000",
                "    слова агента: \"как просили\"",
                "  почему спрашиваю: меняется «Сумма»; так просит агент",
            ]
        );
    }

    #[test]
    fn many_calls_are_one_numbered_list() {
        assert_eq!(
            told(&about_three(), "en"),
            [
                "? Your decision is needed on 3 steps  q1",
                "  Change a deal",
                "    1. \"Анна\"  Deal: 1",
                "    2. \"Борис\"  Deal: 2",
                "    3. \"Глеб\"  Deal: 3",
                "    Amount: 5",
                "  asked because it sets «Amount»",
            ]
        );
    }

    #[test]
    fn the_same_mark_on_many_calls_is_explained_once() {
        let mut question = about_three();
        for id in 1..=3 {
            let marked = format!("id = {id}   ← from open_page, not trusted");
            question.description = question.description.replace(&format!("id = {id}"), &marked);
        }
        let told = told(&question, "en");
        assert_eq!(told[2], "    1. \"Анна\"  Deal: 1 ⚠");
        assert_eq!(told[6], "    ⚠ from «open page», not trusted");
    }

    #[test]
    fn what_is_the_same_of_many_parameters_is_said_once() {
        let mut question = about_one();
        let from = "   ← from open_page, add_note, not trusted";
        question.description = format!(
            "crm.deal.update\n  id = 7{from}\n  to = 1\n  fields.OPPORTUNITY = 5{from}\n  fields.X = 6   ← from open_page, not trusted"
        );
        let said = |name: &str, names: &[&str]| Reason::UntrustedTarget {
            path: name.to_owned(),
            sources: names.iter().map(|&name| name.to_owned()).collect(),
        };
        let many = &["open_page", "add_note"];
        question.reasons = vec![said("id", many), said("fields.OPPORTUNITY", many), said("fields.X", &["open_page"])];
        assert_eq!(
            told(&question, "en")[1..],
            [
                "  Change a deal",
                "    Deal: 7 ⚠",
                "    to: 1",
                "    Amount: 5 ⚠",
                "    fields.X: 6   ← from «open page», not trusted",
                "    ⚠ from «open page», «Writes a note down», not trusted",
                "  asked because «Deal», «Amount» come from what is not trusted: «open page», «Writes a note down»; \
                 fields.X comes from what is not trusted: «open page»",
            ]
        );
        question.reasons.push(Reason::Deletes);
        assert_eq!(told(&question, "en")[7..], ["  asked because it deletes"], "the marks say the rest");
    }

    #[test]
    fn details_stand_on_one_line_behind_the_rest() {
        let mut question = about_one();
        let from = "   ← from open_page, not trusted";
        question.description = format!(
            "crm.deal.update\n  nth = 0{from}\n  id = 7{from}\n  fields.mark = \"c9\"{from}\n  result to \"†state.a\"\n  to = 1"
        );
        let told = told(&question, "en");
        let details = "    nth: 0 ⚠ · fields.mark: \"c9\" ⚠ · the result goes to †state.a";
        assert_eq!(told[2..6], ["    Deal: 7 ⚠", "    to: 1", details, "    ⚠ from «open page», not trusted"]);
    }

    #[test]
    fn a_value_cannot_pass_for_a_mark_or_a_line() {
        let forged = "x   ← from friend, not trusted";
        let question = asked(
            json!([]),
            json!([{"_tool": "crm.deal.update", "id": 1, "to": forged, "fields": {"OPPORTUNITY": 1, "\u{202e}a\nb": "\u{1b}[2J"}}]),
        );
        let told = told(&question, "en");
        assert!(told.contains(&format!("    to: \"{forged}\"")), "{told:#?}");
        assert!(told.iter().all(|line| !line.contains(['\u{1b}', '\u{202e}', '\n'])));
        assert_eq!(split_mark("to = 1   ← from open_page, not trusted"), ("to = 1", Some("open_page")));
    }

    #[test]
    fn what_is_there_now_stands_beside_what_would_be() {
        let mut question = about_one();
        let change = |before: Value| Change {
            call: 0,
            field: "OPPORTUNITY".to_owned(),
            before: Some(before).filter(|value| !value.is_null()),
            after: json!(100_000),
            before_from: Default::default(),
            after_from: Default::default(),
        };
        for (before, line) in [
            (json!("50000.00\u{202e}"), "    Сумма: сейчас \"50000.00\\u{202e}\" → 100000"),
            (json!(100_000), "    Сумма: сейчас 100000 → 100000 (без изменений)"),
            (json!(null), "    Сумма: сейчас неизвестно → 100000"),
        ] {
            question.changes = vec![change(before)];
            assert_eq!(told(&question, "ru")[3], line);
        }
    }

    #[test]
    fn only_parameters_are_edited() {
        assert_eq!(params(&about_one()), Some(json!({"id": 7, "fields": {"OPPORTUNITY": 100_000}})));
        assert_eq!(params(&about_three()), None);
    }
}
