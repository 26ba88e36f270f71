//! The effects that run in a worker, so that one that ends waits for them.
//!
//! The server under the worker would end its connections in order by itself. But a node of Restate 1.7 drops all
//! running requests of such a connection when it sends the next one. The outcomes of calls would be lost, and the calls
//! in doubt.

use tokio::sync::watch;

/// The running effects of a worker.
pub(crate) struct RunningEffects(watch::Sender<Count>);

#[derive(Default)]
struct Count {
    running: usize,
    /// Whether the worker ends: it begins no more effects.
    is_ending: bool,
}

/// An effect runs until this is dropped.
pub(crate) struct RunningEffect<'a>(&'a RunningEffects);

impl Default for RunningEffects {
    fn default() -> Self {
        Self(watch::Sender::new(Count::default()))
    }
}

impl RunningEffects {
    /// Begins an effect; none if the worker ends.
    pub(crate) fn begin(&self) -> Option<RunningEffect<'_>> {
        let mut is_begun = false;
        self.0.send_modify(|count| {
            is_begun = !count.is_ending;
            count.running += usize::from(is_begun);
        });
        is_begun.then(|| RunningEffect(self))
    }

    /// Begins no more effects, and completes when none runs.
    pub(crate) async fn end(&self) {
        self.0.send_modify(|count| count.is_ending = true);
        // `self` holds the sender, so this cannot fail.
        let _ = self.0.subscribe().wait_for(|count| count.running == 0).await;
    }
}

impl Drop for RunningEffect<'_> {
    fn drop(&mut self) {
        self.0.0.send_modify(|count| count.running -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_worker_that_ends_waits_for_running_effects_and_begins_no_more() {
        let effects = RunningEffects::default();
        let running = effects.begin();
        let mut end = std::pin::pin!(effects.end());
        tokio::select! {
            biased;
            () = &mut end => panic!("an effect still runs"),
            () = std::future::ready(()) => {}
        }
        assert!(running.is_some() && effects.begin().is_none());
        drop(running);
        end.await;
    }
}
