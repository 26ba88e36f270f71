//! Pure filters as activities.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use obelus_kernel::jq::{Filter, Read};
use obelus_kernel::session::{CallError, Outcome};
use obelus_runtime::{Activity, ActivityFuture, Work};
use serde_json::Value;
use tokio::sync::oneshot;

use super::binding::{BindingError, BindingFields};
use super::messages;

/// The number of concurrent runs of one filter. A filter that never ends cannot be stopped, so this limits how many
/// threads it can occupy.
const MOST_AT_ONCE: usize = 4;

/// The stack of a filter's thread. A stack overflow would end the whole program; unused stack costs nothing.
const STACK: usize = 32 * 1024 * 1024;

/// A filter over `{call, tool, scope}`. One that may take long runs in a thread, any other in place: for most filters a
/// thread takes more time than the filter.
pub(super) struct Jq {
    filter: Arc<FieldFilter>,
    /// None if it ends at once.
    threads: Option<Threads>,
    limit: Option<Duration>,
}

impl Jq {
    pub(super) fn parse(fields: &BindingFields<'_>) -> Result<Self, BindingError> {
        let limit = fields.own_time_limit()?;
        let text = fields.text("jq")?.ok_or_else(|| fields.mistyped("jq", "a filter", None))?;
        let filter = Filter::compile(text).map_err(|problem| {
            fields.wrong("jq", format!("{problem}; it must be a jq filter over {{call, tool, scope}}"))
        })?;
        let threads = (!filter.is_immediate()).then(Threads::new);
        Ok(Self { filter: Arc::new(FieldFilter { fields: filter.fields(), filter }), threads, limit })
    }
}

/// A filter, and the fields that it reads; none if it may read others too.
struct FieldFilter {
    filter: Filter,
    fields: Option<BTreeSet<String>>,
}

/// Only what is read is converted: a schema or a scope takes longer than most filters.
fn apply(filter: &FieldFilter, work: &Work) -> Result<Value, String> {
    let is_read = |name: &str| filter.fields.as_ref().is_none_or(|fields| fields.contains(name));
    let scope = if is_read("scope") { Value::from(work.scope.as_slice()) } else { Value::Null };
    let fields = [("call", &*work.call), ("tool", &work.tool.schema), ("scope", &scope)];
    let read = fields.into_iter().filter(|(name, _)| is_read(name));
    filter.filter.one_read(&Read::of_fields(read.map(|(name, value)| (name, Read::new(value)))))
}

fn panicked() -> Result<Value, String> {
    Err("the filter failed; this is a mistake in the program".to_owned())
}

fn outcome_of(result: Result<Value, String>) -> Outcome {
    let result = result.map_err(|problem| CallError::new("jq", problem));
    result.and_then(messages::outcome_of).unwrap_or_else(Outcome::Error)
}

impl Activity for Jq {
    fn run(&self, work: Work) -> ActivityFuture {
        let Some(threads) = &self.threads else {
            let result = std::panic::catch_unwind(AssertUnwindSafe(|| apply(&self.filter, &work)));
            return Box::pin(std::future::ready(outcome_of(result.unwrap_or_else(|_| panicked()))));
        };
        let filter = Arc::clone(&self.filter);
        let result = threads.run(move || apply(&filter, &work));
        Box::pin(async move {
            outcome_of(match result {
                Ok(result) => result.await.unwrap_or_else(|_| panicked()),
                Err(error) => Err(format!("no thread: {error}")),
            })
        })
    }

    fn time_limit(&self) -> Option<Duration> {
        self.limit
    }
}

type JqJob = Box<dyn FnOnce() + Send>;

/// The filter's own threads. The runtime waits at shutdown for its blocking pool, so an endless filter there would
/// keep the program from ending. Threads are started on demand and end when the filter is dropped.
struct Threads {
    jobs: mpsc::Sender<JqJob>,
    queue: Arc<Mutex<mpsc::Receiver<JqJob>>>,
    /// Jobs that have not ended.
    open: Arc<AtomicUsize>,
    started: Mutex<usize>,
}

