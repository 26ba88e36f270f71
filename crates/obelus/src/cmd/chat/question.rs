//! A question as lines for the terminal: what would happen, and why it is asked.
//!
//! The kernel makes words and values from the frozen call and leaves nothing out. Here the names of tools and
//! parameters are replaced by their titles from the agent's files; everything else stays unchanged.

use anstyle::{AnsiColor, Style};
use obelus_kernel::session::{About, Change, Named, Question};
use obelus_runtime::people::{listed_titles, reasons_in_words};
use serde_json::Value;

use super::text::{Line, PLAIN, paragraphs};
use super::titles::Titles;
use crate::output::{BOLD, DIM, YELLOW};
use crate::phrases::{Phrases, fill};

/// One call of a question in words.
struct DescribedCall {
    title: String,
    /// Its instance, if it is one of many.
    instance: Option<String>,
    fields: Vec<Field>,
}

/// One line of a call, with the source of its value if that is untrusted.
#[derive(Clone, PartialEq)]
struct Field {
    line: Line,
    from: Option<String>,
    /// A detail; all details are shown on one line after the other fields.
    is_detail: bool,
}

impl Field {
    /// The line with the mark of its source.
    fn marked(self) -> Line {
        match self.from {
            Some(from) => self.line.own(MARK, format!("   ← {from}")),
            None => self.line,
        }
    }
}

/// The colour of marks of untrusted sources.
const MARK: Style = AnsiColor::Yellow.on_default();

impl DescribedCall {
    /// The title and the instance.
    fn head(&self, line: Line) -> Line {
        let line = line.shown(BOLD, &self.title);
        match &self.instance {
            Some(instance) => line.own(PLAIN, "  ").shown(PLAIN, instance),
            None => line,
        }
    }
}

