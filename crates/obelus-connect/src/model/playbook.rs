//! A playbook: rules that answer by pattern. The offline model of demos and tests, and a tool for fixed
//! procedures in its own right. `docs/playbook.md` says how to write one.
//!
//! It keeps nothing between requests: what a rule decides on is what the request shows, so that a session
//! can be resumed anywhere and gets the same answers.
//!
//! # Layout
//!
//! | file | subject |
//! |---|---|
//! | `form` | the file as it is written |
//! | `compile` | from the file to rules, with every mistake named |
//! | `facts` | what a rule can see of a request |
//! | `rule` | one rule: whether it answers, and what |
//! | `template` | values with templates in them |

mod compile;
mod facts;
mod form;
mod rule;
mod template;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use obelus_kernel::session::{Answer, Prompt};
use obelus_runtime::{AnswerFuture, Model};

use facts::{Facts, Find};
use rule::{Reply, Rule};
use template::Templates;

/// A model made of rules: the first one that matches answers.
#[derive(Clone)]
pub struct Playbook(Arc<Rules>);

struct Rules {
    /// Where it was read, for messages.
    path: PathBuf,
    templates: Templates,
    /// What is looked for in every request.
    find: Vec<Find>,
    rules: Vec<Rule>,
    /// What is answered when no rule matches.
    otherwise: Option<Reply>,
}

/// Why a file is no playbook. Lines and columns count from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaybookError {
    /// It is not YAML, or not of the right shape.
    #[error("{}{}: {message}", path.display(), At(*at))]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Line and column, where the parser knows them.
        at: Option<(u64, u64)>,
        /// What is wrong.
        message: String,
    },
    /// A rule says something that cannot be understood.
    #[error("{}{}: {rule}, `{field}`: {message}", path.display(), At(*at))]
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
struct At(Option<(u64, u64)>);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |(line, column)| write!(f, ":{line}:{column}"))
    }
}

/// The code of every failure that the playbook itself is the cause of.
const CODE: &str = "playbook";
/// Letters of the user's words that a message repeats.
const MOST_QUOTED: usize = 200;

impl Playbook {
    /// Reads a playbook. Patterns, conditions and templates are compiled here, so that a mistake in a rule
    /// is found before the rule is needed. The path only serves messages.
    pub fn parse(path: &Path, text: &str) -> Result<Self, PlaybookError> {
        let form = form::File::read(path, text)?;
        Ok(Self(Arc::new(compile::compile(path, form)?)))
    }

    /// The answer to a request: always the same for the same request.
    pub fn answer(&self, prompt: &Prompt) -> Answer {
        self.0.answer(prompt).unwrap_or_else(|text| Answer::Failed {
            code: CODE.to_owned(),
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
        let mut facts = Facts::of(prompt);
        facts.look(&self.find)?;
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
        let message = format!("no rule of {} matches: {}", self.path.display(), asked(prompt));
        Ok(Answer::Failed { code: CODE.to_owned(), message })
    }
}

/// What the request was about, for a message.
fn asked(prompt: &Prompt) -> String {
    match (super::last_words(prompt), facts::thought(prompt)) {
        (_, Some(call)) => format!("a call of `{}` to be carried out", call["_tool"].as_str().unwrap_or_default()),
        (None, None) => "a request without words of the user".to_owned(),
        (Some(words), None) => {
            let quoted: String = words.chars().take(MOST_QUOTED).collect();
            let rest = if quoted.len() < words.len() { "…" } else { "" };
            format!("«{quoted}{rest}»")
        }
    }
}

#[cfg(test)]
mod tests;
