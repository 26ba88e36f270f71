//! Pictures that the user shows: they go with the next words, for one turn.

use std::sync::Arc;

use obelus_kernel::session::{Input, Picture};
use serde_json::{Value, json};

use crate::desk::{Desk, call};

fn picture(n: u8) -> Picture {
    Picture::of(&[b"GIF89a".as_slice(), &[n]].concat()).expect("it begins as one")
}

fn show(desk: &mut Desk, n: u8) {
    desk.tell(Input::Picture(picture(n))).expect("it is taken");
}

/// What the oldest request shows of pictures.
fn shown(desk: &Desk) -> Vec<Picture> {
    desk.session.prompt(&desk.requests[0]).expect("a request").pictures
}

#[test]
fn a_picture_goes_with_the_next_words_and_with_no_others() {
    let mut desk = Desk::with(json!({"persistent": true}));
    show(&mut desk, 1);
    show(&mut desk, 2);
    show(&mut desk, 2);
    assert!(desk.requests.is_empty(), "it begins nothing by itself");
    desk.user("what is this?");
    assert_eq!(shown(&desk), [picture(1), picture(2)]);
    desk.solve(json!([call("read", "r", json!({}))]), json!(null));
    desk.returns("read", json!(1));
    assert_eq!(shown(&desk).len(), 2, "all through the turn");
    // Shown while the turn is at work, it waits with the words that it belongs to.
    show(&mut desk, 3);
    desk.user("and this?");
    assert_eq!(shown(&desk).len(), 2);
    desk.solve(json!([]), json!("a cat"));
    assert_eq!(shown(&desk), [picture(3)]);
    desk.solve(json!([]), json!("a dog"));
    desk.user("thanks");
    assert!(shown(&desk).is_empty());
}

#[test]
fn a_request_without_words_has_pictures_too() {
    let mut desk = Desk::with(json!({}));
    show(&mut desk, 1);
    desk.start();
    assert_eq!(shown(&desk), [picture(1)]);
}

#[test]
fn what_is_kept_of_a_picture_is_its_name_and_its_digest() {
    let input =
        serde_json::to_value(Input::Picture(Picture { path: Some("/home/ann/secret.gif".into()), ..picture(1) }));
    let expected = json!({"picture": {"name": picture(1).name, "digest": picture(1).digest}});
    assert_eq!(input.unwrap(), expected);
    assert_eq!(serde_json::from_value::<Input>(expected).unwrap(), Input::Picture(picture(1)));
}

#[test]
fn a_name_that_leads_elsewhere_and_too_many_are_refused() {
    let mut desk = Desk::with(json!({}));
    let bad = Picture { name: "../../etc/passwd".to_owned(), ..picture(1) };
    assert_eq!(desk.tell(Input::Picture(bad)).unwrap_err().code, "bad_picture");
    (1..=8).for_each(|n| show(&mut desk, n));
    let refused = desk.tell(Input::Picture(picture(9))).unwrap_err();
    assert_eq!((refused.code, refused.text.contains("at most 8")), ("too_many_pictures", true));
}

#[test]
fn pictures_outlive_a_checkpoint_and_an_old_one_is_read() {
    let mut desk = Desk::with(json!({"persistent": true}));
    desk.user("one");
    desk.solve(json!([]), json!("done"));
    show(&mut desk, 1);
    let kept = desk.session.checkpoint().expect("it is at rest");
    let restored = |kept: &str| {
        let mut again = Desk::with(json!({"persistent": true}));
        let past = desk.session.past();
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
