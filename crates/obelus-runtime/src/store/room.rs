//! Room in SQLite's log, made before it is needed.
//!
//! To write over what is there takes the system half as long as to make a file longer: blocks have to be found, and the
//! file's length is one more thing to sync. So where the log grows, zeros are put behind its end, more of them the longer
//! it is. SQLite takes what does not belong to it for the end of the log.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A log that is shorter has not shown yet that much is written.
const SHORT: u64 = 64 << 10;

/// What is put behind it at once, at most.
const MOST_AT_ONCE: u64 = 1 << 20;

/// The log as it may become. It is carried over into the file, and begins anew, before it is longer.
pub(super) const LONG: u64 = 8 << 20;

/// Makes room in the log.
pub(super) struct Room {
    /// None where there is no log, or it cannot be written: then it grows as it did without us.
    log: Option<File>,
    /// The end of what was put there.
    end: u64,
}

impl Room {
    /// For the log of a file that is open.
    pub(super) fn new(log: &Path) -> Self {
        Self { log: OpenOptions::new().write(true).open(log).ok(), end: 0 }
    }

    /// Something was committed.
    pub(super) fn make(&mut self) {
        let Some(log) = &self.log else { return };
        match lengthen(log, self.end) {
            Ok(end) => self.end = end,
            // The disk may be full. Whoever writes is told by the next commit if that matters.
            Err(_) => self.log = None,
        }
    }
}

/// Puts zeros behind a log that has outgrown what was put there; where they end.
fn lengthen(mut log: &File, end: u64) -> io::Result<u64> {
    // Its length only: a system that is asked for the times of a file as well makes the next change of it one that has
    // a time of its own, which is then written and synced too.
    let length = log.seek(SeekFrom::End(0))?;
    if length <= end || !(SHORT..LONG).contains(&length) {
        return Ok(end);
    }
    let more = length.min(MOST_AT_ONCE);
    log.write_all_at(&vec![0; usize::try_from(more).unwrap_or_default()], length)?;
    Ok(length + more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_grows_gets_room_until_it_is_long() {
        let path = std::env::temp_dir().join(format!("obelus-room-{}", std::process::id()));
        let log = File::create(&path).unwrap();
        let mut room = Room::new(&path);
        let mut length = |written: u64| {
            if written > log.metadata().unwrap().len() {
                log.set_len(written).unwrap();
            }
            room.make();
            log.metadata().unwrap().len()
        };
        assert_eq!(length(SHORT - 1), SHORT - 1, "little is written");
        assert_eq!(length(SHORT), 2 * SHORT);
        assert_eq!(length(SHORT + 9), 2 * SHORT, "there is room");
        assert_eq!(length(2 * SHORT + 1), 4 * SHORT + 2);
        assert_eq!(length(LONG - 1), LONG - 1 + MOST_AT_ONCE);
        assert_eq!(length(2 * LONG), 2 * LONG, "it is long enough");
        std::fs::remove_file(&path).unwrap();
        assert!(Room::new(&path).log.is_none());
    }
}
