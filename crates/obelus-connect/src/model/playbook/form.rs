//! The syntax of a playbook. `docs/playbook.schema.json` describes the same for editors.

use std::fmt;
use std::path::Path;

use obelus_runtime::files::said_by_yaml;
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde_json::{Map, Value};
use serde_saphyr::Spanned;

use super::PlaybookError;

/// The whole file: a list of rules, or an object with them.
#[derive(Debug)]
pub(super) struct PlaybookFile {
    pub(super) find: Option<Spanned<Map<String, Value>>>,
    pub(super) rules: Vec<Spanned<RuleForm>>,
    pub(super) otherwise: Option<Spanned<ReplyForm>>,
}

/// The file as an object.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileForm {
    #[serde(default)]
    find: Option<Spanned<Map<String, Value>>>,
    rules: Vec<Spanned<RuleForm>>,
    otherwise: Option<Spanned<ReplyForm>>,
}

/// One rule: its conditions and its answer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleForm {
    pub(super) name: Option<String>,
    pub(super) user: Option<Spanned<String>>,
    pub(super) find: Option<Spanned<Map<String, Value>>>,
    pub(super) when: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) once: bool,
    answer: Option<Spanned<AnswerForm>>,
    calls_from: Option<Spanned<String>>,
    raw: Option<Spanned<String>>,
    output: Option<Spanned<Value>>,
    fail: Option<Spanned<FailForm>>,
}

/// The answer of a rule.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReplyForm {
    pub(super) answer: Option<Spanned<AnswerForm>>,
    pub(super) calls_from: Option<Spanned<String>>,
    pub(super) raw: Option<Spanned<String>>,
    pub(super) output: Option<Spanned<Value>>,
    pub(super) fail: Option<Spanned<FailForm>>,
}

/// A solution with templates in it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerForm {
    pub(super) say: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) calls: Vec<Spanned<Value>>,
    pub(super) output: Option<Spanned<Value>>,
}

/// A failure of the model.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FailForm {
    pub(super) code: String,
    pub(super) message: Spanned<String>,
}

impl RuleForm {
    /// The answer without the conditions.
    pub(super) fn into_reply(self) -> ReplyForm {
        let Self { answer, calls_from, raw, output, fail, .. } = self;
        ReplyForm { answer, calls_from, raw, output, fail }
    }
}

impl PlaybookFile {
    /// Reads a file in YAML, which includes JSON.
    pub(super) fn read(path: &Path, text: &str) -> Result<Self, PlaybookError> {
        let is_empty = text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'));
        if is_empty {
            let message = "it is empty; a list of rules, or an object with `rules`, is expected".to_owned();
            return Err(PlaybookError::Syntax { path: path.to_owned(), at: None, message });
        }
        serde_saphyr::from_str(text).map_err(|error| {
            let (at, message) = said_by_yaml(&error, text);
            PlaybookError::Syntax { path: path.to_owned(), at, message }
        })
    }
}

impl<'de> Deserialize<'de> for PlaybookFile {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> serde::de::Visitor<'de> for Either {
            type Value = PlaybookFile;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of rules, or an object with `rules`")
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, list: A) -> Result<PlaybookFile, A::Error> {
                let rules = Deserialize::deserialize(SeqAccessDeserializer::new(list))?;
                Ok(PlaybookFile { find: None, rules, otherwise: None })
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, object: A) -> Result<PlaybookFile, A::Error> {
                let FileForm { find, rules, otherwise } = Deserialize::deserialize(MapAccessDeserializer::new(object))?;
                Ok(PlaybookFile { find, rules, otherwise })
            }
        }
        deserializer.deserialize_any(Either)
    }
}
