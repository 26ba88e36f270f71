//! The section `mcp` of an agent's file, and its errors.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use obelus_kernel::text::glob_matches;
use obelus_kernel::{Tool, type_name};
use obelus_runtime::Secret;
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderName};
use serde_json::{Map, Value, json};
use tokio::process::Command;

use super::oauth::{Auth, AuthConfig};
use super::words::TextWithSecrets;
use crate::activity::secret_name::looks_secret;
use crate::activity::{BindingError, BindingFields, DeclaredNames};

/// The fields of a server.
const KNOWN: [&str; 13] = [
    "command", "url", "headers", "auth", "env", "cwd", "timeout", "start", "protocol", "offer", "refuse", "tools",
    "most",
];

/// The default time limit of a server's start.
const START: Duration = Duration::from_secs(30);

/// The default number of characters kept of a result.
const MOST: usize = 200_000;

/// Names become part of tool names.
const LONGEST_NAME: usize = 32;

/// Headers that belong to the protocol.
const RESERVED: [&str; 6] =
    ["accept", "content-type", "host", "mcp-session-id", "mcp-protocol-version", "last-event-id"];

/// The eras of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProtocolEra {
    /// With a handshake: 2025-11-25 and before.
    Handshake,
    /// Without one: 2026-07-28.
    Stateless,
}

/// A server's configuration.
#[derive(Debug)]
pub(super) struct Spec {
    pub(super) name: String,
    pub(super) reach: TransportSpec,
    /// Time limit of a call.
    pub(super) limit: Duration,
    /// Time limit of the start.
    pub(super) start: Duration,
    /// None if it is probed.
    pub(super) era: Option<ProtocolEra>,
    /// The number of characters kept of a result.
    pub(super) most: usize,
    offer: Vec<String>,
    refuse: Vec<String>,
    annotations: BTreeMap<String, Map<String, Value>>,
}

/// How it is reached.
#[derive(Debug)]
pub(super) enum TransportSpec {
    Stdio(ServerProgram),
    Http {
        url: Url,
        headers: Vec<(HeaderName, TextWithSecrets)>,
        /// None if the author provides a token.
        auth: Option<Arc<Auth>>,
    },
}

/// The program of a server.
#[derive(Debug)]
pub(super) struct ServerProgram {
    /// An absolute path, or a name that is looked up in `PATH`.
    pub(super) path: PathBuf,
    args: Vec<String>,
    pub(super) cwd: PathBuf,
    /// Variables to pass on although they may be secrets.
    passed: Vec<String>,
    set: Vec<(String, TextWithSecrets)>,
    /// The secrets of its agent.
    declared: DeclaredNames,
}

impl Spec {
    pub(super) fn parse(name: &str, spec: &Value, base: &Path, declared: &DeclaredNames) -> Result<Self, BindingError> {
        let binding = format!("mcp.{name}");
        let whole = |problem: String| BindingError { binding: binding.clone(), field: String::new(), problem };
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if name.is_empty() || name.len() > LONGEST_NAME || !name.bytes().all(is_plain) {
            return Err(whole(format!("a name has 1 to {LONGEST_NAME} of the characters A-Z a-z 0-9 _ -")));
        }
        let Value::Object(map) = spec else {
            return Err(whole(format!(
                "a server is an object such as {{\"command\": [\"program\"]}}, not {}",
                type_name(spec)
            )));
        };
        let fields = BindingFields::of(&binding, map, &KNOWN)?;
        let reach = match (fields.get("command"), fields.get("url")) {
            (Some(_), Some(_)) => {
                return Err(whole("`command` and `url` exclude each other: keep the one to use".to_owned()));
            }
            (None, None) => {
                return Err(whole("it says no way to reach it: give `command` or `url`".to_owned()));
            }
            (Some(_), None) => {
                absent(&fields, "headers", "url")?;
                absent(&fields, "auth", "url")?;
                TransportSpec::Stdio(ServerProgram::parse(&fields, base, declared)?)
            }
            (None, Some(_)) => TransportSpec::by_http(name, &fields)?,
        };
        let era = match fields.text("protocol")? {
            None | Some("auto") => None,
            Some("2025-11-25") => Some(ProtocolEra::Handshake),
            Some("2026-07-28") => Some(ProtocolEra::Stateless),
            Some(_) => return Err(fields.wrong("protocol", "it is one of auto, 2025-11-25, 2026-07-28")),
        };
        let most = match fields.get("most") {
            None => MOST,
            Some(given) => {
                let most = given.as_u64().filter(|most| *most > 0).and_then(|most| usize::try_from(most).ok());
                most.ok_or_else(|| fields.mistyped("most", "a number of characters above 0", Some(given)))?
            }
        };
        Ok(Self {
            name: name.to_owned(),
            reach,
            limit: fields.time_limit()?,
            start: fields.seconds("start", START)?,
            era,
            most,
            offer: if fields.get("offer").is_some() { fields.texts("offer")? } else { vec!["*".to_owned()] },
            refuse: fields.texts("refuse")?,
            annotations: annotations_of(&fields)?,
        })
    }

