//! The options of a model in an agent's file.

use std::collections::BTreeMap;
#[cfg(feature = "openai")]
use std::time::Duration;

use serde::Deserialize;

/// The default model.
pub const DEFAULT_MODEL: &str = "gpt-5-thinking";

/// Options of a model on a server with OpenAI's protocol.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenAiOptions {
    /// The model's name on the server.
    #[serde(rename = "openai", default = "default_model")]
    pub name: String,
    /// The sampling temperature; by default the server's.
    #[serde(default)]
    pub temperature: Option<f64>,
    /// The reasoning effort, such as `low`.
    #[serde(default)]
    pub reasoning_effort: Option<String>,
    /// The maximum number of tokens of an answer.
    #[serde(default)]
    pub max_tokens: Option<u32>,
    /// Further headers. `${NAME}` in a value is replaced by a variable of the environment.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// How the answer's format is requested.
    #[serde(default)]
    pub structured: Structured,
    /// Whether the answer is streamed.
    #[serde(default = "yes")]
    pub stream: bool,
    /// Whether pictures are sent. If a server refuses them, the request is sent without.
    #[serde(default = "yes")]
    pub images: bool,
    /// The time-outs.
    #[serde(default)]
    pub timeouts: Timeouts,
    /// How often a request is sent again after a temporary failure.
    #[serde(default = "two")]
    pub retries: u32,
    /// The price of tokens.
    #[serde(default)]
    pub price: Option<Price>,
    /// The proxy, for `https` addresses only; by default `HTTPS_PROXY` of the environment.
    #[serde(default)]
    pub proxy: Option<String>,
}

fn default_model() -> String {
    DEFAULT_MODEL.to_owned()
}

fn yes() -> bool {
    true
}

fn two() -> u32 {
    2
}

/// How the answer's format is requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Structured {
    /// As strictly as the server supports; this is found out and remembered.
    #[default]
    Probe,
    /// The server enforces the schema.
    Strict,
    /// The server is asked for JSON, and the schema is in the instructions.
    JsonObject,
    /// Only the instructions describe the format.
    None,
}

/// Time-outs in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Timeouts {
    /// For the first byte of the answer. Models that reason first are silent for long.
    pub first_byte: f64,
    /// Between two pieces of the answer.
    pub idle: f64,
    /// For the whole answer, including retries.
    pub total: f64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { first_byte: 180.0, idle: 90.0, total: 600.0 }
    }
}

/// The price of a million tokens, in any currency.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Input tokens.
    pub input: f64,
    /// Output tokens.
    pub output: f64,
}

impl OpenAiOptions {
    /// A model by its name, with default options.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            temperature: None,
            reasoning_effort: None,
            max_tokens: None,
            headers: BTreeMap::new(),
            structured: Structured::default(),
            stream: true,
            images: true,
            timeouts: Timeouts::default(),
            retries: two(),
            price: None,
            proxy: None,
        }
    }

    /// Checks the values; an error names the field.
    pub fn check(&self) -> Result<(), String> {
        let Timeouts { first_byte, idle, total } = self.timeouts;
        for (name, seconds) in [("first_byte", first_byte), ("idle", idle), ("total", total)] {
            if !(seconds > 0.0 && seconds <= 86_400.0) {
                return Err(format!("timeouts.{name}: {seconds} is not a number of seconds above 0 and up to 86400"));
            }
        }
        if self.name.trim().is_empty() {
            return Err("openai: the model's name is empty".to_owned());
        }
        if self.temperature.is_some_and(|temperature| !(0.0..=2.0).contains(&temperature)) {
            return Err("temperature: it is from 0 to 2".to_owned());
        }
        if self.max_tokens == Some(0) {
            return Err("max_tokens: an answer needs some".to_owned());
        }
        if let Some(Price { input, output }) = self.price
            && !(input >= 0.0 && output >= 0.0 && input.is_finite() && output.is_finite())
        {
            return Err("price: `input` and `output` are what a million tokens cost".to_owned());
        }
        Ok(())
    }
}

impl Timeouts {
    #[cfg(feature = "openai")]
    pub(super) fn durations(self) -> [Duration; 3] {
        [self.first_byte, self.idle, self.total].map(Duration::from_secs_f64)
    }
}
