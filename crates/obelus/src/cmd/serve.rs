//! `obelus serve` and `obelus tokens`

pub(super) mod demo_server;
mod hooks;
mod telegram;

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use obelus_channel::http::{HttpOptions, HttpServer};
use obelus_channel::telegram::TelegramConfig;
use obelus_channel::tokens::{TOKEN_FILE, TokenEntry, TokenRole, Tokens as TokenStore};
use obelus_channel::traces::Traces;
use obelus_channel::types::{PromptMessage, PromptSize, PromptView};
use obelus_channel::{MadePrompt, MakePrompt, Service};
use obelus_channel::{langgraph, mcp, openai};
use obelus_connect::model::{ChatMessage, RequestSize};
use obelus_runtime::files::AgentCatalogue;
use obelus_runtime::{Host, SessionSpec};
use serde_json::{Value, json};

use super::agents::asked_of;
use super::holder::GuestServer;
use super::host::{Notices, connector, created_folder, open_store, store_folder};
use super::remote::server_file::{ServerFile, reachable};
use crate::cli::{RoleName, Serve, TokensCommand};
use crate::language::{Words, chosen, fill, words_of};
use crate::output::{self, BOLD, DIM, Exit};

pub(crate) fn run(args: Serve) -> Result<Exit> {
    if args.openapi {
        output::answer(&obelus_channel::http::description());
        return Ok(Exit::Done);
    }
    let options = HttpOptions {
        listen: args.listen,
        hosts: args.hosts.clone(),
        origins: args.origins.clone(),
        rate: args.rate,
        streams: args.streams,
        grace: Duration::from_secs(args.grace),
        ..HttpOptions::default()
    };
    let or = |given: Option<u64>, usual: Duration| given.map_or(usual, Duration::from_millis);
    let options = HttpOptions {
        head: or(args.head_timeout, options.head),
        arrival: or(args.body_timeout, options.arrival),
        unread: or(args.unread_timeout, options.unread),
        ..options
    };
    options.check(args.public).context("--listen")?;
    #[cfg(feature = "restate")]
    super::engine::check(&args.engine)?;
    let bot = args.telegram.as_deref().map(TelegramConfig::read).transpose().context("--telegram")?;
    raise_open_files();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let done = runtime.block_on(serve(&args, options, bot));
    runtime.shutdown_background();
    done
}

/// The host, its folder, and whether this process alone runs the sessions.
fn opened(args: &Serve) -> Result<(Host, PathBuf, bool)> {
    let connector = connector(&args.store, &Notices::default())?;
    #[cfg(feature = "restate")]
    if args.engine.engine == crate::cli::EngineName::Restate {
        // Tokens and the data of the compatible protocols are stored here.
        let folder = created_folder(&args.store)?;
        return Ok((super::engine::host(&args.engine, connector)?, folder, false));
    }
    Ok((open_store(&args.store, connector)?.build(), store_folder(&args.store)?, true))
}

async fn serve(args: &Serve, options: HttpOptions, bot: Option<TelegramConfig>) -> Result<Exit> {
    let (host, folder, is_alone) = opened(args)?;
    let phrases = words_of(None);
    let service = service(args, &host, &folder)?;
    let tokens = TokenStore::in_folder(&folder);
    let token_file = args.token_file.clone().unwrap_or_else(|| folder.join(TOKEN_FILE));
    let is_first = tokens.ensure_first(&token_file)?;
    let grace = options.grace;
    let server = HttpServer::bind(service.clone(), tokens, options).await;
    let server = server.with_context(|| format!("--listen {}", args.listen))?;
    let server =
        server.with_routes(langgraph::routes(&folder)).with_routes(openai::routes(&folder)).with_routes(mcp::routes());
    let server = match hooks::Hooks::of(&service, &folder)? {
        Some(hooks) => server.with_routes(hooks.routes()),
        None => server,
    };
    // Programs read this line.
    output::answer(&format!("http://{}", reachable(server.address())));
    print_start(&server, is_first, &token_file, phrases);
    // Other processes reach the sessions through this one.
    let server_file = ServerFile::write(&folder, server.address(), &token_file)?;
    let (over, is_over) = tokio::sync::oneshot::channel();
    let holder = is_alone.then(|| GuestServer::open(host.clone(), &folder)).transpose()?;
    let held = holder.map(|holder| tokio::spawn(holder.serve(is_over)));
    let mut bot = telegram::RunningBot::start(bot, &service, &folder);
    let restoring = tokio::spawn(async move { service.restore().await });
    let signal = end_signal()?;
    server
        .serve(async {
            tokio::select! { () = signal => {}, () = bot.failed() => {} }
        })
        .await;
    output::note(&format!("{DIM}{}{DIM:#}", phrases.serving.ending));
    end_in_time(grace)?;
    // Running work ends, or is parked and resumed at the next start.
    if is_alone {
        let _ = tokio::time::timeout(grace, host.settled()).await;
    }
    restoring.abort();
    drop((over, server_file));
    let ended = bot.stop().await;
    if let Some(held) = held {
        let _ = tokio::time::timeout(grace, held).await;
    }
    host.close().await;
    ended.map(|()| Exit::Done)
}

