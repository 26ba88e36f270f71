//! The process of a server.

use std::collections::VecDeque;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::watch;

use super::error::last_words;
use super::spec::ServerProgram;
use crate::process_group::ProcessGroup;

/// How long a program has to exit after its stdin was closed, and again after SIGTERM.
const MOMENT: Duration = Duration::from_secs(2);

/// How long to wait for the rest of stderr: a process that left the group may hold it open for ever.
const GRACE: Duration = Duration::from_millis(300);

/// How many bytes of stderr are kept, and how many are quoted.
const KEPT: usize = 8 * 1024;
const QUOTED: usize = 600;

/// A running process. Dropping it ends it, without waiting.
pub(super) struct Process {
    /// Ends the process: by sending, or when it is dropped.
    end: watch::Sender<bool>,
    /// How it ended, as text.
    ended: watch::Receiver<Option<String>>,
    stderr: Arc<StderrTail>,
}

impl Process {
    /// Starts a program. The error says what to do.
    pub(super) fn start(
        program: &ServerProgram,
        mut command: Command,
    ) -> Result<(Self, ChildStdout, ChildStdin), String> {
        let (group, pipes) = ProcessGroup::spawn(&mut command).map_err(|error| not_started(program, &error))?;
        let (end, ending) = watch::channel(false);
        let (end_sender, ended) = watch::channel(None);
        let stderr = Arc::new(StderrTail::default());
        tokio::spawn(keep(group, ending, end_sender, pipes.stderr, Arc::clone(&stderr)));
        Ok((Self { end, ended, stderr }, pipes.stdout, pipes.stdin))
    }

    /// Ends the process and its group, and waits for them.
    pub(super) async fn end(&self) {
        self.end.send_replace(true);
        // An error means that the task is gone, and the process with it.
        let _ = self.ended.clone().wait_for(Option::is_some).await;
    }

    /// How it ended, after a short wait: the connection breaks a little before the process ends.
    pub(super) async fn how_it_ended(&self) -> Option<String> {
        let mut ended = self.ended.clone();
        let how = tokio::time::timeout(MOMENT, ended.wait_for(Option::is_some)).await;
        how.ok()?.ok()?.clone()
    }

    /// The end of its stderr, safe to show.
    pub(super) fn last_words(&self) -> String {
        self.stderr.quoted()
    }
}

/// Runs until the process ends or must end. When this is dropped, as at the runtime's shutdown, the group is killed.
async fn keep(
    mut group: ProcessGroup,
    mut ending: watch::Receiver<bool>,
    end_sender: watch::Sender<Option<String>>,
    stderr: ChildStderr,
    tail: Arc<StderrTail>,
) {
    let mut listening = tokio::spawn(async move { tail.listen(stderr).await });
    let status = tokio::select! {
        status = group.ended() => status,
        () = asked_to_end(&mut ending) => group.end(MOMENT).await,
    };
    if tokio::time::timeout(GRACE, &mut listening).await.is_err() {
        listening.abort();
    }
    end_sender.send_replace(Some(how(status)));
}

async fn asked_to_end(ending: &mut watch::Receiver<bool>) {
    let _ = ending.wait_for(|end| *end).await;
}

fn how(status: io::Result<ExitStatus>) -> String {
    match status {
        Err(error) => format!("it is gone: {error}"),
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code), _) => format!("it ended with exit code {code}"),
            (None, signal) => format!("it was killed by signal {}", signal.unwrap_or_default()),
        },
    }
}

fn not_started(program: &ServerProgram, error: &io::Error) -> String {
    let name = program.path.display();
    match error.kind() {
        _ if !program.cwd.is_dir() => format!("the folder {} is not there; see `cwd`", program.cwd.display()),
        io::ErrorKind::NotFound if program.path.exists() => {
            format!("{name} is there, but what its first line names is not")
        }
        io::ErrorKind::NotFound if program.path.is_absolute() => format!("there is no program {name}"),
        io::ErrorKind::NotFound => {
            format!("there is no program `{name}` in PATH; install it, or write its path with a /")
        }
        io::ErrorKind::PermissionDenied => format!("{name} may not be run; chmod +x makes a file a program"),
        _ => format!("{name}: {error}"),
    }
}

/// The end of a process's stderr.
#[derive(Default)]
struct StderrTail(Mutex<VecDeque<u8>>);

impl StderrTail {
    async fn listen(&self, mut stderr: ChildStderr) {
        let mut chunk = [0; 4096];
        while let Ok(read @ 1..) = stderr.read(&mut chunk).await {
            let mut buffer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            buffer.extend(&chunk[..read]);
            let over = buffer.len().saturating_sub(KEPT);
            buffer.drain(..over);
        }
    }

    fn quoted(&self) -> String {
        let mut buffer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last_words(&String::from_utf8_lossy(buffer.make_contiguous()), QUOTED)
    }
}
