//! `obelus run` and `obelus plan run`
//!
//! # Layout
//!
//! | file | subject |
//! |---|---|
//! | `play` | running a session until it rests, with or without people at the terminal |
//! | `show` | progress and result |
//! | `last_words` | the text on which a turn rests |
//! | `outcome` | the outcome of each call |

mod last_words;
mod outcome;
mod play;
mod show;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use obelus_kernel::session::{Input, Mode};
use obelus_runtime::files::{AgentCatalogue, ImageStore, Places};
use obelus_runtime::people::refused_in_words;
use obelus_runtime::{Agent, Host, SessionHandle, SessionSpec};

use super::agents;
use super::faults::{at, must_be_sound, time_zone};
use super::host::{Notices, connector, open_host, report_changes, report_reopened, runtime, with_options};
use super::people::quoted;
use super::plan::give_input;
use super::sessions::interrupted;
use crate::cli::{RunArgs, RunOptions, RunPlan};
use crate::command_error::{in_words, wrong};
use crate::input;
use crate::language::{fill, wanted, words_of, words_of_session};
use crate::output::{self, Exit, visible};
pub(crate) use outcome::is_proposal_of;
pub(crate) use play::{Begin, SessionRun, approved_question, play, report_paused, rested_or_paused};
pub(crate) use show::{ShowOptions, is_same_call};

pub(crate) fn request(args: &RunArgs) -> Result<Exit> {
    let is_agent = args.file.is_dir() || args.file.file_name().is_some_and(|name| name == "agent.yaml");
    let agent = if is_agent { Some(args.file.clone()) } else { agents::named_by(&args.file) };
    let is_agent = agent.is_some();
    let mut spec = match agent {
        Some(agent) => SessionSpec::from_agent(load_agent(&agent, args.say.as_deref())?),
        None => {
            let text = input::text(&args.file).map_err(|error| with_agents(error, &args.file))?;
            let spec = SessionSpec::from_request(&args.file, input::request_from(&args.file, &text)?)?;
            must_be_sound(&spec, &text, &args.how)?;
            spec
        }
    };
    give_input(&mut spec, args.input.as_deref())?;
    let begin = match &args.say {
        Some(words) if words.trim().is_empty() && args.image.is_empty() => {
            bail!("{}", words_of(None).starting.empty_message)
        }
        Some(words) => Input::User { text: words.clone(), by: None },
        None if is_agent => {
            args.how.session.iter().try_for_each(|id| interrupted::must_not_be(&args.how.store, id))?;
            bail!("{}", words_of(None).starting.say_something)
        }
        None => Input::Start,
    };
    for image in &args.image {
        // An invalid picture is reported before anything begins.
        ImageStore::would_take(image).context("--image")?;
    }
    run(
        spec,
        begin,
        &args.how,
        &args.image,
        ShowOptions { as_json: args.json, is_plan: false, store: args.how.store.clone() },
    )
}

/// Names agents beside the error of a file that does not exist: the most similar one, or all.
fn with_agents(error: anyhow::Error, file: &Path) -> anyhow::Error {
    let words = words_of(None);
    let is_name = file.components().count() == 1 && file.extension().is_none();
    match agents::near(file) {
        _ if file.exists() || file == Path::new("-") => error,
        Some(near) => anyhow!("{}", fill(words.starting.did_you_mean_agent, &[&in_words(&error, words), &near])),
        None if is_name => {
            let names = AgentCatalogue::of_environment().names().join(", ");
            anyhow!("{}", fill(words.starting.no_file_no_agent, &[&in_words(&error, words), &names]))
        }
        None => error,
    }
}

pub(crate) fn plan(args: &RunPlan) -> Result<Exit> {
    let spec = super::plan::sound(args)?;
    run(
        spec,
        Input::RunPlan,
        &args.how,
        &[],
        ShowOptions { as_json: args.json, is_plan: true, store: args.how.store.clone() },
    )
}

/// Reads an agent in the language of its user, which their message may show.
pub(crate) fn load_agent(path: &Path, said: Option<&str>) -> Result<Agent> {
    load_agent_in(path, wanted(said))
}

/// Reads an agent in a language, or in its own.
pub(crate) fn load_agent_in(path: &Path, language: Option<&str>) -> Result<Agent> {
    let agent = Agent::load_in(path, language).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        anyhow!("{}", lines.join("\n"))
    })?;
    if let Some(problem) = time_zone(agent.settings.time_zone.as_deref(), "time_zone") {
        let file = agent.folder.join("agent.yaml");
        let place = std::fs::read_to_string(&file).ok().and_then(|text| Places::of(&text).find(&problem.field));
        bail!("{}{}: {problem}", file.display(), at(place));
    }
    Ok(agent)
}

