//! Imports, and the pause that holds back what an imported session would start.

use std::sync::atomic::Ordering;

use obelus_kernel::session::sent_by::SentBy;
use obelus_kernel::session::{Input, TurnEnd};
use obelus_runtime::engine::Record;
use serde_json::json;

use super::{World, counted};
use crate::common::{chain, read, run_plan};

pub(crate) async fn an_export_is_imported_under_its_own_name(world: &dyn World) {
    let (host, calls) = counted(world);
    let id = world.id("s");
    run_plan(&host.create(&id, chain("read", 2)).await.unwrap()).await;
    let export = host.export(&id).unwrap();
    assert_eq!((export.records.len(), &export.id), (3, &id));
    host.remove(&id).await.unwrap();
    assert_eq!(host.import(&id, export, false).unwrap(), 3);
    let handle = host.open(&id).await.unwrap();
    assert_eq!(read(&handle, "†state.v1").await, Some(json!(2)));
    run_plan(&handle).await;
    assert_eq!(calls.load(Ordering::SeqCst), 4);
}

pub(crate) async fn dur_11_an_import_that_is_paused_starts_nothing_until_it_is_resumed(world: &dyn World) {
    let (host, calls) = counted(world);
    let (id, copy) = (world.id("s"), world.id("copy"));
    host.create(&id, chain("read", 2)).await.unwrap();
    let mut export = host.export(&id).unwrap();
    // A turn that the next process would continue.
    export.records.push(Record::new(export.created, Input::RunPlan));
    host.remove(&id).await.unwrap();
    for (name, run_before) in [(&id, 0), (&copy, 2)] {
        host.import(name, export.clone(), true).unwrap();
        let handle = host.open(name).await.unwrap();
        assert!(handle.finished().await.unwrap().is_none(), "it is paused in the middle");
        assert!(handle.services().await.unwrap().is_none());
        let by = handle.inspect(|session| session.paused().map(str::to_owned)).await.unwrap().unwrap();
        assert!(matches!(SentBy::of(&by), SentBy::ImportOf(_)), "{by}");
        assert_eq!(calls.load(Ordering::SeqCst), run_before);
        handle.resume("ann").await.unwrap();
        assert_eq!(handle.rested().await.unwrap().unwrap().ends, TurnEnd::Output);
        assert_eq!(calls.load(Ordering::SeqCst), run_before + 2);
    }
}

pub(crate) async fn dur_11_an_imported_pause_does_not_hide_that_of_the_import(world: &dyn World) {
    let (host, calls) = counted(world);
    let (id, copy, fork) = (world.id("s"), world.id("copy"), world.id("fork"));
    host.create(&id, chain("read", 2)).await.unwrap();
    let mut export = host.export(&id).unwrap();
    host.remove(&id).await.unwrap();
    // A run of another protocol ends the pause of a fork.
    let by = SentBy::ForkOf { session: "x", at: 1 }.to_string();
    let forged = [Input::Pause { by: by.clone() }, Input::RunPlan, Input::Pause { by }];
    export.records.extend(forged.map(|input| Record::new(export.created, input)));
    for name in [&id, &copy] {
        host.import(name, export.clone(), true).unwrap();
    }
    host.open(&id).await.unwrap().pause("ann").await.unwrap();
    host.fork(&id, &fork, None).unwrap();
    // At the forged pause.
    let early = world.id("early");
    host.fork(&copy, &early, Some(1)).unwrap();
    for name in [&id, &copy, &fork, &early] {
        let handle = host.open(name).await.unwrap();
        let by = handle.inspect(|session| session.paused().map(str::to_owned)).await.unwrap().unwrap();
        assert!(matches!(SentBy::of(&by), SentBy::ImportOf(_)), "{name}: {by}");
    }
    assert_eq!(calls.load(Ordering::SeqCst), 0);
}

pub(crate) async fn dur_11_the_fork_of_a_paused_session_is_paused_wherever_it_begins(world: &dyn World) {
    let (host, calls) = counted(world);
    let (id, early, late) = (world.id("s"), world.id("early"), world.id("late"));
    host.create(&id, chain("read", 2)).await.unwrap();
    let export = host.export(&id).unwrap();
    host.remove(&id).await.unwrap();
    host.import(&id, export, true).unwrap();
    for (fork, at) in [(&early, Some(0)), (&late, None)] {
        assert!(host.fork_forecast(&id, at).unwrap().is_paused);
        assert!(host.fork(&id, fork, at).unwrap().is_paused);
        let handle = host.open(fork).await.unwrap();
        handle.run_plan().await.unwrap();
        assert!(handle.finished().await.unwrap().is_none(), "it is paused");
        // A run of another protocol ends the pause of a fork, but not that of an import.
        let by = handle.inspect(|session| session.paused().map(str::to_owned)).await.unwrap().unwrap();
        assert!(matches!(SentBy::of(&by), SentBy::ImportOf(_)), "{by}");
    }
    assert_eq!(calls.load(Ordering::SeqCst), 0);
    host.open(&id).await.unwrap().resume("ann").await.unwrap();
    let free = world.id("free");
    assert!(!host.fork(&id, &free, None).unwrap().is_paused);
}
