//! Facts about pages that people may see and the journal does not store: full addresses, and pictures (OPR-11).
//!
//! The journal has digests in addresses in place of what somebody typed. A person who is asked about a page sees its
//! full address, from a private file beside the session's pictures, which is removed with the session.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::atomic_file;
use crate::session_files::SessionFiles;

/// The file in the session's picture folder.
const FILE: &str = "pages.json";

/// The number of stored addresses.
const MOST: usize = 200;

/// Longer addresses are shown as in the journal.
const LONGEST: usize = 2_000;

/// Full addresses and pictures of pages, by the journal's form of the address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PageNotes {
    addresses: BTreeMap<String, String>,
    pictures: BTreeMap<String, PathBuf>,
    /// Addresses in the order of their notes.
    order: Vec<String>,
}

impl PageNotes {
    /// The folder for a session's notes.
    pub fn folder(store: &Path, session: &str) -> PathBuf {
        SessionFiles::pictures(store, session)
    }

    /// The notes in a folder. An unreadable file counts as none.
    pub fn read(folder: &Path) -> Self {
        let text = fs::read_to_string(folder.join(FILE)).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Writes them into a folder, readable only by the owner.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        atomic_file::private_folder(folder)?;
        atomic_file::write(&folder.join(FILE), &serde_json::to_vec(self)?)
    }

    /// Notes a full address. Returns whether it is new.
    pub fn note_address(&mut self, stored: &str, full: &str) -> bool {
        let says_more = stored.contains('~') && stored != full && full.len() <= LONGEST;
        if !says_more || self.addresses.get(stored).is_some_and(|known| known == full) {
            return false;
        }
        self.addresses.insert(stored.to_owned(), full.to_owned());
        self.remember(stored);
        true
    }

    /// Notes the latest picture of a page.
    pub fn note_picture(&mut self, stored: &str, picture: &Path) {
        self.pictures.insert(stored.to_owned(), picture.to_owned());
        self.remember(stored);
    }

    fn remember(&mut self, stored: &str) {
        self.order.retain(|known| known != stored);
        self.order.push(stored.to_owned());
        for old in self.order.drain(..self.order.len().saturating_sub(MOST)).collect::<Vec<_>>() {
            self.addresses.remove(&old);
            self.pictures.remove(&old);
        }
    }

    /// The full address.
    pub fn in_full<'a>(&'a self, stored: &'a str) -> &'a str {
        self.addresses.get(stored).map_or(stored, String::as_str)
    }

    /// A result with its full address.
    pub fn with_full_address<'a>(&self, result: &'a Value) -> Cow<'a, Value> {
        let full = result.get("address").and_then(Value::as_str).and_then(|stored| self.addresses.get(stored));
        let Some(full) = full else { return Cow::Borrowed(result) };
        let mut shown = result.clone();
        shown["address"] = full.as_str().into();
        Cow::Owned(shown)
    }

    /// The latest picture of a page, if its file still exists.
    pub fn picture(&self, stored: &str) -> Option<&Path> {
        self.pictures.get(stored).map(PathBuf::as_path).filter(|path| path.is_file())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opr_11_page_notes_are_read_back_and_limited() {
        let folder = std::env::temp_dir().join(format!("obelus-pages-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let mut notes = PageNotes::read(&folder);
        let (stored, full) = ("https://shop.example.test/s?q=~0f1e2d3c4b", "https://shop.example.test/s?q=kettle");
        assert!(notes.note_address(stored, full) && !notes.note_address(stored, full));
        assert!(!notes.note_address("https://shop.example.test/", "https://shop.example.test/"), "it is known in full");
        notes.write(&folder).unwrap();
        let picture = folder.join("0001.png");
        fs::write(&picture, "png").unwrap();
        notes.note_picture(stored, &picture);
        notes.write(&folder).unwrap();
        let again = PageNotes::read(&folder);
        assert_eq!((again.in_full(stored), again.picture(stored)), (full, Some(picture.as_path())));
        assert_eq!(again.in_full("https://other.example.test/?a=~1"), "https://other.example.test/?a=~1");
        for n in 0..300 {
            notes.note_address(&format!("~{n}"), "https://shop.example.test/");
        }
        assert_eq!((notes.addresses.len(), notes.picture(stored)), (MOST, None));
        fs::remove_dir_all(&folder).unwrap();
    }
}
