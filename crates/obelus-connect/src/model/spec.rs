//! A model by its name: `playbook:FILE`, `replay:FILE`, `openai:NAME`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use obelus_runtime::Model;
use obelus_runtime::files::{Unreadable, read_text};
use serde::Deserialize;
use serde_json::Value;

use super::openai::{DEFAULT_MODEL, OpenAiOptions};
use super::{Playbook, PlaybookError, Replay, ReplayError};

/// The name and options of a model.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelSpec {
    /// Rules in a file.
    Playbook(PathBuf),
    /// A recorded conversation.
    Replay(PathBuf),
    /// A model on a server with OpenAI's protocol.
    OpenAi(Box<OpenAiOptions>),
}

/// Why a text does not name a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelSpecError {
    /// The kind is missing.
    #[error("`{0}` does not say what kind of model it is; write openai:NAME, playbook:FILE or replay:FILE")]
    NoKind(String),
    /// The kind is unknown.
    #[error("there is no kind of model `{0}`; there are openai:NAME, playbook:FILE and replay:FILE")]
    UnknownKind(String),
    /// Nothing follows the kind.
    #[error("`{0}:` is not followed by {1}")]
    NoName(&'static str, &'static str),
    /// An option is invalid.
    #[error("model: {0}")]
    Options(String),
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
    /// Its file is not a playbook.
    #[error(transparent)]
    Playbook(#[from] PlaybookError),
    /// Its file is not a recording.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The program was built without the required feature.
    #[error("this program was built without the feature `{0}`, which `{1}` needs")]
    NotBuilt(&'static str, String),
}

impl ModelSpec {
    /// Reads the name of a model.
    pub fn parse(text: &str) -> Result<Self, ModelSpecError> {
        let text = text.trim();
        if matches!(text, "openai" | "openai:") {
            return Ok(Self::openai(DEFAULT_MODEL));
        }
        let (kind, name) = text.split_once(':').ok_or_else(|| ModelSpecError::NoKind(text.to_owned()))?;
        let given = |kind, what| if name.is_empty() { Err(ModelSpecError::NoName(kind, what)) } else { Ok(name) };
        match kind {
            "playbook" => given("playbook", "a file").map(|file| Self::Playbook(file.into())),
            "replay" => given("replay", "a file").map(|file| Self::Replay(file.into())),
            "openai" => given("openai", "a model's name").map(Self::openai),
            other => Err(ModelSpecError::UnknownKind(other.to_owned())),
        }
    }

    fn openai(name: &str) -> Self {
        Self::OpenAi(Box::new(OpenAiOptions::named(name)))
    }

    /// Reads a model from a file: its name, or an object such as `{openai: NAME, temperature: 0}`.
    pub fn from_value(value: &Value) -> Result<Self, ModelSpecError> {
        let wrong = |problem: String| ModelSpecError::Options(problem);
        match value {
            Value::String(name) => Self::parse(name),
            Value::Object(_) => {
                let options = OpenAiOptions::deserialize(value).map_err(|error| wrong(error.to_string()))?;
                options.check().map_err(wrong)?;
                Ok(Self::OpenAi(Box::new(options)))
            }
            other => {
                let kind = obelus_kernel::type_name(other);
                Err(wrong(format!("it is a name, or an object such as {{openai: NAME, temperature: 0}}, not {kind}")))
            }
        }
    }
}

impl std::str::FromStr for ModelSpec {
    type Err = ModelSpecError;

    fn from_str(text: &str) -> Result<Self, ModelSpecError> {
        Self::parse(text)
    }
}

impl fmt::Display for ModelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Playbook(file) => write!(f, "playbook:{}", file.display()),
            Self::Replay(file) => write!(f, "replay:{}", file.display()),
            Self::OpenAi(options) => write!(f, "openai:{}", options.name),
        }
    }
}

/// Opens a model. Paths are relative to `base`, the folder of the file that names the model.
pub fn open(spec: &ModelSpec, base: &Path) -> Result<Arc<dyn Model>, OpenError> {
    let read = |file: &Path| {
        let path = if obelus_runtime::files::is_bundled(file) { file.to_owned() } else { base.join(file) };
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
        #[cfg(feature = "openai")]
        ModelSpec::OpenAi(options) => {
            let access = super::openai::ServerAccess::from_env();
            Ok(Arc::new(super::openai::OpenAi::new((**options).clone(), access)))
        }
        #[cfg(not(feature = "openai"))]
        ModelSpec::OpenAi(_) => Err(OpenError::NotBuilt("openai", spec.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_model_is_chosen_by_its_name() {
        for (text, expected) in [
            ("playbook:a/b.yaml", ModelSpec::Playbook("a/b.yaml".into())),
            (" replay:r.jsonl ", ModelSpec::Replay("r.jsonl".into())),
            ("openai:qwen3:8b", ModelSpec::openai("qwen3:8b")),
        ] {
            let spec = ModelSpec::parse(text).unwrap();
            assert_eq!(spec, expected);
            assert_eq!(spec.to_string(), text.trim());
        }
    }

    #[test]
    fn an_unknown_model_name_is_answered_with_the_valid_forms() {
        for (text, error) in [
            ("gpt", ModelSpecError::NoKind("gpt".to_owned())),
            ("playbok:f", ModelSpecError::UnknownKind("playbok".to_owned())),
            ("replay:", ModelSpecError::NoName("replay", "a file")),
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

    #[test]
    fn a_file_can_configure_the_model() {
        let read = |value: Value| ModelSpec::from_value(&value);
        assert_eq!(read(json!("openai:gpt")), Ok(ModelSpec::openai("gpt")));
        assert_eq!(read(json!("openai")), Ok(ModelSpec::openai("gpt-5-thinking")));
        assert_eq!(read(json!({})), Ok(ModelSpec::openai("gpt-5-thinking")));
        let full = json!({
            "openai": "gpt", "temperature": 0.2, "reasoning_effort": "low", "max_tokens": 100, "retries": 0,
            "headers": {"X-Team": "${TEAM}"}, "structured": "json_object", "price": {"input": 1, "output": 2.5},
            "timeouts": {"idle": 5}, "stream": false, "proxy": "http://proxy.example.test:3128",
        });
        let Ok(ModelSpec::OpenAi(options)) = read(full) else { panic!() };
        assert_eq!((options.timeouts.idle, options.timeouts.total, options.stream), (5.0, 600.0, false));
        for (value, part) in [
            (json!({"openai": "gpt", "temprature": 1}), "temprature"),
            (json!({"temperature": 3}), "from 0 to 2"),
            (json!({"structured": "yes"}), "json_object"),
            (json!({"timeouts": {"idle": 0}}), "timeouts.idle"),
            (json!({"price": {"input": -1, "output": 0}}), "million"),
            (json!({"base": "https://elsewhere.example.test"}), "base"),
            (json!(7), "openai: NAME"),
        ] {
            let error = read(value.clone()).unwrap_err().to_string();
            assert!(error.starts_with("model: ") && error.contains(part), "{value}: {error}");
        }
    }
}
