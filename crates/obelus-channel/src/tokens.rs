//! Tokens with names and roles.
//!
//! The file `tokens.json` in the store's folder has the hash of each token, never the token. A token has 256 random
//! bits, so that it cannot be found from its SHA-256.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use obelus_kernel::session::sent_by::SentBy;
use obelus_runtime::text::hex;
use obelus_runtime::{Secret, system_clock};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The file of the tokens, in the store's folder.
pub const TOKENS_FILE: &str = "tokens.json";
/// The file with the first token itself, for the server's operator.
pub const TOKEN_FILE: &str = "token";
/// The name of that token.
pub const LOCAL: &str = "local";

/// Larger files are refused.
const LARGEST: u64 = 1 << 20;

/// What a token permits. Each role may do everything that the one before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "http", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "http", schema(as = RoleName))]
pub enum TokenRole {
    /// To look.
    Viewer,
    /// To talk, and to answer questions.
    Operator,
    /// To remove sessions and to edit their states.
    Admin,
}

impl TokenRole {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            TokenRole::Viewer => "viewer",
            TokenRole::Operator => "operator",
            TokenRole::Admin => "admin",
        }
    }
}

/// A token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenEntry {
    /// Its owner's name. Answers are recorded under it.
    pub name: String,
    /// Its role.
    pub role: TokenRole,
    /// When it was made.
    pub created: String,
    /// The SHA-256 of the token, in hexadecimal digits.
    hash: String,
}

/// An authenticated caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The name of the token.
    pub name: String,
    /// Its role.
    pub role: TokenRole,
    /// The SHA-256 of the token.
    hash: String,
}

impl Caller {
    /// The caller and channel, as journals store them.
    pub fn by(&self, channel: &str) -> String {
        SentBy::InChannel { channel, name: &self.name }.to_string()
    }
}

/// Why tokens cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// A file cannot be read or written.
    #[error("{0}: {1}")]
    File(PathBuf, io::Error),
    /// The file is readable by others than its owner.
    #[error("{0}: others can read this file: run `chmod 600` on it, and replace the tokens in it")]
    Open(PathBuf),
    /// The file is invalid.
    #[error("{0}: {1}")]
    Form(PathBuf, String),
    /// Not a valid name.
    #[error("`{0}` is not a valid name of a token: use letters, digits, `-` and `_`, at most 64")]
    BadName(String),
    /// There is a token of this name.
    #[error("there is a token `{0}` already")]
    Exists(String),
    /// There is none.
    #[error("there is no token `{0}`")]
    Unknown(String),
    /// The system gives no random bytes.
    #[error("the system gives no random bytes: {0}")]
    NoRandomness(String),
}

/// The tokens of a store. The file is reread when it has changed.
pub struct Tokens {
    file: PathBuf,
    read: Mutex<CachedTokens>,
}

struct CachedTokens {
    /// The file's modification time, inode and mode.
    seen: Option<(SystemTime, u64, u32)>,
    entries: Arc<[TokenEntry]>,
}

impl Tokens {
    /// The tokens in a store's folder.
    pub fn in_folder(folder: &Path) -> Self {
        Self { file: folder.join(TOKENS_FILE), read: Mutex::new(CachedTokens { seen: None, entries: Arc::new([]) }) }
    }

    /// All tokens, by name.
    pub fn list(&self) -> Result<Vec<TokenEntry>, TokenError> {
        read_entries(&self.file)
    }

