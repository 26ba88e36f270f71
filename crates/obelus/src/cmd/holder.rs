//! The process that holds a store speaks for it: what others want to tell a session goes through here.
//!
//! A Unix socket in the store's folder, for its owner only. One line of JSON is asked,
//! `{"session": "s", "tell": INPUT}`, and one is answered when the input is durable: `{"taken": true, "holder": PID}`
//! or `{"refused": {"code", "text"}}`.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{Context as _, Result, anyhow, bail};
use obelus_kernel::session::{Input, Refused};
use obelus_runtime::{Counter, Driver, SqliteStore, Store as _, StoreError};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::host::{Job, Mcp};
use crate::output;

/// A request is one line of at most so many bytes.
const LONGEST: u64 = 1 << 20;

/// The sessions that this process has at work, and how each is told something.
type AtWork = Rc<RefCell<BTreeMap<String, Counter>>>;

/// Serves others while a session is at work.
pub(crate) struct Holder {
    listener: UnixListener,
    address: Address,
    store: SqliteStore,
    at_work: AtWork,
}

impl Holder {
    /// Opens the socket. `id` is the session that this process has at work itself.
    pub(crate) fn open(store: SqliteStore, id: &str, counter: Counter) -> Result<Self> {
        let address = Address::of(store.folder())?;
        // The lock is ours, so whoever left this behind is gone.
        let _ = fs::remove_file(&address.path);
        let listener = UnixListener::bind(&address.path).with_context(|| address.path.display().to_string())?;
        fs::set_permissions(&address.path, fs::Permissions::from_mode(0o600))?;
        let at_work = Rc::new(RefCell::new(BTreeMap::from([(id.to_owned(), counter)])));
        Ok(Self { listener, address, store, at_work })
    }

    /// Serves until `over` comes, and then until everything is done that was begun here.
    pub(crate) async fn serve(self, mut over: oneshot::Receiver<()>) {
        let mut guests = JoinSet::new();
        loop {
            tokio::select! {
                _ = &mut over => break,
                Ok((stream, _)) = self.listener.accept() => {
                    let (store, at_work) = (self.store.clone(), Rc::clone(&self.at_work));
                    guests.spawn_local(async move {
                        if let Err(error) = attend(stream, &store, &at_work).await {
                            output::warning(&format!("a request from another process: {error:#}"));
                        }
                    });
                }
                Some(_) = guests.join_next() => {}
            }
        }
        drop(self.listener);
        let _ = fs::remove_file(&self.address.path);
        while guests.join_next().await.is_some() {}
    }
}

/// One guest: reads what is asked, has it done, answers, and then sees the session to its rest.
async fn attend(mut stream: UnixStream, store: &SqliteStore, at_work: &AtWork) -> Result<()> {
    let own = fs::metadata(store.folder())?.uid();
    let guest = stream.peer_cred()?.uid();
    if guest != own && guest != 0 {
        bail!("user {guest} is not the owner of the store");
    }
    let (read, mut write) = stream.split();
    let mut line = String::new();
    BufReader::new(read.take(LONGEST)).read_line(&mut line).await?;
    let answer = match asked(&line) {
        Ok((id, input)) => {
            let (taken, driver) = tell(&id, input, store, at_work).await;
            let answer = match &taken {
                Ok(()) => json!({"taken": true, "holder": std::process::id()}),
                Err(refused) => json!({"refused": {"code": refused.code, "text": refused.text}}),
            };
            write.write_all(format!("{answer}\n").as_bytes()).await?;
            if let Some((mut driver, mcp)) = driver {
                let rested = match &taken {
                    Ok(()) => driver.go_on().await,
                    Err(_) => Ok(None),
                };
                at_work.borrow_mut().remove(&id);
                drop(driver);
                mcp.close().await;
                rested.map_err(|refused| anyhow!("{id}: {refused}"))?;
            }
            return Ok(());
        }
        Err(text) => json!({"refused": {"code": "unreadable", "text": text}}),
    };
    Ok(write.write_all(format!("{answer}\n").as_bytes()).await?)
}

/// Tells a session something: the one at work, or one that is taken up for it and comes back to be driven on.
async fn tell(
    id: &str,
    input: Input,
    store: &SqliteStore,
    at_work: &AtWork,
) -> (Result<(), Refused>, Option<(Driver, Mcp)>) {
    let counter = at_work.borrow().get(id).cloned();
    if let Some(counter) = counter {
        match counter.tell(input.clone()).await {
            // Its work has ended meanwhile: it is taken up anew.
            Err(refused) if refused.code == "gone" => drop(at_work.borrow_mut().remove(id)),
            taken => return (taken, None),
        }
    }
    let taken_up = store.genesis(id).map_err(anyhow::Error::from).and_then(|genesis| {
        let genesis = genesis.ok_or_else(|| StoreError::Unknown(id.to_owned()))?;
        Job::restore(store, id, genesis, None)
    });
    match taken_up {
        Err(error) => (Err(Refused { code: "unreadable", text: format!("{error:#}") }), None),
        Ok((taken, mcp)) => {
            let mut driver = taken.driver;
            at_work.borrow_mut().insert(id.to_owned(), driver.counter());
            (driver.accept(input).await, Some((driver, mcp)))
        }
    }
}

/// What a guest may say: what a person decides or says, and whether a session pauses.
fn asked(line: &str) -> Result<(String, Input), String> {
    let mut request: Value = serde_json::from_str(line).map_err(|error| format!("not a request: {error}"))?;
    let id = request["session"].as_str().ok_or("`session` is missing")?.to_owned();
    let input: Input = serde_json::from_value(request["tell"].take()).map_err(|error| format!("`tell`: {error}"))?;
    match input {
        Input::Decide { .. } | Input::User { .. } | Input::Pause { .. } | Input::Resume { .. } | Input::Stop => {
            Ok((id, input))
        }
        _ => Err("`tell` is a decision, words, a pause, a resume or a stop".to_owned()),
    }
}

/// Tells a session something through the process that holds its store; the process's number.
pub(crate) fn tell_holder(folder: &Path, id: &str, input: &Input) -> Result<u64> {
    use std::io::{BufRead, Write};
    let address = Address::of(folder)?;
    let mut stream = std::os::unix::net::UnixStream::connect(&address.path)
        .context("the process that holds the store takes nothing from others now; try again when it has ended")?;
    writeln!(stream, "{}", json!({"session": id, "tell": input}))?;
    let mut line = String::new();
    std::io::BufReader::new(stream).read_line(&mut line)?;
    let answer: Value = serde_json::from_str(&line)
        .context("the process that holds the store has ended before it answered: look at the session")?;
    match answer["refused"]["text"].as_str() {
        Some(text) => bail!("{}", output::visible(text)),
        None => Ok(answer["holder"].as_u64().unwrap_or_default()),
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
