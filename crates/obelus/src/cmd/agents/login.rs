//! `obelus agents login`

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use obelus_connect::mcp::LoginCallback;
use obelus_runtime::SessionSpec;

use super::super::host::{Notices, connector, created_folder, with_servers};
use super::super::run::{load_agent, on};
use super::locate;
use crate::cli::Login;
use crate::output::{self, BOLD, DIM, Exit, GREEN, visible};

/// The time for the login.
const LIMIT: Duration = Duration::from_secs(600);

/// Lets a person log in to a server of an agent.
pub(super) fn login(args: &Login) -> Result<Exit> {
    let mut spec = SessionSpec::from_agent(load_agent(&locate(&args.agent)?, None)?);
    if let Some(file) = &args.mcp {
        with_servers(&mut spec, file)?;
    }
    let store = created_folder(&args.store)?;
    let connector = connector(&args.store, &Notices::default())?;
    let connected = connector.servers(&spec, None).with_context(|| spec.name.clone())?;
    let servers = connected.servers();
    let Some(server) = servers.get(&args.server) else {
        let names = servers.names();
        let near: Vec<&str> = names.iter().map(String::as_str).collect();
        let hint = match (obelus_kernel::closest(&args.server, &near), names.is_empty()) {
            (_, true) => "it has none".to_owned(),
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, _) => format!("it has {}", names.join(", ")),
        };
        bail!("{}: there is no MCP server `{}`; {hint}", spec.name, args.server);
    };
    let tools = on(async {
        let callback = LoginCallback::open(args.port, LIMIT, show);
        let callback = callback.await.with_context(|| format!("127.0.0.1, port {}", args.port))?;
        let tools = server.log_in(&callback).await;
        servers.close().await;
        Ok::<_, anyhow::Error>(tools?)
    })?;
    let place = visible(&store.join("tokens").display().to_string());
    output::note(&format!("{GREEN}logged in{GREEN:#}: the server has {tools} tools  {DIM}saved in {place}{DIM:#}"));
    Ok(Exit::Done)
}

/// Prints the address on stdout, so that it can be copied or piped.
fn show(address: &str) {
    // The server chose this address, so the person must judge its host.
    let host = address.split("://").nth(1).and_then(|rest| rest.split(['/', '?']).next()).unwrap_or_default();
    output::note(&format!(
        "{BOLD}Open this address in a browser on this machine, if you trust {}:{BOLD:#}",
        visible(host)
    ));
    output::answer(&visible(address));
    output::note(&format!("{DIM}waiting for {} minutes; Ctrl-C stops{DIM:#}", LIMIT.as_secs() / 60));
}