    /// Creates a token and stores its hash. The token cannot be read later.
    pub fn add(&self, name: &str, role: TokenRole) -> Result<Secret, TokenError> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || name.len() > 64 || !name.chars().all(is_plain) {
            return Err(TokenError::BadName(name.to_owned()));
        }
        let token = drawn("obelus_")?;
        self.insert(name, role, &token)?;
        Ok(token)
    }

    fn insert(&self, name: &str, role: TokenRole, token: &Secret) -> Result<(), TokenError> {
        let _one = self.lock()?;
        let mut entries = self.list()?;
        if entries.iter().any(|entry| entry.name == name) {
            return Err(TokenError::Exists(name.to_owned()));
        }
        let (created, hash) = (system_clock().to_string(), hash_of(token.expose()));
        entries.push(TokenEntry { name: name.to_owned(), role, created, hash });
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        self.write(&entries)
    }

    /// Removes a token.
    pub fn remove(&self, name: &str) -> Result<(), TokenError> {
        let _one = self.lock()?;
        let mut entries = self.list()?;
        let before = entries.len();
        entries.retain(|entry| entry.name != name);
        if entries.len() < before { self.write(&entries) } else { Err(TokenError::Unknown(name.to_owned())) }
    }

    /// Creates the first token, if there is none, and writes it to a private file. Returns whether it was created.
    pub fn ensure_first(&self, file: &Path) -> Result<bool, TokenError> {
        if self.list()?.iter().any(|entry| entry.name == LOCAL) {
            return Ok(false);
        }
        // A token that is in no file would be useless, so the file is written first.
        let token = drawn("obelus_")?;
        write_private(file, format!("{}\n", token.expose()).as_bytes())?;
        self.insert(LOCAL, TokenRole::Admin, &token)?;
        Ok(true)
    }

    /// Whether the token of a caller still has the same rights.
    pub fn still_permits(&self, caller: &Caller) -> bool {
        self.entries().iter().any(|entry| entry.hash == caller.hash && entry.role >= caller.role)
    }

    /// Locks the file against changes by other processes.
    fn lock(&self) -> Result<fs::File, TokenError> {
        let path = self.file.with_extension("lock");
        let wrong = |error| TokenError::File(path.clone(), error);
        let file = fs::OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let file = file.map_err(wrong)?;
        file.lock().map_err(wrong)?;
        Ok(file)
    }

    /// The owner of a token, in constant time.
    pub fn caller(&self, token: &str) -> Option<Caller> {
        let given = hash_of(token);
        let mut found = None;
        for entry in self.entries().iter() {
            if is_same(&entry.hash, &given) {
                found = Some(Caller { name: entry.name.clone(), role: entry.role, hash: given.clone() });
            }
        }
        found
    }

    /// The current tokens of the file.
    fn entries(&self) -> Arc<[TokenEntry]> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let version_of = |about: fs::Metadata| Ok((about.modified()?, about.ino(), about.mode()));
        let seen = fs::metadata(&self.file).and_then(version_of).ok();
        if seen.is_none() || read.seen != seen {
            // An unreadable file permits nothing.
            *read = CachedTokens { seen, entries: read_entries(&self.file).unwrap_or_default().into() };
        }
        Arc::clone(&read.entries)
    }

    fn write(&self, entries: &[TokenEntry]) -> Result<(), TokenError> {
        let text = serde_json::to_string_pretty(entries).map_err(|error| self.form(&error.to_string()))?;
        write_private(&self.file, text.as_bytes())
    }

    fn form(&self, why: &str) -> TokenError {
        TokenError::Form(self.file.clone(), why.to_owned())
    }
}

/// A secret in a private file, created if necessary.
pub fn secret_in(file: &Path) -> Result<Secret, TokenError> {
    if !file.exists() {
        write_private(file, format!("{}\n", drawn("obelus_")?.expose()).as_bytes())?;
    }
    secret_of(file)
}

/// The secret in a private file.
pub fn secret_of(file: &Path) -> Result<Secret, TokenError> {
    let wrong = |error| TokenError::File(file.to_owned(), error);
    must_be_private(file, &fs::metadata(file).map_err(wrong)?)?;
    Ok(Secret::new(fs::read_to_string(file).map_err(wrong)?.trim()))
}

fn read_entries(file: &Path) -> Result<Vec<TokenEntry>, TokenError> {
    let about = match fs::metadata(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        about => about.map_err(|error| TokenError::File(file.to_owned(), error))?,
    };
    must_be_private(file, &about)?;
    // Anybody who may write into the folder could replace the file.
    let folder = file.parent().and_then(|folder| fs::metadata(folder).ok());
    if folder.is_some_and(|folder| folder.uid() != about.uid()) {
        return Err(TokenError::Open(file.to_owned()));
    }
    if about.len() > LARGEST {
        return Err(TokenError::Form(file.to_owned(), "the file is too large".to_owned()));
    }
    let text = fs::read_to_string(file).map_err(|error| TokenError::File(file.to_owned(), error))?;
    serde_json::from_str(&text).map_err(|error| TokenError::Form(file.to_owned(), error.to_string()))
}

fn must_be_private(file: &Path, about: &fs::Metadata) -> Result<(), TokenError> {
    match about.mode() & 0o077 {
        0 => Ok(()),
        _ => Err(TokenError::Open(file.to_owned())),
    }
}

/// Writes a private file atomically.
fn write_private(file: &Path, bytes: &[u8]) -> Result<(), TokenError> {
    let wrong = |error| TokenError::File(file.to_owned(), error);
    let part = file.with_extension(format!("part{}", std::process::id()));
    let _ = fs::remove_file(&part);
    let mut new = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part).map_err(wrong)?;
    new.write_all(bytes).and_then(|()| new.sync_all()).map_err(wrong)?;
    fs::rename(&part, file).map_err(wrong)
}

/// An unguessable text.
pub(crate) fn drawn(prefix: &str) -> Result<Secret, TokenError> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| TokenError::NoRandomness(error.to_string()))?;
    Ok(Secret::new(format!("{prefix}{}", URL_SAFE_NO_PAD.encode(bytes))))
}

