//! `obelus run` and `obelus plan run`

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::pin::pin;

use anyhow::{Context as _, Result, anyhow, bail};
use obelus_kernel::session::{AskedAgain, CallStatus, Ends, Input, Mode, Outcome, Question, Reply};
use obelus_kernel::{Data, Message, Role};
use obelus_runtime::{
    Agent, Driver, Event, Idle, ImageStore, Language, SessionJournal, Store, error_words, one_line, system_clock,
    undone, why_it_ended,
};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::UnboundedSender;

use super::holder::Holder;
use super::host::{Job, Mcp, runtime, store_folder, with_files};
use super::{agents, people, sessions};
use crate::cli::{How, Run, RunPlan};
use crate::input;
use crate::output::{self, BOLD, DIM, Exit, GREEN, RED, YELLOW, visible};

pub(crate) fn request(args: &Run) -> Result<Exit> {
    let is_agent = args.file.is_dir() || args.file.file_name().is_some_and(|name| name == "agent.yaml");
    let agent = if is_agent { Some(args.file.clone()) } else { agents::named_by(&args.file) };
    let is_agent = agent.is_some();
    let mut job = match agent {
        Some(agent) => Job::from_agent(load_agent(&agent)?),
        None => {
            let request = input::request(&args.file).map_err(|error| match agents::near(&args.file) {
                Some(near) if !args.file.exists() => anyhow!("{error:#}; did you mean the agent `{near}`?"),
                _ => error,
            });
            Job::from_request(&args.file, request?)?
        }
    };
    if let Some(given) = &args.input {
        let value: Value = match given.strip_prefix('@').map(Path::new) {
            Some(file) => serde_json::from_str(&input::text(file)?)
                .with_context(|| format!("--input: {} is not JSON", input::name(file)))?,
            None => serde_json::from_str(given).context("--input is JSON, or @FILE")?,
        };
        let message = Message::Data(Box::new(Data::plain("input", value)));
        job.context.append(vec![message]).map_err(|fault| anyhow!("--input: {fault}"))?;
    }
    let begin = match &args.say {
        Some(words) => Input::User { text: words.clone() },
        None if is_agent => bail!("an agent answers to words: add --say 'TEXT'"),
        None => Input::Start,
    };
    for image in &args.image {
        // What cannot be shown is said before anything begins.
        ImageStore::would_take(image).context("--image")?;
    }
    run(job, begin, &args.how, &args.image, args.json, false)
}

pub(crate) fn plan(args: &RunPlan) -> Result<Exit> {
    let job = Job::from_request(&args.file, input::request(&args.file)?)?;
    let check = super::plan::checked(&args.file, &job.context)?;
    if let Some(fault) = check.errors.first() {
        let more = if check.errors.len() > 1 { " (see `obelus plan check`)" } else { "" };
        bail!("{}: {fault}{more}", input::name(&args.file));
    }
    run(job, Input::RunPlan, &args.how, &[], args.json, true)
}

pub(crate) fn load_agent(path: &Path) -> Result<Agent> {
    Agent::load(path).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        anyhow!("{}", lines.join("\n"))
    })
}

