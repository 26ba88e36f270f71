//! DUR-9: a store on a failing disk. A library preloaded into a child process simulates the failures.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use obelus_kernel::Time;
use obelus_kernel::session::Input;
use obelus_runtime::engine::{AppendError, Record};
use obelus_runtime::{SqliteStore, Store};
use serde_json::json;

/// The environment variable with the child's folder: its store, and the files that switch faults on.
const FOLDER: &str = "OBELUS_FAULTS";

/// Runs a test of this file in a child process whose disk can fail; returns the folder of the child.
fn on_bad_disk(child: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("obelus-disk-{}-{child}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    SqliteStore::create_folder(&folder).unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../obelus/tests/faults/shim.c");
    let library = folder.join("shim.so");
    let compiled =
        Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).arg("-ldl").output();
    let compiled = compiled.expect("a C compiler, which building needs too");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let ended = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", child, "--ignored", "--nocapture"])
        .env("LD_PRELOAD", library)
        .env(FOLDER, &folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ended.stdout).into_owned() + &String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success() && said.contains("1 passed"), "{said}");
    folder
}

/// The folder and the store of the child.
struct Child {
    folder: PathBuf,
    store: SqliteStore,
}

impl Child {
    /// `None` outside of a child process.
    fn new() -> Option<Self> {
        let folder = PathBuf::from(std::env::var_os(FOLDER)?);
        let store = SqliteStore::open(&folder.join("store")).unwrap();
        store.create("s", Time(0), &json!({}), Vec::new()).unwrap();
        Some(Self { folder, store })
    }

    fn breaks(&self, fault: &str) {
        fs::write(self.folder.join(fault), "").unwrap();
    }

    fn is_mended(&self, fault: &str) {
        fs::remove_file(self.folder.join(fault)).unwrap();
    }

    fn records(&self) -> u64 {
        self.store.load("s", 0, None).unwrap().last()
    }

    fn append(&self, after: u64) -> Result<u64, AppendError> {
        let record = Record::new(Time(i64::try_from(after).unwrap()), Input::Tick);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(self.store.append("s", after, vec![record]))
    }
}

#[test]
#[ignore = "it is started by the test below"]
fn full() {
    let Some(child) = Child::new() else { return };
    child.append(0).unwrap();
    for (fault, last) in [("full", 1), ("readonly", 2)] {
        child.breaks(fault);
        for _ in 0..2 {
            let refused = child.append(last).unwrap_err();
            assert_eq!(refused.code().name(), "not_durable", "{refused}");
            assert!(refused.to_string().contains("nothing was written"), "{refused}");
            assert_eq!(child.records(), last, "everything can be read");
        }
        child.is_mended(fault);
        assert_eq!(child.append(last).unwrap(), last + 1);
    }
}

#[test]
fn on_a_full_disk_an_input_is_refused_and_the_store_continues_when_there_is_room() {
    let folder = on_bad_disk("full");
    assert_eq!(SqliteStore::open(&folder.join("store")).unwrap().journal("s").unwrap().len(), 3);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
#[ignore = "it is started by the test below"]
fn sync() {
    let Some(child) = Child::new() else { return };
    child.append(0).unwrap();
    child.breaks("sync");
    let unknown = child.append(1).unwrap_err();
    assert_eq!(unknown.code().name(), "outcome_unknown", "{unknown}");
    // The store is closed. It cannot be opened while its content cannot be synced.
    assert!(child.store.load("s", 0, None).is_err());
    assert_eq!(child.append(1).unwrap_err().code().name(), "not_durable");
    child.is_mended("sync");
    // A log that cannot be moved into the file may have a record that was never on the disk.
    child.breaks("full");
    assert!(child.store.load("s", 0, None).is_err());
    child.is_mended("full");
    // After the repair its content counts, with or without the record in question.
    let found = child.records();
    assert!((1..=2).contains(&found), "{found} records");
    assert_eq!(child.append(found).unwrap(), found + 1);
    assert_eq!(child.records(), found + 1);
    fs::write(child.folder.join("found"), (found + 1).to_string()).unwrap();
}

#[test]
fn after_a_failed_sync_the_store_is_closed_and_must_be_reopened() {
    let folder = on_bad_disk("sync");
    let found: usize = fs::read_to_string(folder.join("found")).unwrap().parse().unwrap();
    assert_eq!(SqliteStore::open(&folder.join("store")).unwrap().journal("s").unwrap().len(), found);
    fs::remove_dir_all(folder).unwrap();
}
