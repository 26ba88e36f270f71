//! A server beside the demo: the same agent and portal, in a temporary store.

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use obelus_channel::Service;
use obelus_channel::http::{HttpOptions, HttpServer};
use obelus_channel::tokens::{TOKEN_FILE, Tokens, secret_of};
use obelus_connect::StandardConnector;
use obelus_runtime::files::AgentCatalogue;
use obelus_runtime::{Host, Language, SessionSpec, SqliteStore};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A server that runs beside another command.
pub(in crate::cmd) struct DemoServer {
    address: String,
    /// The one-time link to its console.
    console: String,
    host: Host,
    folder: PathBuf,
    end: oneshot::Sender<()>,
    running: JoinHandle<()>,
}

impl DemoServer {
    /// Starts a server at a free port of this machine. `prepare` changes the specs of sessions.
    pub(in crate::cmd) async fn start(
        language: Language,
        prepare: impl Fn(SessionSpec) -> SessionSpec + Send + Sync + 'static,
    ) -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("obelus-demo-{}", std::process::id()));
        // An existing folder of this name may belong to somebody else.
        fs::DirBuilder::new().mode(0o700).create(&folder).with_context(|| folder.display().to_string())?;
        let store = SqliteStore::open(&folder)?;
        let host = Host::builder(StandardConnector::new()).store(store.shared()).files(&folder).build();
        let service = Service::new(host.clone(), AgentCatalogue::default()).in_language(language).prepared(prepare);
        let tokens = Tokens::in_folder(&folder);
        tokens.ensure_first(&folder.join(TOKEN_FILE))?;
        let options = HttpOptions { listen: ([127, 0, 0, 1], 0).into(), ..HttpOptions::default() };
        let server = HttpServer::bind(service, tokens, options).await?;
        let address = format!("http://{}", server.address());
        let code = server.link(secret_of(&folder.join(TOKEN_FILE))?)?;
        let console = format!("{address}/#code={}", code.expose());
        let (end, ends) = oneshot::channel::<()>();
        let running = tokio::spawn(server.serve(async move { drop(ends.await) }));
        Ok(Self { address, console, host, folder, end, running })
    }

    /// The address it listens at.
    pub(in crate::cmd) fn address(&self) -> &str {
        &self.address
    }

    /// The link to its console, which works once.
    pub(in crate::cmd) fn console(&self) -> &str {
        &self.console
    }

    /// The file with its token.
    pub(in crate::cmd) fn token_file(&self) -> PathBuf {
        Path::new(&self.folder).join(TOKEN_FILE)
    }

    /// Ends it, and removes its store.
    pub(in crate::cmd) async fn stop(self) {
        drop(self.end);
        let _ = self.running.await;
        self.host.close().await;
        let _ = fs::remove_dir_all(&self.folder);
    }
}