fn run(spec: SessionSpec, begin: Input, how: &RunOptions, images: &[PathBuf], shown: ShowOptions) -> Result<Exit> {
    // The mode of a stored session is set by an input: the file's setting and a person's choice are kept apart
    // (POL-9).
    let stored_options = RunOptions { mode: None, ..how.clone() };
    let mut spec = with_options(spec, if how.session.is_some() { &stored_options } else { how })?;
    spec.unbound_tools()
        .iter()
        .chain(&spec.unread_in_delegates())
        .for_each(|fault| output::warning(&visible(&fault.text)));
    let connector = connector(&how.store, &Notices::default())?;
    let Some(id) = &how.session else {
        spec.local.unattended = !shown.has_people();
        return on(async {
            let host = Host::new(connector);
            let has_model = must_have_model(&spec, &begin);
            let handle = host.create_temporary("run", spec).await?;
            has_model?;
            attach(&handle, images).await?;
            play(SessionRun { host, handle }, Begin::With(begin), shown).await
        });
    };
    let host = open_host(&how.store, connector)?;
    on(async {
        let (handle, begin) = match host.spec(id)? {
            // Servers, a model and activities named now replace the original ones; sites are added. The journal has
            // the mode.
            Some(stored) => {
                must_be_same(id, &stored, &spec)?;
                let mut stored = with_options(stored, &stored_options)?;
                stored.local.settings = Some(Box::new(spec.settings));
                let handle = host.open_with(id, stored).await?;
                report_reopened(&handle).await?;
                report_changes(&handle).await?;
                let begin = Begin::GoingOn(unless_said(&host, &handle, begin)?);
                (handle, begin)
            }
            None => {
                must_have_model(&spec, &begin)?;
                spec.settings.persistent = true;
                let chosen = how.mode.map(Mode::from).filter(|mode| *mode != spec.settings.mode);
                (host.create_in(id, spec, chosen).await?, Begin::With(begin))
            }
        };
        if handle.inspect(|session| session.paused().is_some()).await? {
            let is_taken = note_while_paused(&host, &handle, begin, images).await?;
            return report_paused(&handle, is_taken, &shown).await;
        }
        if let Some(mode) = how.mode.map(Mode::from) {
            set_mode(&handle, mode).await?;
        }
        attach(&handle, images).await?;
        play(SessionRun { host, handle }, begin, shown).await
    })
}

/// Checks that a session continues with its own file, so that an old result is not taken for another file's, and no
/// other plan runs.
fn must_be_same(id: &str, stored: &SessionSpec, given: &SessionSpec) -> Result<()> {
    match stored.difference(given) {
        None => Ok(()),
        Some(difference) => {
            let words = words_of(stored.language.as_deref());
            let difference = difference.in_words(words.language);
            Err(wrong(fill(words.starting.not_the_same, &[id, &given.name, &difference, id]), words))
        }
    }
}

/// Refuses to ask a model about a plan if there is none: the plan itself is run by another command.
fn must_have_model(spec: &SessionSpec, begin: &Input) -> Result<()> {
    let has_plan = spec.context.plan().is_some_and(|plan| !plan.calls.is_empty());
    if spec.model.is_some() || *begin != Input::Start || !has_plan {
        return Ok(());
    }
    let words = words_of(spec.language.as_deref());
    Err(wrong(fill(words.starting.is_a_plan, &[&spec.name, &quoted(&spec.name)]), words))
}

/// Runs the work of a command in its own runtime.
pub(crate) fn on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = runtime()?;
    let done = runtime.block_on(work);
    // A thread may still wait for a line of input.
    runtime.shutdown_background();
    done
}

/// The input, unless the command is repeated. A message is, if the journal ends with it in progress; once that is done,
/// it is a new message. Without a message, a command only begins a session: later it shows how things stand.
fn unless_said(host: &Host, handle: &SessionHandle, input: Input) -> Result<Option<Input>> {
    let is_last = host.last_turn_input(handle.id())?.as_ref() == Some(&input);
    let is_echo = match input {
        Input::User { .. } => is_last && handle.reopened().under_way > 0,
        _ => {
            is_last || host.records(handle.id(), 0, Some(1))?.records.first().is_some_and(|first| *first.input == input)
        }
    };
    Ok(Some(input).filter(|_| !is_echo))
}

/// Gives a paused session a new message, which it answers when it is resumed (DUR-11); returns whether there is one.
async fn note_while_paused(host: &Host, handle: &SessionHandle, begin: Begin, images: &[PathBuf]) -> Result<bool> {
    let Begin::GoingOn(Some(input @ Input::User { .. })) = begin else { return Ok(false) };
    let is_under_way = handle.inspect(|session| !session.is_at_rest()).await?;
    if is_under_way && host.last_turn_input(handle.id())?.as_ref() == Some(&input) {
        // The command is repeated.
        return Ok(false);
    }
    attach(handle, images).await?;
    handle.tell(input).await?;
    Ok(true)
}

async fn set_mode(handle: &SessionHandle, mode: Mode) -> Result<()> {
    let words = handle.inspect(words_of_session).await?;
    let (now, is_at_rest) = handle.inspect(|session| (session.settings().mode, session.is_at_rest())).await?;
    if now == mode {
        return Ok(());
    }
    if !is_at_rest {
        return Err(wrong(fill(words.starting.mode_under_way, &[handle.id(), now.name()]), words));
    }
    let changed = handle.set_mode(mode).await;
    changed.map_err(|refused| wrong(format!("--mode: {}", refused_in_words(&refused, None, words.language)), words))
}

/// Attaches pictures to the message that begins the turn.
async fn attach(handle: &SessionHandle, images: &[PathBuf]) -> Result<()> {
    for image in images {
        handle.attach(image).await.context("--image")?;
    }
    Ok(())
}
