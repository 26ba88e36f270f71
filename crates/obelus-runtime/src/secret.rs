//! Secrets: texts that can be used but not shown.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use obelus_kernel::session::Input;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Replaces a secret.
pub const MASKED: &str = "***";

/// All registered secrets, and the parts of them that are secrets themselves; longest first, because one may begin
/// with another.
static KNOWN: RwLock<Vec<Arc<str>>> = RwLock::new(Vec::new());

/// Shorter texts are not masked, because they would match ordinary words.
const SHORTEST: usize = 4;

/// Shorter secrets are masked only in errors and logs: in results they would match ordinary words.
const SHORTEST_IN_RESULTS: usize = 8;

/// Shorter parts of a URL are not secret: path names, user ids.
const SHORTEST_PART: usize = 10;

/// The characters that are escaped in URLs: all except letters, digits and `-._~`.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Secrets provided by this process itself.
static PROVIDED: Mutex<BTreeMap<String, Secret>> = Mutex::new(BTreeMap::new());

/// The names of declared secrets that are too short to be masked in results, and whether each was reported.
static SHORT: Mutex<BTreeMap<String, bool>> = Mutex::new(BTreeMap::new());

/// A text that cannot be printed with `{}` or `{:?}`, nor serialised. [`Secret::expose`] returns it, and is easy to
/// search for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Registers a text as a secret. From now on it is masked.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        remember(&text);
        Self(text)
    }

    /// Provides a secret under a variable's name, for this process only and before the environment, so that a
    /// built-in service such as the sandbox needs no variable.
    pub fn provide(name: impl Into<String>, secret: Secret) {
        PROVIDED.lock().unwrap_or_else(PoisonError::into_inner).insert(name.into(), secret);
    }

    /// The secret in an environment variable, if it is set and not empty.
    pub fn from_env(name: &str) -> Option<Self> {
        let provided = PROVIDED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(secret) = provided.get(name) {
            return Some(secret.clone());
        }
        std::env::var(name).ok().filter(|value| !value.trim().is_empty()).map(Self::new)
    }

    /// Declares that an activity uses the secret under this name, so that its results may contain it. A short secret is
    /// noted for [`Secret::take_short`].
    pub fn declare(&self, name: &str) {
        Self::note_if_short(name, &self.0);
    }

    /// Like [`Secret::declare`], for the text of a secret that is not registered yet.
    pub fn note_if_short(name: &str, text: &str) {
        if text.trim().len() < SHORTEST_IN_RESULTS {
            SHORT.lock().unwrap_or_else(PoisonError::into_inner).entry(name.to_owned()).or_default();
        }
    }

    /// The names of declared secrets that are too short to be masked in results; each is returned once.
    pub fn take_short() -> Vec<String> {
        let mut short = SHORT.lock().unwrap_or_else(PoisonError::into_inner);
        let new = short.iter_mut().filter(|(_, is_reported)| !**is_reported);
        new.map(|(name, is_reported)| {
            *is_reported = true;
            name.clone()
        })
        .collect()
    }

    /// The text itself, for sending.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

fn remember(text: &str) {
    let whole = text.trim().trim_end_matches('/');
    // A token in the path of a URL is secret without the URL too.
    let path = whole.split_once("://").and_then(|(_, rest)| rest.split_once('/')).map_or("", |(_, path)| path);
    let parts = path.split(['/', '?', '&', '=']).filter(|part| part.len() >= SHORTEST_PART);
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    let secrets = std::iter::once(whole).filter(|whole| whole.len() >= SHORTEST).chain(parts);
    for secret in secrets.flat_map(forms) {
        if !known.iter().any(|other| **other == *secret) {
            let at = known.partition_point(|other| other.len() >= secret.len());
            known.insert(at, secret.into());
        }
    }
}

/// The forms in which services repeat a text: unchanged, in JSON with `\/`, percent-encoded, escaped for HTML, and as part
/// of a text in base64.
fn forms(secret: &str) -> Vec<String> {
    let in_json = secret.replace('/', "\\/");
    let percent: String = utf8_percent_encode(secret, ENCODED).collect();
    // Each piece is one escape such as `%2F`, or characters without `%`.
    let lower = |piece: &str| if piece.starts_with('%') { piece.to_lowercase() } else { piece.to_owned() };
    let percent_lower: String = utf8_percent_encode(secret, ENCODED).map(lower).collect();
    let html = secret.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    let html = html.replace('\'', "&#x27;").replace('/', "&#x2F;");
    let in_base64 = (0..3).flat_map(|before| base64_after(before, secret)).filter(|form| form.len() > SHORTEST);
    [secret.to_owned(), in_json, percent, percent_lower, html].into_iter().chain(in_base64).collect()
}

