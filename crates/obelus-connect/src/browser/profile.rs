//! The profile of a browser: cookies and stored site data. It is kept with the session, so that the task stays logged
//! in after a restart, or when another process continues.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The file in the session's folder.
const FILE: &str = "browser.json";

/// Cookies in Playwright's form, stored data by site, and the open page.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Profile {
    pub(super) cookies: Vec<Value>,
    pub(super) storage: Map<String, Value>,
    /// The open page's full address.
    pub(super) address: Option<String>,
}

impl Profile {
    pub(super) fn is_empty(&self) -> bool {
        self.cookies.is_empty() && self.storage.is_empty()
    }
}

/// The profile of a session and its file.
#[derive(Debug, Default)]
pub(super) struct ProfileFile {
    folder: Option<PathBuf>,
    pub(super) profile: Profile,
}

impl ProfileFile {
    /// The profile in a folder; an unreadable file counts as none.
    pub(super) fn open(folder: &Path) -> Self {
        let text = fs::read_to_string(folder.join(FILE)).unwrap_or_default();
        Self { folder: Some(folder.to_owned()), profile: serde_json::from_str(&text).unwrap_or_default() }
    }

    /// The session's folder.
    pub(super) fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// The open page's full address, if its shown form is this.
    pub(super) fn address_of(&self, shown: &str) -> Option<url::Url> {
        let address = url::Url::parse(self.profile.address.as_deref()?).ok()?;
        (super::address::shown(&address) == shown).then_some(address)
    }

    /// Stores the browser's current profile: all cookies, and the data of the open page's sites.
    pub(super) fn keep(&mut self, now: Profile) -> io::Result<()> {
        let mut profile = Profile { cookies: now.cookies, storage: self.profile.storage.clone(), address: now.address };
        for (site, stored) in now.storage {
            if stored.as_object().is_some_and(Map::is_empty) {
                drop(profile.storage.remove(&site));
            } else {
                drop(profile.storage.insert(site, stored));
            }
        }
        if profile == self.profile {
            return Ok(());
        }
        self.profile = profile;
        let Some(folder) = &self.folder else { return Ok(()) };
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        // Written to a new file first, because the process may end at any moment.
        let (new, path) = (folder.join(format!("{FILE}.new")), folder.join(FILE));
        let _ = fs::remove_file(&new);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        file.write_all(&serde_json::to_vec(&self.profile)?)?;
        fs::rename(new, path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn opr_12_a_profile_is_stored_privately_and_read_back() {
        let folder = std::env::temp_dir().join(format!("obelus-profile-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let mut keeper = ProfileFile::open(&folder);
        assert!(keeper.profile.is_empty());
        keeper.keep(Profile::default()).unwrap();
        assert!(!folder.exists(), "nothing to keep");
        let site = |name: &str, stored: Value| Map::from_iter([(format!("https://{name}.example.test"), stored)]);
        let first =
            Profile { cookies: vec![json!({"name": "s"})], storage: site("a", json!({"k": "v"})), address: None };
        keeper.keep(first.clone()).unwrap();
        keeper.keep(Profile { storage: site("b", json!({"k": "w"})), ..first.clone() }).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&folder.join(FILE))), (0o700, 0o600));
        let again = ProfileFile::open(&folder);
        assert_eq!((again.profile.cookies.len(), again.profile.storage.len()), (1, 2));
        keeper.keep(Profile { storage: site("a", json!({})), ..first }).unwrap();
        assert_eq!(ProfileFile::open(&folder).profile.storage.len(), 1, "a site that stored nothing more is left out");
        fs::remove_dir_all(&folder).unwrap();
    }
}
