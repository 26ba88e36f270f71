//! A disk: what was synced stays, what was not is torn anywhere when the plug is pulled.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use obelus_kernel::Time;
use obelus_kernel::session::Input;
use obelus_runtime::{Durable, Journal};

use crate::world::{Boundary, World};

/// Everything that is on the disk, and what its owner was told.
#[derive(Default)]
pub(crate) struct Disk {
    /// Lines of `LENGTH JSON`, as they lie there.
    bytes: Vec<u8>,
    synced: usize,
    /// Every record of which somebody was told that it is durable.
    pub(crate) acknowledged: Vec<String>,
    /// A snapshot, and the record after which it was made.
    pub(crate) snapshot: Option<(usize, String)>,
    /// Records since the snapshot.
    since: usize,
    /// Whether a write is under way.
    pub(crate) is_writing: bool,
}

impl Disk {
    /// The plug is pulled: of what was not synced, anything from nothing to all is there, cut in the middle of a record.
    pub(crate) fn crash(&mut self, kept: u64) {
        let torn = self.bytes.len() - self.synced;
        self.bytes.truncate(self.synced + usize::try_from(kept).unwrap_or(0) % (torn + 1));
        self.is_writing = false;
    }

    /// Reads what is there, and cuts off a torn end.
    pub(crate) fn recover(&mut self) -> Vec<(Time, Input)> {
        let mut journal = Vec::new();
        let mut whole = 0;
        for line in self.bytes.split_inclusive(|byte| *byte == b'\n') {
            let Some(record) = read(line) else { break };
            journal.push(record);
            whole += line.len();
        }
        self.bytes.truncate(whole);
        self.synced = whole;
        let known = self.acknowledged.iter();
        let kept: Vec<String> = journal.iter().map(written).collect();
        assert!(known.clone().count() <= kept.len(), "an acknowledged record is lost");
        known.zip(&kept).for_each(|(told, kept)| assert_eq!(told, kept, "an acknowledged record is another one"));
        // What is there counts from now on, whether anybody was told or not.
        self.acknowledged = kept;
        if self.snapshot.as_ref().is_some_and(|(seq, _)| *seq > journal.len()) {
            self.snapshot = None;
        }
        self.since = journal.len() - self.snapshot.as_ref().map_or(0, |(seq, _)| *seq);
        journal
    }
}

fn written(record: &(Time, Input)) -> String {
    serde_json::to_string(record).expect("a record is JSON")
}

fn read(line: &[u8]) -> Option<(Time, Input)> {
    let line = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let (length, text) = line.split_once(' ')?;
    (length.parse() == Ok(text.len())).then(|| serde_json::from_str(text).ok()).flatten()
}

/// The journal of the session on that disk.
pub(crate) struct Paper {
    pub(crate) disk: Arc<Mutex<Disk>>,
    pub(crate) world: World,
}

impl Journal for Paper {
    fn append(&mut self, inputs: &[(Time, Input)]) -> Durable {
        let lines: Vec<String> = inputs.iter().map(written).collect();
        let (disk, world) = (self.disk.clone(), self.world.clone());
        disk.lock().unwrap().is_writing = true;
        Box::pin(async move {
            world.cross(Boundary::BeforeWrite).await;
            if world.draw(4) {
                disk.lock().unwrap().is_writing = false;
                return Err("no space left".to_owned());
            }
            for line in &lines {
                disk.lock().unwrap().bytes.extend(format!("{} {line}\n", line.len()).bytes());
            }
            world.cross(Boundary::Written).await;
            if world.draw(20) {
                tokio::time::sleep(Duration::from_millis(world.below(400))).await;
            }
            {
                let mut disk = disk.lock().unwrap();
                disk.synced = disk.bytes.len();
            }
            world.cross(Boundary::Synced).await;
            let mut disk = disk.lock().unwrap();
            disk.since += lines.len();
            disk.acknowledged.extend(lines);
            disk.is_writing = false;
            Ok(())
        })
    }

    fn wants_snapshot(&self) -> bool {
        self.disk.lock().unwrap().since >= 3
    }

    fn keep_snapshot(&mut self, state: String) {
        let mut disk = self.disk.lock().unwrap();
        // Nobody waits for it, so it may be lost.
        if !self.world.draw(20) {
            disk.snapshot = Some((disk.acknowledged.len(), state));
            disk.since = 0;
        }
    }
}