fn run(job: Job, begin: Input, how: &How, images: &[PathBuf], as_json: bool, is_plan: bool) -> Result<Exit> {
    let mut job = job.told(how)?;
    let record = how.record.as_deref();
    let runtime = runtime()?;
    let Some(id) = &how.session else {
        job.meet_servers(&runtime)?;
        let place = Place { runtime, mcp: job.mcp.clone() };
        let mut driver = job.drive("run", record)?;
        attach(&mut driver, images)?;
        return play(driver, place, Begin::With(begin), None, as_json, is_plan);
    };
    let store = Store::open(&store_folder(&how.store)?)?;
    let (mut driver, begin, mcp) = match store.genesis(id)? {
        Some(genesis) => {
            // Servers, a model and activities that are named now stand in for those that it began with; sites are added.
            // The mode is a matter of the journal.
            let genesis = Job::from_genesis(genesis)?.told(&How { mode: None, ..how.clone() })?.genesis()?;
            let (driver, begin, mcp) = sessions::restore(&store, id, genesis, record, Some(begin))?;
            mcp.tell_changes(driver.session().context(), &runtime)?;
            (driver, begin, mcp)
        }
        None => {
            job.meet_servers(&runtime)?;
            job.settings.persistent = true;
            // What cannot be driven is not begun.
            let (genesis, agent, mcp) = (job.genesis()?, job.agent.clone(), job.mcp.clone());
            let driver = job.pictured(&store, id).drive(id, record)?;
            store.create(id, system_clock(), &genesis)?;
            let driver = driver.journaled_by(SessionJournal::new(store.clone(), id));
            (with_files(driver, &store, id, &agent)?, Begin::With(begin), mcp)
        }
    };
    if let Some(by) = driver.session().paused() {
        output::note(&format!("`{id}` was paused by {}: obelus sessions resume {id}", visible(by)));
        return Ok(Exit::Waiting);
    }
    if let Some(mode) = how.mode.map(Mode::from).filter(|mode| driver.session().settings().mode != *mode) {
        if !driver.session().is_at_rest() {
            bail!(
                "`{id}` was cut off in the mode {}: let it end, then change the mode",
                driver.session().settings().mode.name()
            );
        }
        runtime.block_on(driver.tell(Input::Mode { mode })).map_err(|refused| anyhow!("--mode: {}", refused.text))?;
    }
    attach(&mut driver, images)?;
    play(driver, Place { runtime, mcp }, begin, Some((store, id)), as_json, is_plan)
}

/// Has pictures go with what begins the turn.
fn attach(driver: &mut Driver, images: &[PathBuf]) -> Result<()> {
    images.iter().try_for_each(|image| driver.attach(image).context("--image"))
}

/// Where a session is at work: in a runtime, beside the servers whose tools it has.
pub(crate) struct Place {
    runtime: Runtime,
    mcp: Mcp,
}

impl Place {
    pub(crate) fn with(mcp: Mcp) -> Result<Self> {
        Ok(Self { runtime: runtime()?, mcp })
    }
}

/// How long a question waits at a terminal for what it would change.
const LOOKING: std::time::Duration = std::time::Duration::from_secs(5);

/// How a command gets a session going.
pub(crate) enum Begin {
    /// With something that is said.
    With(Input),
    /// With what was under way, and then with something that is said, if that was not said already.
    GoingOn {
        then: Option<Input>,
        /// Where it came to rest before.
        rested: Option<Box<Reply>>,
    },
    /// With something that a paused session is told.
    Resumed(Input),
}

/// Drives a session to its rest, and tells what came of it. Where it is kept, others can answer it meanwhile.
pub(crate) fn play(
    mut driver: Driver,
    place: Place,
    begin: Begin,
    kept: Option<(Store, &str)>,
    as_json: bool,
    is_plan: bool,
) -> Result<Exit> {
    let Place { runtime, mcp } = place;
    let has_people = !as_json && std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if as_json {
        // Not even a program may miss that somebody's edits were refused.
        driver = driver.watched_by(|event| {
            if let Event::Files(news) = event {
                output::note(&visible(&news.to_string()));
            }
        });
    } else {
        let elsewhere = kept.as_ref().filter(|_| !has_people).map(|(_, id)| (*id).to_owned());
        driver = driver.watched_by(move |event| show(&event, elsewhere.as_deref()));
    }
    if kept.is_none() && !has_people {
        driver = driver.alone();
    }
    let local = tokio::task::LocalSet::new();
    let ended = local.block_on(&runtime, async {
        let (over, is_over) = tokio::sync::oneshot::channel();
        let served = kept.and_then(|(store, id)| match Holder::open(store, id, driver.counter()) {
            Ok(holder) => Some(tokio::task::spawn_local(holder.serve(is_over))),
            Err(error) => {
                output::warning(&format!("others cannot answer this session meanwhile: {error:#}"));
                None
            }
        });
        let ended = turns(&mut driver, begin, has_people).await;
        driver.close_counter();
        drop(over);
        if let Some(served) = served {
            served.await?;
        }
        mcp.close().await;
        ended
    });
    // A thread may still wait for a line that nobody will type.
    runtime.shutdown_background();
    let (reply, interrupted) = ended?;
    if as_json {
        output::json(&document(&driver, &reply));
    } else {
        report(&driver, &reply, is_plan);
    }
    let failed = |status: CallStatus| matches!(status, CallStatus::Failed | CallStatus::Refused | CallStatus::Denied);
    Ok(match reply.ends {
        _ if interrupted => Exit::Interrupted,
        Ends::Output if is_plan && reply.calls.iter().any(|report| failed(report.status)) => Exit::Failed,
        Ends::Output => Exit::Done,
        Ends::Waiting => Exit::Waiting,
        Ends::Degraded | Ends::Limit => Exit::Failed,
        Ends::Stopped => Exit::Interrupted,
    })
}

