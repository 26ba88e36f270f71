//! Programs as activities: the call as one JSON object on stdin, the result as one JSON value on stdout.
//!
//! A program runs without a shell, in its own process group. When it ends or the call is abandoned, the rest of the
//! group is killed, so that nothing outlives the call.

mod environment;
mod output;

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use obelus_kernel::session::{CallError, FailureCode, Outcome};
use obelus_runtime::{Activity, ActivityFuture, ReconcileFuture, Reconciled, Work};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStdin, Command};

use self::environment::Environment;
use self::output::Output;
use super::DeclaredNames;
use super::binding::{BindingError, BindingFields};
use super::messages;
use super::retry::{AttemptFailure, Retry, RetryAdvice};
use super::text::read_json;
use crate::process_group::ProcessGroup;

/// How long to wait for the pipes to close after the program has ended. A process that left the group may hold a pipe
/// open for ever.
const GRACE: Duration = Duration::from_secs(1);

/// A program that carries out calls.
pub(super) struct Exec {
    program: Arc<Program>,
    /// Reconciles a call whose answer was lost.
    reconciler: Option<Arc<Program>>,
    retry: Retry,
    limit: Option<Duration>,
}

struct Program {
    /// An absolute path, or a name that is looked up in `PATH`.
    path: PathBuf,
    args: Vec<String>,
    cwd: PathBuf,
    environment: Environment,
}

impl Exec {
    pub(super) fn parse(
        fields: &BindingFields<'_>,
        base: &Path,
        declared: &DeclaredNames,
    ) -> Result<Self, BindingError> {
        let program = |field| Program::parse(fields, field, base, declared).map(Arc::new);
        let reconciler = fields.get("reconcile").map(|_| program("reconcile")).transpose()?;
        let program = program("exec")?;
        Ok(Self { program, reconciler, retry: fields.retry()?, limit: fields.own_time_limit()? })
    }
}

impl Activity for Exec {
    fn run(&self, work: Work) -> ActivityFuture {
        let program = Arc::clone(&self.program);
        let retry = self.retry;
        Box::pin(async move {
            let input = input_of(&work);
            match retry.run(work.tool.effect, || program.run(&work, &input)).await {
                // The program was killed and may have had its effect before.
                Err(error) if was_killed(&error) && !work.tool.idempotent => Outcome::Lost { message: error.message },
                result => result.unwrap_or_else(Outcome::Error),
            }
        })
    }

    fn reconcile(&self, work: Work) -> Option<ReconcileFuture> {
        let reconciler = Arc::clone(self.reconciler.as_ref()?);
        Some(Box::pin(async move {
            match reconciler.run(&work, &input_of(&work)).await {
                Ok(Outcome::Value(said)) => found(said),
                Ok(_) => found(Value::Null),
                Err(failure) => Reconciled::Unknown(format!("the look at it failed: {}", failure.error.message)),
            }
        }))
    }

    fn time_limit(&self) -> Option<Duration> {
        self.limit
    }
}

/// Whether the program was killed by a signal, or because its output was too large or broke off.
fn was_killed(error: &CallError) -> bool {
    let is_unread = matches!(error.code, FailureCode::OutputTooLarge | FailureCode::BadOutput) && !error.happened;
    is_unread || matches!(error.code, FailureCode::Signal(_))
}

/// The answer of a reconciling program: `{"happened": RESULT}`, `{"did_not": true}` or `{"unknown": "WORDS"}`.
fn found(said: Value) -> Reconciled {
    let plain = match said {
        Value::Object(fields) if fields.len() == 1 => fields.into_iter().next(),
        _ => None,
    };
    match plain {
        Some((word, result)) if word == "happened" => match result {
            // The effect happened, but its result is unknown: nothing is written and no schema is checked.
            Value::Null => Reconciled::Happened(Outcome::Messages(Vec::new())),
            result => Reconciled::Happened(Outcome::Value(result)),
        },
        Some((word, Value::Bool(true))) if word == "did_not" => Reconciled::DidNot,
        Some((word, Value::String(words))) if word == "unknown" => Reconciled::Unknown(words),
        _ => Reconciled::Unknown(
            "the look at it said neither {\"happened\": RESULT} nor {\"did_not\": true} nor {\"unknown\": \"WORDS\"}"
                .to_owned(),
        ),
    }
}

/// The program's input: the call, the tool's schema, and the messages in the call's scopes if there are any.
fn input_of(work: &Work) -> Vec<u8> {
    let mut call = Value::clone(&work.call);
    if let Value::Object(fields) = &mut call {
        fields.insert("_schema".to_owned(), work.tool.schema.clone());
        if !work.scope.is_empty() {
            fields.insert("_scope".to_owned(), json!(work.scope));
        }
    }
    call.to_string().into_bytes()
}

