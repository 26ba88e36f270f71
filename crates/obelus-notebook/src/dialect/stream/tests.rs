use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::dialect::Solution;

/// The streamed words and calls of an answer that arrives in pieces of this many characters.
fn told(dialect: Dialect, text: &str, piece: usize) -> (String, Vec<(usize, CallJson)>) {
    let (mut words, mut calls) = (String::new(), Vec::new());
    let mut reader = Reader::new(dialect);
    let all: Vec<char> = text.chars().collect();
    for part in all.chunks(piece.max(1)) {
        reader.push(&part.iter().collect::<String>(), |piece| match piece {
            Piece::Words(more) => words.push_str(&more),
            Piece::Call { index, call } => calls.push((index, call)),
        });
    }
    (words, calls)
}

#[test]
fn texts_and_calls_are_reported_as_they_arrive() {
    let text =
        r#" {"say": "Ищу \"Окна\"\n\u0451 \ud83d\ude00", "calls": [{"_tool": "a", "x": "]}{"}, {"_tool": "b"}]}"#;
    let mut reader = Reader::new(Dialect::Json);
    let mut told = Vec::new();
    let (first, rest) = text.split_at(text.find(", {\"_tool\": \"b").unwrap());
    reader.push(first, |piece| told.push(piece));
    assert_eq!(
        told,
        [
            Piece::Call { index: 0, call: json!({"_tool": "a", "x": "]}{"}).into() },
            Piece::Words("Ищу \"Окна\"\nё 😀".to_owned()),
        ],
        "the first call is told before the second has come"
    );
    reader.push(rest, |piece| told.push(piece));
    assert_eq!(told[2..], [Piece::Call { index: 1, call: CallJson::of_tool("b") }]);
}

#[test]
fn only_top_level_members_of_the_answer_are_reported() {
    let text = r#"```json
        {"output": {"say": "no", "calls": [{"_tool": "no"}]}, "n": [1, {"a": "]"}], "t": true, "say": null, "calls": [1, {"_tool": "b"}]}
        ```"#;
    assert_eq!(told(Dialect::Json, text, 3), (String::new(), vec![(0, json!(1).into()), (1, CallJson::of_tool("b"))]));
}

#[test]
fn nothing_is_reported_after_a_format_error() {
    for text in [
        "I think {\"say\": \"a\"}",
        r#"["say", "a"]"#,
        r#"{"say": "a\q"#,
        r#"{"say": "\ud83dx"#,
        r#"{"say": "\udc00"#,
        r#"{"calls": [{"a" 1}, {"_tool": "b"}]}"#,
        r#"{say: "a"}"#,
        "",
    ] {
        let (words, calls) = told(Dialect::Json, text, 1);
        assert!(calls.is_empty() && words.len() <= 1, "{text}: {words} {calls:?}");
    }
    // The second member would be used in the end, so nothing of it is streamed.
    let (words, calls) = told(Dialect::Json, r#"{"say": "a", "calls": [], "calls": [{}], "say": "b"}"#, 2);
    assert_eq!((words.as_str(), calls.len()), ("a", 0));
}

#[test]
fn in_blocks_the_text_is_reported_after_the_actions() {
    let text = "THOUGHT:\nAssistant: no\nACTION:\n[]\nASSISTANT: Да.\nВсё\nготово.";
    for piece in [1, 2, 7, 100] {
        assert_eq!(told(Dialect::Blocks, text, piece), ("Да.\nВсё\nготово.".to_owned(), vec![]), "{piece}");
    }
    assert_eq!(told(Dialect::Blocks, "ASSISTANT:\nтак нельзя", 1).0, "");
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[\\[\\]{}\",:\\\\]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-z_\"\\\\]{0,4}", inner), 0..4).prop_map(|fields| fields.into_iter().collect()),
        ]
    })
}

proptest! {
    /// Streaming finds the same words and calls as parsing the whole answer, for any division into pieces.
    #[test]
    fn early_reports_match_the_complete_answer(
        say in prop::option::of(any::<String>()),
        calls in prop::collection::vec(any_value(), 0..4),
        output in any_value(),
        order in Just(["say", "calls", "output"]).prop_shuffle(),
        pretty: bool,
        piece in 1..20_usize,
    ) {
        let all = json!({"say": say, "calls": calls, "output": output});
        let answer: Value = order.iter().map(|name| ((*name).to_owned(), all[*name].clone())).collect();
        let text = if pretty { serde_json::to_string_pretty(&answer).unwrap() } else { answer.to_string() };
        let whole = Solution::from_text(&text).unwrap();
        let (words, told) = told(Dialect::Json, &text, piece);
        prop_assert_eq!(words, whole.say.unwrap_or_default());
        prop_assert_eq!(told, whole.calls.into_iter().enumerate().collect::<Vec<_>>());
    }

    /// No input makes the reader panic, or return more words than the answer has.
    #[test]
    fn any_stream_is_read_without_a_panic(text in "[\\{\\}\\[\\]\",:\\\\ua0-9 sayclls\n]{0,200}", piece in 1..9_usize, blocks: bool) {
        let dialect = if blocks { Dialect::Blocks } else { Dialect::Json };
        let (words, _) = told(dialect, &text, piece);
        prop_assert!(words.len() <= text.len());
        prop_assert_eq!(told(dialect, &text, piece), told(dialect, &text, 1));
    }
}
