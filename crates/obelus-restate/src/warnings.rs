//! Warnings of a worker about sessions that it cannot open.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use crate::live::LiveError;

/// The limit of remembered warnings.
const MOST: usize = 1_000;

/// Reports sessions that this worker cannot open, each problem of a session once: the cluster retries for long.
#[derive(Clone)]
pub(crate) struct Warnings {
    report: Arc<dyn Fn(&str) + Send + Sync>,
    reported: Arc<Mutex<HashSet<String>>>,
}

impl Warnings {
    pub(crate) fn new(report: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { report: Arc::new(report), reported: Arc::default() }
    }

    /// Returns the same error. It is reported if it is new and a retry in this worker does not help.
    pub(crate) fn report_once(&self, session: &str, error: LiveError) -> LiveError {
        if let LiveError::Unrestorable(text) = &error {
            let line = format!("{session}: {text}");
            let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
            if reported.len() >= MOST {
                reported.clear();
            }
            if reported.insert(line.clone()) {
                (self.report)(&line);
            }
        }
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_of_a_session_is_reported_once() {
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let heard = Arc::clone(&lines);
        let warnings = Warnings::new(move |line| heard.lock().unwrap().push(line.to_owned()));
        for _ in 0..3 {
            warnings.report_once("monday", LiveError::Unrestorable("there is no such file".to_owned()));
            warnings.report_once("monday", LiveError::Unavailable("later".to_owned()));
        }
        warnings.report_once("tuesday", LiveError::Unrestorable("there is no such file".to_owned()));
        assert_eq!(*lines.lock().unwrap(), ["monday: there is no such file", "tuesday: there is no such file"]);
    }
}
