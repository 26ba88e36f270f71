//! Fuzz tests of the notebook's decoders: answers of models in both dialects, whole and streamed, expressions,
//! contexts, templates, filters, tools, graphs of steps, and what people write.

#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "seeds are files, and a run may have a time")]

#[path = "../../../fuzz/engine.rs"]
mod engine;

use engine::{fuzz, lossy, piece_of};
use obelus_notebook::call_json::CallJson;
use obelus_notebook::context::Context;
use obelus_notebook::dialect::stream::{Piece, Reader};
use obelus_notebook::dialect::{Dialect, blocks};
use obelus_notebook::expr::{Expr, OutputPath};
use obelus_notebook::jq::Filter;
use obelus_notebook::mention::consent::ConsentWords;
use obelus_notebook::mention::{addresses, names, numbers, phones, text};
use obelus_notebook::message::Message;
use obelus_notebook::steps::Steps;
use obelus_notebook::template::Template;
use obelus_notebook::time::Time;
use obelus_notebook::tool::Tool;
use serde_json::Value;

#[test]
fn blocks_are_refused_or_read_and_written_back_unchanged() {
    fuzz("blocks", |input| {
        let Ok(read) = blocks::read(&lossy(input)) else { return false };
        let written = blocks::write(&read);
        assert_eq!(blocks::read(&written), Ok(read), "{written}");
        true
    });
}

#[test]
fn a_solution_is_refused_or_read_and_written_back_unchanged() {
    fuzz("solution", |input| {
        let Ok(read) = Dialect::Json.read(&lossy(input)) else { return false };
        let written = serde_json::to_string(&read).expect("a solution is JSON");
        assert_eq!(Dialect::Json.read(&written), Ok(read), "{written}");
        true
    });
}

/// The streamed words and calls of an answer that arrives in pieces of this many characters.
fn told(dialect: Dialect, text: &str, piece: usize) -> (String, Vec<(usize, CallJson)>) {
    let (mut words, mut calls) = (String::new(), Vec::new());
    let mut reader = Reader::new(dialect);
    let all: Vec<char> = text.chars().collect();
    for part in all.chunks(piece) {
        reader.push(&part.iter().collect::<String>(), |piece| match piece {
            Piece::Words(more) => words.push_str(&more),
            Piece::Call { index, call } => calls.push((index, call)),
        });
    }
    (words, calls)
}

#[test]
fn reports_of_a_stream_do_not_depend_on_chunk_boundaries() {
    fuzz("stream", |input| {
        let text = lossy(input);
        let mut is_told = false;
        for dialect in [Dialect::Json, Dialect::Blocks] {
            let whole = told(dialect, &text, text.len().max(1));
            assert_eq!(told(dialect, &text, piece_of(input)), whole, "{dialect:?}");
            is_told |= !whole.0.is_empty() || !whole.1.is_empty();
            // A valid answer has at least as many calls as were streamed. If it names its calls twice, the last ones count; the
            // first may have been streamed, and early calls that no answer has are discarded.
            if text.matches("\"calls\"").count() < 2
                && let Ok(solution) = dialect.read(&text)
            {
                assert!(whole.1.len() <= solution.calls.len(), "{dialect:?}: {:?}", whole.1);
            }
        }
        is_told
    });
}

#[test]
fn an_expression_is_refused_or_has_paths_that_can_be_written() {
    fuzz("expression", |input| {
        let text = lossy(input);
        let _ = OutputPath::parse(&text);
        let Ok(expr) = Expr::parse(&text) else { return false };
        for path in expr.refs() {
            let written = path.to_string();
            assert!(Expr::parse(&written).is_ok_and(|read| read.refs() == [path]), "{written}");
        }
        let _ = expr.value(&|_| None);
        !expr.refs().is_empty()
    });
}

#[test]
fn a_context_is_refused_or_read_and_written_back_unchanged() {
    fuzz("context", |input| {
        let text = lossy(input);
        if let Ok(value) = serde_json::from_str::<Value>(&text) {
            let _ = Message::from_value(value);
        }
        let Ok(context) = Context::from_json(&text) else { return false };
        let written = context.to_json();
        let read = Context::from_value(written.clone()).expect("what was written can be read");
        assert_eq!(read.to_json(), written);
        true
    });
}

#[test]
fn a_template_is_refused_or_can_be_resolved() {
    fuzz("template", |input| {
        let Ok(value) = serde_json::from_slice::<Value>(input) else { return false };
        let Ok(template) = Template::parse(&value) else { return false };
        let _ = (template.resolve(&|_| None), template.outline());
        true
    });
}

#[test]
fn a_filter_is_refused_or_runs_if_it_ends_at_once() {
    let data = serde_json::json!({"call": {"n": 3, "text": "†x"}, "rows": [1, null, {"a": "b"}]});
    fuzz("filter", |input| {
        let Ok(filter) = Filter::compile(&lossy(input)) else { return false };
        let _ = filter.fields();
        // Others may never end.
        if filter.is_immediate() {
            let _ = filter.run(&data);
        }
        true
    });
}

#[test]
fn a_tool_is_refused_or_checks_calls() {
    fuzz("tool", |input| {
        let Ok(schema) = serde_json::from_slice::<Value>(input) else { return false };
        let Ok(tool) = Tool::parse("t", &schema) else { return false };
        let _ = (tool.check(), tool.stray_paths(), tool.unknown_annotations(), tool.annotation_warnings());
        let _ = tool.breaches(&serde_json::json!({"id": 1, "fields": {"SUM": "2"}}));
        let _ = tool.output_breaches(&serde_json::json!([{"id": 1}]));
        true
    });
}

#[test]
fn a_graph_of_steps_is_refused_or_checked() {
    fuzz("steps", |input| {
        let Ok(steps) = serde_json::from_slice::<Steps>(input) else { return false };
        let _ = (steps.check(|_| true), steps.start.nodes(), steps.start.usual());
        true
    });
}

#[test]
fn words_numbers_addresses_and_times_are_found_in_any_text() {
    let consent = ConsentWords::default();
    fuzz("mention", |input| {
        let said = lossy(input);
        let folded = text::folded(&said);
        let numerals = numbers::numerals(&folded);
        let _ = (phones::phones(&folded, &numerals), phones::whole_phone(&folded), addresses::addresses(&said));
        let _ = (consent.consents(&said), consent.only_consents(&said), consent.goes_on(&said));
        let _ = (names::mentions(&folded, "анна петрова"), text::whole_words(&folded, "a").count(), Time::parse(&said));
        let words: Vec<_> = text::words(&folded).collect();
        !words.is_empty()
    });
}
