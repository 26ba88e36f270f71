//! The process that holds a store speaks for it: what others want to tell a session goes through here.
//!
//! A Unix socket in the store's folder, for its owner only. One line of JSON is asked,
//! `{"session": "s", "tell": INPUT, "id": ID}`, and one is answered when the input is durable: `{"taken": true, "holder":
//! PID}` or `{"refused": {"code", "text", "misfit"}}`. After a decision lines `{"came": WORDS}` follow until the turn rests.
//! The same id again acts once, so a guest whose connection breaks before the answer asks again (DUR-13).

use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream as UnixGuest;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use obelus_kernel::session::{Input, Misfit, Refused, Reply, Session};
use obelus_runtime::people::{refusal_by_code, why_it_ended};
use obelus_runtime::sessions::InputId;
use obelus_runtime::{EventBody, Host, SessionHandle, Subscription};
use serde::Deserialize as _;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;

use super::host::tell_reopened;
use super::people::{Begun, Narrator};
use crate::language::{Words, fill, words_of};
use crate::output::{self, visible};
use crate::trouble::Declined;

/// A request is one line of at most so many bytes.
const LONGEST: u64 = 1 << 20;

/// How long a guest may take to say its line.
const LISTENING: Duration = Duration::from_secs(10);

/// How long a guest waits for an answer, and after which part of it it says so.
const WAITING: Duration = Duration::from_secs(10);
const SILENT: Duration = Duration::from_secs(2);

/// How long a guest waits for the next line of what came of its decision.
const CAME: Duration = Duration::from_secs(60);

/// How often a guest asks whose connection breaks, and how long it waits before it asks again.
const TRIES: u32 = 3;
const AGAIN: Duration = Duration::from_millis(300);

/// Serves others while this process holds the store.
pub(crate) struct Holder {
    listener: UnixListener,
    address: Address,
    folder: PathBuf,
    host: Host,
}

impl Holder {
    /// Opens the socket in the store's folder.
    pub(crate) fn open(host: Host, folder: &Path) -> Result<Self> {
        let address = Address::of(folder)?;
        // The lock is ours, so whoever left this behind is gone.
        let _ = fs::remove_file(&address.path);
        let listener = UnixListener::bind(&address.path).with_context(|| address.path.display().to_string())?;
        fs::set_permissions(&address.path, fs::Permissions::from_mode(0o600))?;
        Ok(Self { listener, address, folder: folder.to_owned(), host })
    }

    /// Serves until `over` comes, and then until everything is done that was begun here.
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
        // Guests that have said nothing yet are let go.
        drop(closing);
        while guests.join_next().await.is_some() {}
    }
}

/// One guest: reads what is asked, has it done, answers, and then sees the session to its rest. A guest that says
/// nothing is let go after a while, or when this process wants to end.
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
    let (id, input, input_id) = match asked(&line) {
        Ok(asked) => asked,
        Err(text) => {
            let refused = Refused::new("unreadable", text);
            return Ok(write.write_all(answer(&Err(refused)).as_bytes()).await?);
        }
    };
    let is_at_work = host.find(&id).is_some();
    let is_decision = matches!(input, Input::Decide { .. });
    let (taken, handle, events) = match opened(host, &id).await {
        Ok(handle) => {
            let events = is_decision.then(|| handle.subscribe(None));
            let told = match input_id {
                Some(input_id) => handle.with_id(input_id).tell(input).await,
                None => handle.tell(input).await,
            };
            (told, Some(handle), events)
        }
        Err(refused) => (Err(refused), None, None),
    };
    write.write_all(answer(&taken).as_bytes()).await?;
    if let (Ok(()), Some(handle), Some(events)) = (&taken, &handle, events) {
        // A guest that has left is told nothing more.
        let _ = tell_what_came(&mut write, handle, events).await;
    }
    let Some(handle) = handle.filter(|_| !is_at_work) else { return Ok(()) };
    // It was opened for this alone.
    let rested = match taken {
        Ok(()) => handle.finished().await,
        Err(_) => Ok(None),
    };
    host.passivate(&id).await;
    rested.map(drop).map_err(|refused| anyhow!("{id}: {refused}"))
}

/// Tells a guest what comes of a decision, line by line, until the turn has come to rest (ASK-7).
async fn tell_what_came(
    write: &mut (impl AsyncWriteExt + Unpin),
    handle: &SessionHandle,
    mut events: Subscription,
) -> Result<()> {
    let look = |session: &Session| (Narrator::of(session), session.paused().is_some());
    let (look, is_paused) = handle.inspect(look).await?;
    let look = look.with_pages(handle.pictures());
    let mut begun = Begun::default();
    while !is_paused && let Some(event) = events.next().await {
        let line = match &event.body {
            EventBody::AgentSaid { text } => Some(visible(text)),
            EventBody::Rested { reply } => came_in_the_end(reply, &look),
            body => begun.line(body, &look),
        };
        if let Some(line) = line {
            write.write_all(format!("{}\n", json!({"came": line})).as_bytes()).await?;
        }
        if matches!(event.body, EventBody::Rested { .. }) {
            break;
        }
    }
    Ok(())
}