impl Threads {
    fn new() -> Self {
        let (jobs, queue) = mpsc::channel();
        let (open, started) = (Arc::default(), Mutex::default());
        Self { jobs, queue: Arc::new(Mutex::new(queue)), open, started }
    }

    /// Queues work for the next free thread. The receiver gets the result, or `None` if the work panicked.
    fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> std::io::Result<oneshot::Receiver<T>> {
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        if self.open.load(Ordering::Relaxed) >= *started && *started < MOST_AT_ONCE {
            let queue = Arc::clone(&self.queue);
            let thread = thread::Builder::new().name("jq".to_owned()).stack_size(STACK);
            match thread.spawn(move || serve(&queue)) {
                Ok(_) => *started += 1,
                Err(error) if *started == 0 => return Err(error),
                // A running thread will take the job.
                Err(_) => {}
            }
        }
        let (sender, receiver) = oneshot::channel();
        let open = Arc::clone(&self.open);
        open.fetch_add(1, Ordering::Relaxed);
        let job = move || {
            // The call may have been abandoned.
            let result = (!sender.is_closed()).then(|| std::panic::catch_unwind(AssertUnwindSafe(work)));
            // Before the result is sent, so that the next job finds this thread free.
            open.fetch_sub(1, Ordering::Relaxed);
            if let Some(Ok(result)) = result {
                let _ = sender.send(result);
            }
        };
        // The receiver lives as long as `self`.
        let _ = self.jobs.send(Box::new(job));
        Ok(receiver)
    }
}

/// Runs jobs until the queue is closed.
fn serve(queue: &Mutex<mpsc::Receiver<JqJob>>) {
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
    while let Ok(job) = next() {
        job();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(threads: &Threads) -> usize {
        *threads.started.lock().unwrap()
    }

    /// Starts jobs that run until the returned sender is dropped.
    fn occupy(threads: &Threads, jobs: usize) -> (mpsc::Sender<()>, Vec<oneshot::Receiver<()>>) {
        let (release, released) = mpsc::channel::<()>();
        let released = Arc::new(Mutex::new(released));
        let occupy = |_| {
            let released = Arc::clone(&released);
            threads
                .run(move || {
                    let _ = released.lock().unwrap().recv();
                })
                .unwrap()
        };
        (release, (0..jobs).map(occupy).collect())
    }

    #[test]
    fn consecutive_jobs_share_one_thread() {
        let threads = Threads::new();
        for n in 0..50 {
            assert_eq!(threads.run(move || n + 1).unwrap().blocking_recv(), Ok(n + 1));
        }
        assert_eq!(started(&threads), 1);
    }

    #[test]
    fn endless_jobs_occupy_a_limited_number_of_threads_and_others_wait() {
        let threads = Threads::new();
        let (release, stuck) = occupy(&threads, 3 * MOST_AT_ONCE);
        let waits = threads.run(|| 7).unwrap();
        assert_eq!(started(&threads), MOST_AT_ONCE);
        drop(release);
        assert_eq!(waits.blocking_recv(), Ok(7));
        assert!(stuck.into_iter().all(|job| job.blocking_recv().is_ok()));
    }

    #[test]
    fn a_panicking_job_has_no_result_and_an_abandoned_job_does_not_start() {
        let threads = Threads::new();
        let panics = threads.run(|| assert_eq!(1, 2, "a mistake")).unwrap();
        assert!(panics.blocking_recv().is_err());
        let (release, busy) = occupy(&threads, MOST_AT_ONCE);
        let begun = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&begun);
        drop(threads.run(move || count.fetch_add(1, Ordering::Relaxed)).unwrap());
        drop(release);
        assert!(busy.into_iter().all(|job| job.blocking_recv().is_ok()));
        assert_eq!(threads.run(|| 7).unwrap().blocking_recv(), Ok(7));
        assert_eq!(begun.load(Ordering::Relaxed), 0);
    }
}
