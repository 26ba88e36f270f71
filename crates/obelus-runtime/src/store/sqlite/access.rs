//! Who may write to a store: its owner alone. Anybody who can write to it can answer for the owner, and name programs
//! that a session starts.

use std::fs::{self, Metadata};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

use super::{StoreError, schema};

/// How a store is opened.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum StoreUse {
    /// To write to it, and to run its sessions.
    Run,
    /// To read it only.
    Look,
}

/// Creates the folder of a store, if it is missing. Only its owner may read sessions.
pub(super) fn create(folder: &Path) -> Result<(), StoreError> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| StoreError::Folder(folder.to_owned(), error))
}

/// The folders whose files count as the owner's words, or give access to services.
const TRUSTED_FOLDERS: [&str; 2] = ["states", "tokens"];

/// Refuses a store if its folder, or anything in it or in its trusted folders, belongs to another user or can be written
/// by others. A missing folder is no error.
pub(super) fn check(folder: &Path, intent: StoreUse) -> Result<(), StoreError> {
    let Ok(about) = fs::metadata(folder) else { return Ok(()) };
    let is_closed = about.mode() & 0o011 == 0;
    check_one(folder, &about, (intent, false))?;
    check_entries(folder, (intent, is_closed))?;
    for inner in TRUSTED_FOLDERS.map(|name| folder.join(name)).iter().filter(|inner| inner.is_dir()) {
        check_entries(inner, (intent, is_closed))?;
    }
    // The database may be a link to a file elsewhere.
    for place in schema::files(folder) {
        if let Ok(about) = fs::metadata(&place) {
            check_one(&place, &about, (intent, is_closed && !place.is_symlink()))?;
        }
    }
    Ok(())
}

fn check_entries(folder: &Path, access: (StoreUse, bool)) -> Result<(), StoreError> {
    let unread = |error| StoreError::Folder(folder.to_owned(), error);
    for entry in fs::read_dir(folder).map_err(unread)? {
        let place = entry.map_err(unread)?.path();
        // A running process may have removed it meanwhile.
        if let Ok(about) = fs::symlink_metadata(&place) {
            check_one(&place, &about, access)?;
        }
    }
    Ok(())
}

/// Checks one file or folder. In a folder that others cannot enter, nobody reaches it, whatever its mode is.
fn check_one(place: &Path, about: &Metadata, (intent, is_closed): (StoreUse, bool)) -> Result<(), StoreError> {
    let own = rustix::process::geteuid().as_raw();
    let rights = Rights { owner: about.uid(), group: about.gid(), mode: about.mode() & 0o7777 };
    // Everybody may write through a link, whatever its mode is: its owner has chosen where it leads.
    let rights = if about.is_symlink() { Rights { mode: 0, ..rights } } else { rights };
    let Rights { owner, mode, .. } = rights;
    if rights.are_of_another(own, intent) {
        return Err(StoreError::OfAnother { place: place.to_owned(), owner });
    }
    if !is_closed && rights.let_others_write() {
        let owner = Some(owner).filter(|owner| ![0, *owner].contains(&own));
        return Err(StoreError::OpenToOthers { place: place.to_owned(), mode, owner });
    }
    Ok(())
}

/// The owner of a file or folder, and who else may write to it.
#[derive(Clone, Copy)]
struct Rights {
    owner: u32,
    group: u32,
    mode: u32,
}

impl Rights {
    /// Whether it belongs to another user than the caller. What root has made is safe. Root may read the store of any
    /// user, but does not run what that user names.
    fn are_of_another(self, own: u32, intent: StoreUse) -> bool {
        let may_look = own == 0 && intent == StoreUse::Look;
        ![own, 0].contains(&self.owner) && !may_look
    }

    /// Whether others than the owner may write. A group with the number of a user is the user's own: most systems make
    /// one for each user, and let it write to the user's files.
    fn let_others_write(self) -> bool {
        let has_own_group = self.owner != 0 && self.group == self.owner;
        self.mode & if has_own_group { 0o002 } else { 0o022 } != 0
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, lchown, symlink};

    use obelus_words::Language;

    use super::super::SqliteStore;
    use super::*;
    use crate::store::tests::Folder;

    fn set(place: &Path, mode: u32) {
        fs::set_permissions(place, Permissions::from_mode(mode)).unwrap();
    }

    /// A folder with an empty store.
    fn store(name: &str) -> Folder {
        let folder = Folder::new(name);
        drop(SqliteStore::open(&folder.0).unwrap());
        folder
    }

    /// Removes the files beside the database, to which SQLite gives its owner and permissions.
    fn remove_logs(folder: &Folder) {
        for name in ["obelus.db-wal", "obelus.db-shm"] {
            let _ = fs::remove_file(folder.0.join(name));
        }
    }

    #[test]
    fn only_the_owner_and_the_own_group_of_the_owner_may_write() {
        for (own, owner, group, mode, for_running, for_looking) in [
            (1000, 1000, 1000, 0o700, true, true),
            (1000, 1000, 1000, 0o775, true, true),
            (1000, 1000, 1000, 0o777, false, false),
            (1000, 1000, 100, 0o775, false, false),
            (1000, 1000, 100, 0o755, true, true),
            (1000, 0, 0, 0o755, true, true),
            (1000, 0, 0, 0o775, false, false),
            (1000, 0, 4000, 0o2775, false, false),
            (1000, 1001, 1001, 0o700, false, false),
            (0, 0, 0, 0o700, true, true),
            (0, 0, 0, 0o770, false, false),
            (0, 1000, 1000, 0o700, false, true),
            (0, 1000, 1000, 0o707, false, false),
        ] {
            let rights = Rights { owner, group, mode };
            let may = |intent| !rights.are_of_another(own, intent) && !rights.let_others_write();
            let found = (may(StoreUse::Run), may(StoreUse::Look));
            assert_eq!(found, (for_running, for_looking), "{own}: {owner}:{group} {mode:o}");
        }
    }

