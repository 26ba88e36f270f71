//! B24-2, B24-3: answers as models really write them, valid and malformed, with the expected results.
//!
//! `blocks/*.txt` has cases of the form `=== name`, the answer, then `--- reads` with the result as JSON, or `---
//! refused` with words that the error must contain. `invisible.json` has cases that plain text cannot show.

#![expect(clippy::disallowed_methods, reason = "the corpus stands in files")]

use std::fs;
use std::path::PathBuf;

use obelus_notebook::dialect::blocks::{self, Blocks, MAX_BYTES, MAX_STEPS, Step};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde::Deserialize;
use serde_json::{Map, Value, json};

struct Case {
    name: String,
    text: String,
    expected: Result<Value, String>,
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/blocks")
}

fn cases_of(file: &str) -> Vec<Case> {
    let content = fs::read_to_string(folder().join(file)).expect("a file of the corpus");
    if file.ends_with(".json") {
        let cases: Vec<Value> = serde_json::from_str(&content).expect("a list of cases");
        let text = |case: &Value, field: &str| case[field].as_str().map(str::to_owned);
        let case = |case: Value| Case {
            name: text(&case, "name").expect("a name"),
            text: text(&case, "text").expect("an answer"),
            expected: text(&case, "refused").map_or_else(|| Ok(case["reads"].clone()), Err),
        };
        return cases.into_iter().map(case).collect();
    }
    let sections = content.strip_prefix("=== ").expect("a first case").split("\n=== ");
    let case = |section: &str| {
        let (name, rest) = section.split_once('\n').expect("a name");
        let reading = rest.rsplit_once("--- reads\n").map(|(text, json)| (text, serde_json::from_str(json)));
        let (text, expected) = match (reading, rest.rsplit_once("--- refused\n")) {
            (Some((text, json)), _) => (text, Ok(json.unwrap_or_else(|error| panic!("{file}: {name}: {error}")))),
            (None, Some((text, words))) => (text, Err(words.trim().to_owned())),
            (None, None) => panic!("{file}: {name}: says neither what it reads nor why it is refused"),
        };
        Case { name: format!("{file}: {name}"), text: text.to_owned(), expected }
    };
    sections.map(case).collect()
}

fn corpus() -> Vec<Case> {
    let mut files: Vec<String> = fs::read_dir(folder())
        .expect("the corpus")
        .map(|entry| entry.expect("a file").file_name().into_string().expect("a name"))
        .collect();
    files.sort();
    files.iter().flat_map(|file| cases_of(file)).collect()
}

fn to_json(blocks: &Blocks) -> Value {
    let steps: Vec<Value> = blocks.steps.iter().map(Step::to_json).collect();
    json!({"thought": blocks.thought, "steps": steps, "words": blocks.words})
}

#[test]
fn b24_2_b24_3_answers_are_parsed_or_refused_with_the_place() {
    let corpus = corpus();
    assert!(corpus.len() >= 60, "the corpus has {} answers", corpus.len());
    let mut wrong = Vec::new();
    for Case { name, text, expected } in &corpus {
        match (blocks::read(text), expected) {
            (Ok(read), Ok(expected)) if to_json(&read) == *expected => {}
            (Err(error), Err(words)) if error.to_string().contains(words) => {}
            (Ok(read), _) => wrong.push(format!("{name}: read as {}", to_json(&read))),
            (Err(error), _) => wrong.push(format!("{name}: refused: {error}")),
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), corpus.len(), wrong.join("\n"));
}

#[test]
fn a_parsed_answer_is_written_and_parsed_back() {
    for Case { name, text, .. } in corpus() {
        let Ok(read) = blocks::read(&text) else { continue };
        assert_eq!(blocks::read(&blocks::write(&read)), Ok(read), "{name}");
    }
}