    /// Whether a tool is offered to the agent.
    pub(super) fn offers(&self, tool: &str) -> bool {
        self.offer.iter().any(|glob| glob_matches(glob, tool)) && !self.refuses(tool)
    }

    /// Whether a tool is never called.
    pub(super) fn refuses(&self, tool: &str) -> bool {
        self.refuse.iter().any(|glob| glob_matches(glob, tool))
    }

    /// The annotations that the author gives a tool.
    pub(super) fn annotations(&self, tool: &str) -> Option<&Map<String, Value>> {
        self.annotations.get(tool)
    }

    /// The tools that the author names without a `*`.
    pub(super) fn named(&self) -> impl Iterator<Item = &String> {
        self.offer.iter().filter(|glob| !glob.contains('*')).chain(self.annotations.keys())
    }
}

impl Spec {
    /// The authorization, if the server uses tokens.
    pub(super) fn auth(&self) -> Option<&Arc<Auth>> {
        match &self.reach {
            TransportSpec::Http { auth, .. } => auth.as_ref(),
            TransportSpec::Stdio(_) => None,
        }
    }
}

impl TransportSpec {
    fn by_http(name: &str, fields: &BindingFields<'_>) -> Result<Self, BindingError> {
        absent(fields, "env", "command")?;
        absent(fields, "cwd", "command")?;
        let (url, headers, config) = (url_of(fields)?, headers_of(fields)?, AuthConfig::parse(fields)?);
        let by_hand = headers.iter().any(|(name, _)| *name == AUTHORIZATION);
        if by_hand && fields.get("auth").is_some() {
            return Err(fields.wrong("auth", "`headers` has a token in `Authorization`: keep the one to use"));
        }
        let auth = (!by_hand).then(|| Arc::new(Auth::new(name, url.clone(), config)));
        Ok(Self::Http { url, headers, auth })
    }
}

impl ServerProgram {
    fn parse(fields: &BindingFields<'_>, base: &Path, declared: &DeclaredNames) -> Result<Self, BindingError> {
        let words = fields.texts("command")?;
        let Some((name, args)) = words.split_first().filter(|(name, _)| !name.is_empty()) else {
            return Err(fields.mistyped("command", "a list that begins with a program", fields.get("command")));
        };
        if words.iter().any(|word| word.contains('\0')) {
            return Err(fields.wrong("command", "no program or argument can hold a zero byte"));
        }
        let base = std::path::absolute(if base.as_os_str().is_empty() { Path::new(".") } else { base })
            .map_err(|error| fields.wrong("command", format!("{}: {error}", base.display())))?;
        let path = if name.contains('/') { base.join(name) } else { PathBuf::from(name) };
        let cwd = fields.text("cwd")?.map_or_else(|| base.clone(), |cwd| base.join(cwd));
        let (mut passed, mut set) = (Vec::new(), Vec::new());
        match fields.get("env") {
            Some(Value::Object(variables)) => {
                for (name, value) in variables {
                    let field = format!("env.{name}");
                    match value {
                        Value::Bool(true) => passed.push(name.clone()),
                        Value::String(text) if text.contains('\0') => {
                            return Err(fields.wrong(&field, "no variable can hold a zero byte"));
                        }
                        Value::String(text) => {
                            let words =
                                TextWithSecrets::parse(text).map_err(|problem| fields.wrong(&field, problem))?;
                            set.push((name.clone(), words));
                        }
                        other => return Err(fields.mistyped(&field, "a text, or true to pass it on", Some(other))),
                    }
                }
            }
            None | Some(Value::Array(_)) => passed = fields.texts("env")?,
            other => return Err(fields.mistyped("env", "an object of texts, or a list of names to pass on", other)),
        }
        let bad = |name: &&String| name.is_empty() || name.contains(['=', '\0']);
        if let Some(name) = passed.iter().chain(set.iter().map(|(name, _)| name)).find(bad) {
            return Err(fields.wrong("env", format!("`{name}` cannot be the name of a variable")));
        }
        // Registers the value for masking.
        for name in passed.iter().filter(|name| looks_secret(name)) {
            drop(Secret::from_env(name));
        }
        Ok(Self { path, args: args.to_vec(), cwd, passed, set, declared: declared.clone() })
    }

