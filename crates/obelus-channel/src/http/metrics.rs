//! Counters in the text form of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use obelus_runtime::Host;

/// The upper bounds of the histogram of durations, in seconds.
const CLASSES: [f64; 8] = [0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 60.0, 600.0];

/// Methods that are counted separately. A client may send any other word.
const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

/// The counters.
#[derive(Default)]
pub(super) struct Metrics {
    connections: AtomicI64,
    streams: AtomicI64,
    events: AtomicU64,
    requests: Mutex<BTreeMap<(String, String, u16), Durations>>,
}

#[derive(Clone, Copy, Default)]
struct Durations {
    count: u64,
    seconds: f64,
    classes: [u64; CLASSES.len()],
}

impl Metrics {
    pub(super) fn connection(&self, change: i64) {
        self.connections.fetch_add(change, Ordering::Relaxed);
    }

    pub(super) fn stream(&self, change: i64) {
        self.streams.fetch_add(change, Ordering::Relaxed);
    }

    pub(super) fn event(&self) {
        self.events.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a request by the route that answered it, never by its path.
    pub(super) fn request(&self, method: &str, route: &str, status: u16, took: Duration) {
        let method = METHODS.into_iter().find(|known| *known == method).unwrap_or("other");
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let durations = requests.entry((method.to_owned(), route.to_owned(), status)).or_default();
        let seconds = took.as_secs_f64();
        durations.count += 1;
        durations.seconds += seconds;
        for (count, class) in durations.classes.iter_mut().zip(CLASSES) {
            *count += u64::from(seconds <= class);
        }
    }

    /// All counters as text.
    pub(super) fn text(&self, uptime: Duration, restored: u64) -> String {
        let mut text = String::new();
        let mut single = |name: &str, kind: &str, help: &str, value: String| {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
        };
        single("obelus_uptime_seconds", "gauge", "Time since the start.", uptime.as_secs().to_string());
        let help = "Sessions restored from the store, to open or to read them.";
        single("obelus_sessions_restored_total", "counter", help, restored.to_string());
        let connections = self.connections.load(Ordering::Relaxed).to_string();
        single("obelus_connections", "gauge", "Open connections.", connections);
        let streams = self.streams.load(Ordering::Relaxed).to_string();
        single("obelus_streams", "gauge", "Open streams of events.", streams);
        let events = self.events.load(Ordering::Relaxed).to_string();
        single("obelus_events_total", "counter", "Events sent by streams.", events);
        let replayed = Host::replayed_records().to_string();
        single("obelus_replayed_records_total", "counter", "Records of journals replayed to read sessions.", replayed);
        let name = "obelus_http_request_seconds";
        let _ = writeln!(text, "# HELP {name} Requests by route and status.\n# TYPE {name} histogram");
        for ((method, route, status), durations) in self.requests.lock().unwrap_or_else(PoisonError::into_inner).iter()
        {
            let labels = format!("method=\"{method}\",route=\"{route}\",status=\"{status}\"");
            for (count, class) in durations.classes.iter().zip(CLASSES) {
                let _ = writeln!(text, "{name}_bucket{{{labels},le=\"{class}\"}} {count}");
            }
            let _ = writeln!(text, "{name}_bucket{{{labels},le=\"+Inf\"}} {}", durations.count);
            let _ = writeln!(text, "{name}_sum{{{labels}}} {}", durations.seconds);
            let _ = writeln!(text, "{name}_count{{{labels}}} {}", durations.count);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_methods_share_one_counter() {
        let metrics = Metrics::default();
        for method in ["GET", "BREW", "WHEN"] {
            metrics.request(method, "", 403, Duration::ZERO);
        }
        let text = metrics.text(Duration::ZERO, 0);
        assert!(
            text.contains("_count{method=\"other\",route=\"\",status=\"403\"} 2") && !text.contains("BREW"),
            "{text}"
        );
    }
}
