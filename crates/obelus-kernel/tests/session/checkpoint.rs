//! Sessions restored from a checkpoint, and paused sessions.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use obelus_kernel::session::{Input, TurnEnd};
use serde_json::{Value, json};

use crate::harness::{Harness, call};

fn agent() -> Harness {
    Harness::on(
        json!([{"type": "text", "role": "system", "text": "be brief"}]),
        json!({"persistent": true, "transcript_chars": 2_000}),
    )
}

/// A conversation of this many turns, with one call each.
fn conversation(turns: usize) -> Harness {
    let mut harness = agent();
    for turn in 0..turns {
        harness.tell(Input::User { text: format!("words {turn}"), by: None }).unwrap();
        harness.solve(json!([call("read", "r", json!({"q": turn}))]), json!(null));
        harness.returns("read", json!(turn));
        harness.solve(json!([]), json!(format!("answer {turn}")));
    }
    harness
}

#[test]
fn past_messages_are_loaded_only_on_demand() {
    let mut old = conversation(60);
    let (kept, past) = (old.session.checkpoint().unwrap(), old.session.past());
    assert!(past.len() > 100, "{}", past.len());
    assert!(kept.len() < old.session.snapshot().to_string().len() / 2);
    let loads = Arc::new(AtomicUsize::new(0));
    let counter = loads.clone();
    let load = move || {
        counter.fetch_add(1, Ordering::SeqCst);
        Ok(past.clone())
    };
    let mut new = agent();
    new.session = new.session.restore(&kept, Arc::new(load)).unwrap();
    for harness in [&mut old, &mut new] {
        harness.tell(Input::User { text: "more".into(), by: None }).unwrap();
    }
    let prompt =
        |harness: &Harness| serde_json::to_value(harness.session.prompt(&harness.requests[0]).unwrap()).unwrap();
    assert_eq!((prompt(&new)["instructions"].clone(), new.read("†state.r")), (json!(["be brief"]), json!(59)));
    assert_eq!(loads.load(Ordering::SeqCst), 1, "this conversation is short enough to be shown as a whole");
    assert_eq!(prompt(&new), prompt(&old));
    assert_eq!(new.session.snapshot().to_string(), old.session.snapshot().to_string());
    assert_eq!(loads.load(Ordering::SeqCst), 1);
}

#[test]
fn an_unreadable_past_is_reported() {
    let old = conversation(40);
    let kept = old.session.checkpoint().unwrap();
    let new = agent().session.restore(&kept, Arc::new(|| Err("the disk is gone".into()))).unwrap();
    assert_eq!(new.context().unreadable(), None, "nobody has asked yet");
    let _ = new.context().to_json();
    assert_eq!(new.context().unreadable(), Some("the disk is gone"));
    let short = agent().session.restore(&kept, Arc::new(|| Ok(Vec::new()))).unwrap();
    let _ = short.context().to_json();
    assert!(short.context().unreadable().is_some());
}

#[test]
fn no_checkpoint_is_made_while_work_is_pending() {
    let mut harness = agent();
    assert!(harness.session.checkpoint().is_some());
    harness.tell(Input::User { text: "go".into(), by: None }).unwrap();
    assert!(harness.session.checkpoint().is_none());
    harness.solve(json!([call("drop", "d", json!({"id": 1}))]), json!(null));
    assert_eq!(harness.rested(), TurnEnd::Waiting);
    assert!(harness.session.checkpoint().is_none(), "a call waits for a person");
}

#[test]
fn a_checkpoint_of_another_session_is_refused() {
    let kept = conversation(1).session.checkpoint().unwrap();
    let with = |field: &str, value: Value| {
        let mut other: Value = serde_json::from_str(&kept).unwrap();
        other[field] = value;
        other.to_string()
    };
    let nothing = || Arc::new(|| Ok(Vec::new()));
    assert!(agent().session.restore(&with("id", json!("t")), nothing()).unwrap_err().contains('t'));
    assert!(Harness::with(json!({})).session.restore(&kept, nothing()).is_err(), "another beginning");
    assert!(agent().session.restore(&with("form", json!(99)), nothing()).unwrap_err().contains("form 99"));
}

#[test]
fn nothing_starts_while_a_session_is_paused() {
    let mut harness = Harness::at_work(json!({}));
    harness.solve(json!([call("read", "a", json!({})), call("make", "b", json!({"q": "†state.a"}))]), json!("over"));
    harness.tell(Input::Pause { by: "ann".into() }).unwrap();
    harness.returns("read", json!(1));
    assert_eq!((harness.started.len(), harness.session.paused()), (1, Some("ann")));
    harness.tell(Input::User { text: "what now?".into(), by: None }).unwrap();
    harness.tell(Input::Resume { by: "bob".into() }).unwrap();
    assert_eq!((harness.started.len(), harness.session.paused()), (2, None));
    harness.returns("make", json!(2));
    assert_eq!((harness.rested(), harness.requests.len()), (TurnEnd::Output, 1), "the words are heard after the pause");
}

#[test]
fn no_request_goes_out_while_a_session_is_paused() {
    let mut harness = Harness::with(json!({}));
    harness.tell(Input::Pause { by: "ann".into() }).unwrap();
    harness.tell(Input::Start).unwrap();
    assert_eq!(harness.requests.len(), 0);
    harness.tell(Input::Resume { by: "ann".into() }).unwrap();
    assert_eq!(harness.requests.len(), 1);
}
