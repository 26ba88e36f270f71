//! `obelus agents`

mod login;
mod misspelt;
mod names;
mod oddities;
mod pin;
mod playbook;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(in crate::cmd) use oddities::name_notes;

use anyhow::{Result, bail};
use obelus_connect::activity::BindingError;
use obelus_connect::bitrix24;
use obelus_connect::browser::Browser;
use obelus_connect::mcp::Servers;
use obelus_connect::model::{AskedPrompts, asked_prompts};
use obelus_kernel::compose::{Offer, compose};
use obelus_kernel::{PlanMode, Tool};
use obelus_runtime::files::{AgentCatalogue, Places, Problem};
use obelus_runtime::{Agent, Secret, SessionSpec};
use serde_json::{Value, json};

use super::faults::bindings_and_model;
use super::host::{Notices, connector, short_secrets};
use super::run::{load_agent, on};
use crate::cli::{Agents, Format, StoreArgs};
use crate::input;
use crate::language::{fill, words_of};
use crate::output::{self, BOLD, DIM, Exit, GREEN, RED, YELLOW, visible};

pub(crate) fn run(args: &Agents) -> Result<Exit> {
    match args {
        Agents::List { json } => Ok(list(*json)),
        Agents::Show { agent, json } => show(agent, *json),
        Agents::Copy { agent, name, folder } => super::new::copy(agent, name.as_deref(), folder),
        Agents::Check { agents, json } => check(agents, *json),
        Agents::Graph { agent, format } => graph(agent, *format),
        Agents::Prompt { agent, say, stats, json } => prompt(agent, say, *stats, *json),
        Agents::Login(args) => login::login(args),
        Agents::Pin(args) => pin::pin(args),
    }
}

/// The folders of the user's agents: in `agents/` here, and in those named by `OBELUS_AGENTS`.
pub(crate) fn found() -> Vec<PathBuf> {
    AgentCatalogue::of_environment().own()
}

/// All agents. An agent of the user hides a bundled one with the same name.
fn all() -> Vec<PathBuf> {
    AgentCatalogue::of_environment().all()
}

/// The agent with this name, if there is no such file.
pub(crate) fn named_by(path: &Path) -> Option<PathBuf> {
    if path.exists() { None } else { AgentCatalogue::of_environment().find(path.to_str()?) }
}

/// The most similar agent name.
pub(crate) fn near(path: &Path) -> Option<String> {
    AgentCatalogue::of_environment().near(path.to_str()?)
}

/// Finds an agent by its name, folder or file.
pub(crate) fn locate(agent: &str) -> Result<PathBuf> {
    let path = Path::new(agent);
    if let Some(path) = named_by(path).or_else(|| path.exists().then(|| path.to_owned())) {
        return Ok(path);
    }
    let words = &words_of(None).starting;
    let hint = match near(path) {
        Some(near) => fill(words.did_you_mean, &[&near]),
        None => fill(words.there_are, &[&AgentCatalogue::of_environment().names().join(", ")]),
    };
    bail!("{}{hint}", fill(words.no_agent, &[agent]))
}

/// An agent in `agents list --json`.
fn row_of(title: Result<(String, Option<String>), Vec<Problem>>, path: &Path) -> Value {
    match title {
        Ok((name, description)) => {
            let notes = oddities::name_notes(path, &name);
            let mut row = json!({"name": name, "description": description, "folder": path, "ok": true});
            if !notes.is_empty() {
                row["notes"] = notes.into();
            }
            row
        }
        Err(problems) => json!({"folder": path, "ok": false, "problems": problems.len()}),
    }
}

fn list(as_json: bool) -> Exit {
    let language = Some(words_of(None).code);
    let titled = all().into_iter().map(|path| (AgentCatalogue::title(&path, language), path));
    if as_json {
        output::json(&titled.map(|(title, path)| row_of(title, &path)).collect());
        return Exit::Done;
    }
    for (title, path) in titled {
        match title {
            Ok((name, description)) => {
                for note in oddities::name_notes(&path, &name) {
                    output::warning(&format!("{}: {note}", path.display()));
                }
                let path = if obelus_runtime::files::is_bundled(&path) {
                    "bundled".to_owned()
                } else {
                    visible(&path.display().to_string())
                };
                let (name, words) = (visible(&name), visible(&description.unwrap_or_default()));
                output::answer(&format!("{BOLD}{name:<16}{BOLD:#} {words}  {DIM}{path}{DIM:#}"));
            }
            Err(problems) => {
                output::answer(&format!(
                    "{RED}faulty{RED:#}           {} ({} problems)",
                    visible(&path.display().to_string()),
                    problems.len()
                ));
            }
        }
    }
    Exit::Done
}

