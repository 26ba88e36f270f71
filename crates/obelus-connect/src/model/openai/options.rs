//! What an agent's file may say of a model on a server.

use std::collections::BTreeMap;
#[cfg(feature = "openai")]
use std::time::Duration;

use serde::Deserialize;

/// The model that is asked where none is named.
pub const DEFAULT_MODEL: &str = "gpt-5-thinking";

/// A model on a server that speaks OpenAI's protocol, and how it is asked.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenAiOptions {
    /// Its name there.
    #[serde(rename = "openai", default = "default_model")]
    pub name: String,
    /// How freely it chooses its words; the server decides where it is not said.
    #[serde(default)]
    pub temperature: Option<f64>,
    /// How much it thinks before it answers, such as `low`.
    #[serde(default)]
    pub reasoning_effort: Option<String>,
    /// The most tokens of one answer.
    #[serde(default)]
    pub max_tokens: Option<u32>,
    /// Further headers. `${NAME}` in a value stands for a variable of the environment.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// How the form of the answer is asked for.
    #[serde(default)]
    pub structured: Structured,
    /// Whether the answer is sent as it is written.
    #[serde(default = "yes")]
    pub stream: bool,
    /// Whether pictures are sent where there are some. A server that refuses them is asked without.
    #[serde(default = "yes")]
    pub images: bool,
    /// How long to wait.
    #[serde(default)]
    pub timeouts: Timeouts,
    /// How often a request is sent again after a failure that may pass.
    #[serde(default = "two")]
    pub retries: u32,
    /// What tokens cost.
    #[serde(default)]
    pub price: Option<Price>,
    /// The proxy to go through, for addresses with `https` only; else the environment's `HTTPS_PROXY`.
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

/// How the form of an answer is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Structured {
    /// As strictly as the server can, which is found out and remembered.
    #[default]
    Probe,
    /// By the schema, which the server enforces.
    Strict,
    /// By asking for JSON, with the schema in the instructions.
    JsonObject,
    /// By the instructions alone.
    None,
}

/// How long to wait, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Timeouts {
    /// … for the first byte of the answer. Models that think first are silent for long.
    pub first_byte: f64,
    /// … for the next byte.
    pub idle: f64,
    /// … for the whole answer, with everything that is tried again.
    pub total: f64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { first_byte: 180.0, idle: 90.0, total: 600.0 }
    }
}

/// What a million tokens cost, in any currency.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Tokens that the model reads.
    pub input: f64,
    /// Tokens that it writes.
    pub output: f64,
}

impl OpenAiOptions {
    /// A model by its name, asked as usual.
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

    /// What cannot be, in words that name the field.
    pub fn check(&self) -> Result<(), String> {
        let Timeouts { first_byte, idle, total } = self.timeouts;
        for (name, seconds) in [("first_byte", first_byte), ("idle", idle), ("total", total)] {
            if !(seconds > 0.0 && seconds <= 86_400.0) {
                return Err(format!("timeouts.{name}: {seconds} is no number of seconds from above 0 to 86400"));
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
