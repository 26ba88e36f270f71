//! Work whose cost is counted in instructions by `cargo xtask bench`: reading from and appending to a context of
//! a given length, checking a plan of a given number of calls, and reading an answer of a given length as it comes in
//! pieces of 16 bytes, or at once.
//!
//! ```text
//! cost read|append MESSAGES REPETITIONS
//! cost plan-chain|plan-fan|plan-independent|plan-random|plan-rivals CALLS REPETITIONS
//! cost stream|whole BYTES REPETITIONS
//! ```

use std::hint::black_box;

use obelus_kernel::dialect::Dialect;
use obelus_kernel::dialect::Reader;
use obelus_kernel::plan::check;
use obelus_kernel::{Context, Expr, Message, PlanMode};
use serde_json::{Value, json};

const USAGE: &str = "usage: cost read|append|plan-chain|plan-fan|plan-independent|plan-random|plan-rivals|stream|whole \
    SIZE REPETITIONS";

#[expect(clippy::disallowed_methods, reason = "an example is a program, and has arguments")]
fn main() -> Result<(), &'static str> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [subject, size, repetitions] = arguments.as_slice() else { return Err(USAGE) };
    let size = size.parse().map_err(|_| USAGE)?;
    let repetitions = repetitions.parse().map_err(|_| USAGE)?;
    match subject.as_str() {
        "read" => read(size, repetitions),
        "append" => append(size, repetitions),
        "plan-chain" => plan(size, repetitions, chain),
        "plan-fan" => plan(size, repetitions, fan),
        "plan-independent" => plan(size, repetitions, independent),
        "plan-random" => plan(size, repetitions, random),
        "plan-rivals" => plan(size, repetitions, rivals),
        "stream" => stream(size, repetitions),
        "whole" => whole(size, repetitions),
        _ => return Err(USAGE),
    }
    Ok(())
}

/// A model's answer of about this many bytes: prose, then calls with texts and numbers.
fn answer(bytes: usize) -> String {
    let call = |i: usize| {
        let text = "Позвонить клиенту и уточнить срок поставки. Deliver to the \"main\" gate, then call back.\n";
        json!({"_tool": "crm.activity.add", "fields": {"SUBJECT": format!("Задача {i}"), "DESCRIPTION": text,
            "OWNER_ID": i, "PRIORITY": 2, "DONE": false, "tags": ["a", "b", i]}, "_outputPath": "†results"})
    };
    let each = call(0).to_string().len();
    let calls: Vec<Value> = (0..bytes * 9 / 10 / each).map(call).collect();
    let say = "Сейчас всё сделаю, это займёт время. ".repeat(bytes / 10 / 66);
    json!({"say": say, "calls": calls, "output": null}).to_string()
}

/// Parses an answer in pieces, up to its solution.
fn stream(bytes: usize, repetitions: usize) {
    let text = answer(bytes);
    let mut pieces = Vec::new();
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (piece, more) = rest.split_at(rest.floor_char_boundary(16.min(rest.len())));
        pieces.push(piece);
        rest = more;
    }
    counted_work(repetitions, &mut |_| {
        let mut reader = Reader::new(Dialect::Json);
        let mut whole = String::new();
        let mut told = 0_usize;
        for piece in &pieces {
            reader.push(piece, |_| told += 1);
            whole.push_str(piece);
        }
        black_box(told);
        black_box(Dialect::Json.read(&whole).expect("a solution"));
    });
}

/// Parses the same answer at once.
fn whole(bytes: usize, repetitions: usize) {
    let text = answer(bytes);
    counted_work(repetitions, &mut |_| {
        black_box(serde_json::from_str::<Value>(&text).expect("JSON"));
    });
}

/// The profiler counts instructions inside this function only and finds it by its name.
#[inline(never)]
fn counted_work(repetitions: usize, work: &mut dyn FnMut(usize)) {
    for repetition in 0..repetitions {
        work(repetition);
    }
}

fn message(json: Value) -> Message {
    Message::from_value(json).expect("a well-formed message").message
}

fn result(path: &str, data: &Value) -> Value {
    json!({"type": "state", "data": data, "_call": {"_tool": "t"}, "_outputPath": path})
}

/// A typical conversation: texts, results at new and at existing paths, a growing log, three instances.
fn history(length: usize) -> Context {
    let mut messages = vec![
        json!({"type": "input", "data": {"city": "Казань"}}),
        json!({"type": "state", "data": {"deal": {"id": 7, "title": "Supply", "contact": {"email": "a@example.test"}}}}),
    ];
    messages.extend((2..length).map(|i| match i % 5 {
        0 => json!({"type": "text", "role": "user", "text": format!("message {i}")}),
        1 => result(&format!("†state.results.r{i}"), &json!({"results": {(format!("r{i}")): {"ok": true}}})),
        2 => {
            let mut pushed = result("†state.log", &json!({"log": {"at": i, "what": "done"}}));
            pushed["_outputMethod"] = "push".into();
            pushed
        }
        3 => json!({"type": "state", "data": {"deal": {"stage": i}}}),
        _ => json!({"type": "state", "data": {"deal": {"owner": i}}, "_instance": (["a", "b", "c"][i % 3])}),
    }));
    let mut context = Context::new();
    context.append(messages.into_iter().map(message).collect()).expect("the history is accepted");
    assert_eq!(context.messages().len(), length, "a history has 10 messages or more");
    context
}