pub(crate) fn hash_of(token: &str) -> String {
    hex(&Sha256::digest(token.as_bytes()))
}

/// Compares two hashes in constant time.
pub(crate) fn is_same(one: &str, other: &str) -> bool {
    one.len() == other.len() && one.bytes().zip(other.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("obelus-tokens-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_token_is_valid_until_removed_and_stored_as_a_hash() {
        let folder = folder("known");
        let tokens = Tokens::in_folder(&folder);
        let (anna, boris) =
            (tokens.add("anna", TokenRole::Operator).unwrap(), tokens.add("boris", TokenRole::Viewer).unwrap());
        let caller = tokens.caller(anna.expose()).unwrap();
        assert_eq!((caller.by("api").as_str(), caller.role), ("api:anna", TokenRole::Operator));
        assert_eq!(tokens.caller(boris.expose()).unwrap().name, "boris");
        assert_eq!(tokens.caller("obelus_other"), None);
        assert_eq!(tokens.caller(""), None);
        let text = fs::read_to_string(folder.join(TOKENS_FILE)).unwrap();
        assert!(!text.contains(anna.expose()) && text.contains("anna"));
        assert!(matches!(tokens.add("anna", TokenRole::Admin), Err(TokenError::Exists(_))));
        assert!(matches!(tokens.add("../x", TokenRole::Admin), Err(TokenError::BadName(_))));
        tokens.remove("anna").unwrap();
        assert_eq!(tokens.caller(anna.expose()), None, "the file is read again");
        assert!(matches!(tokens.remove("anna"), Err(TokenError::Unknown(_))));
    }

    #[test]
    fn a_token_file_readable_by_others_grants_no_access() {
        let folder = folder("open");
        let tokens = Tokens::in_folder(&folder);
        let first = folder.join(TOKEN_FILE);
        assert!(tokens.ensure_first(&first).unwrap() && !tokens.ensure_first(&first).unwrap());
        let mode = |file: &Path| fs::metadata(file).unwrap().mode() & 0o777;
        assert_eq!((mode(&first), mode(&folder.join(TOKENS_FILE))), (0o600, 0o600));
        let token = fs::read_to_string(&first).unwrap();
        assert_eq!(tokens.caller(token.trim()).unwrap().role, TokenRole::Admin);
        fs::set_permissions(folder.join(TOKENS_FILE), fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(tokens.list(), Err(TokenError::Open(_))));
        assert_eq!(tokens.caller(token.trim()), None, "the mode is looked at each time");
        let anew = Tokens::in_folder(&folder);
        assert_eq!(anew.caller(token.trim()), None);
    }

    #[test]
    fn the_first_token_is_stored_only_if_its_file_was_written() {
        let folder = folder("first");
        let tokens = Tokens::in_folder(&folder);
        assert!(tokens.ensure_first(&folder.join("none/token")).is_err());
        assert!(tokens.ensure_first(&folder.join(TOKEN_FILE)).unwrap());
        let token = fs::read_to_string(folder.join(TOKEN_FILE)).unwrap();
        assert!(tokens.caller(token.trim()).is_some());
    }

    #[test]
    fn concurrent_additions_and_removals_of_tokens_all_take_effect() {
        let folder = folder("at-once");
        let tokens = Tokens::in_folder(&folder);
        for n in 0..8 {
            tokens.add(&format!("old{n}"), TokenRole::Admin).unwrap();
        }
        std::thread::scope(|scope| {
            for n in 0..8 {
                let folder = &folder;
                scope.spawn(move || Tokens::in_folder(folder).remove(&format!("old{n}")).unwrap());
                scope.spawn(move || Tokens::in_folder(folder).add(&format!("new{n}"), TokenRole::Viewer).unwrap());
            }
        });
        let names: Vec<String> = tokens.list().unwrap().into_iter().map(|entry| entry.name).collect();
        assert_eq!(names, (0..8).map(|n| format!("new{n}")).collect::<Vec<_>>());
    }

    #[test]
    fn removing_a_token_revokes_access_of_connected_clients() {
        let tokens = Tokens::in_folder(&folder("still"));
        let caller = tokens.caller(tokens.add("anna", TokenRole::Operator).unwrap().expose()).unwrap();
        assert!(tokens.still_permits(&caller));
        tokens.remove("anna").unwrap();
        tokens.add("anna", TokenRole::Operator).unwrap();
        assert!(!tokens.still_permits(&caller), "another token of the same name");
    }

    #[test]
    fn a_role_includes_the_rights_of_lower_roles() {
        assert!(TokenRole::Admin > TokenRole::Operator && TokenRole::Operator > TokenRole::Viewer);
    }
}