    #[test]
    fn a_store_that_others_can_write_is_not_opened() {
        let folder = store("open-to-others");
        let file = folder.0.join("obelus.db");
        set(&folder.0, 0o755);
        for (place, mode, usual) in [(&folder.0, 0o707, 0o755), (&folder.0, 0o1777, 0o755), (&file, 0o602, 0o600)] {
            set(place, mode);
            for refused in [SqliteStore::open(&folder.0), SqliteStore::open_read_only(&folder.0)] {
                let error = refused.err().unwrap();
                assert!(matches!(&error, StoreError::OpenToOthers { place: at, .. } if at == place), "{error}");
                for language in [Language::English, Language::Russian] {
                    assert!(error.in_words(language).contains(&format!("chmod go-w {}", place.display())), "{error}");
                }
            }
            assert!(SqliteStore::open_insecure(&folder.0).is_ok());
            assert!(SqliteStore::open_read_only_insecure(&folder.0).is_ok());
            set(place, usual);
            remove_logs(&folder);
        }
        assert!(SqliteStore::open(&folder.0).is_ok());
    }

    #[test]
    fn a_store_with_something_that_others_can_write_is_not_opened() {
        let folder = store("planted");
        set(&folder.0, 0o755);
        for name in ["states", "obelus.db-journal", "obelus.db-shm", "lock", "anything"] {
            let place = folder.0.join(name);
            let _ = fs::remove_file(&place);
            if name == "states" {
                fs::create_dir(&place).unwrap();
            } else {
                fs::write(&place, "").unwrap();
            }
            set(&place, 0o666);
            let refused = SqliteStore::open(&folder.0);
            assert!(matches!(refused, Err(StoreError::OpenToOthers { place: at, .. }) if at == place), "{name}");
            set(&place, 0o700);
            assert!(check(&folder.0, StoreUse::Run).is_ok(), "{name}");
        }
        let state = folder.0.join("states/s.json");
        fs::remove_dir(folder.0.join("states")).or_else(|_| fs::remove_file(folder.0.join("states"))).unwrap();
        fs::create_dir(folder.0.join("states")).unwrap();
        fs::write(&state, "{}").unwrap();
        set(&state, 0o666);
        let refused = SqliteStore::open(&folder.0);
        assert!(matches!(refused, Err(StoreError::OpenToOthers { place: at, .. }) if at == state), "a state's file");
        set(&folder.0, 0o700);
        assert!(check(&folder.0, StoreUse::Run).is_ok(), "nobody else can enter the folder");
        set(&folder.0, 0o755);
        set(&state, 0o600);
        symlink("/dev/null", folder.0.join("link")).unwrap();
        assert!(check(&folder.0, StoreUse::Run).is_ok(), "the owner of a link has chosen where it leads");
    }

    #[test]
    fn a_store_with_something_of_another_user_is_not_opened() {
        if rustix::process::geteuid().as_raw() != 0 {
            eprintln!("skipped: only root can give a file to another user");
            return;
        }
        let folder = store("of-another");
        fs::create_dir(folder.0.join("states")).unwrap();
        symlink("states", folder.0.join("link")).unwrap();
        for place in [folder.0.clone(), folder.0.join("obelus.db"), folder.0.join("states"), folder.0.join("link")] {
            let give = |user| lchown(&place, Some(user), None).unwrap();
            give(12345);
            let refused = SqliteStore::open(&folder.0).err().unwrap();
            assert!(matches!(&refused, StoreError::OfAnother { place: at, owner: 12345 } if *at == place), "{refused}");
            assert!(refused.to_string().contains("--insecure-store"), "{refused}");
            assert!(SqliteStore::create_folder(&folder.0).is_err());
            assert!(SqliteStore::open_read_only(&folder.0).is_ok(), "root may look");
            give(0);
            remove_logs(&folder);
        }
        lchown(&folder.0, Some(12345), Some(12345)).unwrap();
        assert!(SqliteStore::open_insecure(&folder.0).is_ok());
    }

    #[test]
    fn a_volume_of_root_with_a_group_names_its_owner_and_no_command_that_would_fail() {
        let error = StoreError::OpenToOthers { place: "/store".into(), mode: 0o2775, owner: Some(0) };
        for language in [Language::English, Language::Russian] {
            let words = error.in_words(language);
            assert!(
                words.contains("--insecure-store") && words.contains("2775") && !words.contains("chmod"),
                "{words}"
            );
        }
    }

    #[test]
    fn a_link_to_a_store_that_others_can_write_is_not_followed() {
        let folder = Folder::new("linked-to-others");
        let real = folder.0.join("real");
        fs::create_dir_all(&real).unwrap();
        set(&real, 0o777);
        let link = folder.0.join("link");
        symlink(&real, &link).unwrap();
        assert!(matches!(SqliteStore::open(&link), Err(StoreError::OpenToOthers { .. })));
        assert!(fs::read_dir(&real).unwrap().next().is_none(), "nothing was written");
    }
}