fn show(agent: &str, as_json: bool) -> Result<Exit> {
    let agent = load_agent(&locate(agent)?, None)?;
    let tools: Vec<Value> = agent
        .context
        .tools()
        .map(|tool| json!({"name": tool.name, "effect": tool.effect.name(), "trusted": tool.trusted}))
        .collect();
    let shown = json!({
        "name": agent.name,
        "description": agent.description,
        "language": agent.language,
        "model": agent.model,
        "mode": agent.settings.mode,
        "tools": tools,
        "activities": agent.activities.keys().collect::<Vec<_>>(),
        "mcp": agent.mcp.keys().collect::<Vec<_>>(),
        "graph": agent.steps.as_ref().map(|steps| steps.nodes.keys().cloned().collect::<Vec<_>>()),
        "folder": agent.folder,
    });
    if as_json {
        output::json(&shown);
    } else {
        output::answer(&visible(&format!("{shown:#}")));
    }
    Ok(Exit::Done)
}

fn check(agents: &[String], as_json: bool) -> Result<Exit> {
    let paths = match agents {
        [] => found(),
        named => named.iter().map(|name| locate(name)).collect::<Result<_>>()?,
    };
    if paths.is_empty() {
        bail!("no agents: there is no folder `agents` here, and OBELUS_AGENTS names none");
    }
    let (mut problems, mut notes) = (Vec::new(), Vec::new());
    for path in &paths {
        let is_folder = path.is_dir() || obelus_runtime::files::is_bundled(path);
        let file = if is_folder { path.join("agent.yaml") } else { path.clone() };
        let folder = file.parent().unwrap_or(Path::new(""));
        let text = match input::text(&file) {
            // The others are checked all the same.
            Err(error) if paths.len() > 1 => {
                problems.push(Problem { file, place: None, text: error.root_cause().to_string() });
                continue;
            }
            text => text?,
        };
        match Agent::parse(&file, &text, folder) {
            Ok(agent) => {
                let odd = strict_mode_problem(&agent).into_iter().chain(missing_name_sources(&agent));
                notes.extend(odd.map(|text| Problem { file: file.clone(), place: None, text }));
                let (spec, places) = (SessionSpec::from_agent(agent.clone()), Places::of(&text));
                let odd = oddities::oddities(&agent, &spec).into_iter();
                notes.extend(odd.map(|(at, text)| Problem { file: file.clone(), place: places.find(&at), text }));
                notes.extend(playbook::playbook_notes(&agent, &spec));
                notes.extend(spec.unbound_tools().into_iter().map(|fault| {
                    let place = places.find(&format!("tools.{}", fault.name));
                    Problem { file: file.clone(), place, text: format!("TOOL-3: {}", fault.text) }
                }));
                notes.extend(missing_programs(&spec).into_iter().map(|(name, text)| {
                    let place = places.find(&format!("activities.{name}"));
                    Problem { file: file.clone(), place, text }
                }));
                let mut wrong = wrong_with(agent, &file, &places);
                let short = Some(Secret::take_short()).filter(|names| !names.is_empty());
                notes.extend(short.map(|names| Problem {
                    file: file.clone(),
                    place: None,
                    text: short_secrets(&names),
                }));
                if !wrong.is_empty() {
                    problems.append(&mut wrong);
                } else if !as_json {
                    output::answer(&format!("{GREEN}ok{GREEN:#} {}", visible(&path.display().to_string())));
                }
            }
            Err(found) => problems.extend(found),
        }
    }
    print_found(&problems, &notes, as_json);
    Ok(if problems.is_empty() { Exit::Done } else { Exit::Failed })
}

/// Prints the errors and notes of a check.
fn print_found(problems: &[Problem], notes: &[Problem], as_json: bool) {
    if as_json {
        let row = |problem: &Problem| {
            let (line, column) = problem.place.unzip();
            json!({"file": problem.file, "line": line, "column": column, "message": problem.text})
        };
        let rows = |all: &[Problem]| all.iter().map(row).collect::<Vec<_>>();
        output::json(&json!({"ok": problems.is_empty(), "problems": rows(problems), "notes": rows(notes)}));
    } else {
        for note in notes {
            output::answer(&format!("{YELLOW}note{YELLOW:#} {}", visible(&note.to_string())));
        }
        for problem in problems {
            output::answer(&format!("{RED}error{RED:#} {}", visible(&problem.to_string())));
        }
    }
}

/// Errors in an agent's connections: activities, model, servers, the portal. Nothing is started.
fn wrong_with(agent: Agent, file: &Path, places: &Places) -> Vec<Problem> {
    let problem = |field: &str, text: String| Problem { file: file.to_owned(), place: places.find(field), text };
    let mut wrong = Vec::new();
    let servers = servers_of(&agent);
    if let Err(error) = &servers {
        let field = format!("{}.{}", error.binding, error.field.trim_matches('`'));
        wrong.push(problem(&field, error.to_string()));
    }
    for tool in agent.context.tools() {
        if let Err(text) = bitrix24::check_tool(tool) {
            wrong.push(problem(&format!("tools.{}", tool.name), text));
        }
    }
    wrong.extend(misspelt::in_tools(&agent).into_iter().map(|(at, text)| problem(&at, text)));
    wrong.extend(misspelt::in_calls(&agent));
    let spec = SessionSpec::from_agent(agent);
    let found = bindings_and_model(&spec, servers.as_ref().ok().and_then(Option::as_ref));
    wrong.extend(found.into_iter().map(|found| problem(&found.field, found.to_string())));
    wrong
}