#[test]
fn b24_2_steps_are_calls_in_order_with_stored_results() {
    let text = "THOUGHT:\nx\nACTION:\n[{\"method\": \"crm.deal.update\", \"params\": {\"id\": 5}, \"comment\": \"why\", \
                \"requires_confirmation\": true}]\nASSISTANT:\nМеняю.";
    let solution = blocks::read(text).expect("an answer").into_solution();
    let call = json!({"_tool": "crm.deal.update", "id": 5, "comment": "why", "requires_confirmation": true}).into();
    assert_eq!((solution.calls.as_slice(), solution.sequential, solution.keeps_results), (&[call][..], true, true));
    assert_eq!((solution.say.as_deref(), &solution.output), (Some("Меняю."), &Value::Null));
}

#[test]
fn without_steps_the_text_is_the_result() {
    let solution = blocks::read("THOUGHT:\nx\nACTION:\n[]\nASSISTANT:\nГотово.").expect("an answer").into_solution();
    assert_eq!(
        (solution.say, solution.output, solution.calls),
        (Some("Готово.".to_owned()), json!("Готово."), Vec::new())
    );
}

#[test]
fn a_call_is_written_as_its_original_step() {
    let call = json!({"_tool": "t", "id": 5, "comment": "why", "_outputPath": "†state.x", "_date": "now"}).into();
    let step = Step::from_call(&call, |_| false);
    let written = json!({"method": "t", "params": {"id": 5}, "comment": "why", "_outputPath": "†state.x"});
    assert_eq!(step.to_json(), written);
    let step = Step::from_call(&call, |name| name == "comment");
    assert_eq!(step.params.get("comment"), Some(&json!("why")));
}

#[test]
fn size_and_depth_are_bounded() {
    let answer = |action: &str| format!("THOUGHT:\nx\nACTION:\n{action}\nASSISTANT:\ny");
    let refused = |action: &str| blocks::read(&answer(action)).expect_err("too much").to_string();
    let deep = |levels: usize| {
        format!("[{{\"method\": \"t\", \"params\": {{\"p\": {}{}}}}}]", "[".repeat(levels), "]".repeat(levels))
    };
    assert!(refused(&deep(100_000)).contains("nested deeper"));
    assert!(blocks::read(&answer(&deep(50))).is_ok());
    let steps = |count: usize| format!("[{}]", vec![r#"{"method":"t"}"#; count].join(","));
    assert!(refused(&steps(MAX_STEPS + 1)).contains("at most"));
    assert!(blocks::read(&answer(&steps(MAX_STEPS))).is_ok());
    assert!(blocks::read(&" ".repeat(MAX_BYTES + 1)).is_err());
}

/// Pieces of answers, and text that may confuse the parser.
const PIECES: [&str; 36] = [
    "THOUGHT:",
    "ACTION:",
    "ASSISTANT:",
    "**ACTION:**",
    "### Action",
    "action: ",
    "Assistant: ",
    "\\ACTION:",
    "```json",
    "```",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "\"method\"",
    "\"params\"",
    "\"comment\"",
    "\"crm.deal.get\"",
    "\"id\"",
    "5",
    "1e400",
    "[]",
    "[{\"method\": \"t\", \"params\": {\"id\": 5}}]",
    "{\"method\": \"u\"}",
    "\n",
    "\r\n",
    " ",
    "\u{a0}",
    "\u{200b}",
    "\\",
    "\"",
    "сделка",
    "<think>",
    "</think>",
];

fn rubble() -> impl Strategy<Value = String> {
    vec(prop_oneof![8 => select(&PIECES[..]).prop_map(str::to_owned), 1 => any::<char>().prop_map(String::from)], 0..60)
        .prop_map(|pieces| pieces.concat())
}

/// An answer of the corpus with some parts replaced by random pieces.
fn damaged() -> impl Strategy<Value = String> {
    let answers: Vec<String> = corpus().into_iter().map(|case| case.text).collect();
    (select(answers), vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), rubble()), 0..4)).prop_map(
        |(mut text, damages)| {
            for (from, to, with) in damages {
                let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
                let (from, to) = (places[from.index(places.len())], places[to.index(places.len())]);
                let (from, to) = (from.min(to), from.max(to).min(from.min(to) + 40));
                let to = text.floor_char_boundary(to);
                text.replace_range(from..to.max(from), &with);
            }
            text
        },
    )
}

