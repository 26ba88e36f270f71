//! The environment of a program: inherited, except secrets that are not named in the binding.

use obelus_runtime::Secret;
use serde_json::Value;
use tokio::process::Command;

use crate::activity::DeclaredNames;
use crate::activity::binding::{BindingError, BindingFields};
use crate::activity::secret_name::looks_secret;

/// The field `env` of a binding.
#[derive(Default)]
pub(super) struct Environment {
    /// Variables to pass on although they may be secrets.
    passed: Vec<String>,
    /// Variables set by the binding.
    set: Vec<(String, String)>,
    /// The secrets of its agent.
    declared: DeclaredNames,
}

impl Environment {
    /// A list of names to pass on, or an object of values, where `true` passes the variable on.
    pub(super) fn parse(fields: &BindingFields<'_>, declared: &DeclaredNames) -> Result<Self, BindingError> {
        let mut environment = Self { declared: declared.clone(), ..Self::default() };
        match fields.get("env") {
            Some(Value::Object(variables)) => {
                for (name, value) in variables {
                    match value {
                        Value::Bool(true) => environment.passed.push(name.clone()),
                        Value::String(text) => environment.set.push((name.clone(), text.clone())),
                        other => {
                            let field = format!("env.{name}");
                            return Err(fields.mistyped(&field, "a text, or true to pass it on", Some(other)));
                        }
                    }
                }
            }
            None | Some(Value::Array(_)) => environment.passed = fields.texts("env")?,
            other => return Err(fields.mistyped("env", "an object of texts, or a list of names to pass on", other)),
        }
        let bad = |name: &str| name.is_empty() || name.contains(['=', '\0']);
        let names = environment.passed.iter().chain(environment.set.iter().map(|(name, _)| name));
        if let Some(name) = names.into_iter().find(|name| bad(name)) {
            return Err(fields.wrong("env", format!("`{name}` cannot be the name of a variable")));
        }
        if let Some((name, _)) = environment.set.iter().find(|(_, value)| value.contains('\0')) {
            return Err(fields.wrong(&format!("env.{name}"), "no variable can hold a zero byte"));
        }
        Ok(environment)
    }

    pub(super) fn apply(&self, command: &mut Command) {
        // The secrets are masked only when a program starts with them: the file of a session that must not run could
        // name ordinary words.
        for (_, value) in self.set.iter().filter(|(name, _)| looks_secret(name)) {
            drop(Secret::new(value.as_str()));
        }
        self.declared.withhold(command, &self.passed);
        command.envs(self.set.iter().map(|(name, value)| (name, value)));
    }

    /// Registers the secrets of this process that the program gets, so that they are masked in its output. Secrets that
    /// are too short for that are noted.
    pub(super) fn declare_secrets(&self) {
        for name in self.passed.iter().filter(|name| looks_secret(name)) {
            Secret::from_env(name).iter().for_each(|secret| secret.declare(name));
        }
        for (name, value) in self.set.iter().filter(|(name, _)| looks_secret(name)) {
            Secret::note_if_short(name, value);
        }
    }
}