impl Program {
    /// Reads a command from a field. Folder and environment are the same for all commands of a binding.
    fn parse(
        fields: &BindingFields<'_>,
        field: &str,
        base: &Path,
        declared: &DeclaredNames,
    ) -> Result<Self, BindingError> {
        let words = fields.texts(field)?;
        let Some((name, args)) = words.split_first().filter(|(name, _)| !name.is_empty()) else {
            return Err(fields.mistyped(field, "a list that begins with a program", fields.get(field)));
        };
        if words.iter().any(|word| word.contains('\0')) {
            return Err(fields.wrong(field, "no program or argument can hold a zero byte"));
        }
        // Absolute paths, because a relative path of the program would otherwise be relative to `cwd`.
        let base = std::path::absolute(if base.as_os_str().is_empty() { Path::new(".") } else { base })
            .map_err(|error| fields.wrong(field, format!("{}: {error}", base.display())))?;
        let path = if name.contains('/') { base.join(name) } else { PathBuf::from(name) };
        let cwd = fields.text("cwd")?.map_or_else(|| base.clone(), |cwd| base.join(cwd));
        let environment = Environment::parse(fields, declared)?;
        environment.declare_secrets();
        Ok(Self { path, args: args.to_vec(), cwd, environment })
    }

    /// Runs the program once. Dropping the future kills it.
    async fn run(&self, work: &Work, input: &[u8]) -> Result<Outcome, AttemptFailure> {
        let mut command = Command::new(&self.path);
        command.args(&self.args).current_dir(&self.cwd);
        self.environment.apply(&mut command);
        command.env("OBELUS_IDEMPOTENCY_KEY", &work.key).env("OBELUS_ATTEMPT", work.attempt.to_string());
        let (mut group, pipes) = ProcessGroup::spawn(&mut command).map_err(|error| self.not_started(&error))?;

        let mut output = Output::default();
        let status = {
            // A program with too much output may never read its input.
            let exchange =
                async { tokio::try_join!(feed(pipes.stdin, input), output.read(pipes.stdout, pipes.stderr)) };
            tokio::pin!(exchange);
            tokio::select! {
                exchanged = &mut exchange => {
                    exchanged?;
                    group.ended().await
                }
                status = group.ended() => {
                    if let Ok(exchanged) = tokio::time::timeout(GRACE, exchange).await {
                        exchanged?;
                    }
                    status
                }
            }
        };
        let status = status.map_err(|error| AttemptFailure::lasting("exec", format!("{}: {error}", self.name())))?;
        output.mask();
        if !status.success() {
            return Err(self.failed(status, &output));
        }
        outcome_of(&output.stdout)
    }

    fn name(&self) -> std::path::Display<'_> {
        self.path.display()
    }

    fn not_started(&self, error: &io::Error) -> AttemptFailure {
        let name = self.name();
        match error.kind() {
            _ if !self.cwd.is_dir() => AttemptFailure::lasting(
                "not_found",
                format!("the folder {} is not there; see `cwd`", self.cwd.display()),
            ),
            io::ErrorKind::NotFound if self.path.exists() => {
                AttemptFailure::lasting("not_found", format!("{name} is there, but what its first line names is not"))
            }
            io::ErrorKind::NotFound if self.path.is_absolute() => {
                AttemptFailure::lasting("not_found", format!("there is no program {name}"))
            }
            io::ErrorKind::NotFound => AttemptFailure::lasting(
                "not_found",
                format!("there is no program `{name}` in PATH; install it, or write its path with a /"),
            ),
            io::ErrorKind::PermissionDenied => AttemptFailure::lasting(
                "not_executable",
                format!("{name} may not be run; chmod +x makes a file a program"),
            ),
            _ => AttemptFailure::passing("exec", format!("{name}: {error}")),
        }
    }

    /// The error of a failed program, with its stderr if there is any.
    fn failed(&self, status: ExitStatus, output: &Output) -> AttemptFailure {
        let (code, what) = match (status.code(), status.signal()) {
            (Some(code), _) => (FailureCode::Exit(code), format!("ended with exit code {code}")),
            (None, signal) => {
                let signal = signal.unwrap_or_default();
                (FailureCode::Signal(signal), format!("was killed by signal {signal}"))
            }
        };
        let stderr = output.last_words();
        AttemptFailure::passing(code, if stderr.is_empty() { format!("{} {what}", self.name()) } else { stderr })
    }
}

/// Writes the call and closes the pipe. The program need not read it.
async fn feed(mut stdin: ChildStdin, input: &[u8]) -> Result<(), AttemptFailure> {
    let _ = stdin.write_all(input).await;
    Ok(())
}

/// The outcome in the program's output.
fn outcome_of(stdout: &[u8]) -> Result<Outcome, AttemptFailure> {
    if stdout.trim_ascii().is_empty() {
        return Ok(Outcome::Value(Value::Null));
    }
    let outcome = read_json(stdout, "stdout").and_then(messages::outcome_of);
    // The program itself ended without an error.
    outcome.map_err(|error| AttemptFailure { error: error.after_success(), again: RetryAdvice::Never })
}
