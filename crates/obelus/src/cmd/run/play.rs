//! A session on its way to its rest, and what people say to its questions where there are people to ask.

use std::path::PathBuf;
use std::pin::pin;

use anyhow::{Result, bail};
use obelus_kernel::session::{Ends, Input, Question, Refused, Reply};
use obelus_runtime::{EventBody, Host, SessionHandle, Subscription};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;

use super::super::holder::Holder;
use super::super::people;
use super::Shown;
use crate::output::{self, Exit, visible};

/// How long a question waits at a terminal for what it would change.
const LOOKING: std::time::Duration = std::time::Duration::from_secs(5);

/// Where a session is played.
pub(crate) struct Stage {
    pub(crate) host: Host,
    pub(crate) handle: SessionHandle,
    /// The store's folder, if the session is kept.
    pub(crate) folder: Option<PathBuf>,
}

/// How a command gets a session going.
pub(crate) enum Begin {
    /// With something that is said.
    With(Input),
    /// With what was under way, and then with something that is said, if that was not said already.
    GoingOn(Option<Input>),
    /// With something that a paused session is told.
    Resumed(Input),
}

/// Plays a session to its rest, and tells what came of it. Where it is kept, others can answer it meanwhile.
pub(crate) async fn play(stage: Stage, begin: Begin, shown: Shown) -> Result<Exit> {
    let Stage { host, handle, folder } = stage;
    let has_people = shown.has_people();
    let elsewhere = folder.as_ref().filter(|_| !has_people).map(|_| handle.id().to_owned());
    let served = folder.and_then(|folder| match Holder::open(host.clone(), &folder) {
        Ok(holder) => {
            let (over, is_over) = tokio::sync::oneshot::channel();
            Some((over, tokio::spawn(holder.serve(is_over))))
        }
        Err(error) => {
            output::warning(&format!("others cannot answer this session meanwhile: {error:#}"));
            None
        }
    });
    let mut watch = Watch::new(handle.clone(), shown, elsewhere)?;
    let ended = turns(&mut watch, begin, has_people).await;
    if let Some((over, served)) = served {
        drop(over);
        served.await?;
    }
    let (reply, is_interrupted) = match ended {
        Ok(ended) => ended,
        Err(error) => {
            host.close().await;
            return Err(error);
        }
    };
    let exit = handle.inspect(move |session| {
        shown.end(session, &reply);
        shown.exit(session, &reply)
    });
    let exit = exit.await?;
    host.close().await;
    Ok(if is_interrupted { Exit::Interrupted } else { exit })
}

/// One turn, and what people say to its questions; and whether they broke off.
async fn turns(watch: &mut Watch, begin: Begin, has_people: bool) -> Result<(Reply, bool)> {
    let handle = watch.handle.clone();
    let begun = match begin {
        Begin::With(input) => watch.until(told(&handle, input)).await?,
        Begin::Resumed(input) => {
            handle.tell(input).await?;
            let reply = watch.until(handle.finished()).await?;
            let paused = handle.inspect(|session| session.paused().map(str::to_owned)).await?;
            if let (None, Some(by)) = (&reply, paused) {
                bail!(
                    "it is noted; the session was paused by {}, and goes on with `obelus sessions resume`",
                    visible(&by)
                )
            }
            reply
        }
        Begin::GoingOn(then) => {
            let rested = watch.until(handle.rested()).await?;
            match then {
                Some(input) => watch.until(told(&handle, input)).await?,
                None => rested,
            }
        }
    };
    let Some(mut reply) = begun else { bail!("the session has not begun: say something to it") };
    while reply.ends == Ends::Waiting && has_people {
        // What the question would change is still being read, perhaps; nobody waits long for that.
        if !is_asked(&handle).await?
            && let Ok(Ok(Some(next))) = tokio::time::timeout(LOOKING, watch.until(handle.finished())).await
            && next.ends != Ends::Waiting
        {
            reply = next;
            continue;
        }
        let open = open_questions(&handle).await?;
        // In a thread of its own, because a terminal blocks whoever reads from it.
        let reading = tokio::task::spawn_blocking(move || people::decide(&open));
        match watch.at_terminal(reading).await? {
            Typed::Decided(Some(input)) => match watch.until(told(&handle, *input)).await {
                Ok(Some(next)) => reply = next,
                Ok(None) => {}
                Err(refused) => output::warning(&refused.to_string()),
            },
            Typed::Decided(None) => break,
            Typed::Overtaken => {
                // Somebody answered elsewhere: what is asked at the terminal now may be another thing.
                output::note("things have moved elsewhere; press Enter to go on");
                reply = watch.until(handle.rested()).await?.unwrap_or(reply);
            }
            Typed::BrokenOff => return Ok((reply, true)),
        }
    }
    let reply = watch.until(handle.finished()).await.ok().flatten().unwrap_or(reply);
    Ok((reply, false))
}

