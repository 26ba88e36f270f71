//! A model by its name: `playbook:FILE`, `replay:FILE`, `openai:NAME`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use obelus_kernel::session::{Answer, Prompt};
use obelus_runtime::{AnswerFuture, Model, Unreadable, read_text};

use super::{Playbook, PlaybookError, Replay, ReplayError};

/// Which model is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelSpec {
    /// Rules in a file.
    Playbook(PathBuf),
    /// A recorded conversation.
    Replay(PathBuf),
    /// A model of this name on a server that speaks OpenAI's protocol.
    OpenAi(String),
}

/// Why a text names no model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// It has no kind in front.
    #[error("`{0}` does not say what kind of model it is; write openai:NAME, playbook:FILE or replay:FILE")]
    NoKind(String),
    /// The kind is not known.
    #[error("there is no kind of model `{0}`; there are openai:NAME, playbook:FILE and replay:FILE")]
    UnknownKind(String),
    /// Nothing follows the kind.
    #[error("`{0}:` is not followed by {1}")]
    NoName(&'static str, &'static str),
}

/// Why a model cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Its file cannot be read.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: Unreadable,
    },
    /// Its file is no playbook.
    #[error(transparent)]
    Playbook(#[from] PlaybookError),
    /// Its file is no recording.
    #[error(transparent)]
    Replay(#[from] ReplayError),
}

impl ModelSpec {
    /// Reads the name of a model.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let text = text.trim();
        let (kind, name) = text.split_once(':').ok_or_else(|| SpecError::NoKind(text.to_owned()))?;
        let given = |kind, what| if name.is_empty() { Err(SpecError::NoName(kind, what)) } else { Ok(name) };
        match kind {
            "playbook" => given("playbook", "a file").map(|file| Self::Playbook(file.into())),
            "replay" => given("replay", "a file").map(|file| Self::Replay(file.into())),
            "openai" => given("openai", "a model's name").map(|name| Self::OpenAi(name.to_owned())),
            other => Err(SpecError::UnknownKind(other.to_owned())),
        }
    }
}

impl std::str::FromStr for ModelSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        Self::parse(text)
    }
}

impl fmt::Display for ModelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Playbook(file) => write!(f, "playbook:{}", file.display()),
            Self::Replay(file) => write!(f, "replay:{}", file.display()),
            Self::OpenAi(name) => write!(f, "openai:{name}"),
        }
    }
}

/// Opens a model. Files are looked for below `base`: the folder of whatever named the model.
pub fn open(spec: &ModelSpec, base: &Path) -> Result<Arc<dyn Model>, OpenError> {
    let read = |file: &Path| {
        let path = base.join(file);
        match read_text(&path) {
            Ok(text) => Ok((path, text)),
            Err(error) => Err(OpenError::Io { path, error }),
        }
    };
    match spec {
        ModelSpec::Playbook(file) => {
            let (path, text) = read(file)?;
            Ok(Arc::new(Playbook::parse(&path, &text)?))
        }
        ModelSpec::Replay(file) => {
            let (path, text) = read(file)?;
            Ok(Arc::new(Replay::parse(&path, &text)?))
        }
        ModelSpec::OpenAi(_) => Ok(Arc::new(NotYet)),
    }
}

/// A model over the network, for which there is no client here yet.
struct NotYet;

impl Model for NotYet {
    fn ask(&self, _: Prompt) -> AnswerFuture {
        let message = "models over the network come with a later version; use playbook:FILE or replay:FILE";
        Box::pin(std::future::ready(Answer::Failed { code: "not_supported".to_owned(), message: message.to_owned() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_which_model_is_meant() {
        for (text, expected) in [
            ("playbook:a/b.yaml", ModelSpec::Playbook("a/b.yaml".into())),
            (" replay:r.jsonl ", ModelSpec::Replay("r.jsonl".into())),
            ("openai:qwen3:8b", ModelSpec::OpenAi("qwen3:8b".to_owned())),
        ] {
            let spec = ModelSpec::parse(text).unwrap();
            assert_eq!(spec, expected);
            assert_eq!(spec.to_string(), text.trim());
        }
    }

    #[test]
    fn a_name_that_means_nothing_says_what_would() {
        for (text, error) in [
            ("gpt", SpecError::NoKind("gpt".to_owned())),
            ("playbok:f", SpecError::UnknownKind("playbok".to_owned())),
            ("replay:", SpecError::NoName("replay", "a file")),
        ] {
            assert_eq!(ModelSpec::parse(text), Err(error.clone()));
        }
        assert!(ModelSpec::parse("gpt").unwrap_err().to_string().contains("playbook:FILE"));
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_named() {
        let base = Path::new(env!("CARGO_MANIFEST_DIR"));
        let error = |spec: &str| open(&ModelSpec::parse(spec).unwrap(), base).err().unwrap().to_string();
        assert!(error("playbook:nowhere.yaml").contains("nowhere.yaml: "));
        assert!(error("playbook:Cargo.toml").contains("Cargo.toml:1:"));
        assert!(error("replay:Cargo.toml").contains("Cargo.toml:1: not an exchange"));
    }

    #[tokio::test]
    async fn a_model_over_the_network_says_what_to_use_instead() {
        let model = open(&ModelSpec::OpenAi("gpt".to_owned()), Path::new("")).ok().unwrap();
        match model.ask(crate::model::testing::bare()).await {
            Answer::Failed { code, message } => {
                assert_eq!(code, "not_supported");
                assert!(message.contains("playbook:FILE"), "{message}");
            }
            other => panic!("{other:?}"),
        }
    }
}
