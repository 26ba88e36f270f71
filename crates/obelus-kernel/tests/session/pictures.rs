//! Pictures from the user: they belong to the next message and are shown for one turn.

use std::sync::Arc;

use obelus_kernel::session::{Input, Picture};
use serde_json::{Value, json};

use crate::harness::{Harness, call};

fn picture(n: u8) -> Picture {
    Picture::of(&[b"GIF89a".as_slice(), &[n]].concat()).expect("it begins as one")
}

fn show(harness: &mut Harness, n: u8) {
    harness.tell(Input::Picture(picture(n))).expect("it is taken");
}

/// The pictures in the oldest request.
fn shown(harness: &Harness) -> Vec<Picture> {
    harness.session.prompt(&harness.requests[0]).expect("a request").pictures
}

#[test]
fn a_picture_belongs_to_the_next_message_only() {
    let mut harness = Harness::with(json!({"persistent": true}));
    show(&mut harness, 1);
    show(&mut harness, 2);
    show(&mut harness, 2);
    assert!(harness.requests.is_empty(), "it begins nothing by itself");
    harness.user("what is this?");
    assert_eq!(shown(&harness), [picture(1), picture(2)]);
    harness.solve(json!([call("read", "r", json!({}))]), json!(null));
    harness.returns("read", json!(1));
    assert_eq!(shown(&harness).len(), 2, "all through the turn");
    // A picture that comes during a turn is queued with the message that follows it.
    show(&mut harness, 3);
    harness.user("and this?");
    assert_eq!(shown(&harness).len(), 2);
    harness.solve(json!([]), json!("a cat"));
    assert_eq!(shown(&harness), [picture(3)]);
    harness.solve(json!([]), json!("a dog"));
    harness.user("thanks");
    assert!(shown(&harness).is_empty());
}

#[test]
fn a_request_without_words_has_pictures_too() {
    let mut harness = Harness::with(json!({}));
    show(&mut harness, 1);
    harness.start();
    assert_eq!(shown(&harness), [picture(1)]);
}

#[test]
fn only_name_and_digest_of_a_picture_are_stored() {
    let input =
        serde_json::to_value(Input::Picture(Picture { path: Some("/home/ann/secret.gif".into()), ..picture(1) }));
    let expected = json!({"picture": {"name": picture(1).name, "digest": picture(1).digest}});
    assert_eq!(input.unwrap(), expected);
    assert_eq!(serde_json::from_value::<Input>(expected).unwrap(), Input::Picture(picture(1)));
}

#[test]
fn picture_names_outside_the_folder_and_too_many_pictures_are_refused() {
    let mut harness = Harness::with(json!({}));
    let bad = Picture { name: "../../etc/passwd".to_owned(), ..picture(1) };
    assert_eq!(harness.tell(Input::Picture(bad)).unwrap_err().code.name(), "bad_picture");
    (1..=8).for_each(|n| show(&mut harness, n));
    let refused = harness.tell(Input::Picture(picture(9))).unwrap_err();
    assert_eq!((refused.code.name(), refused.text.contains("at most 8")), ("too_many_pictures", true));
}

#[test]
fn pictures_survive_a_checkpoint_and_old_checkpoints_are_read() {
    let mut harness = Harness::with(json!({"persistent": true}));
    harness.user("one");
    harness.solve(json!([]), json!("done"));
    show(&mut harness, 1);
    let kept = harness.session.checkpoint().expect("it is at rest");
    let restored = |kept: &str| {
        let mut again = Harness::with(json!({"persistent": true}));
        let past = harness.session.past();
        again.session = again.session.restore(kept, Arc::new(move || Ok(past.clone()))).expect("it fits");
        again.user("two");
        shown(&again)
    };
    assert_eq!(restored(&kept), [picture(1)]);
    let mut old: Value = serde_json::from_str(&kept).unwrap();
    old.as_object_mut().unwrap().shift_remove("attached").unwrap();
    old["turn"].as_object_mut().unwrap().shift_remove("pictures").unwrap();
    assert!(restored(&old.to_string()).is_empty());
}
