//! The tables, their format, and migrations (DUR-10).

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};

use super::file::is_not_written;
use super::{StoreError, index, sessions};
use crate::store::error::is_full;

/// The version of the tables. A store of a later version is refused.
pub(in crate::store) const FORM: i64 = 6;

/// The name of the file in the store's folder.
const FILE: &str = "obelus.db";

/// Its name while it is created.
const NEW_FILE: &str = "obelus.db.new";

/// The migrations from each version to the next; the first creates the tables of version 1.
const STEPS: [&str; FORM as usize] = [
    "CREATE TABLE session (
         number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, created INTEGER NOT NULL, genesis TEXT NOT NULL);
     CREATE TABLE record (
         session INTEGER NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, input TEXT NOT NULL,
         UNIQUE (session, seq));",
    // Each record gets a form and a checksum.
    "ALTER TABLE record ADD COLUMN form INTEGER NOT NULL DEFAULT 1;
     ALTER TABLE record ADD COLUMN sum INTEGER;
     CREATE TABLE snapshot (
         session INTEGER PRIMARY KEY, seq INTEGER NOT NULL, form INTEGER NOT NULL, state TEXT NOT NULL,
         sum INTEGER NOT NULL);",
    // Records are in order of arrival, and their index is written now and then (see `index`). Long columns come last,
    // so that the others are read without them. This form also adds inputs that earlier versions do not know: usage
    // of requests, and questions of running calls.
    "ALTER TABLE record RENAME TO record_of_form_2;
     CREATE TABLE record (
         place INTEGER PRIMARY KEY, session INTEGER NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL,
         form INTEGER NOT NULL, sum INTEGER, input TEXT NOT NULL);
     CREATE TABLE register (
         session INTEGER NOT NULL, seq INTEGER NOT NULL, place INTEGER NOT NULL,
         PRIMARY KEY (session, seq)) WITHOUT ROWID;
     CREATE TABLE registered (upto INTEGER NOT NULL);
     INSERT INTO record (place, session, seq, at, form, sum, input)
         SELECT rowid, session, seq, at, form, sum, input FROM record_of_form_2 ORDER BY rowid;
     INSERT INTO register (session, seq, place) SELECT session, seq, place FROM record ORDER BY session, seq;
     INSERT INTO registered (upto) SELECT coalesce(max(place), 0) FROM record;
     DROP TABLE record_of_form_2;",
    // Records get a digest and the id of an input from outside. Sessions get checksums of name and genesis, and the
    // register checksums for all sessions and for each (all made by `migrate`). Open questions are stored.
    "ALTER TABLE record ADD COLUMN digest INTEGER;
     ALTER TABLE record ADD COLUMN input_id TEXT;
     CREATE UNIQUE INDEX taken ON record (session, input_id) WHERE input_id IS NOT NULL;
     ALTER TABLE session ADD COLUMN name_sum INTEGER NOT NULL DEFAULT 0;
     ALTER TABLE session ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
     CREATE INDEX session_by_name_sum ON session (name_sum);
     ALTER TABLE registered ADD COLUMN removals INTEGER NOT NULL DEFAULT 0;
     ALTER TABLE registered ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
     CREATE TABLE registered_of (session INTEGER PRIMARY KEY, records INTEGER NOT NULL, sum INTEGER NOT NULL);
     CREATE TABLE inbox (
         session INTEGER PRIMARY KEY, seq INTEGER NOT NULL, questions TEXT NOT NULL, sum INTEGER NOT NULL);",
    // Ids of questions are not reused after a session is removed.
    "CREATE TABLE removed (id TEXT PRIMARY KEY, times INTEGER NOT NULL) WITHOUT ROWID;",
    // No table changes. The new form keeps earlier versions out, which would switch safeguards off in these sessions.
    "",
];

/// A record that somebody deletes loses its entry in the register too, so that a count finds that it is missing
/// (DUR-14). This changes no table: every version can use a file with it.
const GUARD: &str = "CREATE TRIGGER IF NOT EXISTS record_deleted AFTER DELETE ON record BEGIN
         DELETE FROM register WHERE session = OLD.session AND seq = OLD.seq;
     END;";

/// The size that the log file keeps after a checkpoint. Overwriting is faster than extending a file.
const LOG_BYTES: i64 = 8 << 20;

/// The size of a page of a new file. With SQLite's 4 KiB, 64 sessions make about 6 % fewer steps a second.
const PAGE_BYTES: i64 = 8192;

/// Opens the store's file for writing, and creates or migrates it.
pub(super) fn open(folder: &Path) -> Result<Connection, StoreError> {
    if !exists(folder)? {
        create(folder)?;
    }
    let mut connection = Connection::open(folder.join(FILE))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // Every commit is on disk before it is acknowledged.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "journal_size_limit", LOG_BYTES)?;
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    let found = form_of(&connection, folder)?;
    if found < FORM {
        migrate(&mut connection, found)?;
    }
    match connection.execute_batch(GUARD).and_then(|()| checkpoint_log(&connection)) {
        // A full or read-only disk: nothing can be appended, but everything can be read.
        Err(error) if is_not_written(&error) => Ok(connection),
        carried => carried.map(|()| connection).map_err(StoreError::Disk),
    }
}