/// The last words of a turn that were not said before, and why it ended if it has no result.
fn came_in_the_end(reply: &Reply, look: &Narrator) -> Option<String> {
    let words = reply.output.as_str().filter(|words| !reply.said.iter().any(|said| said == words)).map(visible);
    let why = Some(why_it_ended(reply, look.phrases.language)).filter(|why| !why.is_empty());
    let lines: Vec<String> = words.into_iter().chain(why).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

async fn opened(host: &Host, id: &str) -> Result<SessionHandle, Refused> {
    let handle = match host.find(id) {
        Some(handle) => handle,
        None => {
            let opened = host.open(id).await;
            let handle = opened.map_err(|error| Refused::new("unreadable", format!("{error:#}")))?;
            tell_reopened(&handle).await?;
            handle
        }
    };
    Ok(handle)
}

/// One line for a guest.
fn answer(taken: &Result<(), Refused>) -> String {
    let answer = match taken {
        Ok(()) => json!({"taken": true, "holder": std::process::id()}),
        Err(refused) => json!({"refused": {"code": refused.code, "text": refused.text, "misfit": refused.misfit}}),
    };
    format!("{answer}\n")
}

/// What a guest may say: what a person decides or says, and whether a session pauses.
fn asked(line: &str) -> Result<(String, Input, Option<InputId>), String> {
    let mut request: Value = serde_json::from_str(line).map_err(|error| format!("not a request: {error}"))?;
    let id = request["session"].as_str().ok_or("`session` is missing")?.to_owned();
    let input_id: Option<InputId> =
        serde_json::from_value(request["id"].take()).map_err(|error| format!("`id`: {error}"))?;
    let input: Input = serde_json::from_value(request["tell"].take()).map_err(|error| format!("`tell`: {error}"))?;
    match input {
        Input::Decide { .. }
        | Input::Revoke { .. }
        | Input::User { .. }
        | Input::Pause { .. }
        | Input::Resume { .. }
        | Input::Stop => Ok((id, input, input_id)),
        _ => Err("`tell` is a decision, the end of a consent, words, a pause, a resume or a stop".to_owned()),
    }
}

/// Tells a session something through the process that holds its store. `tell` gets what that process answers, as data
/// and in words: that it was taken, and of a decision also what came of it.
pub(crate) fn tell_holder(
    folder: &Path,
    id: &str,
    input: &Input,
    phrases: &Words,
    tell: &dyn Fn(&Value, &str),
) -> Result<()> {
    let address = Address::of(folder)?;
    let request = json!({"session": id, "tell": input, "id": InputId::drawn()}).to_string();
    let mut tries = 1;
    let (line, stream) = loop {
        let stream = UnixGuest::connect(&address.path).context(phrases.holder.takes_nothing)?;
        match ask(stream, &request, phrases) {
            // The connection broke: whether it was taken is not known, and the same id acts once.
            Err(error) if tries < TRIES && !is_late(&error) => std::thread::sleep(AGAIN),
            Ok((line, _)) if line.is_empty() && tries < TRIES => std::thread::sleep(AGAIN),
            asked => break asked.map_err(|error| unanswered(error, phrases))?,
        }
        tries += 1;
    };
    let answer: Value = serde_json::from_str(&line).context(phrases.holder.ended)?;
    match answer["refused"]["text"].as_str() {
        Some(text) => {
            let code = answer["refused"]["code"].as_str().unwrap_or_default();
            let misfit = Misfit::deserialize(&answer["refused"]["misfit"]).ok();
            let words = refusal_by_code(code, text, misfit.as_ref(), None, phrases.language);
            Err(Declined { code: code.to_owned(), words, language: phrases.language }.into())
        }
        None => {
            let held = fill(phrases.answering.held, &[&answer["holder"].as_u64().unwrap_or_default().to_string()]);
            tell(&answer, &held);
            hear_what_came(stream, &mut |line| tell(&json!({"came": line}), line));
            Ok(())
        }
    }
}

/// Sends a request and reads the line that answers it, with the stream on which more may follow.
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

/// Reads what the holder tells of a decision. Whoever takes long is not waited for.
fn hear_what_came(mut stream: std::io::BufReader<UnixGuest>, tell: &mut dyn FnMut(&str)) {
    use std::io::BufRead;
    let mut line = String::new();
    while stream.get_ref().set_read_timeout(Some(CAME)).is_ok()
        && stream.read_line(&mut line).is_ok_and(|bytes| bytes > 0)
    {
        let told: Option<Value> = serde_json::from_str(&line).ok();
        if let Some(words) = told.as_ref().and_then(|told| told["came"].as_str()) {
            tell(words);
        }
        line.clear();
    }
}

/// Whether an error says that nothing came in time.
fn is_late(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
}

/// Says what it means that the process that holds the store does not answer.
fn unanswered(error: std::io::Error, phrases: &Words) -> anyhow::Error {
    match is_late(&error) {
        true => anyhow!("{}", phrases.answering.no_answer),
        false => error.into(),
    }
}

/// Where the socket is.
struct Address {
    path: PathBuf,
    /// Open while the address leads through it.
    _folder: Option<fs::File>,
}

impl Address {
    /// A socket's name has about a hundred bytes; a longer one is reached through the open folder.
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
    fn dur_13_what_was_not_answered_is_asked_again_under_the_same_id() {
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
        let input = Input::User { text: "hello".to_owned() };
        let phrases = words_of(Some("en"));
        tell_holder(&folder, "s", &input, phrases, &|answer, _| assert_eq!(answer["taken"], true)).unwrap();
        let asked = holder.join().unwrap();
        assert!(asked[0].2.is_some() && asked[0].2 == asked[1].2, "{asked:?}");
        fs::remove_dir_all(&folder).unwrap();
    }
}