/// A question in lines, under the id by which it is answered, without the keys that answer it.
pub(crate) fn lines(question: &Question, id: &str, titles: &Titles, phrases: &Phrases) -> Vec<Line> {
    let ask = &phrases.ask;
    let told: Vec<DescribedCall> = told(question, titles, phrases);
    let open: Vec<usize> = open_calls(question);
    let many = question.about == About::Call && question.calls.len() > 1;
    let head = match question.about {
        About::Call if many => fill(ask.calls, &[&phrases.count(phrases.counts.steps, open.len() as u64)]),
        About::Call => ask.call.to_owned(),
        About::Plan => ask.plan.to_owned(),
        About::Input => ask.input.to_owned(),
        About::InDoubt => ask.in_doubt.to_owned(),
    };
    let mut lines = vec![Line::of(YELLOW, "? ").own(BOLD, head).own(DIM, "  ").shown(DIM, id)];
    match question.about {
        About::Input => lines.extend(asked_for(question, titles, phrases)),
        About::Call if many => {
            let title = told.first().map(|told| told.title.clone()).unwrap_or_default();
            lines.push(Line::of(PLAIN, "  ").shown(BOLD, &title));
            let common = in_common(&told);
            let is_own = |field: &Field| !common.contains(field);
            // A short sign replaces the mark on each line and is explained below the list.
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
        About::Call | About::InDoubt => lines.extend(told.into_iter().flat_map(field_by_field)),
    }
    lines.extend(remarks(question, titles, phrases));
    lines
}

/// What stands below the calls: the words with which the question came from elsewhere, and why it is asked.
fn remarks(question: &Question, titles: &Titles, phrases: &Phrases) -> Vec<Line> {
    let ask = &phrases.ask;
    let remark = |head: &'static str, words: &str| Line::of(PLAIN, "  ").own(DIM, head).shown(DIM, words).hanging(4);
    let mut lines: Vec<Line> = question.headline.iter().map(|words| remark(ask.came_as, words)).collect();
    let tool = question.calls.first().and_then(|asked| asked.call["_tool"].as_str()).unwrap_or_default();
    let reasons = reasons_in_words(&question.reasons, tool, titles, phrases.language);
    if !reasons.is_empty() {
        lines.push(remark(ask.because, &reasons.join("; ")));
    }
    lines
}

/// A call with its fields, one below the other.
fn field_by_field(told: DescribedCall) -> Vec<Line> {
    let mut lines = vec![told.head(Line::of(PLAIN, "  "))];
    let mut marks = repeated(&told.fields);
    let (details, fields): (Vec<Field>, Vec<Field>) = told.fields.into_iter().partition(|field| field.is_detail);
    for field in fields {
        let is_repeated = field.from.as_ref().is_some_and(|from| marks.contains(from));
        let line = if is_repeated { signed(field, &mut marks) } else { field.marked() };
        lines.push(indented(line, 4));
    }
    if !details.is_empty() {
        lines.push(indented(side_by_side(Line::new(), details, &mut marks), 4));
    }
    lines.extend(explained(marks));
    lines
}

/// A question for a value, from the agent or from a running call, whose own words are marked as such.
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

/// Indexes of the undecided calls.
pub(crate) fn open_calls(question: &Question) -> Vec<usize> {
    (0..question.calls.len()).filter(|index| question.calls[*index].decided.is_none()).collect()
}

/// The parameters of a question's only open call, for editing.
pub(crate) fn params(question: &Question) -> Option<Value> {
    let [index] = open_calls(question)[..] else { return None };
    let fields = question.calls[index].call.as_object()?;
    let is_param = |name: &str| !name.starts_with('_') && !ASIDES.contains(&name);
    Some(fields.iter().filter(|(name, _)| is_param(name)).map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// Fields of a call that are not parameters (CALL-1).
const ASIDES: [&str; 6] =
    ["comment", "requires_confirmation", "confirmed", "confirmation_decision", "confirmation_reason", "http_method"];

fn indented(field: Line, columns: usize) -> Line {
    let mut line = Line::of(PLAIN, " ".repeat(columns));
    line.append(field);
    line.hanging(columns + 2)
}

/// The fields that are the same in all calls; they are shown once.
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

/// The line with a short sign instead of its mark.
fn signed(field: Field, marks: &mut Vec<String>) -> Line {
    let Some(from) = field.from else { return field.line };
    let known = marks.iter().position(|mark| *mark == from);
    let number = known.unwrap_or_else(|| {
        marks.push(from);
        marks.len() - 1
    });
    field.line.own(MARK, format!(" {}", sign(number + 1)))
}

/// The marks that occur on more than one line, in order.
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

/// The lines that explain the signs.
fn explained(marks: Vec<String>) -> impl Iterator<Item = Line> {
    let signs = (1..).zip(marks);
    signs.map(|(number, from)| Line::of(MARK, format!("    {} {from}", sign(number))).hanging(6))
}

/// The sign for the mark with this number, counted from one.
fn sign(number: usize) -> String {
    if number == 1 { "⚠".to_owned() } else { format!("⚠{number}") }
}

/// Parses the calls of a question from its description. Each call begins with a line without indentation.
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
            // `for NAME` is the instance; `for = VALUE` is a parameter called `for`.
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

/// The present value of the field that a line of the description changes; `None` if it was not read.
fn now_of<'a>(question: &'a Question, call: usize, field: &str, tool: &str, titles: &Titles) -> Option<&'a Change> {
    let (name, _) = field.split_once(" = ")?;
    question.changes.iter().find(|change| change.call == call && titles.place_of(tool, &change.field) == name)
}

/// The kernel's words before the path of the result.
const RESULT_TO: &str = "result to ";

/// A line of a call's description, with titles instead of names, and with the present value.
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
            // These only caused the question; they are not part of the effect.
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
                    // The name for the reader, and the value that will be written.
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

/// A value on one line, in the kernel's format.
fn short(value: &Value) -> String {
    const MOST: usize = 200;
    let text = value.to_string();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Splits the kernel's mark of an untrusted source from the line. Text values are in quotes, so only a mark ends like
/// this.
fn split_mark(line: &str) -> (&str, Option<&str>) {
    let found = line.strip_suffix(", not trusted").and_then(|rest| rest.rsplit_once("   ← from "));
    found.map_or((line, None), |(line, from)| (line, Some(from)))
}

fn marked(from: &str, titles: &Titles, phrases: &Phrases) -> String {
    let names: Vec<String> = from.split(", ").map(|name| name.trim_matches('"').to_owned()).collect();
    fill(phrases.ask.not_trusted, &[&listed_titles(&names, titles)])
}

#[cfg(test)]
pub(crate) mod tests;