/// Why an agent that answers in JSON cannot use a server's strict mode.
fn strict_mode_problem(agent: &Agent) -> Option<String> {
    let runs_by_model = |tool: &Tool| match tool.fixed_name("_activity") {
        Some(name) => !agent.activities.contains_key(name),
        None => !agent.activities.contains_key(&tool.name),
    };
    let composed = compose(&agent.context, agent.schema.as_ref(), PlanMode::Eager, |_| Offer::Call, runs_by_model);
    (agent.settings.dialect.is_json() && !composed.loose.is_empty()).then(|| {
        let why = composed.loose.join("; ");
        format!("the schema of its answers does not fit a server's strict mode, so any JSON object is requested: {why}")
    })
}

/// Tools that `x-names` refers to and that do not exist.
fn missing_name_sources(agent: &Agent) -> Vec<String> {
    let mut missing = Vec::new();
    for tool in agent.context.tools() {
        for (place, source) in tool.name_sources() {
            if agent.context.tool(source).is_none() {
                missing.push(format!("`{}`: `x-names`, `{place}`: there is no tool `{source}`", tool.name));
            }
        }
    }
    missing
}

/// Programs of activities that are not on this machine or may not be executed: the name of the activity, and a text.
fn missing_programs(spec: &SessionSpec) -> Vec<(String, String)> {
    let mut missing = Vec::new();
    for lot in &spec.activities {
        for (name, binding) in &lot.bound {
            let Some(program) = binding["exec"].get(0).or(binding.get("exec")).and_then(|it| it.as_str()) else {
                continue;
            };
            let folders = if program.contains('/') {
                vec![lot.folder.clone()]
            } else {
                std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect()
            };
            match folders.iter().map(|folder| folder.join(program)).find(|file| file.is_file()) {
                None => {
                    missing.push((name.clone(), format!("`{name}`: there is no program `{program}` on this machine")));
                }
                Some(file) if program.contains('/') && !is_executable(&file) => {
                    let text = format!(
                        "`{name}`: `{program}` may not be executed: run `chmod +x {program}`, or name its interpreter \
                         before it"
                    );
                    missing.push((name.clone(), text));
                }
                Some(_) => {}
            }
        }
    }
    missing
}

#[cfg(unix)]
fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(file).is_ok_and(|found| found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(_: &Path) -> bool {
    true
}

/// Checks the sections on MCP servers and the browser. The servers need not be installed.
fn servers_of(agent: &Agent) -> Result<Option<Arc<Browser>>, BindingError> {
    match &agent.browser {
        Some(browser) => Browser::checked(browser, &agent.mcp, &agent.folder).map(Some),
        None => Servers::parse(&agent.mcp, &agent.folder).map(|_| None),
    }
}

fn graph(agent: &str, format: Format) -> Result<Exit> {
    let agent = load_agent(&locate(agent)?, None)?;
    let Some(steps) = &agent.steps else {
        bail!("`{}` has no graph of steps: it runs the plain loop", agent.name);
    };
    let drawing = obelus_draw::steps_drawing(steps, &agent.name);
    match format {
        Format::Mermaid => output::answer(drawing.mermaid().trim_end()),
        Format::Dot => output::answer(drawing.dot().trim_end()),
        Format::Svg => output::answer(drawing.svg().trim_end()),
        Format::Json => output::json(&serde_json::to_value(&**steps)?),
    }
    Ok(Exit::Done)
}

/// The prompts of a session's model after each of these messages, including the tools of its MCP servers.
pub(super) async fn asked_of(spec: SessionSpec, say: &[String]) -> Result<AskedPrompts> {
    let connector = connector(&StoreArgs::default(), &Notices::default())?;
    Ok(asked_prompts(connector, spec, say).await?)
}

fn prompt(agent: &str, say: &[String], stats: bool, as_json: bool) -> Result<Exit> {
    let spec = SessionSpec::from_agent(load_agent(&locate(agent)?, None)?);
    let AskedPrompts { requests, sum, messages, prompt } = on(asked_of(spec, say))?;
    if stats && as_json {
        output::json(&json!({"requests": requests, "sum": sum}));
    } else if stats {
        for (number, request) in requests.iter().enumerate() {
            output::answer(&format!(
                "request {}: {} characters, {} of them ({} %) a prefix of the request before; beside them a schema of {}",
                number + 1,
                request.chars,
                request.prefix,
                request.percent,
                request.schema
            ));
        }
    } else if as_json {
        let rows: Vec<Value> = messages.iter().map(|m| json!({"role": m.role, "content": m.content})).collect();
        output::json(&json!({"messages": rows, "schema": prompt.answer.schema, "loose": prompt.answer.loose}));
    } else {
        for message in &messages {
            output::answer(&format!("{BOLD}── {:?}{BOLD:#}\n{}", message.role, visible(&message.content)));
        }
    }
    Ok(Exit::Done)
}
