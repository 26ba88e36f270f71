//! `obelus agents pin`

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use obelus_connect::{PINS_FILE, Pinned, Pins};
use obelus_runtime::SessionSpec;
use obelus_runtime::files::is_bundled;
use serde_json::Value;

use super::super::host::{Notices, connector, with_servers};
use super::super::run::{load_agent, on};
use super::locate;
use crate::cli::Pin;
use crate::output::{self, BOLD, DIM, Exit, GREEN, YELLOW, visible};

/// Shows the tool descriptions of an agent's servers, and pins them (POL-8).
pub(super) fn pin(args: &Pin) -> Result<Exit> {
    let mut spec = SessionSpec::from_agent(load_agent(&locate(&args.agent)?, None)?);
    if let Some(file) = &args.mcp {
        with_servers(&mut spec, file)?;
    }
    let Some(mcp) = &spec.mcp else { bail!("{}: the agent has no MCP servers", spec.name) };
    let tools = tools_of(args, &spec)?;
    let mut pins = Pins::read(&mcp.folder)?;
    let fresh = show(&pins, &tools);
    if fresh == 0 {
        output::note(&format!("{GREEN}all {} tools are pinned{GREEN:#}", tools.len()));
        return Ok(Exit::Done);
    }
    if args.check {
        output::note(&format!("{YELLOW}{fresh} of {} tools are new or have changed{YELLOW:#}", tools.len()));
        return Ok(Exit::Failed);
    }
    if is_bundled(&mcp.folder) {
        bail!(
            "{}: the agent is bundled with the program: copy it with `obelus agents copy`, and pin the copy",
            spec.name
        );
    }
    if !args.yes && !agrees(fresh)? {
        output::note("nothing is pinned");
        return Ok(Exit::Failed);
    }
    pins.pin(&tools);
    let path = mcp.folder.join(PINS_FILE);
    write(&path, &pins.to_text()).with_context(|| visible(&path.display().to_string()))?;
    output::note(&format!("{GREEN}pinned{GREEN:#}  {DIM}{}{DIM:#}", visible(&path.display().to_string())));
    Ok(Exit::Done)
}

/// The tool descriptions of the servers.
fn tools_of(args: &Pin, spec: &SessionSpec) -> Result<Vec<(String, Value)>> {
    let connector = connector(&args.store, &Notices::default())?;
    let connected = connector.servers(spec, None).with_context(|| spec.name.clone())?;
    connected.check_browser().with_context(|| spec.name.clone())?;
    on(async {
        let tools = connected.servers().tools().await;
        connected.servers().close().await;
        Ok(tools?)
    })
}

/// Prints every tool with its description; returns how many are not pinned.
fn show(pins: &Pins, tools: &[(String, Value)]) -> usize {
    let mut fresh = 0;
    for (name, schema) in tools {
        let (style, mark) = match pins.compare(name, schema) {
            Pinned::Same => (DIM, "pinned"),
            Pinned::Changed => (YELLOW, "changed"),
            Pinned::New => (YELLOW, "new"),
        };
        fresh += usize::from(mark != "pinned");
        output::answer(&format!("{BOLD}{}{BOLD:#}  {style}{mark}{style:#}", visible(name)));
        if let Some(words) = schema.get("description").and_then(Value::as_str) {
            words.lines().for_each(|line| output::answer(&format!("  {}", visible(line))));
        }
        let is_shown = |name: &str| name.starts_with("x-") || ["description", "properties"].contains(&name);
        let others = schema.as_object().into_iter().flatten().filter(|(name, _)| !is_shown(name));
        let params = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        for (name, of) in params.chain(others) {
            // On one line: a name with a line break must not look like a text of this program.
            let (name, of) = (obelus_kernel::visible(name), obelus_kernel::visible(&of.to_string()));
            output::answer(&format!("  {DIM}·{DIM:#} {name}: {of}"));
        }
    }
    fresh
}

/// Asks the person at the terminal.
fn agrees(fresh: usize) -> Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!("{fresh} tools are not pinned, and there is no terminal to ask at: add --yes to pin them");
    }
    let mut stderr = std::io::stderr();
    write!(stderr, "Pin these texts? The model will treat them as yours. [y/N] ")?;
    stderr.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(["y", "yes", "д", "да"].contains(&answer.trim().to_lowercase().as_str()))
}

/// Writes a file atomically.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let beside = path.with_extension("lock.new");
    std::fs::write(&beside, text)?;
    std::fs::rename(&beside, path)
}
