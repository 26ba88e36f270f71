//! DUR-1, DUR-12: a session is restored exactly or not at all.

mod long;
mod scene;

use std::collections::BTreeMap;

use obelus_kernel::Time;
use obelus_kernel::session::Input;
use obelus_runtime::StoreError;
use obelus_runtime::engine::{CheckpointData, Record, RestoreError, fork, restore, rewind_to_rest, view_at};
use serde_json::json;

use scene::{Made, Scene};

/// The record, the last rest and the difference that an error names.
fn difference(error: &RestoreError) -> (u64, u64, String) {
    let RestoreError::Differs { seq, rest, what, .. } = error else { panic!("{error}") };
    (*seq, *rest, what.clone())
}

#[test]
fn a_session_is_restored_from_any_end_of_its_journal() {
    let scene = Scene::new();
    scene.turns(Made::default(), 2);
    let records = scene.records();
    for at in 0..=records.len() as u64 {
        let replayed = view_at(&scene.store, "s", &Made::default().session_factory(), Some(at)).unwrap();
        let mut told = Made::default().session();
        for record in &records[..usize::try_from(at).unwrap()] {
            told.handle(record.at, Input::clone(&record.input)).unwrap();
            while told.poll().is_some() {}
        }
        assert_eq!(replayed.snapshot().to_string(), told.snapshot().to_string(), "after record {at}");
    }
}

#[test]
fn unfinished_tasks_are_open_after_a_restore() {
    let scene = Scene::new();
    scene.turns(Made::default(), 1);
    let before_the_last_end = scene.records().len() as u64;
    scene.store.cut("s", before_the_last_end, Vec::new()).unwrap();
    let restored = restore(&scene.store, "s", &Made::default().session_factory()).unwrap();
    assert_eq!(
        (restored.last, restored.open.len(), restored.session.reply().is_some()),
        (before_the_last_end - 1, 1, false)
    );
}

#[test]
fn a_diverging_version_stops_the_session_and_names_the_difference() {
    let scene = Scene::new();
    scene.turns(Made::default(), 2);
    // A turn has four records: its beginning and the ends of three calls.
    for (other, seq, rest, words) in [
        (Made { second: "other words", ..Made::default() }, 2, 0, "call 0.1 of `step`"),
        (Made { is_trusted: false, ..Made::default() }, 2, 0, "other messages were appended than now"),
        (Made { calls: 4, ..Made::default() }, 4, 0, "other tasks were handed out than now"),
    ] {
        let Err(error) = restore(&scene.store, "s", &other.session_factory()) else { panic!("{other:?}") };
        let (found, back, what) = difference(&error);
        assert_eq!((found, back), (seq, rest), "{what}");
        assert!(what.contains(words), "{what}");
        let said = error.to_string();
        assert!(said.contains(&Time(scene::clock(seq)).to_string()) && said.contains("Nothing was done"), "{said}");
        assert!(view_at(&scene.store, "s", &other.session_factory(), None).is_err());
        assert!(
            view_at(&scene.store, "s", &other.session_factory(), Some(seq - 1)).is_ok(),
            "up to there it is the same"
        );
        let forked = fork(other.session(), "f", scene.records(), &[], &BTreeMap::new(), "a test");
        assert_eq!(difference(&forked.unwrap_err()).0, seq);
    }
    assert_eq!(scene.records().len(), 8, "nothing was touched");
}

#[test]
fn an_input_accepted_before_and_refused_now_is_a_difference() {
    let scene = Scene::new();
    scene.turns(Made::default(), 1);
    let decide = json!({"decide": {"question": "q9", "decision": "did_not", "by": "ann"}});
    let input: Input = serde_json::from_value(decide).unwrap();
    let digest = scene.records()[0].digest;
    scene.append(vec![Record { digest, ..Record::new(Time(9), input.clone()) }]);
    let Err(error) = restore(&scene.store, "s", &Made::default().session_factory()) else { panic!("it was taken") };
    let (seq, rest, what) = difference(&error);
    assert_eq!((seq, rest), (5, 4));
    assert!(what.starts_with("it is refused now: "), "{what}");
    // Versions before digests wrote inputs to the journal before the session accepted them.
    scene.store.cut("s", 5, Vec::new()).unwrap();
    scene.append(vec![Record::new(Time(9), input)]);
    assert!(restore(&scene.store, "s", &Made::default().session_factory()).is_ok());
}

