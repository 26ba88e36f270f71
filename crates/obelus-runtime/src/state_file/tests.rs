use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use obelus_kernel::session::{Input, Settings};
use obelus_kernel::{Context, Time};
use serde_json::json;

use super::*;

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("obelus-state-file-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    folder
}

fn session() -> Session {
    let schema = json!({"type": "object", "properties": {"goals": {"type": "array", "items": {"type": "string"}}}});
    let state = json!([{"type": "state", "schema": schema, "data": {"goals": ["a"], "done": []}}]);
    let settings: Settings = serde_json::from_value(json!({"kept": {"goals": "goals"}, "persistent": true})).unwrap();
    Session::new("s", Context::from_value(state).unwrap(), None, Arc::new(settings)).unwrap()
}

fn edit(file: &StateFile, change: impl FnOnce(&mut Value)) {
    let mut state: Value = serde_json::from_slice(&fs::read(&file.path).unwrap()).unwrap();
    change(&mut state);
    fs::write(&file.path, state.to_string()).unwrap();
}

#[test]
fn the_file_is_exactly_the_state_and_for_its_owner_only() {
    let folder = folder("exact");
    let session = session();
    let mut file = StateFile::open(&folder, "s").unwrap();
    assert_eq!(file.write(&session.state()), None);
    let text = fs::read_to_string(folder.join("states/s.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), session.state());
    assert!(text.lines().count() > 3, "people read it: {text}");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&file.path), mode(&folder.join("states"))), (0o600, 0o700));
    assert_eq!(file.read_edits(&session), StateNews::Nothing);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_pipe_in_place_of_the_file_is_refused_without_waiting() {
    let folder = folder("pipe");
    fs::create_dir_all(folder.join("states")).unwrap();
    for name in ["states/s.json", "states/.s.written"] {
        let made = std::process::Command::new("mkfifo").arg(folder.join(name)).status().unwrap();
        assert!(made.success());
    }
    let (told, said) = std::sync::mpsc::channel();
    let place = folder.clone();
    // In a separate thread, so that an endless wait fails the test instead of hanging it.
    std::thread::spawn(move || {
        let session = session();
        let mut file = StateFile::open(&place, "s").unwrap();
        let _ = told.send((file.read_edits(&session), file.write(&session.state()), file.write_on(&json!({}))));
    });
    let (found, written, written_on) = said.recv_timeout(std::time::Duration::from_secs(20)).expect("it waits");
    let is_refused = |news: &FileNews| matches!(news, FileNews::Trouble { why, .. } if why.contains("no regular file"));
    assert!(matches!(&found, StateNews::News(news) if is_refused(news)), "{found:?}");
    assert!(written.as_ref().is_some_and(is_refused), "{written:?}");
    assert!(written_on.as_ref().is_some_and(is_refused), "{written_on:?}");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_session_name_that_leaves_the_folder_is_refused() {
    for name in ["../x", "a/b", "", ".s"] {
        assert!(StateFile::open(&folder("name"), name).is_err(), "{name}");
    }
}

#[test]
fn dur_7_an_edit_is_detected_once_even_after_a_restart() {
    let folder = folder("edit");
    let mut session = session();
    let mut file = StateFile::open(&folder, "s").unwrap();
    file.write(&session.state());
    edit(&file, |state| state["goals"] = json!(["b"]));
    let mut file = StateFile::open(&folder, "s").unwrap();
    let StateNews::Edited(state) = file.read_edits(&session) else { panic!("it is not found") };
    assert_eq!(state, json!({"goals": ["b"]}));
    session.handle(Time(1), Input::State { state, by: "the state's file".to_owned(), is_whole: false }).unwrap();
    assert_eq!(file.edits_adopted(), FileNews::Taken { file: file.path.clone() });
    // The process dies here: an adopted change is not adopted again.
    let mut file = StateFile::open(&folder, "s").unwrap();
    assert_eq!(file.read_edits(&session), StateNews::Nothing);
    file.write(&session.state());
    assert_eq!(serde_json::from_slice::<Value>(&fs::read(&file.path).unwrap()).unwrap(), session.state());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn an_edit_of_the_same_length_is_detected_in_a_file_that_is_no_longer_read() {
    let folder = folder("same-length");
    let session = session();
    let mut file = StateFile::open(&folder, "s").unwrap();
    file.write(&session.state());
    // A file that was changed just now is read each time.
    while file.stamp.is_none() {
        assert_eq!(file.read_edits(&session), StateNews::Nothing);
        std::thread::sleep(RECENT / 10);
    }
    assert_eq!(file.write(&session.state()), None);
    let text = fs::read_to_string(&file.path).unwrap();
    fs::write(&file.path, text.replace("\"a\"", "\"b\"")).unwrap();
    assert_eq!(file.read_edits(&session), StateNews::Edited(json!({"goals": ["b"]})));
    fs::remove_file(&file.path).unwrap();
    assert_eq!((file.read_edits(&session), file.write(&session.state())), (StateNews::Nothing, None));
    assert_eq!(fs::read_to_string(&file.path).unwrap(), text, "a removed file is written again");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn restoring_an_earlier_file_is_an_edit() {
    let folder = folder("back");
    let mut session = session();
    let mut file = StateFile::open(&folder, "s").unwrap();
    file.write(&session.state());
    let first = fs::read(&file.path).unwrap();
    session.handle(Time(1), Input::State { state: json!({"goals": []}), by: "x".to_owned(), is_whole: false }).unwrap();
    file.write(&session.state());
    fs::write(&file.path, first).unwrap();
    let mut file = StateFile::open(&folder, "s").unwrap();
    assert_eq!(file.read_edits(&session), StateNews::Edited(json!({"goals": ["a"]})));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn restoring_the_file_from_the_start_of_the_turn_is_an_edit() {
    let folder = folder("undone");
    let mut session = session();
    let mut file = StateFile::open(&folder, "s").unwrap();
    let states = [session.state()];
    file.write_on(&states[0]);
    let first = fs::read(&file.path).unwrap();
    session.handle(Time(1), Input::State { state: json!({"goals": []}), by: "x".to_owned(), is_whole: false }).unwrap();
    file.write(&session.state());
    fs::write(&file.path, first).unwrap();
    let mut file = StateFile::open(&folder, "s").unwrap();
    file.recognise(&session.state(), |visit| states.iter().cloned().for_each(visit));
    assert_eq!(file.read_edits(&session), StateNews::Edited(json!({"goals": ["a"]})), "nothing was cut off");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn dur_7_a_file_left_by_a_crash_is_not_an_edit() {
    let folder = folder("at-work");
    let mut session = session();
    let mut file = StateFile::open(&folder, "s").unwrap();
    file.write(&session.state());
    let mut states = Vec::new();
    for goals in [json!(["b"]), json!(["b", "c"])] {
        session
            .handle(Time(1), Input::State { state: json!({"goals": goals}), by: "x".to_owned(), is_whole: false })
            .unwrap();
        states.push(session.state());
    }
    // The journal was ahead of the file.
    file.write_on(&states[0]);
    let mut file = StateFile::open(&folder, "s").unwrap();
    file.recognise(&session.state(), |visit| states.iter().cloned().for_each(visit));
    assert_eq!(file.read_edits(&session), StateNews::Nothing);
    assert_eq!(file.write(&session.state()), None);
    assert_eq!(serde_json::from_slice::<Value>(&fs::read(&file.path).unwrap()).unwrap(), states[1]);
    assert!(!folder.join("states/s.json.new").exists());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn an_edit_during_a_turn_is_distinguished_from_the_sessions_own_writes() {
    let folder = folder("working");
    let mut session = session();
    let mut file = StateFile::open(&folder, "s").unwrap();
    file.write(&session.state());
    session
        .handle(Time(1), Input::State { state: json!({"goals": ["b"]}), by: "x".to_owned(), is_whole: false })
        .unwrap();
    file.write_on(&session.state());
    edit(&file, |state| state["done"] = json!(["theirs"]));
    session
        .handle(Time(2), Input::State { state: json!({"goals": ["c"]}), by: "x".to_owned(), is_whole: false })
        .unwrap();
    file.write_on(&session.state());
    // Even after a crash, and without the states of the turn.
    for mut file in [file, StateFile::open(&folder, "s").unwrap()] {
        assert_eq!(file.read_edits(&session), StateNews::Edited(json!({"done": ["theirs"]})), "the goals are ours");
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn dur_7_an_invalid_file_is_reported_once_with_the_place_and_not_overwritten() {
    let folder = folder("invalid");
    let session = session();
    let mut file = StateFile::open(&folder, "s").unwrap();
    file.write(&session.state());
    for (text, place, why) in [
        ("{\n  \"goals\": [\"a\",\n}", "states/s.json:3:1", "expected value"),
        ("{\"goals\": [7]}", "states/s.json", "goals.0"),
        ("[]", "states/s.json", "an object, not an array"),
        ("", "states/s.json:1:0", "EOF"),
        ("\u{0}\u{1}", "states/s.json:1:1", "expected value"),
    ] {
        fs::write(&file.path, text).unwrap();
        let StateNews::News(FileNews::Refused { place: found, why: words, ours }) = file.read_edits(&session) else {
            panic!("{text:?} is taken")
        };
        assert!(found.ends_with(place) && words.contains(why), "{found}: {words}");
        assert_eq!(file.read_edits(&session), StateNews::Nothing, "it is said once");
        // Neither the session's state nor the person's text is lost.
        assert_eq!(file.write(&session.state()), None);
        assert_eq!(fs::read_to_string(&file.path).unwrap(), text);
        assert_eq!(serde_json::from_slice::<Value>(&fs::read(&ours).unwrap()).unwrap(), session.state());
    }
    // Once corrected it is adopted, with the person's changes only.
    fs::write(&file.path, "{\"goals\": [\"mended\"]}").unwrap();
    assert_eq!(file.read_edits(&session), StateNews::Edited(json!({"goals": ["mended"]})));
    file.edits_adopted();
    file.write(&session.state());
    assert!(!folder.join("states/s.json.new").exists());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn an_edit_during_a_turn_is_not_overwritten_and_undoes_nothing() {
    let folder = folder("meanwhile");
    let mut session = session();
    let mut file = StateFile::open(&folder, "s").unwrap();
    file.write(&session.state());
    edit(&file, |state| state["goals"] = json!(["theirs"]));
    session.handle(Time(1), Input::State { state: json!({"done": [1]}), by: "x".to_owned(), is_whole: false }).unwrap();
    file.write(&session.state());
    let StateNews::Edited(state) = file.read_edits(&session) else { panic!("it is lost") };
    assert_eq!(state, json!({"goals": ["theirs"]}), "`done` is as it was when they began, and no change of theirs");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_crash_while_writing_leaves_a_complete_file_and_is_not_an_edit() {
    let folder = folder("crash");
    let mut session = session();
    let mut file = StateFile::open(&folder, "s").unwrap();
    file.write(&session.state());
    let old = fs::read_to_string(&file.path).unwrap();
    session
        .handle(Time(1), Input::State { state: json!({"goals": ["b"]}), by: "x".to_owned(), is_whole: false })
        .unwrap();
    let new = format!("{:#}\n", session.state());
    // A crash between the record and the file.
    file.note(Known { text: new.clone(), instead_of: Some(old.clone()) }).unwrap();
    drop(atomic_file::prepare(&file.path, new.as_bytes()).unwrap());
    let mut file = StateFile::open(&folder, "s").unwrap();
    assert_eq!(fs::read_to_string(&file.path).unwrap(), old);
    assert_eq!(file.read_edits(&session), StateNews::Nothing);
    // A crash between the file and its record; the session continues before anybody reads it.
    atomic_file::write(&file.path, new.as_bytes()).unwrap();
    session
        .handle(Time(2), Input::State { state: json!({"goals": ["c"]}), by: "x".to_owned(), is_whole: false })
        .unwrap();
    let mut file = StateFile::open(&folder, "s").unwrap();
    assert_eq!(file.read_edits(&session), StateNews::Nothing);
    assert_eq!(file.write(&session.state()), None);
    assert!(fs::read_to_string(&file.path).unwrap().contains("\"c\""));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_reader_never_sees_half_a_file() {
    let folder = folder("half");
    let mut file = StateFile::open(&folder, "s").unwrap();
    let state = |n: usize| json!({"n": n, "text": "x".repeat(n * 997 % 40_000)});
    file.write(&state(0));
    let is_over = Arc::new(AtomicBool::new(false));
    let (path, over) = (file.path.clone(), Arc::clone(&is_over));
    let reader = std::thread::spawn(move || {
        let mut seen = 0_usize;
        while !over.load(Ordering::Relaxed) || seen == 0 {
            let text = fs::read_to_string(&path).unwrap();
            let found: Value = serde_json::from_str(&text).unwrap();
            let n = usize::try_from(found["n"].as_u64().unwrap()).unwrap();
            assert_eq!(found["text"].as_str().unwrap().len(), n * 997 % 40_000);
            seen += 1;
        }
    });
    for n in 1..60 {
        assert_eq!(file.write(&state(n)), None);
    }
    is_over.store(true, Ordering::Relaxed);
    reader.join().unwrap();
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_removed_session_leaves_no_files_even_after_a_crash() {
    let folder = folder("removed");
    let mut file = StateFile::open(&folder, "s").unwrap();
    file.write(&json!({"goals": ["a"]}));
    for path in [file.path.clone(), file.own_path(), file.record.clone()] {
        drop(atomic_file::prepare(&path, b"half done").unwrap());
    }
    assert!(fs::read_dir(folder.join("states")).unwrap().count() > 3);
    StateFile::remove(&folder, "s").unwrap();
    assert_eq!(fs::read_dir(folder.join("states")).unwrap().count(), 0);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_failed_write_is_reported_and_does_not_end_the_session() {
    let folder = folder("disk");
    let mut file = StateFile::open(&folder, "s").unwrap();
    fs::remove_dir_all(&folder).unwrap();
    assert!(matches!(file.write(&json!({})), Some(FileNews::Trouble { .. })));
}