/// Creates the store's file. It gets its name when it has its tables, so an empty file of that name was damaged.
fn create(folder: &Path) -> Result<(), StoreError> {
    let (new, at) = (folder.join(NEW_FILE), |error| StoreError::Folder(folder.to_owned(), error));
    // Of a process that was killed here.
    for name in [NEW_FILE.to_owned(), format!("{NEW_FILE}-journal")] {
        let _ = fs::remove_file(folder.join(name));
    }
    // Only the owner may read it; SQLite gives its other files the same permissions. If this fails, SQLite's own
    // error says why.
    let _ = OpenOptions::new().create(true).append(true).mode(0o600).open(&new);
    let mut connection = Connection::open(&new)?;
    connection.pragma_update(None, "page_size", PAGE_BYTES)?;
    migrate(&mut connection, 0)?;
    connection.close().map_err(|(_, error)| error)?;
    fs::rename(new, folder.join(FILE)).and_then(|()| File::open(folder)?.sync_all()).map_err(at)
}

/// Migrates an older or empty file.
fn migrate(connection: &mut Connection, found: i64) -> Result<(), StoreError> {
    let transaction = connection.transaction()?;
    for step in STEPS.iter().skip(usize::try_from(found).unwrap_or_default()) {
        transaction.execute_batch(step)?;
    }
    // Later forms have checksums already. Computing them again would hide damage.
    if found < 4 {
        sessions::add_sums(&transaction)?;
        index::rebuild(&transaction)?;
    }
    transaction.pragma_update(None, "user_version", FORM)?;
    Ok(transaction.commit()?)
}

/// Checkpoints SQLite's log into the file. This makes everything in the store durable, also what a process wrote that
/// died before its sync, or whose sync failed (DUR-9).
pub(super) fn checkpoint_log(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
}

/// Opens the store's file for reading, also while another process holds it.
pub(super) fn open_read_only(folder: &Path) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(folder.join(FILE), TO_LOOK)?;
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    let (connection, found) = match form_of(&connection, folder) {
        Err(StoreError::Disk(error)) if has_no_room_beside(&error) => {
            // This connection would lock out the next one.
            drop(connection);
            let connection = look_alone(folder)?;
            let found = form_of(&connection, folder)?;
            (connection, found)
        }
        // A process was killed while it created the file. A reader cannot roll back that transaction.
        Err(StoreError::Disk(error)) if error.sqlite_error_code() == Some(ErrorCode::ReadOnly) => (connection, 0),
        found => (connection, found?),
    };
    if found < FORM {
        return Err(StoreError::Older { folder: folder.to_owned(), found });
    }
    Ok(connection)
}

const TO_LOOK: OpenFlags = OpenFlags::SQLITE_OPEN_READ_ONLY.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

/// Whether SQLite cannot create the file shared by readers and writers, because the disk is full or read-only. A
/// holder of the store would have created it, so there is none.
fn has_no_room_beside(error: &rusqlite::Error) -> bool {
    let shared = [ffi::SQLITE_IOERR_SHMOPEN, ffi::SQLITE_IOERR_SHMMAP, ffi::SQLITE_READONLY_CANTINIT];
    error.sqlite_error().is_some_and(|failure| {
        is_full(failure) || failure.code == ErrorCode::CannotOpen || shared.contains(&failure.extended_code)
    })
}

/// Opens the store's file for reading, without shared files (DUR-9).
fn look_alone(folder: &Path) -> Result<Connection, StoreError> {
    let file = folder.join(FILE);
    let has_log = folder.join(format!("{FILE}-wal")).metadata().is_ok_and(|log| log.len() > 0);
    if has_log {
        // The log is read too, into memory. It is not checkpointed.
        let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
        connection.pragma_update(None, "query_only", true)?;
        return Ok(connection);
    }
    let mut address = b"file:".to_vec();
    for byte in file.as_os_str().as_bytes() {
        match byte {
            b'%' | b'?' | b'#' => address.extend(format!("%{byte:02x}").bytes()),
            byte => address.push(*byte),
        }
    }
    address.extend(b"?immutable=1");
    Ok(Connection::open_with_flags(OsStr::from_bytes(&address), TO_LOOK | OpenFlags::SQLITE_OPEN_URI)?)
}

/// Whether there is a store in this folder. An error if the folder cannot be read, or the store's file is empty, or is
/// missing beside what belongs to it: no new store takes the place of one that lost everything (DUR-14).
pub(super) fn exists(folder: &Path) -> Result<bool, StoreError> {
    let path = folder.join(FILE);
    match path.metadata() {
        Ok(file) if file.len() == 0 => Err(StoreError::Emptied(path)),
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            if leads_nowhere(&path) || has_log_of_lost_file(folder) {
                Err(StoreError::Emptied(path))
            } else {
                Ok(false)
            }
        }
        Err(error) => Err(StoreError::Folder(folder.to_owned(), error)),
    }
}

/// Whether a missing file is a link to one that is not there now, such as on a disk that is not mounted.
fn leads_nowhere(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Whether SQLite's log of a missing file is there. SQLite would write it into a new file.
fn has_log_of_lost_file(folder: &Path) -> bool {
    let is_there = |end: &str| folder.join(format!("{FILE}{end}")).metadata().is_ok_and(|log| log.len() > 0);
    is_there("-wal") || is_there("-journal")
}

/// The file, and the log beside it.
pub(super) fn files(folder: &Path) -> [PathBuf; 2] {
    [folder.join(FILE), folder.join(format!("{FILE}-wal"))]
}

/// The size of the store's file in bytes.
pub(super) fn bytes(folder: &Path) -> std::io::Result<u64> {
    Ok(folder.join(FILE).metadata()?.len())
}

fn form_of(connection: &Connection, folder: &Path) -> Result<i64, StoreError> {
    let found: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if found > FORM {
        return Err(StoreError::Newer { folder: folder.to_owned(), found });
    }
    Ok(found)
}