/// One turn, and what people say to its questions as long as there are people to ask; and whether they broke off.
async fn turns(driver: &mut Driver, begin: Begin, has_people: bool) -> Result<(Reply, bool)> {
    let mut break_off = BreakOff::new(driver)?;
    let mut reply = match begin {
        Begin::With(input) => break_off.watch(driver.turn(input)).await?,
        Begin::Resumed(input) => {
            driver.accept(input).await?;
            let reply = break_off.watch(driver.go_on()).await?.or_else(|| driver.session().reply());
            match (reply, driver.session().paused()) {
                (Some(reply), _) => reply,
                (None, Some(by)) => {
                    bail!(
                        "it is noted; the session was paused by {}, and goes on with `obelus sessions resume`",
                        visible(by)
                    )
                }
                (None, None) => bail!("the session has not begun: say something to it"),
            }
        }
        Begin::GoingOn { then, rested } => {
            let resumed = break_off.watch(driver.resume()).await?;
            match (then, resumed.or(rested.map(|reply| *reply))) {
                (Some(input), _) => break_off.watch(driver.turn(input)).await?,
                (None, Some(reply)) => reply,
                (None, None) => bail!("the session has not begun: say something to it"),
            }
        }
    };
    while reply.ends == Ends::Waiting && has_people {
        // What the question would change is still being read, perhaps; nobody waits long for that.
        // A call that asks does not end before it is answered.
        if !driver.is_asked()
            && let Ok(Some(next)) = tokio::time::timeout(LOOKING, break_off.watch(driver.finish())).await
        {
            reply = next;
            continue;
        }
        let open: Vec<Question> = driver.session().questions().into_iter().filter(Question::is_open).collect();
        // In a thread of its own, because a terminal blocks whoever reads from it.
        let decided = tokio::select! {
            decided = tokio::task::spawn_blocking(move || people::decide(&open)) => decided??,
            idle = driver.idle() => {
                // Somebody answered elsewhere: what is asked at the terminal now may be another thing.
                output::note("things have moved elsewhere; press Enter to go on");
                match idle {
                    Idle::Rested(next) => reply = *next,
                    Idle::Told(told) => {
                        if let Ok(Some(next)) = break_off.watch(driver.turn_told(told)).await {
                            reply = next;
                        }
                    }
                }
                continue;
            }
            _ = break_off.signal() => return Ok((reply, true)),
        };
        let Some(decided) = decided else { break };
        match break_off.watch(driver.turn(decided)).await {
            Ok(next) => reply = next,
            Err(refused) => output::warning(&refused.to_string()),
        }
    }
    let reply = break_off.watch(driver.finish()).await.unwrap_or(reply);
    Ok((reply, false))
}

/// Ctrl-C, and its like from other programs. The first one stops the turn, which ends whatever is at work; a
/// second one is for when even that takes too long.
struct BreakOff {
    interrupt: Signal,
    terminate: Signal,
    stop: UnboundedSender<Input>,
    times: u32,
}

impl BreakOff {
    fn new(driver: &mut Driver) -> Result<Self> {
        let (interrupt, terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        Ok(Self { interrupt, terminate, stop: driver.inlet(), times: 0 })
    }

    async fn signal(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    /// Waits for work of the driver, and stops it when told to.
    async fn watch<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                () = self.signal() => {
                    self.times += 1;
                    if self.times > 1 || self.stop.send(Input::Stop).is_err() {
                        std::process::exit(Exit::Interrupted as i32);
                    }
                }
            }
        }
    }
}

