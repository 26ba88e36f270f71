//! A program and all processes that it starts.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::runtime::Handle;

/// The streams of a program.
pub(crate) struct Pipes {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

/// A running program in a process group of its own. Dropping it kills the group.
pub(crate) struct ProcessGroup {
    /// Always set; taken by `drop`.
    child: Option<Child>,
    /// The group's id, until it has been killed.
    id: Option<Pid>,
}

impl ProcessGroup {
    /// Starts a program with a pipe for each of its streams.
    pub(crate) fn spawn(command: &mut Command) -> io::Result<(Self, Pipes)> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.process_group(0).kill_on_drop(true).spawn()?;
        let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let group = Self { child: Some(child), id };
        match pipes {
            (Some(stdin), Some(stdout), Some(stderr)) => Ok((group, Pipes { stdin, stdout, stderr })),
            _ => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Waits for the program, then kills the rest of its group.
    pub(crate) async fn ended(&mut self) -> io::Result<ExitStatus> {
        let Some(child) = &mut self.child else { return Err(io::ErrorKind::NotFound.into()) };
        let status = child.wait().await?;
        // The group has the program's id. While other processes of the group live, the id is not reused. Otherwise it
        // could be reused, but hardly within these few instructions.
        self.kill();
        Ok(status)
    }

    /// Ends the program, whose stdin is already closed: it has `moment` to exit, another after SIGTERM, and is then
    /// killed. It is reaped, and its group is killed.
    #[cfg_attr(not(feature = "mcp"), expect(dead_code, reason = "only programs that serve are ended gently"))]
    pub(crate) async fn end(&mut self, moment: Duration) -> io::Result<ExitStatus> {
        if let Ok(status) = tokio::time::timeout(moment, self.ended()).await {
            return status;
        }
        if let Some(id) = self.id {
            let _ = kill_process_group(id, Signal::TERM);
        }
        if let Ok(status) = tokio::time::timeout(moment, self.ended()).await {
            return status;
        }
        self.kill();
        self.ended().await
    }

    fn kill(&mut self) {
        if let Some(id) = self.id.take() {
            // Fails if the group is empty.
            let _ = kill_process_group(id, Signal::KILL);
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
        // A killed child is a zombie until it is reaped. Without a runtime, tokio does so on a best-effort basis.
        if let Some(mut child) = self.child.take().filter(|child| child.id().is_some())
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(async move { child.wait().await });
        }
    }
}
