//! Arguments that select a server instead of a store.

use std::path::PathBuf;

use clap::Args;

/// The server whose sessions are used.
#[derive(Args, Clone, Default)]
pub(crate) struct ServerArgs {
    /// Use the sessions of this server, such as https://agents.example.test, instead of those of a store.
    #[arg(long, value_name = "URL", conflicts_with = "store", global = true)]
    pub(crate) server: Option<String>,
    /// The file with the token for --server. By default the token is in OBELUS_TOKEN.
    #[arg(long, value_name = "FILE", requires = "server", global = true)]
    pub(crate) token_file: Option<PathBuf>,
}

/// Hidden `--server` of commands that need the store itself, so that their error says what to do instead.
#[derive(Args, Clone, Default)]
pub(crate) struct NoServer {
    #[arg(long, hide = true, value_name = "URL")]
    pub(crate) server: Option<String>,
    #[arg(long, hide = true, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
}
