//! The dialect `blocks`: an answer as text with the blocks `THOUGHT:`, `ACTION:` and `ASSISTANT:`.
//!
//! The form may vary: a preamble, code fences, headings in any case, bold or as Markdown headings, prose around the
//! array. The executed part is strict: ACTION contains exactly one array of valid JSON, all keys are known and unique,
//! and nothing is repaired by guessing. Errors have the position.

pub(super) mod headings;
mod json;
mod step;

use std::fmt;

use headings::{Block, Heading, is_blank, is_fence, looks_like_heading};
use json::ParsedJson;
use serde_json::Value;
pub use step::Step;

use crate::dialect::Solution;

/// The longest accepted answer, in bytes.
pub const MAX_BYTES: usize = 1 << 20;

/// The most steps of an answer.
pub const MAX_STEPS: usize = 200;

/// An answer in blocks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Blocks {
    /// The model's thoughts; shown only in the log.
    pub thought: String,
    /// The steps in order.
    pub steps: Vec<Step>,
    /// Words for the user.
    pub words: String,
}

/// Why an answer cannot be parsed; the text is for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatError {
    /// What is wrong, and what would be correct.
    pub message: String,
    /// The invalid step, counted from 0.
    pub step: Option<usize>,
    /// Line and column in the answer, counted in characters from 1.
    pub at: Option<(usize, usize)>,
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(step) = self.step {
            write!(f, "ACTION[{step}]: ")?;
        }
        f.write_str(&self.message)?;
        match self.at {
            Some((line, column)) => write!(f, " (line {line}, column {column})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for FormatError {}

impl FormatError {
    /// An error about the answer as a whole.
    fn whole(message: impl Into<String>) -> Self {
        Self { message: message.into(), step: None, at: None }
    }

    /// An error at a byte offset of the answer.
    fn at(text: &str, offset: usize, message: impl Into<String>) -> Self {
        let before = &text[..text.floor_char_boundary(offset)];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let column = before[line_start..].chars().count() + 1;
        Self { message: message.into(), step: None, at: Some((line, column)) }
    }

    fn in_step(self, step: usize) -> Self {
        Self { step: Some(step), ..self }
    }
}

impl Blocks {
    /// Converts the answer to a solution: its steps are calls that run in order and keep their results. The words are
    /// shown to the user at once; without steps they are also the result.
    pub fn into_solution(self) -> Solution {
        let calls: Vec<_> = self.steps.into_iter().map(Step::into_call).collect();
        let words = Some(self.words).filter(|words| !words.is_empty());
        let output = words.clone().filter(|_| calls.is_empty()).map_or_else(Default::default, Into::into);
        let thought = Some(self.thought).filter(|thought| !thought.is_empty());
        Solution { thought, say: words, calls, output, sequential: true, keeps_results: true, output_path: None }
    }
}

/// Parses an answer.
pub fn read(text: &str) -> Result<Blocks, FormatError> {
    if text.len() > MAX_BYTES {
        return Err(FormatError::whole(format!("the answer is longer than {MAX_BYTES} bytes")));
    }
    let headings = headings::all(text, after_thinking(text));
    let (action, payload) = find_action(text, &headings)?;
    let thought = headings.iter().find(|heading| heading.block == Block::Thought && heading.start < action.start);
    let Some(thought) = thought else { return Err(missing(Block::Thought)) };
    let (steps, end) = read_action(text, payload)?;
    let assistant = find_assistant(text, &headings, end)?;
    let after = headings.iter().filter(|heading| heading.start > assistant.start && heading.strong);
    if let Some(again) = after.clone().find(|heading| heading.block != Block::Action) {
        let name = again.block.name();
        return Err(FormatError::at(text, again.start, format!("{name} stands twice: each block stands once")));
    }
    let mut words = tidy(&text[assistant.content..]);
    let preamble = text[..thought.start].lines().rfind(|line| !is_blank(line));
    if preamble.is_some_and(is_fence) {
        // The whole answer is in a code fence.
        words = words.strip_suffix("```").map(tidy).unwrap_or(words);
    }
    if words.is_empty() && steps.is_empty() {
        return Err(FormatError::whole("ACTION has no steps and ASSISTANT no words: the user must be told something"));
    }
    Ok(Blocks { thought: tidy(&text[thought.content..action.start]), steps, words })
}

/// Writes an answer in the form that [`read`] parses, to show the model its earlier answers.
pub fn write(blocks: &Blocks) -> String {
    let steps: Vec<String> = blocks.steps.iter().map(|step| step.to_json().to_string()).collect();
    let action = if steps.is_empty() { "[]".to_owned() } else { format!("[{}]", steps.join(",\n")) };
    format!("THOUGHT: {}\nACTION: {action}\nASSISTANT: {}", escaped(&blocks.thought), escaped(&blocks.words))
}

/// The offset after `<think>…</think>`, in which some models write drafts of blocks.
fn after_thinking(text: &str) -> usize {
    let body = text.trim_start_matches(headings::is_space);
    match body.starts_with("<think>").then(|| text.find("</think>")).flatten() {
        Some(end) => end + "</think>".len(),
        None => 0,
    }
}

fn missing(block: Block) -> FormatError {
    let name = block.name();
    let what = "the answer has the blocks THOUGHT:, ACTION: and ASSISTANT:, each heading at the start of a line";
    FormatError::whole(format!("the block {name} is missing; {what}"))
}

/// The one heading ACTION with JSON below it, and the offset of the JSON.
fn find_action<'a>(text: &str, headings: &'a [Heading]) -> Result<(&'a Heading, usize), FormatError> {
    let mut first = None;
    let mut found = None;
    for (index, heading) in headings.iter().enumerate().filter(|(_, heading)| heading.block == Block::Action) {
        first = first.or(Some(heading));
        let end = headings.get(index + 1).map_or(text.len(), |next| next.start);
        let Some(payload) = payload(text, heading.content, end) else { continue };
        if found.is_some() {
            let message = "there are several ACTION blocks; write one, with all steps in one array";
            return Err(FormatError::at(text, heading.start, message));
        }
        found = Some((heading, payload));
    }
    let Some(first) = first else { return Err(missing(Block::Action)) };
    let Some((action, payload)) = found else {
        let message = "ACTION is a JSON array of steps; write [] where there is nothing to do";
        return Err(FormatError::at(text, first.content, message));
    };
    // `Assistant:` in the prose of a thought is not a heading; after ACTION it is.
    let is_spoken = |heading: &&Heading| {
        heading.block == Block::Assistant
            && heading.start < action.start
            && (heading.strong || (!action.strong && first.start < heading.start))
    };
    if let Some(heading) = headings.iter().find(is_spoken) {
        return Err(FormatError::at(text, heading.start, "ASSISTANT stands before ACTION; it is the last block"));
    }
    Ok((action, payload))
}

/// The offset of the first line that starts with JSON or a code fence.
fn payload(text: &str, from: usize, to: usize) -> Option<usize> {
    let is_payload = |(_, line): &(usize, &str)| line.starts_with(['[', '{']) || is_fence(line);
    trimmed_lines(text, from, to).find(is_payload).map(|(start, _)| start)
}

/// The lines of a part of the text without leading space, each with its offset.
fn trimmed_lines(text: &str, from: usize, to: usize) -> impl Iterator<Item = (usize, &str)> {
    let mut next = from;
    text[from..to].split_inclusive('\n').map(move |line| {
        next += line.len();
        let trimmed = line.trim_start_matches(headings::is_space);
        (next - trimmed.len(), trimmed)
    })
}

/// The steps, and the offset after the array.
fn read_action(text: &str, payload: usize) -> Result<(Vec<Step>, usize), FormatError> {
    let mut start = payload;
    if is_fence(&text[start..]) {
        let fence = text[start..].trim_start_matches(['`', '~']);
        let body = fence.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
        start = text.len() - body.trim_start_matches(headings::is_space).len();
    }
    let ParsedJson { value, elements, end } = json::parse(text, start)?;
    let steps = match value {
        Value::Array(steps) => steps,
        Value::Object(_) => {
            let message = "ACTION is an array, not an object: put the step into brackets, [{…}]";
            return Err(FormatError::at(text, start, message));
        }
        _ => return Err(FormatError::at(text, start, "ACTION is a JSON array of steps")),
    };
    if steps.len() > MAX_STEPS {
        let message = format!("ACTION has {} steps, and at most {MAX_STEPS} are read", steps.len());
        return Err(FormatError::at(text, start, message));
    }
    let read = |(index, (step, offset))| {
        Step::read(step).map_err(|message: String| FormatError::at(text, offset, message).in_step(index))
    };
    let steps = steps.into_iter().zip(elements).enumerate().map(read).collect::<Result<_, _>>()?;
    Ok((steps, end))
}

/// The heading ASSISTANT after the array. Prose between them is ignored; more JSON is an error.
fn find_assistant(text: &str, headings: &[Heading], end: usize) -> Result<Heading, FormatError> {
    let line_end = text[end..].find('\n').map_or(text.len(), |newline| end + newline);
    let beside = headings::of_line(&text[end..line_end], end).filter(|heading| heading.block == Block::Assistant);
    let below = || headings.iter().find(|heading| heading.block == Block::Assistant && heading.start >= end);
    let found = beside.or_else(|| below().copied());
    let mut between = trimmed_lines(text, end, found.map_or(text.len(), |heading| heading.start));
    if let Some((start, _)) = between.find(|(_, line)| line.starts_with(['[', '{', ']', '}', ','])) {
        let message = "something stands after the end of the array; write one array that is valid JSON";
        return Err(FormatError::at(text, start, message));
    }
    found.ok_or_else(|| missing(Block::Assistant))
}

/// The text of a block: trimmed, with `\n` as line ends, and without the backslashes of [`escaped`].
fn tidy(text: &str) -> String {
    let lines: Vec<&str> = text.split('\n').map(|line| line.trim_end_matches('\r')).collect();
    let meant = |line| {
        if looks_like_heading(str::trim_start_matches(line, '\\')) {
            line.strip_prefix('\\').unwrap_or(line)
        } else {
            line
        }
    };
    lines.join("\n").trim().split('\n').map(meant).collect::<Vec<_>>().join("\n")
}

/// Puts a backslash before lines that would be parsed as headings.
fn escaped(text: &str) -> String {
    let escape = |line: &str| {
        if looks_like_heading(line.trim_start_matches('\\')) { format!("\\{line}") } else { line.to_owned() }
    };
    text.split('\n').map(escape).collect::<Vec<_>>().join("\n")
}