#[test]
fn a_resting_session_is_restored_from_its_checkpoint_by_a_diverging_version() {
    let scene = Scene::new();
    let mut session = scene.turns(Made::default(), 1);
    let checkpoint = session.checkpoint();
    scene.store.store_checkpoint("s", 4, CheckpointData { checkpoint, ..CheckpointData::default() });
    let other = Made { is_trusted: false, ..Made::default() };
    let restored = restore(&scene.store, "s", &other.session_factory()).unwrap();
    assert_eq!((restored.last, restored.open.len()), (4, 0));
    assert_eq!(restored.session.state(), session.state());
    // Within a turn the journal is replayed and compared with the digests.
    scene.advance(&mut session, Input::RunPlan);
    scene.advance(&mut session, scene::ended("1.0"));
    let (seq, rest, _) = difference(&restore(&scene.store, "s", &other.session_factory()).err().unwrap());
    assert_eq!((seq, rest), (6, 4));
    assert_eq!(rewind_to_rest(&scene.store, "s", &other.session_factory()).unwrap(), Some(4));
    assert_eq!(restore(&scene.store, "s", &other.session_factory()).unwrap().last, 4);
    assert_eq!(rewind_to_rest(&scene.store, "s", &other.session_factory()).unwrap(), None, "it is at its rest");
}

#[test]
fn messages_before_a_checkpoint_are_checked_against_their_digests() {
    let scene = Scene::new();
    // A checkpoint has only the latest messages; this session has more.
    let session = scene.turns(Made::default(), 40);
    let last = scene.records().len() as u64;
    scene.store.store_checkpoint(
        "s",
        last,
        CheckpointData { checkpoint: session.checkpoint(), ..CheckpointData::default() },
    );
    let same = restore(&scene.store, "s", &Made::default().session_factory()).unwrap();
    assert_eq!(same.session.context().to_json(), session.context().to_json());
    let other = Made { second: "other words", ..Made::default() };
    let restored = restore(&scene.store, "s", &other.session_factory()).unwrap();
    assert_eq!(restored.session.context().unreadable(), None, "nobody has asked for them");
    let _ = restored.session.context().messages();
    assert!(
        restored
            .session
            .context()
            .unreadable()
            .is_some_and(|why| why.contains("record 2") && !why.contains("sessions back"))
    );
}

#[test]
fn a_journal_of_a_version_without_digests_is_restored() {
    let scene = Scene::new();
    let session = scene.turns(Made::default(), 2);
    let old: Vec<Record> = scene.records().into_iter().map(|record| Record { digest: None, ..record }).collect();
    scene.store.remove("s").unwrap();
    scene.store.create("s", Time(0), &json!({}), old).unwrap();
    let restored = restore(&scene.store, "s", &Made::default().session_factory()).unwrap();
    assert_eq!(restored.session.snapshot().to_string(), session.snapshot().to_string());
}

#[test]
fn instances_of_a_version_without_digests_stop_the_session() {
    let scene = Scene::new();
    let made = Made { has_instance: true, calls: 1, ..Made::default() };
    scene.turns(made.clone(), 1);
    assert!(restore(&scene.store, "s", &made.session_factory()).is_ok(), "with digests");
    let old: Vec<Record> = scene.records().into_iter().map(|record| Record { digest: None, ..record }).collect();
    scene.store.remove("s").unwrap();
    scene.store.create("s", Time(0), &json!({}), old).unwrap();
    let Err(error) = restore(&scene.store, "s", &made.session_factory()) else { panic!("it was restored") };
    assert_eq!(difference(&error), (1, 0, "instances are processed in another order now".to_owned()));
}

#[test]
fn a_fork_has_the_digests_of_its_past_and_of_its_own_records() {
    let scene = Scene::new();
    scene.turns(Made::default(), 2);
    let mut before = scene.records();
    let after = before.split_off(6);
    let forked = fork(Made::default().session(), "f", before, &after, &BTreeMap::new(), "a test").unwrap();
    assert!(forked.iter().all(|record| record.digest.is_some() && record.id.is_none()));
    scene.store.create("f", Time(0), &json!({}), forked).unwrap();
    let restored = restore(&scene.store, "f", &Made::default().session_factory()).unwrap();
    assert_eq!((restored.last, restored.session.paused()), (8, Some("a test")), "a pause, and the end of a call");
    assert!(restored.open.is_empty());
}

#[test]
fn an_unbuildable_or_missing_session_is_reported() {
    let scene = Scene::new();
    let broken: obelus_runtime::engine::SessionFactory = std::sync::Arc::new(|| Err("the agent is gone".to_owned()));
    assert!(matches!(restore(&scene.store, "s", &broken), Err(RestoreError::SessionFactory(..))));
    let unknown = restore(&scene.store, "t", &Made::default().session_factory());
    assert!(matches!(unknown, Err(RestoreError::Store(StoreError::Unknown(_)))));
}
