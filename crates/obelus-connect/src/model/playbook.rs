//! A playbook: rules that answer by pattern. It is the offline model for demos, tests and fixed procedures.
//! `docs/playbook.md` says how to write one.
//!
//! It has no state between requests: a rule decides only by what the request shows, so that a resumed session gets the
//! same answers.
//!
//! # Layout
//!
//! | file | subject |
//! |---|---|
//! | `form` | the syntax of the file |
//! | `compile` | compiling the file to rules, and its errors |
//! | `facts` | the data of a request for conditions and templates |
//! | `reads` | which of them a playbook reads |
//! | `rule` | one rule: its condition and its answer |
//! | `template` | values with templates in them |

mod compile;
mod facts;
mod form;
mod reads;
mod rule;
mod template;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use obelus_kernel::session::{Answer, Prompt};
use obelus_runtime::{AnswerFuture, Model};

use facts::{Facts, Find};
use reads::Reads;
use rule::{PlaybookRule, RuleReply};
use template::Templates;

/// A model made of rules; the first rule that matches answers.
#[derive(Clone)]
pub struct Playbook(Arc<Rules>);

struct Rules {
    /// Its file, for messages.
    path: PathBuf,
    templates: Templates,
    /// Filters that run on every request.
    find: Vec<Find>,
    rules: Vec<PlaybookRule>,
    /// The answer if no rule matches.
    otherwise: Option<RuleReply>,
    reads: Reads,
}

/// Why a file is not a playbook. Lines and columns count from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaybookError {
    /// It is not YAML, or not of the right shape.
    #[error("{}{}: {message}", path.display(), PositionSuffix(*at))]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Line and column, where the parser knows them.
        at: Option<(u64, u64)>,
        /// What is wrong.
        message: String,
    },
    /// A rule has an error.
    #[error("{}{}: {rule}, `{field}`: {message}", path.display(), PositionSuffix(*at))]
    Rule {
        /// The file.
        path: PathBuf,
        /// Line and column, where the parser knows them.
        at: Option<(u64, u64)>,
        /// The rule: its number, and its name if it has one.
        rule: String,
        /// The field at fault, such as `answer.calls[0].id`.
        field: String,
        /// What is wrong.
        message: String,
    },
}

/// `:LINE:COLUMN`, or nothing.
struct PositionSuffix(Option<(u64, u64)>);

impl fmt::Display for PositionSuffix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |(line, column)| write!(f, ":{line}:{column}"))
    }
}

/// The code of failures caused by the playbook.
const CODE: &str = "playbook";
/// The number of characters quoted from the user's message.
const MAX_QUOTED: usize = 200;

impl Playbook {
    /// The variables of conditions and templates.
    pub fn variables() -> impl Iterator<Item = &'static str> {
        facts::NAMES.into_iter().chain(["m"])
    }

    /// Reads a playbook. Patterns, conditions and templates are compiled here, so that errors are found before a rule is
    /// used. The path is used in messages only.
    pub fn parse(path: &Path, text: &str) -> Result<Self, PlaybookError> {
        let form = form::PlaybookFile::read(path, text)?;
        Ok(Self(Arc::new(compile::compile(path, form)?)))
    }

    /// The answer to a request; the same request always gets the same answer.
    pub fn answer(&self, prompt: &Prompt) -> Answer {
        self.0.answer(prompt).unwrap_or_else(|text| Answer::Failed {
            code: CODE.into(),
            message: format!("{}: {text}", self.0.path.display()),
        })
    }
}

impl Model for Playbook {
    fn ask(&self, prompt: Prompt) -> AnswerFuture {
        let playbook = self.clone();
        Box::pin(async move { playbook.answer(&prompt) })
    }
}

impl Rules {
    fn answer(&self, prompt: &Prompt) -> Result<Answer, String> {
        let mut facts = Facts::of(prompt, &self.reads);
        facts.run_filters(&self.find)?;
        for rule in &self.rules {
            let answer = rule.answer(&facts, &self.templates);
            if let Some(answer) = answer.map_err(|error| format!("{}, {error}", rule.label))? {
                return Ok(answer);
            }
        }
        if let Some(reply) = &self.otherwise {
            return reply
                .answer(&facts.view(None, &[])?, &self.templates, prompt.dialect)
                .map_err(|error| format!("otherwise, {error}"));
        }
        let message = format!("no rule of {} matches: {}", self.path.display(), describe_request(prompt));
        Ok(Answer::Failed { code: CODE.into(), message })
    }
}

/// Describes a request in a message.
fn describe_request(prompt: &Prompt) -> String {
    match (super::last_words(prompt), facts::model_call(prompt)) {
        (_, Some(call)) => format!("a call of `{}` to be carried out", call.tool_name()),
        (None, None) => "a request without words of the user".to_owned(),
        (Some(words), None) => {
            let quoted: String = words.chars().take(MAX_QUOTED).collect();
            let rest = if quoted.len() < words.len() { "…" } else { "" };
            format!("«{quoted}{rest}»")
        }
    }
}

#[cfg(test)]
mod tests;
