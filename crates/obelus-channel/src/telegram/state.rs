//! Data that must survive a restart: the next update, the progress of each conversation, and the open cards.
//!
//! It is one small file in the store's folder, written atomically. Update ids are input ids (DUR-13), and messages
//! follow from numbered events, so that a crash between two writes does no harm: an update is taken once, and a
//! message is repeated only if the crash came before its number was stored.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use obelus_kernel::Time;
use serde::{Deserialize, Serialize};

/// The file, in the store's folder.
const FILE: &str = "telegram.json";
/// Update ids restart after a week without updates; older ids are not used.
const NUMBERS_HOLD: i64 = 6 * 24 * 3600 * 1000;

/// The stored data.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Saved {
    /// The bot's id. Data of another bot are discarded.
    pub(super) bot: i64,
    /// The next update.
    pub(super) offset: i64,
    /// The time of the latest update, in milliseconds since 1970.
    pub(super) offset_at: i64,
    /// The number of earlier conversations of each user and chat.
    #[serde(default)]
    pub(super) ended: BTreeMap<String, u32>,
    /// The conversations, by session.
    #[serde(default)]
    pub(super) talks: BTreeMap<String, TelegramTalk>,
    /// The active cards, by token.
    #[serde(default)]
    pub(super) cards: BTreeMap<String, Card>,
}

/// A conversation of one user in one chat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TelegramTalk {
    /// The user.
    pub(super) user: i64,
    /// The chat.
    pub(super) chat: i64,
    /// The language of the user.
    pub(super) lang: String,
    /// The latest event that was shown, as `RECORD-PART`.
    pub(super) shown: String,
    /// The number of messages of the next event that were sent.
    #[serde(default)]
    pub(super) parts: usize,
    /// The message that is edited while text is being written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) draft: Option<i64>,
}

/// A question sent with buttons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Card {
    /// The session.
    pub(super) session: String,
    /// The question, as `SESSION:QUESTION`.
    pub(super) question: String,
    /// The digest of what was shown.
    pub(super) digest: String,
    /// The chat.
    pub(super) chat: i64,
    /// The message; none while it is being sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<i64>,
    /// Whether "deny" was pressed, and a reason may follow.
    #[serde(default)]
    pub(super) is_denying: bool,
    /// Whether it shows the standing consents that an approval can include.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_consenting: bool,
    /// Whether the file with its whole text could not be sent, so that it must not be approved here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_cut: bool,
    /// The edit that is being made of its call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) edit: Option<Edit>,
}

/// An edit that is being made on a card.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Edit {
    /// The typed values, by field.
    pub(super) typed: BTreeMap<String, String>,
    /// Whether the next field is being chosen.
    #[serde(default)]
    pub(super) is_choosing: bool,
    /// The field whose value is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) place: Option<String>,
    /// The user who chose it: their next message is the value.
    #[serde(default)]
    pub(super) by: i64,
}

impl Edit {
    /// The edit one step before: from a value to the list of fields, from there to the values typed before, and then to
    /// no edit.
    pub(super) fn back(self) -> Option<Self> {
        match (self.place.is_some(), self.is_choosing && !self.typed.is_empty()) {
            (true, _) => Some(Self { place: None, is_choosing: true, ..self }),
            (false, true) => Some(Self { is_choosing: false, ..self }),
            (false, false) => None,
        }
    }
}

impl Saved {
    /// The next update to request.
    pub(super) fn offset_at(&self, now: Time) -> Option<i64> {
        (self.offset > 0 && now.0 - self.offset_at < NUMBERS_HOLD).then_some(self.offset)
    }

    /// The session of a user in a chat. Private and group conversations are separate.
    pub(super) fn session_of(&self, user: i64, chat: i64) -> String {
        let place = place_of(user, chat);
        match self.ended.get(&place) {
            None => format!("telegram-{place}"),
            Some(ended) => format!("telegram-{place}_{}", ended + 1),
        }
    }

    /// Ends a conversation: the user's next message in the chat begins a new session.
    pub(super) fn end_talk(&mut self, user: i64, chat: i64) {
        *self.ended.entry(place_of(user, chat)).or_default() += 1;
    }

    /// The card of a message.
    pub(super) fn card_at(&self, chat: i64, message: i64) -> Option<(&String, &Card)> {
        self.cards.iter().find(|(_, card)| card.chat == chat && card.message == Some(message))
    }

    /// The card of a question.
    pub(super) fn card_of(&self, question: &str) -> Option<(&String, &Card)> {
        self.cards.iter().find(|(_, card)| card.question == question)
    }
}

fn place_of(user: i64, chat: i64) -> String {
    if user == chat { user.to_string() } else { format!("{user}-in-{}", chat.unsigned_abs()) }
}

/// The file and its content.
pub(super) struct BotStateFile {
    path: PathBuf,
    saved: Mutex<Saved>,
}