    /// The command with its environment: inherited, except secrets that are not named. The error is the name of a
    /// missing secret.
    pub(super) fn command(&self) -> Result<Command, String> {
        let mut command = Command::new(&self.path);
        command.args(&self.args).current_dir(&self.cwd);
        self.declared.withhold(&mut command, &self.passed);
        for (name, words) in &self.set {
            command.env(name, words.filled()?.expose());
        }
        Ok(command)
    }
}

fn absent(fields: &BindingFields<'_>, field: &str, goes_with: &str) -> Result<(), BindingError> {
    match fields.get(field) {
        None => Ok(()),
        Some(_) => Err(fields.wrong(field, format!("it goes with `{goes_with}` only"))),
    }
}

/// The address of a server. Secrets belong in headers, not in addresses.
fn url_of(fields: &BindingFields<'_>) -> Result<Url, BindingError> {
    let text = fields.text("url")?.unwrap_or_default();
    let url = Url::parse(text).map_err(|error| fields.wrong("url", format!("it is no URL: {error}")))?;
    if !["http", "https"].contains(&url.scheme()) || url.host_str().is_none_or(str::is_empty) {
        return Err(fields.wrong("url", "it must be http://… or https://…"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(fields.wrong("url", "it has a name or a password before the host; use `headers`"));
    }
    Ok(url)
}

fn headers_of(fields: &BindingFields<'_>) -> Result<Vec<(HeaderName, TextWithSecrets)>, BindingError> {
    let map = match fields.get("headers") {
        None => return Ok(Vec::new()),
        Some(Value::Object(map)) => map,
        other => return Err(fields.mistyped("headers", "an object of texts", other)),
    };
    let mut headers = Vec::new();
    for (name, value) in map {
        let field = format!("headers.{name}");
        let Value::String(text) = value else { return Err(fields.mistyped(&field, "a text", Some(value))) };
        let header: HeaderName =
            name.parse().map_err(|_| fields.wrong(&field, "this cannot be the name of a header"))?;
        if RESERVED.contains(&header.as_str()) {
            return Err(fields.wrong(&field, "this header belongs to the protocol; leave it off"));
        }
        headers.push((header, TextWithSecrets::parse(text).map_err(|problem| fields.wrong(&field, problem))?));
    }
    Ok(headers)
}

/// Annotations of tools: keys that begin with `x-`, what the session does with results, and the author's texts.
fn annotations_of(fields: &BindingFields<'_>) -> Result<BTreeMap<String, Map<String, Value>>, BindingError> {
    let map = match fields.get("tools") {
        None => return Ok(BTreeMap::new()),
        Some(Value::Object(map)) => map,
        other => return Err(fields.mistyped("tools", "an object of annotations by the name of the tool", other)),
    };
    let mut all = BTreeMap::new();
    for (tool, annotations) in map {
        let field = format!("tools.{tool}");
        let Value::Object(annotations) = annotations else {
            return Err(fields.mistyped(&field, "an object such as {\"x-effect\": \"read\"}", Some(annotations)));
        };
        let theirs = ["_output", "_outputPath", "_outputMethod", "_scopes", "description"];
        if let Some(stray) = annotations.keys().find(|key| !key.starts_with("x-") && !theirs.contains(&key.as_str())) {
            let problem =
                format!("`{stray}` is nothing to say here: give {} or what begins with x-", theirs.join(", "));
            return Err(fields.wrong(&field, problem));
        }
        let alone = json!(annotations);
        Tool::parse(tool, &alone).map_err(|fault| fields.wrong(&field, fault.to_string()))?;
        all.insert(tool.clone(), annotations.clone());
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(spec: Value) -> Result<Spec, BindingError> {
        Spec::parse("s", &spec, Path::new("/base"), &DeclaredNames::default())
    }

    #[test]
    fn an_invalid_server_entry_is_reported_with_its_place() {
        for (spec, words) in [
            (json!([]), "a server is an object"),
            (json!({}), "give `command` or `url`"),
            (json!({"command": ["a"], "url": "http://h/"}), "exclude each other"),
            (json!({"command": []}), "field `command`"),
            (json!({"command": ["a\0"]}), "zero byte"),
            (json!({"command": ["a"], "headers": {}}), "field `headers`: it goes with `url` only"),
            (json!({"url": "http://h/", "env": {}}), "field `env`: it goes with `command` only"),
            (json!({"url": "ftp://h/"}), "field `url`: it must be"),
            (json!({"url": "http://u:p@h/"}), "before the host"),
            (json!({"url": "http://h/", "headers": {"Accept": "x"}}), "belongs to the protocol"),
            (json!({"url": "http://h/", "headers": {"X": "$"}}), "field `headers.X`: after a `$`"),
            (json!({"command": ["a"], "auth": {}}), "field `auth`: it goes with `url` only"),
            (json!({"url": "http://h/", "auth": 5}), "field `auth`: it must be"),
            (json!({"url": "http://h/", "auth": {"scope": []}}), "field `auth.scope`: unknown; did you mean `scopes`?"),
            (json!({"url": "http://h/", "auth": {"scopes": ["a b"]}}), "field `auth.scopes`: `a b` cannot be"),
            (json!({"url": "http://h/", "auth": {"grant": "x"}}), "field `auth.grant`"),
            (
                json!({"url": "http://h/", "auth": {"grant": "client_credentials"}}),
                "field `auth.grant`: `client_credentials` needs",
            ),
            (json!({"url": "http://h/", "auth": {"client_id": "a", "client_secret": "b"}}), "stands in no file"),
            (json!({"url": "http://h/", "auth": {"client_secret": "$B"}}), "field `auth.client_id`"),
            (json!({"url": "http://h/", "auth": {}, "headers": {"authorization": "x"}}), "keep the one to use"),
            (json!({"command": ["a"], "timeout": 0}), "field `timeout`"),
            (json!({"command": ["a"], "start": "x"}), "field `start`"),
            (json!({"command": ["a"], "protocol": "2024"}), "field `protocol`: it is one of"),
            (json!({"command": ["a"], "most": 0}), "field `most`"),
            (json!({"command": ["a"], "offer": "x"}), "field `offer`"),
            (json!({"command": ["a"], "tools": {"t": {"x-effect": "boom"}}}), "field `tools.t`"),
            (json!({"command": ["a"], "tools": {"t": {"properties": {}}}}), "nothing to say here"),
            (json!({"command": ["a"], "env": {"A=B": "x"}}), "`A=B` cannot be"),
        ] {
            let error = parse(spec.clone()).unwrap_err().to_string();
            assert!(error.starts_with("MCP server `s`") && error.contains(words), "{spec}: {error}");
        }
        assert!(Spec::parse("a.b", &json!({"command": ["a"]}), Path::new("."), &DeclaredNames::default()).is_err());
    }

    #[test]
    fn by_default_all_tools_are_offered_and_none_is_refused() {
        let spec = parse(json!({"command": ["./a", "b"]})).unwrap();
        assert!(spec.offers("x") && !spec.refuses("x"));
        let TransportSpec::Stdio(program) = &spec.reach else { panic!("{spec:?}") };
        assert_eq!((program.path.as_path(), program.cwd.as_path()), (Path::new("/base/./a"), Path::new("/base")));
        let spec = parse(json!({"command": ["a"], "offer": ["get_*"], "refuse": ["*_unsafe"]})).unwrap();
        assert!(spec.offers("get_x") && !spec.offers("put_x") && !spec.offers("get_x_unsafe"));
        assert!(parse(json!({"command": ["a"], "offer": []})).is_ok_and(|spec| !spec.offers("x")));
    }
}
