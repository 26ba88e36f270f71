//! A simulated disk. Synced bytes survive a crash; the others are cut at a random place.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use obelus_kernel::Time;
use obelus_kernel::session::Input;
use obelus_runtime::engine::{AppendError, CheckpointData, Digest, Durable, Journaled, Record, SessionLock, Snapshot};
use obelus_runtime::sessions::{InboxRow, InputId, SessionRow};
use obelus_runtime::{Store, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::world::{Boundary, World};

/// The content of the disk, and what was acknowledged.
#[derive(Default)]
pub(crate) struct Disk {
    genesis: Option<Value>,
    /// Lines of `LENGTH JSON`.
    bytes: Vec<u8>,
    synced: usize,
    /// The records that were acknowledged as durable.
    acknowledged: Vec<String>,
    /// The checkpoint of the session.
    snapshot: Option<Snapshot>,
    /// Whether an append is in progress.
    pub(crate) is_writing: bool,
}

/// The stored form of a record.
#[derive(Serialize, Deserialize)]
struct Line {
    at: Time,
    input: Arc<Input>,
    id: Option<InputId>,
    digest: Option<Digest>,
}

impl Disk {
    /// Power loss: any part of the unsynced bytes survives, possibly cut within a record.
    pub(crate) fn crash(&mut self, kept: u64) {
        let torn = self.bytes.len() - self.synced;
        self.bytes.truncate(self.synced + usize::try_from(kept).unwrap_or(0) % (torn + 1));
        self.recover();
    }

    /// Reads the whole records and cuts off an incomplete end.
    fn recover(&mut self) {
        let lines: Vec<&[u8]> = self.bytes.split_inclusive(|byte| *byte == b'\n').collect();
        let whole: Vec<String> = lines.into_iter().map_while(text_of).collect();
        self.synced = whole.iter().map(|text| framed(text).len()).sum();
        self.bytes.truncate(self.synced);
        assert!(self.acknowledged.len() <= whole.len(), "an acknowledged record is lost");
        for (told, kept) in self.acknowledged.iter().zip(&whole) {
            assert_eq!(told, kept, "an acknowledged record is another one");
        }
        // From now on all whole records count, acknowledged or not.
        let records = whole.len() as u64;
        self.acknowledged = whole;
        self.snapshot = self.snapshot.take().filter(|snapshot| snapshot.seq <= records);
        self.is_writing = false;
    }

    fn records(&self) -> Vec<Record> {
        let read = |text: &String| {
            let Line { at, input, id, digest } = serde_json::from_str(text).expect("a record is JSON");
            Record { at, input, id, digest }
        };
        self.acknowledged.iter().map(read).collect()
    }
}

fn written(record: Record) -> String {
    let Record { at, input, id, digest } = record;
    serde_json::to_string(&Line { at, input, id, digest }).expect("a record is JSON")
}

fn framed(text: &str) -> String {
    format!("{} {text}\n", text.len())
}

fn text_of(line: &[u8]) -> Option<String> {
    let line = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let (length, text) = line.split_once(' ')?;
    (length.parse() == Ok(text.len())).then(|| text.to_owned())
}

/// The store of the only session.
pub(crate) struct DiskStore {
    pub(crate) disk: Arc<Mutex<Disk>>,
    pub(crate) world: World,
}

impl Store for DiskStore {
    fn create(&self, _: &str, _: Time, genesis: &Value, _: Vec<Record>) -> Result<(), StoreError> {
        self.disk.lock().unwrap().genesis = Some(genesis.clone());
        Ok(())
    }

    fn genesis(&self, _: &str) -> Result<Option<Value>, StoreError> {
        Ok(self.disk.lock().unwrap().genesis.clone())
    }

    fn lock(&self, _: &str) -> Result<SessionLock, StoreError> {
        Ok(SessionLock::new(|| {}))
    }

    fn append(&self, _: &str, after: u64, records: Vec<Record>) -> Durable {
        let lines: Vec<String> = records.into_iter().map(written).collect();
        let (disk, world) = (self.disk.clone(), self.world.clone());
        disk.lock().unwrap().is_writing = true;
        Box::pin(async move {
            world.cross(Boundary::BeforeWrite).await;
            assert_eq!(disk.lock().unwrap().acknowledged.len() as u64, after, "somebody else writes the session");
            if world.draw(4) {
                disk.lock().unwrap().is_writing = false;
                return Err(AppendError::NotDurable("no space left".to_owned()));
            }
            lines.iter().for_each(|line| disk.lock().unwrap().bytes.extend(framed(line).bytes()));
            world.cross(Boundary::Written).await;
            if world.draw(20) {
                tokio::time::sleep(Duration::from_millis(world.below(400))).await;
            }
            if world.draw(3) {
                // The sync fails: all, some or none of the bytes survive.
                let kept = world.below(1 << 20);
                disk.lock().unwrap().crash(kept);
                return Err(AppendError::OutcomeUnknown("the sync failed".to_owned()));
            }
            {
                let mut disk = disk.lock().unwrap();
                disk.synced = disk.bytes.len();
            }
            world.cross(Boundary::Synced).await;
            let mut disk = disk.lock().unwrap();
            disk.acknowledged.extend(lines);
            disk.is_writing = false;
            Ok(disk.acknowledged.len() as u64)
        })
    }

    fn load(&self, _: &str, after: u64, upto: Option<u64>) -> Result<Journaled, StoreError> {
        let mut records = self.disk.lock().unwrap().records();
        records.truncate(upto.map_or(usize::MAX, |upto| usize::try_from(upto).unwrap()));
        let records = records.split_off(usize::try_from(after).unwrap());
        Ok(Journaled { after, records, cut: None })
    }

    fn taken(&self, _: &str, input: &InputId) -> Result<Option<u64>, StoreError> {
        let records = self.disk.lock().unwrap().records();
        Ok((1..).zip(records).find(|(_, record)| record.id.as_ref() == Some(input)).map(|(seq, _)| seq))
    }

    fn snapshot(&self, _: &str) -> Result<Option<Snapshot>, StoreError> {
        Ok(self.disk.lock().unwrap().snapshot.clone())
    }

    fn store_checkpoint(&self, _: &str, seq: u64, rest: CheckpointData) {
        // Checkpoints are optional, so one may get lost.
        if let Some(state) = rest.checkpoint.filter(|_| !self.world.draw(20)) {
            self.disk.lock().unwrap().snapshot = Some(Snapshot { seq, state });
        }
    }

    fn list(&self) -> Result<Vec<SessionRow>, StoreError> {
        Ok(Vec::new())
    }

    fn inbox(&self) -> Result<Vec<InboxRow>, StoreError> {
        Ok(Vec::new())
    }

    fn removed(&self, _: &str) -> Result<u64, StoreError> {
        Ok(0)
    }

    fn remove(&self, _: &str) -> Result<(), StoreError> {
        Ok(())
    }

    fn cut(&self, _: &str, _: u64, _: Vec<Record>) -> Result<(), StoreError> {
        Ok(())
    }
}