/// The service of all channels for this host.
fn service(args: &Serve, host: &Host, folder: &Path) -> Result<Service> {
    let agents = if args.agents.is_empty() {
        AgentCatalogue::of_environment()
    } else {
        AgentCatalogue::new(args.agents.clone())
    };
    warn_about_broken(&agents);
    let service = Service::new(host.clone(), agents).prompting(prompts());
    let service = match chosen() {
        Some(language) => service.always_in_language(language),
        None => service.in_language(words_of(None).language),
    };
    let beside = folder.to_owned();
    let service = service.forgetting(move |id| {
        langgraph::forget(&beside, id);
        openai::forget(&beside, id);
    });
    Ok(match &args.otlp {
        Some(collector) => service.traced(traces(collector, args.otlp_content)?),
        None => service,
    })
}

/// Warns of agents that no session can begin with. The others are served.
fn warn_about_broken(agents: &AgentCatalogue) {
    for folder in agents.own() {
        let Err(problems) = AgentCatalogue::title(&folder, None) else { continue };
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let words = fill(words_of(None).serving.broken_agent, &[&name, &problems.join("\n")]);
        output::warning(&output::visible(&words));
    }
}

/// Renders the prompts of agents.
pub(super) fn prompts() -> MakePrompt {
    Arc::new(|spec: SessionSpec, say: Vec<String>| -> MadePrompt {
        Box::pin(async move {
            let asked = asked_of(spec, &say).await.map_err(|error| format!("{error:#}"))?;
            let size = |one: &RequestSize| PromptSize {
                chars: one.chars,
                prefix: one.prefix,
                percent: one.percent,
                schema: one.schema,
            };
            let message = |one: ChatMessage| PromptMessage {
                role: serde_json::to_value(one.role)
                    .ok()
                    .and_then(|role| Some(role.as_str()?.to_owned()))
                    .unwrap_or_default(),
                chars: one.content.chars().count() as u64,
                content: one.content,
            };
            let is_json = asked.prompt.dialect.is_json();
            Ok(PromptView {
                requests: asked.requests.iter().map(size).collect(),
                messages: asked.messages.into_iter().map(message).collect(),
                schema: is_json.then(|| asked.prompt.answer.schema.clone()),
            })
        })
    })
}

/// The traces of the server's sessions.
fn traces(collector: &str, with_content: bool) -> Result<Traces> {
    let warn = |words: &str| output::warning(&output::visible(&format!("--otlp: {words}")));
    Traces::start(collector, with_content, warn).map_err(|why| anyhow!("--otlp: {why}"))
}

fn print_start(server: &HttpServer, is_first: bool, token_file: &Path, phrases: &Words) {
    let words = &phrases.serving;
    let address = reachable(server.address());
    output::note(&fill(words.listens, &[&format!("{BOLD}http://{address}/api/{BOLD:#}")]));
    // A code in a file or a journal would let in whoever reads it there. Without one the console asks for a token.
    let is_seen = std::io::stderr().is_terminal();
    let link = || obelus_channel::tokens::secret_of(token_file).and_then(|token| server.link(token)).ok();
    match is_seen.then(link).flatten() {
        Some(code) => {
            let link = format!("{BOLD}http://{address}/#code={}{BOLD:#}", code.expose());
            output::note(&fill(words.console, &[&link]));
        }
        None => output::note(&fill(words.console_by_token, &[&format!("{BOLD}http://{address}/{BOLD:#}")])),
    }
    let token_file = output::visible(&token_file.display().to_string());
    let phrase = if is_first { words.first_token } else { words.token };
    output::note(&format!("{DIM}{}{DIM:#}", fill(phrase, &[&token_file])));
}

/// Completes at Ctrl-C or SIGTERM.
pub(super) fn end_signal() -> Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Ends the process if its shutdown takes much too long, or at a second signal: durable data stay so (DUR-1).
fn end_in_time(grace: Duration) -> Result<()> {
    let again = end_signal()?;
    tokio::spawn(async move {
        again.await;
        std::process::exit(1);
    });
    std::thread::spawn(move || {
        // Three waits, each up to the grace period.
        std::thread::sleep(grace * 3 + Duration::from_secs(5));
        std::process::exit(1);
    });
    Ok(())
}

/// Raises the limit of open files as far as the system allows.
fn raise_open_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // With fewer there are fewer connections; nothing else changes.
    let _ = setrlimit(Resource::Nofile, limit);
}

pub(crate) fn tokens(args: TokensCommand) -> Result<Exit> {
    let open = |store| -> Result<TokenStore> { Ok(TokenStore::in_folder(&created_folder(store)?)) };
    let words = &words_of(None).serving;
    match args {
        TokensCommand::Add { name, role, json, store } => {
            let token = open(&store)?.add(&name, role.into())?;
            if json {
                output::json(&json!({"name": name, "role": TokenRole::from(role).name(), "token": token.expose()}));
            } else {
                output::note(words.token_once);
                output::answer(token.expose());
            }
        }
        TokensCommand::List { json, store } => {
            let all = open(&store)?.list()?;
            let row =
                |entry: &TokenEntry| json!({"name": entry.name, "role": entry.role.name(), "created": entry.created});
            if json {
                output::json(&all.iter().map(row).collect::<Vec<Value>>().into());
            } else {
                all.iter().for_each(|entry| {
                    output::answer(&format!("{:<24} {:<10} {}", entry.name, entry.role.name(), entry.created));
                });
            }
        }
        TokensCommand::Rm { name, store } => open(&store)?.remove(&name)?,
    }
    Ok(Exit::Done)
}

impl From<RoleName> for TokenRole {
    fn from(role: RoleName) -> Self {
        match role {
            RoleName::Viewer => TokenRole::Viewer,
            RoleName::Operator => TokenRole::Operator,
            RoleName::Admin => TokenRole::Admin,
        }
    }
}
