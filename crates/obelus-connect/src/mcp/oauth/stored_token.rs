//! Stored tokens: one file for each agent and server, readable only by its owner.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use obelus_runtime::Secret;
use obelus_runtime::text::hex;
use reqwest::Url;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::client::{ClientAuth, IssuedTokens, OauthClient};

/// A token that expires within this many seconds is no longer sent.
const MARGIN: i64 = 30;

/// The largest file.
const MOST_READ: u64 = 256 * 1024;

/// The tokens for one server.
#[derive(Clone, Debug)]
pub(super) struct StoredToken {
    /// The server's address. Tokens are sent only there.
    pub(super) server: Url,
    /// The resource that the tokens are for, as the server writes it.
    pub(super) resource: String,
    pub(super) issuer: String,
    /// The address for renewals.
    pub(super) token_at: Url,
    pub(super) client: OauthClient,
    /// None if it was refused.
    pub(super) access: Option<Secret>,
    pub(super) refresh: Option<Secret>,
    /// When it expires, in seconds since 1970.
    pub(super) until: Option<i64>,
    /// The requested scopes.
    pub(super) scopes: Vec<String>,
    /// Scopes found missing since.
    pub(super) wanted: Vec<String>,
}

impl StoredToken {
    /// The token, unless it has expired.
    pub(super) fn fresh(&self, now: i64) -> Option<Secret> {
        let is_fresh = self.until.is_none_or(|until| now + MARGIN < until);
        self.access.clone().filter(|_| is_fresh)
    }

    /// Stores new tokens. A refresh token that is not replaced stays valid.
    pub(super) fn renew(&mut self, tokens: IssuedTokens, now: i64) {
        self.until = tokens.lasts.map(|lasts| now.saturating_add(i64::try_from(lasts).unwrap_or(i64::MAX)));
        self.access = Some(tokens.access);
        self.refresh = tokens.refresh.or(self.refresh.take());
    }

    /// The stored tokens for this server, if they are usable.
    pub(super) fn load(file: &Path, server: &Url) -> Option<Self> {
        let meta = fs::metadata(file).ok().filter(|meta| meta.len() <= MOST_READ)?;
        let value: Value =
            meta.is_file().then(|| fs::read(file).ok())?.and_then(|b| serde_json::from_slice(&b).ok())?;
        let text = |name: &str| value[name].as_str().map(str::to_owned);
        let secret = |name: &str| value[name].as_str().map(Secret::new);
        let texts = |name: &str| {
            let list = value[name].as_array().into_iter().flatten();
            list.filter_map(|item| Some(item.as_str()?.to_owned())).collect()
        };
        let stored = Self {
            server: text("server")?.parse().ok()?,
            resource: text("resource")?,
            issuer: text("issuer")?,
            token_at: text("token_at")?.parse().ok()?,
            client: OauthClient {
                id: text("client_id")?,
                secret: secret("client_secret"),
                method: ClientAuth::named(value["method"].as_str()?)?,
            },
            access: secret("access"),
            refresh: secret("refresh"),
            until: value["until"].as_i64(),
            scopes: texts("scopes"),
            wanted: texts("wanted"),
        };
        Some(stored).filter(|stored| stored.server == *server)
    }

    /// Writes the file atomically.
    pub(super) fn save(&self, file: &Path) -> io::Result<()> {
        let bare = |secret: &Option<Secret>| secret.as_ref().map(|secret| secret.expose().to_owned());
        let value = json!({
            "server": self.server.as_str(),
            "resource": self.resource,
            "issuer": self.issuer,
            "token_at": self.token_at.as_str(),
            "client_id": self.client.id,
            "client_secret": bare(&self.client.secret),
            "method": self.client.method.name(),
            "access": bare(&self.access),
            "refresh": bare(&self.refresh),
            "until": self.until,
            "scopes": self.scopes,
            "wanted": self.wanted,
        });
        let folder = file.parent().unwrap_or(Path::new("."));
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let fresh = file.with_extension(format!("{}.new", std::process::id()));
        let _ = fs::remove_file(&fresh);
        let mut open = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
        let written = open.write_all(value.to_string().as_bytes()).and_then(|()| open.sync_all());
        written.and_then(|()| fs::rename(&fresh, file)).inspect_err(|_| _ = fs::remove_file(&fresh))
    }
}

/// The file for an agent and the address of a server.
pub(super) fn file_of(folder: &Path, agent: &str, server: &Url) -> PathBuf {
    let digest = Sha256::digest(format!("{agent}\n{server}"));
    folder.join("tokens").join(format!("{}.json", hex(&digest[..16])))
}