/// Tells the session something, and waits for the rest of the turn.
async fn told(handle: &SessionHandle, input: Input) -> Result<Option<Reply>, Refused> {
    handle.tell(input).await?;
    handle.rested().await
}

async fn open_questions(handle: &SessionHandle) -> Result<Vec<Question>, Refused> {
    handle.inspect(|session| session.questions().into_iter().filter(Question::is_open).collect()).await
}

/// Whether a call at work waits for a person: it does not end before it is answered.
async fn is_asked(handle: &SessionHandle) -> Result<bool, Refused> {
    Ok(open_questions(handle).await?.iter().any(|question| question.asked_by().is_some()))
}

/// What came of asking at the terminal.
enum Typed {
    /// A decision, or none.
    Decided(Option<Box<Input>>),
    /// The session has moved by itself.
    Overtaken,
    /// Somebody wants to leave.
    BrokenOff,
}

/// Shows what happens in a session, and breaks it off: Ctrl-C, and its like from other programs. The first one stops
/// the turn, which ends whatever is at work; a second one is for when even that takes too long.
struct Watch {
    handle: SessionHandle,
    events: Subscription,
    shown: Shown,
    elsewhere: Option<String>,
    interrupt: Signal,
    terminate: Signal,
    times: u32,
}

impl Watch {
    fn new(handle: SessionHandle, shown: Shown, elsewhere: Option<String>) -> Result<Self> {
        let (interrupt, terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let events = handle.subscribe(None);
        Ok(Self { handle, events, shown, elsewhere, interrupt, terminate, times: 0 })
    }

    /// Waits for something, and shows what happens until then.
    async fn until<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        let done = loop {
            tokio::select! {
                biased;
                Some(event) = self.events.next() => self.shown.event(&event.body, self.elsewhere.as_deref()),
                done = &mut work => break done,
                _ = self.interrupt.recv() => self.stop(),
                _ = self.terminate.recv() => self.stop(),
            }
        };
        while let Some(event) = self.events.try_next() {
            self.shown.event(&event.body, self.elsewhere.as_deref());
        }
        done
    }

    fn stop(&mut self) {
        self.times += 1;
        if self.times > 1 {
            std::process::exit(Exit::Interrupted as i32);
        }
        let handle = self.handle.clone();
        // Whether it was taken is seen by how the turn ends.
        tokio::spawn(async move { handle.stop().await });
    }

    /// Waits for whoever is at the terminal, unless the session moves meanwhile.
    async fn at_terminal(&mut self, mut reading: JoinHandle<Result<Option<Input>>>) -> Result<Typed> {
        loop {
            tokio::select! {
                decided = &mut reading => return Ok(Typed::Decided(decided??.map(Box::new))),
                Some(event) = self.events.next() => {
                    self.shown.event(&event.body, self.elsewhere.as_deref());
                    if event.body.is_from_outside() || matches!(event.body, EventBody::Rested { .. }) {
                        return Ok(Typed::Overtaken);
                    }
                }
                _ = self.interrupt.recv() => return Ok(Typed::BrokenOff),
                _ = self.terminate.recv() => return Ok(Typed::BrokenOff),
            }
        }
    }
}
