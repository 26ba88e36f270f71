//! The process that holds a store passes on inputs of other processes to its sessions.
//!
//! It listens on a Unix socket in the store's folder, for its owner only. A request is one JSON line, `{"session":
//! "s", "tell": INPUT, "id": ID}`; the answer follows when the input is durable: `{"taken": true, "holder": PID}` or
//! `{"refused": {"code", "text", "misfit"}}`. After a decision, lines `{"came": WORDS}` follow until the turn rests
//! or is paused; the last line is `{"exit": N}`, the exit code of the guest's command. A guest that does not get it
//! does not know how its decision ended.
//! An input with the same id is taken once, so a guest whose connection breaks before the answer repeats its request
//! (DUR-13).

use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream as UnixGuest;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use obelus_kernel::session::refusals::RefusalCode;
use obelus_kernel::session::{Input, QuestionId, Refused, Reply, Session};
use obelus_runtime::people::{refused_in_words, why_it_ended};
use obelus_runtime::sessions::InputId;
use obelus_runtime::{EventBody, Host, SessionHandle, Subscription};
use serde::Deserialize as _;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;

use super::host::report_reopened;
use super::people::{Narrator, RunningCalls, by_in_words};
use super::run::{ShowOptions, approved_question};
use crate::cli::StoreArgs;
use crate::command_error::Declined;
use crate::language::{Words, fill, words_of};
use crate::output::{self, Exit, visible};

/// The longest request, in bytes.
const LONGEST: u64 = 1 << 20;

/// The time limit of a guest's request.
const LISTENING: Duration = Duration::from_secs(10);

/// How long a guest waits for an answer, and after which time it says that it waits.
const WAITING: Duration = Duration::from_secs(10);
const SILENT: Duration = Duration::from_secs(2);

/// How long a guest waits for the next line about its decision.
const CAME: Duration = Duration::from_secs(600);

/// How often a guest retries after a broken connection, and the pause before.
const TRIES: u32 = 3;
const AGAIN: Duration = Duration::from_millis(300);

/// Serves guests while this process holds the store.
pub(crate) struct GuestServer {
    listener: UnixListener,
    address: SocketAddress,
    folder: PathBuf,
    host: Host,
}

impl GuestServer {
    /// Opens the socket in the store's folder.
    pub(crate) fn open(host: Host, folder: &Path) -> Result<Self> {
        let address = SocketAddress::of(folder)?;
        // This process has the lock, so a leftover socket is unused.
        let _ = fs::remove_file(&address.path);
        let listener = UnixListener::bind(&address.path).with_context(|| address.path.display().to_string())?;
        fs::set_permissions(&address.path, fs::Permissions::from_mode(0o600))?;
        Ok(Self { listener, address, folder: folder.to_owned(), host })
    }

    /// Serves until `over` completes, and then until all begun work is done.
    pub(crate) async fn serve(self, mut over: oneshot::Receiver<()>) {
        let mut guests = JoinSet::new();
        let (closing, is_closing) = watch::channel(());
        loop {
            tokio::select! {
                _ = &mut over => break,
                Ok((stream, _)) = self.listener.accept() => {
                    let (host, folder, is_closing) = (self.host.clone(), self.folder.clone(), is_closing.clone());
                    guests.spawn(async move {
                        if let Err(error) = attend(stream, &host, &folder, is_closing).await {
                            output::warning(&fill(words_of(None).holder.request, &[&format!("{error:#}")]));
                        }
                    });
                }
                Some(_) = guests.join_next() => {}
            }
        }
        drop(self.listener);
        let _ = fs::remove_file(&self.address.path);
        // Guests without a request are dropped.
        drop(closing);
        while guests.join_next().await.is_some() {}
    }
}