fn value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1_000_000i32..1_000_000).prop_map(|cents| json!(f64::from(cents) / 100.0)),
        ".{0,12}".prop_map(Value::from),
        rubble().prop_map(Value::from),
    ];
    scalar.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec(("[a-zA-Zа-я]{1,6}", inner), 0..4).prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn step() -> impl Strategy<Value = Step> {
    let beside = select(vec![
        json!({}),
        json!({"comment": "зачем"}),
        json!({"http_method": "GET", "confirmed": true}),
        json!({"confirmation_decision": "deny", "confirmation_reason": "ACTION:\n[]"}),
        json!({"_outputPath": "†state.x", "_outputMethod": "push", "_scopes": ["text"]}),
    ]);
    let params = vec(("[A-Za-zа-я>%=!]{1,8}", value()), 0..4);
    ("[a-z.а-я]{1,20}", params, beside).prop_map(|(method, params, beside)| Step {
        method,
        params: params.into_iter().collect(),
        beside: beside.as_object().cloned().unwrap_or_default(),
    })
}

/// The text of a block: any text with `\n` as line ends, trimmed.
fn words() -> impl Strategy<Value = String> {
    prop_oneof![rubble(), "(?s).{0,80}"].prop_map(|text: String| {
        let lines: Vec<&str> = text.split('\n').map(|line| line.trim_end_matches('\r')).collect();
        lines.join("\n").trim().to_owned()
    })
}

proptest! {
    #[test]
    fn any_written_answer_is_read_back(thought in words(), steps in vec(step(), 0..4), words in words()) {
        prop_assume!(!(steps.is_empty() && words.is_empty()));
        let blocks = Blocks { thought, steps, words };
        let text = blocks::write(&blocks);
        prop_assert_eq!(blocks::read(&text), Ok(blocks), "{}", text);
    }

    #[test]
    fn any_text_is_parsed_or_refused_and_no_step_is_invented(text in prop_oneof![rubble(), damaged(), "(?s).{0,200}"]) {
        let Ok(read) = blocks::read(&text) else { return Ok(()) };
        // Plain JSON parsing, without knowledge of blocks, finds the same array in the text.
        let meant: Vec<Value> = read.steps.iter().map(Step::to_json).collect();
        let stands = text.match_indices('[').any(|(at, _)| {
            let plain = without_odd_spaces(&text[at..]);
            let mut reader = serde_json::Deserializer::from_str(&plain);
            Vec::<Map<String, Value>>::deserialize(&mut reader).is_ok_and(|steps| {
                steps.into_iter().map(full).collect::<Vec<_>>() == meant
            })
        });
        prop_assert!(stands, "{meant:?} does not stand in {text:?}");
    }
}

/// The full form of a step, with defaults for omitted fields.
fn full(mut step: Map<String, Value>) -> Value {
    let method = step.shift_remove("method").unwrap_or_default();
    let params = step.shift_remove("params").filter(|params| !params.is_null()).unwrap_or_else(|| json!({}));
    step.retain(|_, value| !value.is_null());
    let mut whole = Map::from_iter([("method".to_owned(), method), ("params".to_owned(), params)]);
    whole.extend(step);
    Value::Object(whole)
}

/// The text with other kinds of white space outside of strings replaced by plain spaces.
fn without_odd_spaces(text: &str) -> String {
    let plain =
        |c: char| if c.is_whitespace() || "\u{feff}\u{200b}\u{200c}\u{200d}\u{2060}".contains(c) { ' ' } else { c };
    let mut inside = false;
    let mut escaped = false;
    let array = text.chars().map(|c| {
        let quote = c == '"' && !escaped;
        escaped = inside && c == '\\' && !escaped;
        inside ^= quote;
        if inside { c } else { plain(c) }
    });
    array.collect()
}
