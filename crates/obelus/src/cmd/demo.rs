//! `obelus demo`: the CRM agent with a sandbox portal and an offline model, at this terminal.

use std::io::IsTerminal;
use std::net::SocketAddr;

use anyhow::Result;
use clap::Args;
use obelus_runtime::Secret;
use obelus_sandbox::{Portal, PortalLanguage, SandboxOptions};
use obelus_words::TourWords;

use super::chat::{self, TourStep};
use crate::cli::{ChatArgs, ModeArg, RunOptions, ServerArgs, StoreArgs};
use crate::language::{Language, fill, wanted, words_of};
use crate::output::{self, BOLD, DIM, Exit};

/// Try an agent in a CRM, without a key and without a network.
///
/// Starts a sandbox portal with made-up data, a server, and a conversation with the agent `crm`; its offline model
/// follows rules. The server has sessions of its own, which end with the demo; its console is a page on which you see
/// what an agent plans, does and waits for, and decide.
/// Risky changes wait for you: `y` approves, `n` denies. The portal's page shows what was done. Without a terminal, or
/// with --tour, a scripted conversation of five messages runs by itself, including your answers. Portal and agent speak
/// English or Russian: --lang, else the language of the environment, else Russian.
#[derive(Args)]
#[command(after_help = "\
Examples:
  obelus demo
  obelus demo --tour                    a scripted conversation of five messages
  obelus demo --store ./demo            saved: the next `obelus demo --store ./demo` continues")]
pub(crate) struct Demo {
    /// Run the scripted conversation instead of your own.
    #[arg(long)]
    tour: bool,
    /// The address of the portal; port 0 means any free port.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Do not open the pages of the portal and of the console in a browser.
    #[arg(long)]
    no_open: bool,
    /// Start no server.
    #[arg(long)]
    no_server: bool,
    #[command(flatten)]
    store: StoreArgs,
}

/// The model of the demo.
const MODEL: &str = "playbook:@bundled/crm/playbook.yaml";

/// Five messages: reading, creating, a risky change, a denial, and a batch with one question for all.
fn tour(words: &TourWords) -> [TourStep; 13] {
    [
        TourStep::Explain(words.reading),
        TourStep::Say(words.ask_stages),
        TourStep::Explain(words.creating),
        TourStep::Say(words.create_deal),
        TourStep::Explain(words.risky),
        TourStep::Say(words.change_amount),
        TourStep::Yes,
        TourStep::Explain(words.denial),
        TourStep::Say(words.move_deal),
        TourStep::No(words.not_yet),
        TourStep::Explain(words.batch),
        TourStep::Say(words.hand_over),
        TourStep::Yes,
    ]
}

pub(crate) fn run(args: Demo) -> Result<Exit> {
    // The portal needs its own thread, because the conversation blocks while it waits for the portal.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let (language, words) = match wanted(None) {
        Some("en") => (PortalLanguage::English, Language::English.words()),
        _ => (PortalLanguage::Russian, Language::Russian.words()),
    };
    let steps = tour(&words.tour);
    let options = SandboxOptions { listen: args.listen, rate: false, language, ..SandboxOptions::default() };
    let portal = runtime.block_on(Portal::start(options))?;
    Secret::provide("BITRIX_WEBHOOK_URL", Secret::new(portal.base_url()));
    let code = if language == PortalLanguage::English { "en" } else { "ru" };
    #[cfg(feature = "serve")]
    let server = (!args.no_server).then(|| runtime.block_on(start_demo_server(code))).transpose()?;
    let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let plays_itself = args.tour || !is_terminal;
    let session = args.store.store.is_some().then(|| "demo".to_owned());
    let conversation = ChatArgs {
        agent: Some("crm".to_owned()),
        how: RunOptions {
            model: Some(MODEL.to_owned()),
            mode: Some(ModeArg::Full),
            activities: None,
            mcp: None,
            sites: Vec::new(),
            record: None,
            session,
            store: args.store,
        },
        events: None,
        server: ServerArgs::default(),
    };
    let words = &words.running;
    output::note(&format!("{BOLD}{}{BOLD:#} {}", words.sandbox, portal.page_url()));
    let ended = if plays_itself {
        chat::tour(&conversation, &steps)
    } else {
        suggest(words.no_key_needed, &steps);
        if !args.no_open {
            open_in_browser(portal.page_url());
            #[cfg(feature = "serve")]
            server.iter().for_each(|server| open_in_browser(server.console()));
        }
        chat::run(&conversation)
    };
    #[cfg(feature = "serve")]
    if let Some(server) = server {
        runtime.block_on(server.stop());
    }
    runtime.block_on(portal.stop());
    ended
}

/// Starts a server for the same agent and portal, and prints its address.
#[cfg(feature = "serve")]
async fn start_demo_server(code: &str) -> Result<super::serve::demo_server::DemoServer> {
    let phrases = words_of(Some(code));
    let prepare = |mut spec: obelus_runtime::SessionSpec| {
        spec.settings.mode = ModeArg::Full.into();
        let model = MODEL.into();
        spec.model = Some(obelus_runtime::specs::ChosenModel { model, folder: std::path::PathBuf::new() });
        spec
    };
    let server = super::serve::demo_server::DemoServer::start(phrases.language, prepare).await?;
    let token = server.token_file().display().to_string();
    output::note(&fill(phrases.serving.beside, &[server.address(), &token]));
    output::note(&fill(phrases.serving.console, &[&format!("{BOLD}{}{BOLD:#}", server.console())]));
    Ok(server)
}

/// Prints example messages.
fn suggest(head: &str, steps: &[TourStep]) {
    output::note(&format!("{DIM}{head}{DIM:#}"));
    for step in steps {
        if let TourStep::Say(words) = step {
            output::note(&format!("  {words}"));
        }
    }
}

/// Opens a page if there is a desktop.
fn open_in_browser(address: &str) {
    let has_desktop = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    if has_desktop {
        let quiet = || std::process::Stdio::null();
        let opener = std::process::Command::new("xdg-open").arg(address).stdout(quiet()).stderr(quiet()).spawn();
        // Errors do not matter: the address is printed.
        drop(opener);
    }
}