/// The characters that belong to a text alone in the base64 of a longer one, such as `user:secret`, in both alphabets.
/// The characters depend on the number of bytes before the text.
fn base64_after(before: usize, text: &str) -> [String; 2] {
    let bytes = [&b"..."[..before], text.as_bytes()].concat();
    let own = (before * 8).div_ceil(6)..bytes.len() * 8 / 6;
    [STANDARD_NO_PAD.encode(&bytes)[own.clone()].to_owned(), URL_SAFE_NO_PAD.encode(&bytes)[own].to_owned()]
}

fn known() -> RwLockReadGuard<'static, Vec<Arc<str>>> {
    KNOWN.read().unwrap_or_else(PoisonError::into_inner)
}

/// The secrets that are also masked in results.
fn long(known: &[Arc<str>]) -> &[Arc<str>] {
    &known[..known.partition_point(|secret| secret.len() >= SHORTEST_IN_RESULTS)]
}

/// Masks all secrets of this process in a text.
pub fn without_secrets(text: &str) -> Cow<'_, str> {
    without(text, &known())
}

/// Masks the secrets of this process in a text, as in results.
pub(crate) fn mask_text(text: &str) -> String {
    without(text, long(&known())).into_owned()
}

/// Takes from the beginning of a streamed text what can be shown of it, with secrets masked as in results. What may be
/// the beginning of a secret stays.
pub(crate) fn take_shown(streamed: &mut String) -> String {
    let known = known();
    let secrets = long(&known);
    let longest = secrets.first().map_or(0, |secret| secret.len());
    let may_begin_one = |end: &str| secrets.iter().any(|secret| secret.len() > end.len() && secret.starts_with(end));
    let ends = streamed.char_indices().map(|(at, _)| at).skip_while(|at| streamed.len() - at > longest);
    let mut at = ends.into_iter().find(|at| may_begin_one(&streamed[*at..])).unwrap_or(streamed.len());
    // Half of a secret would not be recognised.
    let places = |secret: &Arc<str>| {
        let length = secret.len();
        streamed.match_indices(&**secret).map(move |(from, _)| (from, from + length)).collect::<Vec<_>>()
    };
    let places: Vec<(usize, usize)> = secrets.iter().flat_map(places).collect();
    while let Some((from, _)) = places.iter().find(|(from, to)| (from + 1..*to).contains(&at)) {
        at = *from;
    }
    let rest = streamed.split_off(at);
    without(&std::mem::replace(streamed, rest), secrets).into_owned()
}

fn without<'a>(text: &'a str, secrets: &[Arc<str>]) -> Cow<'a, str> {
    let mut clean = Cow::Borrowed(text);
    for secret in secrets {
        if clean.contains(&**secret) {
            clean = Cow::Owned(clean.replace(&**secret, MASKED));
        }
    }
    clean
}

/// Masks the secrets of this process in bytes from a service, before they are cut: half a secret would not be
/// recognised.
pub fn mask_bytes(bytes: &mut Vec<u8>) {
    for secret in long(&known()) {
        let find = |from: &[u8]| from.windows(secret.len()).position(|part| part == secret.as_bytes());
        let mut rest = bytes.as_slice();
        let mut masked = Vec::new();
        while let Some(at) = find(rest) {
            masked.extend_from_slice(&rest[..at]);
            masked.extend_from_slice(MASKED.as_bytes());
            rest = &rest[at + secret.len()..];
        }
        if !masked.is_empty() {
            masked.extend_from_slice(rest);
            *bytes = masked;
        }
    }
}

/// Masks the secrets of this process in JSON from a service, including field names.
pub fn mask_value(value: &mut Value) {
    let known = known();
    let secrets = long(&known);
    if !secrets.is_empty() {
        mask_with(secrets, value);
    }
}

/// Masks the secrets of this process in an input of a person or a model: neither the journal nor a prompt may have them
/// (DUR-8).
pub(crate) fn without_secrets_of(input: Input) -> Input {
    match input {
        Input::User { mut text, by } => {
            if let Cow::Owned(clean) = without(&text, long(&known())) {
                text = clean;
            }
            Input::User { text, by }
        }
        Input::State { mut state, by, is_whole } => {
            mask_value(&mut state);
            Input::State { state, by, is_whole }
        }
        Input::Decide { question, decision, by, digest } => {
            Input::Decide { question, decision: without_secrets_in(decision), by, digest }
        }
        Input::Answer { id, answer } => Input::Answer { id, answer: without_secrets_in(answer) },
        Input::Partial { id, index, mut call } => {
            if !long(&known()).is_empty() {
                mask_value(call.make_mut());
            }
            Input::Partial { id, index, call }
        }
        other => other,
    }
}

fn without_secrets_in<T: Serialize + DeserializeOwned>(whole: T) -> T {
    if long(&known()).is_empty() {
        return whole;
    }
    let Ok(mut form) = serde_json::to_value(&whole) else { return whole };
    mask_value(&mut form);
    serde_json::from_value(form).unwrap_or(whole)
}