/// Tells a person what happens while it happens. `elsewhere` is the session, where it can be answered, but not here.
fn show(event: &Event<'_>, elsewhere: Option<&str>) {
    match event {
        Event::Say(words) => output::note(&visible(words)),
        Event::Asking => output::note(&format!("{DIM}asking the model{DIM:#}")),
        Event::Began(start) => {
            let tool = start.call["_tool"].as_str().unwrap_or_default();
            output::note(&format!("{DIM}▸ {}{DIM:#}", visible(tool)));
        }
        Event::Ended(_, Outcome::Error(error)) => {
            let words = error_words(&json!({"code": error.code, "message": error.message}));
            output::note(&format!("  {RED}✗{RED:#} {}", visible(&words)));
        }
        Event::AskedAgain(question, AskedAgain::ItWillLapse) => {
            let until = question.expires_at;
            output::note(&format!(
                "{YELLOW}?{YELLOW:#} {BOLD}{}{BOLD:#} lapses at {until}",
                visible(&question.id.to_string())
            ));
        }
        // It is shown whole before anybody is asked to decide.
        Event::AskedAgain(_, AskedAgain::MoreIsKnown) => {}
        Event::Ended(_, Outcome::Lost { message }) => {
            output::note(&format!("  {YELLOW}?{YELLOW:#} its answer was lost: {}", visible(message)));
        }
        Event::Files(news) => output::note(&visible(&news.to_string())),
        // Words are shown when they are whole: standard error may be a file.
        Event::Ended(..) | Event::Happened(_) | Event::Moved(_) | Event::Writing(_) | Event::Used(_) => {}
        Event::Asked(question) if question.asked_by().is_some() && elsewhere.is_some() => {
            let id = format!("{}:{}", elsewhere.unwrap_or_default(), question.id);
            output::note(&people::shown(question));
            output::note(&format!("A call waits for it: obelus answer {} value ANSWER", visible(&id)));
        }
        Event::Asked(question) => {
            output::note(&format!(
                "{YELLOW}?{YELLOW:#} {BOLD}{}{BOLD:#} needs a decision",
                visible(&question.id.to_string())
            ));
        }
    }
}

fn document(driver: &Driver, reply: &Reply) -> Value {
    let session = driver.session();
    let calls: Vec<Value> = reply.calls.iter().map(|report| json!(report)).collect();
    let open: Vec<Value> = session.questions().iter().filter(|q| q.is_open()).map(Question::to_json).collect();
    let mut document = json!({
        "schema": session.schema(),
        "context": session.context().to_json(),
        "solution": {"calls": reply.calls.iter().map(|report| (*report.call).clone()).collect::<Vec<_>>(), "output": reply.output},
        "ends": reply.ends,
        "waiting": open,
    });
    let (turn, whole) = session.spent();
    if whole.requests > 0 {
        document["spent"] = json!({"turn": turn, "session": whole});
    }
    if let Some(reason) = &reply.reason {
        document["reason"] = json!(reason);
    }
    if let Some(end) = &reply.end {
        document["end"] = end.as_str().into();
    }
    if !reply.said.is_empty() {
        document["solution"]["say"] = reply.said.join("\n").into();
    }
    document["calls"] = calls.into();
    document
}

fn report(driver: &Driver, reply: &Reply, is_plan: bool) {
    let asked = driver.session().context().messages().iter().rev().find_map(|message| match message {
        Message::Text(text) if text.role == Role::User => Some(text.text.as_str()),
        _ => None,
    });
    let language = Language::of(asked.unwrap_or_default());
    if is_plan {
        for report in &reply.calls {
            let colour = match report.status {
                CallStatus::Done => GREEN,
                CallStatus::Waiting | CallStatus::Skipped => YELLOW,
                _ => RED,
            };
            output::answer(&format!("{colour}{:<8}{colour:#} {}", report.status.name(), visible(&one_line(report))));
        }
    } else {
        for line in undone(driver.session(), reply, language) {
            output::note(&line);
        }
    }
    match &reply.output {
        Value::Null => {}
        Value::String(words) => output::answer(&visible(words)),
        other => output::answer(&visible(&format!("{other:#}"))),
    }
    let why = why_it_ended(reply, language);
    if !why.is_empty() {
        output::note(&visible(&why));
    }
    if reply.ends == Ends::Waiting {
        for question in driver.session().questions().iter().filter(|question| question.is_open()) {
            output::note(&people::shown(question));
        }
        output::note("Waiting for a person. Run it at a terminal to decide.");
    }
}