/// Serves one guest: reads the request, carries it out, answers, and follows the session until it rests. A silent
/// guest is dropped after a while, or when this process ends.
async fn attend(mut stream: UnixStream, host: &Host, folder: &Path, mut is_closing: watch::Receiver<()>) -> Result<()> {
    let own = fs::metadata(folder)?.uid();
    let guest = stream.peer_cred()?.uid();
    if guest != own && guest != 0 {
        bail!("{}", fill(words_of(None).holder.not_owner, &[&guest.to_string()]));
    }
    let (read, mut write) = stream.split();
    let mut line = String::new();
    let mut read = BufReader::new(read.take(LONGEST));
    tokio::select! {
        read = tokio::time::timeout(LISTENING, read.read_line(&mut line)) => match read {
            Ok(read) => drop(read?),
            Err(_) => return Ok(()),
        },
        _ = is_closing.changed() => return Ok(()),
    }
    let GuestRequest { id, named, input, input_id } = match asked(&line) {
        Ok(asked) => asked,
        Err(text) => {
            let refused = Refused::new(RefusalCode::Unreadable, text);
            return Ok(write.write_all(answer(&Err(refused)).as_bytes()).await?);
        }
    };
    let is_at_work = host.find(&id).is_some();
    let is_decision = matches!(input, Input::Decide { .. });
    let approved = approved_question(&input);
    let (taken, handle, events) = match opened(host, &id).await {
        Ok(handle) => {
            let events = is_decision.then(|| handle.subscribe(None));
            let accepted = match input_id {
                Some(input_id) => handle.with_id(input_id).tell(input).await,
                None => handle.tell(input).await,
            };
            (accepted, Some(handle), events)
        }
        Err(refused) => (Err(refused), None, None),
    };
    write.write_all(answer(&taken).as_bytes()).await?;
    if let (Ok(()), Some(handle), Some(events)) = (&taken, &handle, events) {
        // The guest may be gone.
        let _ = send_consequences(&mut write, handle, &named, approved, events).await;
        let _ = write.shutdown().await;
    }
    let Some(handle) = handle.filter(|_| !is_at_work) else { return Ok(()) };
    // The session was opened only for this.
    let rested = match taken {
        Ok(()) => handle.finished().await,
        Err(_) => Ok(None),
    };
    host.passivate(&id).await;
    rested.map(drop).map_err(|refused| anyhow!("{id}: {refused}"))
}