fn mask_with(secrets: &[Arc<str>], value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(clean) = without(text, secrets) {
                *text = clean;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| mask_with(secrets, item)),
        Value::Object(fields) => {
            fields.values_mut().for_each(|field| mask_with(secrets, field));
            if fields.keys().any(|name| matches!(without(name, secrets), Cow::Owned(_))) {
                let renamed = std::mem::take(fields).into_iter();
                *fields =
                    renamed.map(|(name, field)| (without(&name, secrets).into_owned(), field)).collect::<Map<_, _>>();
            }
        }
        _ => {}
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASKED)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASKED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_in_pieces_of_a_streamed_text_is_masked() {
        for secret in ["stream-key-4711", "stream-key-4711-long", "zqazqbzqa"] {
            drop(Secret::new(secret));
        }
        for (pieces, whole) in [
            (&["the key is stre", "am-key", "-4711", " indeed"][..], "the key is *** indeed"),
            (&["stream-key-4711-lo", "ng!"], "***!"),
            (&["stream-key-4711-lo"], "***-lo"),
            (&["a zqazqbzqa", " b"], "a *** b"),
            (&["strea", "m of words, s"], "stream of words, s"),
        ] {
            let (mut shown, mut held) = (String::new(), String::new());
            for piece in pieces {
                held.push_str(piece);
                shown.push_str(&take_shown(&mut held));
                assert!(whole.starts_with(&shown), "{shown} of {whole}");
            }
            shown.push_str(&mask_text(&held));
            assert_eq!(shown, whole);
        }
    }

    #[test]
    fn a_secret_cannot_be_printed() {
        let secret = Secret::new("s3cr3t");
        assert_eq!(format!("{secret} {secret:?} {:?}", Some(&secret)), "*** *** Some(***)");
        assert_eq!(secret.expose(), "s3cr3t");
    }

    #[test]
    fn secrets_are_masked_longest_first() {
        let (_short, _long) = (Secret::new("zq81-xk"), Secret::new("zq81-xk-longer"));
        assert_eq!(without_secrets("a zq81-xk-longer b zq81-xk."), "a *** b ***.");
        let _tiny = Secret::new("the");
        assert_eq!(without_secrets("the end"), "the end");
    }

    #[test]
    fn a_secret_is_masked_in_the_forms_in_which_services_repeat_it() {
        let _secret = Secret::new("kq7/ab+cd/ef=");
        let basic = STANDARD_NO_PAD.encode("user:kq7/ab+cd/ef=");
        // Seven characters belong to `user:`, one of them in part.
        assert_eq!(without_secrets(&format!("Basic {basic}")), format!("Basic {}***", &basic[..7]));
        for form in [r"kq7\/ab+cd\/ef=", "kq7%2Fab%2Bcd%2Fef%3D", "kq7%2fab%2bcd%2fef%3d", "kq7&#x2F;ab+cd&#x2F;ef="] {
            assert_eq!(without_secrets(&format!("bad key {form}!")), "bad key ***!");
        }
    }

    #[test]
    fn a_secret_is_masked_in_the_answer_of_a_model() {
        let _secret = Secret::new("mk-0123456789");
        let call = serde_json::json!({"_tool": "note", "text": "seen mk-0123456789"});
        let answer = serde_json::json!({"answer": {"id": "1", "answer": {"solution": {
            "solution": {"say": "your key is mk-0123456789", "calls": [call], "output": null}, "tokens": 1}}}});
        let partial = serde_json::json!({"partial": {"id": "1", "index": 0, "call": call}});
        for input in [answer, partial] {
            let input: Input = serde_json::from_value(input).expect("an input");
            let masked = serde_json::to_string(&without_secrets_of(input)).expect("JSON");
            assert!(!masked.contains("mk-0123456789") && masked.contains("seen ***"), "{masked}");
        }
    }

    #[test]
    fn a_secret_is_masked_anywhere_in_a_result() {
        let _secrets = [Secret::new("mq-abcdefgh"), Secret::new("mq-abcdefghij"), Secret::new("mq-abc")];
        let mut value = serde_json::json!({"a": ["x mq-abcdefghij y", 1], "mq-abcdefgh": "mq-abc"});
        mask_value(&mut value);
        assert_eq!(value, serde_json::json!({"a": ["x *** y", 1], "***": "mq-abc"}));
        for (text, masked) in
            [("mq-abcdefghijmq-abcdefgh-", "******-"), ("-mq-abcdefgh", "-***"), ("mq-abcdefg", "mq-abcdefg"), ("", "")]
        {
            let mut bytes = text.as_bytes().to_vec();
            mask_bytes(&mut bytes);
            assert_eq!(String::from_utf8(bytes).unwrap(), masked, "{text}");
        }
    }
}
