//! The field `auth` of a server in an agent's file.

use obelus_runtime::Secret;

use super::challenge::is_scope;
use crate::activity::{BindingError, BindingFields};

const KNOWN: [&str; 6] = ["scopes", "client_id", "client_secret", "private_key", "grant", "issuer"];

/// How a token is obtained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Grant {
    /// A person logs in.
    #[default]
    Code,
    /// The agent has its own account.
    Credentials,
}

/// The author's configuration. The rest comes from the server's metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::mcp) struct AuthConfig {
    pub(super) scopes: Vec<String>,
    pub(super) client_id: Option<String>,
    /// The name of an environment variable.
    secret: Option<String>,
    /// The name of an environment variable.
    key: Option<String>,
    pub(super) grant: Grant,
    pub(super) issuer: Option<String>,
}

impl AuthConfig {
    pub(in crate::mcp) fn parse(fields: &BindingFields<'_>) -> Result<Self, BindingError> {
        if fields.get("auth").is_none() {
            return Ok(Self::default());
        }
        let fields = fields.inner("auth", "auth.", &KNOWN)?;
        let scopes = fields.texts("scopes")?;
        if let Some(wrong) = scopes.iter().find(|scope| !is_scope(scope)) {
            return Err(fields.wrong("scopes", format!("`{wrong}` cannot be a scope: it has a blank or is empty")));
        }
        let named = |field: &str| {
            let Some(text) = fields.text(field)? else { return Ok(None) };
            let problem = "a secret stands in no file: give the name of a variable of the environment, such as $SECRET";
            let name = variable(text).ok_or_else(|| fields.wrong(field, problem))?;
            Ok(Some(name))
        };
        let (secret, key) = (named("client_secret")?, named("private_key")?);
        let grant = match fields.text("grant")? {
            None | Some("code") => Grant::Code,
            Some("client_credentials") => Grant::Credentials,
            Some(_) => return Err(fields.wrong("grant", "it is one of code, client_credentials")),
        };
        let client_id = fields.text("client_id")?.map(str::to_owned);
        if secret.is_some() && client_id.is_none() {
            return Err(fields.wrong("client_id", "it goes with `client_secret`: whose secret is it?"));
        }
        if key.is_some() && (secret.is_some() || grant == Grant::Code) {
            let problem = "it goes with `grant: client_credentials`, in place of `client_secret`";
            return Err(fields.wrong("private_key", problem));
        }
        if grant == Grant::Credentials && (client_id.is_none() || (secret.is_none() && key.is_none())) {
            let problem = "`client_credentials` needs `client_id`, and `client_secret` or `private_key`";
            return Err(fields.wrong("grant", problem));
        }
        let issuer = fields.text("issuer")?.map(str::to_owned);
        Ok(Self { scopes, client_id, secret, key, grant, issuer })
    }

    /// The client's secret, if there is one. The error names a variable that is not set.
    pub(super) fn secret(&self) -> Result<Option<Secret>, String> {
        self.secret.as_deref().map(from_env).transpose()
    }

    /// The signing key, if there is one.
    pub(super) fn key(&self) -> Result<Option<Secret>, String> {
        self.key.as_deref().map(from_env).transpose()
    }

    /// Whether the client id is the address of its description.
    pub(super) fn id_is_address(&self) -> bool {
        self.secret.is_none() && self.client_id.as_ref().is_some_and(|id| id.starts_with("https://"))
    }
}

fn from_env(name: &str) -> Result<Secret, String> {
    Secret::from_env(name).ok_or_else(|| format!("the environment has no `{name}`; set it"))
}

/// The name after a `$`.
fn variable(text: &str) -> Option<String> {
    let name = text.strip_prefix('$')?;
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let begins = name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
    (begins && name.chars().all(is_name)).then(|| name.to_owned())
}