/// Sends a guest the consequences of a decision, line by line, until the turn rests or is paused (ASK-7); then the exit
/// code of its command.
async fn send_consequences(
    write: &mut (impl AsyncWriteExt + Unpin),
    handle: &SessionHandle,
    named: &str,
    approved: Option<QuestionId>,
    mut events: Subscription,
) -> Result<()> {
    let read =
        |session: &Session| (Narrator::of(session), RunningCalls::of(session), session.paused().map(str::to_owned));
    let (narrator, mut begun, paused) = handle.inspect(read).await?;
    if let Some(by) = paused {
        let by = by_in_words(&by, narrator.phrases);
        let noted = fill(narrator.phrases.sessions.noted, &[&by, &visible(named)]);
        write.write_all(format!("{}\n", json!({"came": noted})).as_bytes()).await?;
        return send_exit(write, Exit::Done).await;
    }
    let narrator = narrator.with_pages(handle.pictures());
    while let Some(event) = events.next().await {
        let line = match &event.body {
            EventBody::AgentSaid { text } => Some(visible(text)),
            EventBody::Rested { reply } => came_in_the_end(reply, &narrator),
            EventBody::Paused { by } => {
                let (id, by) = (visible(handle.id()), by_in_words(by, narrator.phrases));
                Some(fill(narrator.phrases.sessions.paused_by, &[&id, &by, &visible(named)]))
            }
            body => begun.line(body, &narrator),
        };
        if let Some(line) = line {
            write.write_all(format!("{}\n", json!({"came": line})).as_bytes()).await?;
        }
        match &event.body {
            EventBody::Paused { .. } => return send_exit(write, Exit::Waiting).await,
            EventBody::Rested { reply } => {
                let (reply, shown) =
                    (reply.clone(), ShowOptions { as_json: false, is_plan: false, store: StoreArgs::default() });
                let exit = handle.inspect(move |session| shown.exit(session, &reply, approved.as_ref())).await?;
                return send_exit(write, exit).await;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Sends a guest the exit code of its command, as the last line.
async fn send_exit(write: &mut (impl AsyncWriteExt + Unpin), exit: Exit) -> Result<()> {
    Ok(write.write_all(format!("{}\n", json!({"exit": exit as u8})).as_bytes()).await?)
}

/// The final text of a turn that was not yet sent, and why it ended if it has no result.
fn came_in_the_end(reply: &Reply, narrator: &Narrator) -> Option<String> {
    let words = reply.output.as_str().filter(|words| !reply.said.iter().any(|said| said == words)).map(visible);
    let why =
        Some(why_it_ended(reply, Some(&narrator.titles), narrator.phrases.language)).filter(|why| !why.is_empty());
    let lines: Vec<String> = words.into_iter().chain(why).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

async fn opened(host: &Host, id: &str) -> Result<SessionHandle, Refused> {
    let handle = match host.find(id) {
        Some(handle) => handle,
        None => {
            let opened = host.open(id).await;
            let handle = opened.map_err(|error| Refused::new(RefusalCode::Unreadable, format!("{error:#}")))?;
            report_reopened(&handle).await?;
            handle
        }
    };
    Ok(handle)
}

/// One line for a guest.
fn answer(taken: &Result<(), Refused>) -> String {
    let answer = match taken {
        Ok(()) => json!({"taken": true, "holder": std::process::id()}),
        Err(refused) => json!({"refused": refused}),
    };
    format!("{answer}\n")
}

/// A guest's request.
#[derive(Debug)]
struct GuestRequest {
    id: String,
    /// The session as the guest's commands name it, with its store if that was named.
    named: String,
    input: Input,
    input_id: Option<InputId>,
}

/// Parses a guest's request: a decision, a message, pause or resume.
fn asked(line: &str) -> Result<GuestRequest, String> {
    let mut request: Value = serde_json::from_str(line).map_err(|error| format!("not a request: {error}"))?;
    let id = request["session"].as_str().ok_or("`session` is missing")?.to_owned();
    let named = request["named"].as_str().unwrap_or(&id).to_owned();
    let input_id: Option<InputId> =
        serde_json::from_value(request["id"].take()).map_err(|error| format!("`id`: {error}"))?;
    let input: Input = serde_json::from_value(request["tell"].take()).map_err(|error| format!("`tell`: {error}"))?;
    match input {
        Input::Decide { .. }
        | Input::Revoke { .. }
        | Input::User { .. }
        | Input::Pause { .. }
        | Input::Resume { .. }
        | Input::Stop => Ok(GuestRequest { id, named, input, input_id }),
        _ => {
            Err("`tell` must be a decision, the revocation of a consent, a message, a pause, a resume or a stop"
                .to_owned())
        }
    }
}

/// Gives a session an input through the process that holds its store. `tell` gets that process's answers, as data and
/// as text: that it was taken, and the consequences of a decision. `named` is the session as commands name it, with its
/// store if that was named. Returns the exit code of the command; none if a decision was taken, and it is not known how
/// it ended.
pub(crate) fn send_to_holder(
    folder: &Path,
    id: &str,
    input: &Input,
    named: &str,
    phrases: &Words,
    tell: &dyn Fn(&Value, &str),
) -> Result<Option<Exit>> {
    let address = SocketAddress::of(folder)?;
    let request = json!({"session": id, "named": named, "tell": input, "id": InputId::drawn()}).to_string();
    let mut tries = 1;
    let (line, stream) = loop {
        let stream = UnixGuest::connect(&address.path).context(phrases.holder.takes_nothing)?;
        match ask(stream, &request, phrases) {
            // The connection broke: it may have been taken, and the same id is taken once.
            Err(error) if tries < TRIES && !is_late(&error) => std::thread::sleep(AGAIN),
            Ok((line, _)) if line.is_empty() && tries < TRIES => std::thread::sleep(AGAIN),
            asked => break asked.map_err(|error| unanswered(error, phrases))?,
        }
        tries += 1;
    };
    let answer: Value = serde_json::from_str(&line).context(phrases.holder.ended)?;
    match &answer["refused"] {
        refused @ Value::Object(_) => {
            // A process of another version may describe it in another way.
            let text = || refused["text"].as_str().unwrap_or_default();
            let refused = Refused::deserialize(refused);
            let refused = refused.unwrap_or_else(|_| Refused::new(RefusalCode::Refused, text()));
            let words = refused_in_words(&refused, None, phrases.language);
            Err(Declined { code: refused.code.to_string(), words, language: phrases.language }.into())
        }
        _ => {
            let holder = answer["holder"].as_u64().unwrap_or_default().to_string();
            let taken = match input {
                Input::Pause { .. } => fill(phrases.sessions.paused_now, &[&visible(id), named]),
                _ => fill(phrases.answering.held, &[&holder]),
            };
            tell(&answer, &taken);
            let exit = read_consequences(stream, &mut |line| tell(&json!({"came": line}), line));
            Ok(if matches!(input, Input::Decide { .. }) { exit } else { Some(Exit::Done) })
        }
    }
}

/// Sends a request and reads its answer; returns the stream for further lines.
fn ask(
    mut stream: UnixGuest,
    request: &str,
    phrases: &Words,
) -> std::io::Result<(String, std::io::BufReader<UnixGuest>)> {
    use std::io::{BufRead, Write};
    stream.set_write_timeout(Some(WAITING))?;
    writeln!(stream, "{request}")?;
    let mut line = String::new();
    let mut stream = std::io::BufReader::new(stream);
    stream.get_ref().set_read_timeout(Some(SILENT))?;
    let read = stream.read_line(&mut line);
    match read {
        Err(error) if is_late(&error) => {
            output::note(phrases.answering.waiting);
            stream.get_ref().set_read_timeout(Some(WAITING - SILENT))?;
            stream.read_line(&mut line)?;
        }
        read => drop(read?),
    }
    Ok((line, stream))
}

/// Reads the holder's lines about a decision, with a time limit; returns the exit code, which the last one has. None if
/// the holder ended before.
fn read_consequences(mut stream: std::io::BufReader<UnixGuest>, tell: &mut dyn FnMut(&str)) -> Option<Exit> {
    use std::io::BufRead;
    let (mut line, mut exit) = (String::new(), None);
    while stream.get_ref().set_read_timeout(Some(CAME)).is_ok()
        && stream.read_line(&mut line).is_ok_and(|bytes| bytes > 0)
    {
        let event: Option<Value> = serde_json::from_str(&line).ok();
        if let Some(words) = event.as_ref().and_then(|event| event["came"].as_str()) {
            tell(words);
        }
        let code = event.as_ref().and_then(|event| event["exit"].as_u64());
        exit = code.and_then(Exit::of_code).or(exit);
        line.clear();
    }
    exit
}

/// Whether an error is a timeout.
fn is_late(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
}

/// The error if the holder does not answer.
fn unanswered(error: std::io::Error, phrases: &Words) -> anyhow::Error {
    if is_late(&error) { anyhow!("{}", phrases.answering.no_answer) } else { error.into() }
}

/// The address of the socket.
struct SocketAddress {
    path: PathBuf,
    /// Open while the address goes through it.
    _folder: Option<fs::File>,
}

impl SocketAddress {
    /// A socket's path is limited to about a hundred bytes; a longer one is reached through the open folder.
    fn of(folder: &Path) -> Result<Self> {
        let path = folder.join("obelus.sock");
        if path.as_os_str().len() < 100 {
            return Ok(Self { path, _folder: None });
        }
        let open = fs::File::open(folder).with_context(|| folder.display().to_string())?;
        let path = PathBuf::from(format!("/proc/self/fd/{}/obelus.sock", open.as_raw_fd()));
        Ok(Self { path, _folder: Some(open) })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn dur_13_an_unanswered_request_is_repeated_under_the_same_id() {
        let folder = std::env::temp_dir().join(format!("obelus-holder-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let listener = UnixListener::bind(folder.join("obelus.sock")).unwrap();
        let holder = std::thread::spawn(move || {
            let mut asked = Vec::new();
            for is_answered in [false, true] {
                let (stream, _) = listener.accept().unwrap();
                let mut line = String::new();
                BufReader::new(&stream).read_line(&mut line).unwrap();
                asked.push(super::asked(&line).unwrap());
                if is_answered {
                    (&stream).write_all(answer(&Ok(())).as_bytes()).unwrap();
                }
            }
            asked
        });
        let input = Input::User { text: "hello".to_owned(), by: None };
        let phrases = words_of(Some("en"));
        send_to_holder(&folder, "s", &input, "s", phrases, &|answer, _| assert_eq!(answer["taken"], true)).unwrap();
        let asked = holder.join().unwrap();
        assert!(asked[0].input_id.is_some() && asked[0].input_id == asked[1].input_id, "{asked:?}");
        fs::remove_dir_all(&folder).unwrap();
    }
}
