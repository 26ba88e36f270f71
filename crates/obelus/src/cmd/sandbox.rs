//! `obelus sandbox`

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use obelus_sandbox::{DEFAULT_TOKEN, Events, Portal, PortalLanguage, SandboxOptions};

use crate::language::wanted;
use crate::output::{self, BOLD, DIM, Exit};

/// Start a sandbox with made-up data.
#[derive(Subcommand)]
pub(crate) enum Sandbox {
    Bitrix24(Bitrix24Args),
}

/// Serve a Bitrix24 portal with made-up companies, people, deals and tasks.
///
/// Prints the webhook's address as the first line on stdout and serves until Ctrl-C. Methods, encodings, filters,
/// errors and limits are those of a real portal. Nothing leaves this machine except events to handlers that you bind.
/// The portal's page shows what programs did.
#[derive(Args)]
#[command(after_help = "\
Examples:
  obelus sandbox bitrix24
  obelus sandbox bitrix24 --listen 127.0.0.1:8024 --db portal.sqlite
  obelus sandbox bitrix24 --drop-answers 0.1      does the client survive lost answers?
  obelus sandbox bitrix24 --events strict         webhooks may not bind events, as on a real portal
  obelus sandbox bitrix24 --tls                   for clients that require https
  curl 'http://127.0.0.1:8024/rest/1/sandbox0token/crm.deal.get?id=1'")]
pub(crate) struct Bitrix24Args {
    /// The address to listen at; port 0 means any free port.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8024")]
    listen: SocketAddr,
    /// The owner of the webhook: the number of a user, 1 to 8.
    #[arg(long, value_name = "N", default_value_t = 1)]
    user: i64,
    /// The token in the webhook's address.
    #[arg(long, value_name = "T", default_value = DEFAULT_TOKEN)]
    token: String,
    /// Store the portal in this file; without it the portal is in memory only.
    #[arg(long, value_name = "FILE")]
    db: Option<PathBuf>,
    /// Whether webhooks may bind handlers of events: open, or strict as on a real portal.
    #[arg(long, value_enum, default_value = "open")]
    events: EventsMode,
    /// Whether requests are limited as on a real portal: 50 at once, then 2 per second.
    #[arg(long, value_enum, default_value = "on")]
    rate: Switch,
    /// Use https with a temporary certificate; its file is printed on stderr.
    #[arg(long)]
    tls: bool,
    /// Carry out this share of the requests, 0 to 1, but close the connection instead of answering.
    #[arg(long, value_name = "P", default_value_t = 0.0)]
    drop_answers: f64,
    /// The number of deals in a new portal.
    #[arg(long, value_name = "N", default_value_t = SandboxOptions::default().deals)]
    deals: usize,
}

#[derive(Clone, Copy, ValueEnum)]
enum EventsMode {
    Open,
    Strict,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Switch {
    On,
    Off,
}

pub(crate) fn run(args: Sandbox) -> Result<Exit> {
    let Sandbox::Bitrix24(args) = args;
    let options = SandboxOptions {
        listen: args.listen,
        user: args.user,
        token: args.token,
        db: args.db,
        events: match args.events {
            EventsMode::Open => Events::Open,
            EventsMode::Strict => Events::Strict,
        },
        rate: args.rate == Switch::On,
        tls: args.tls,
        drop_answers: args.drop_answers,
        deals: args.deals,
        language: match wanted(None) {
            Some("en") => PortalLanguage::English,
            _ => PortalLanguage::Russian,
        },
        ..SandboxOptions::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(serve(options))
}

async fn serve(options: SandboxOptions) -> Result<Exit> {
    let portal = Portal::start(options).await?;
    let certificate = portal.write_certificate(&std::env::temp_dir())?;
    output::answer(portal.base_url());
    output::note(&format!("{BOLD}Page{BOLD:#}         {}", portal.page_url()));
    if let Some(path) = &certificate {
        output::note(&format!("{BOLD}Certificate{BOLD:#}  {}", path.display()));
        let trust = "trust it: SSL_CERT_FILE, REQUESTS_CA_BUNDLE or NODE_EXTRA_CA_CERTS with this path";
        output::note(&format!("{DIM}             {trust}{DIM:#}"));
    }
    output::note(&format!("{BOLD}Events{BOLD:#}       application_token {}", portal.application_token()));
    output::note(&format!("{DIM}Ctrl-C stops it.{DIM:#}"));
    wait_for_stop().await?;
    portal.stop().await;
    if let Some(path) = certificate {
        // The certificate is valid only for this run.
        let _ = std::fs::remove_file(path);
    }
    Ok(Exit::Done)
}

/// Waits for Ctrl-C or SIGTERM.
async fn wait_for_stop() -> std::io::Result<()> {
    #[cfg(unix)]
    {
        let mut ended = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
        tokio::select! {
            interrupted = tokio::signal::ctrl_c() => interrupted,
            _ = ended.recv() => Ok(()),
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await
}