impl BotStateFile {
    /// Reads the file in a folder. Data of another bot are discarded.
    pub(super) fn open(folder: &Path, bot: i64) -> Result<Self, String> {
        let path = folder.join(FILE);
        let wrong = |why: String| format!("{}: {why}", path.display());
        let saved = match fs::read_to_string(&path) {
            Ok(text) => serde_json::from_str(&text).map_err(|error| {
                wrong(format!("it cannot be read ({error}): restore it, or remove it to lose its open cards"))
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Saved::default(),
            Err(error) => return Err(wrong(error.to_string())),
        };
        let saved = if saved.bot == bot { saved } else { Saved { bot, ended: saved.ended, ..Saved::default() } };
        Ok(Self { path, saved: Mutex::new(saved) })
    }

    /// Reads the data.
    pub(super) fn read<T>(&self, read: impl FnOnce(&Saved) -> T) -> T {
        read(&self.lock())
    }

    /// Changes the data. They are durable when this returns; after an error the change is only in memory.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Saved) -> T) -> io::Result<T> {
        let mut saved = self.lock();
        let done = change(&mut saved);
        let text = serde_json::to_string(&*saved).map_err(io::Error::other)?;
        write_whole(&self.path, text.as_bytes())?;
        Ok(done)
    }

    fn lock(&self) -> MutexGuard<'_, Saved> {
        self.saved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes a private file atomically.
fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let other = path.with_extension("json.tmp");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&other)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&other, path)?;
    match path.parent() {
        // The rename is durable once the folder is synced.
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("obelus-telegram-state-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn saved_state_is_restored_and_another_bot_starts_with_empty_state() {
        let folder = folder("again");
        let card = Card {
            session: "s".to_owned(),
            question: "s:q1".to_owned(),
            digest: "d".to_owned(),
            chat: 5,
            message: Some(7),
            is_denying: false,
            is_consenting: false,
            is_cut: false,
            edit: Some(Edit { place: Some("sum".to_owned()), by: 5, ..Edit::default() }),
        };
        let state_file = BotStateFile::open(&folder, 1).unwrap();
        state_file.change(|saved| saved.cards.insert("t".to_owned(), card.clone())).unwrap();
        state_file.change(|saved| saved.offset = 12).unwrap();
        let again = BotStateFile::open(&folder, 1).unwrap();
        assert_eq!(again.read(|saved| saved.card_at(5, 7).map(|(_, card)| card.clone())), Some(card));
        assert_eq!(again.read(|saved| saved.offset), 12);
        let other = BotStateFile::open(&folder, 2).unwrap();
        assert_eq!(other.read(|saved| (saved.cards.len(), saved.offset, saved.bot)), (0, 0, 2));
    }

    #[test]
    fn a_card_saved_by_the_previous_version_is_read() {
        let old = serde_json::json!({"session": "s", "question": "s:q1", "digest": "d", "chat": 5, "is_denying": true});
        let card: Card = serde_json::from_value(old).unwrap();
        assert!(card.is_denying && !card.is_consenting && card.edit.is_none());
    }

    #[test]
    fn back_undoes_an_edit_one_step_at_a_time() {
        let typed = BTreeMap::from([("sum".to_owned(), "7".to_owned())]);
        let asks = Edit { typed: typed.clone(), place: Some("id".to_owned()), ..Edit::default() };
        let fields = asks.back().unwrap();
        assert!(fields.place.is_none() && fields.is_choosing);
        let edited = fields.back().unwrap();
        assert!(!edited.is_choosing && edited.typed == typed);
        assert_eq!(edited.back(), None);
        assert_eq!(Edit { is_choosing: true, ..Edit::default() }.back(), None);
    }

    #[test]
    fn a_damaged_file_is_refused() {
        let folder = folder("damaged");
        fs::write(folder.join(FILE), "{\"bot\": 1, \"off").unwrap();
        assert!(BotStateFile::open(&folder, 1).err().unwrap().contains("telegram.json"));
    }

    #[test]
    fn each_user_and_each_group_has_a_separate_session() {
        let mut saved = Saved::default();
        assert_eq!(saved.session_of(42, 42), "telegram-42");
        assert_eq!(saved.session_of(42, -1001), "telegram-42-in-1001");
        saved.end_talk(42, 42);
        assert_eq!(saved.session_of(42, 42), "telegram-42_2");
        assert_eq!(saved.session_of(43, 43), "telegram-43");
    }

    #[test]
    fn a_saved_update_offset_expires_after_a_week() {
        let saved = Saved { offset: 9, offset_at: 1_000, ..Saved::default() };
        assert_eq!(saved.offset_at(Time(2_000)), Some(9));
        assert_eq!(saved.offset_at(Time(8 * 24 * 3600 * 1000)), None);
        assert_eq!(Saved::default().offset_at(Time(1)), None);
    }
}