fn read(length: usize, repetitions: usize) {
    let context = history(length);
    let reads = [
        ("†state.deal.contact.email", None),
        ("†state.deal.title", Some("b")),
        ("†state.deal.owner", Some("b")),
        ("†state.log[-1].what", None),
        ("†state.results.r6.ok", None),
        ("†state.missing || †input.city", Some("a")),
    ];
    let reads = reads.map(|(text, instance)| (Expr::parse(text).expect("an expression"), instance));
    for (expr, instance) in &reads {
        assert!(context.resolve(expr, *instance).is_some(), "{expr} has no value");
    }
    counted_work(repetitions, &mut |repetition| {
        let (expr, instance) = &reads[repetition % reads.len()];
        black_box(context.resolve(black_box(expr), *instance));
    });
}

fn append(length: usize, repetitions: usize) {
    let mut context = history(length);
    let results = (0..repetitions).map(|i| match i % 3 {
        0 => result("†state.deal.stage", &json!({"deal": {"stage": i}})),
        1 => result(&format!("†state.results.new{i}"), &json!({"results": {(format!("new{i}")): {"ok": true}}})),
        _ => {
            let mut pushed = result("†state.log", &json!({"log": {"at": i, "what": "done"}}));
            pushed["_outputMethod"] = "push".into();
            pushed
        }
    });
    let mut batches: Vec<_> = results.map(|json| vec![message(json)]).collect();
    counted_work(repetitions, &mut |repetition| {
        let batch = std::mem::take(&mut batches[repetition]);
        context.append(batch).expect("the result is accepted");
    });
    assert_eq!(context.messages().len(), length + repetitions);
}

fn plan(count: usize, repetitions: usize, shape: fn(usize) -> Vec<Value>) {
    let tool = json!({
        "properties": {"from": {"type": "array"}, "title": {"type": "string"}, "_output": {"type": "object"}},
        "required": ["title"],
        "x-effect": "read",
    });
    let messages = json!([{"type": "state", "data": {"seed": 1}}, {"type": "tool", "tool": {"t": tool}}]);
    let context = Context::from_value(messages).expect("the context is accepted");
    let calls: Vec<_> = shape(count).into_iter().map(Into::into).collect();
    assert_eq!(calls.len(), count);
    let found = check(&calls, PlanMode::Eager, &context);
    assert!(found.is_valid(), "{:?}", found.errors.first());
    counted_work(repetitions, &mut |_| {
        black_box(check(black_box(&calls), PlanMode::Eager, &context));
    });
}

fn call(reads: &[String], writes: &str) -> Value {
    json!({"_tool": "t", "title": "step", "from": reads, "_outputPath": writes})
}

/// Each call feeds the next.
fn chain(count: usize) -> Vec<Value> {
    let step = |i: usize| if i == 0 { "†state.seed".to_owned() } else { format!("†state.c{}", i - 1) };
    (0..count).map(|i| call(&[step(i)], &format!("†state.c{i}"))).collect()
}

/// One call feeds all the others, and these feed the last.
fn fan(count: usize) -> Vec<Value> {
    let part = |i: usize| call(&["†state.source".to_owned()], &format!("†state.parts.p{i}"));
    let mut calls = vec![call(&[], "†state.source")];
    calls.extend((1..count - 1).map(part));
    calls.push(call(&["†state.parts".to_owned()], "†state.sum"));
    calls
}

/// No call feeds another.
fn independent(count: usize) -> Vec<Value> {
    (0..count).map(|i| call(&["†state.seed".to_owned()], &format!("†state.c{i}"))).collect()
}

/// Each call is fed by three earlier ones, near or far.
fn random(count: usize) -> Vec<Value> {
    let mut seed = 1_u64;
    let mut before = |i: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).map_or(0, |n| n % i.max(1))
    };
    let mut reads = |i: usize| match i {
        0 => vec!["†state.seed".to_owned()],
        _ => (0..3).map(|_| format!("†state.c{}", before(i))).collect(),
    };
    (0..count).map(|i| call(&reads(i), &format!("†state.c{i}"))).collect()
}

/// As [`random`]; in addition all calls write one path.
fn rivals(count: usize) -> Vec<Value> {
    let mut calls = random(count);
    for (i, call) in calls.iter_mut().enumerate() {
        call["_outputPath"] = format!("†state.c{i} && †state.latest").into();
    }
    calls
}
