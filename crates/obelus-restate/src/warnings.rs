//! Warnings of a worker about sessions that it cannot open.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use crate::live::LiveError;

/// The limit of remembered warnings.
const MOST: usize = 1_000;

/// Reports sessions that this worker cannot open, each problem of a session once: the cluster retries for long.
#[derive(Clone)]
pub(crate) struct Warnings {
    tell: Arc<dyn Fn(&str) + Send + Sync>,
    told: Arc<Mutex<HashSet<String>>>,
}

impl Warnings {
    pub(crate) fn new(tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { tell: Arc::new(tell), told: Arc::default() }
    }

    /// The same error, which is reported if it is new and a retry in this worker does not help.
    pub(crate) fn told(&self, session: &str, error: LiveError) -> LiveError {
        if let LiveError::Unrestorable(text) = &error {
            let line = format!("{session}: {text}");
            let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
            if told.len() >= MOST {
                told.clear();
            }
            if told.insert(line.clone()) {
                (self.tell)(&line);
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
            warnings.told("monday", LiveError::Unrestorable("there is no such file".to_owned()));
            warnings.told("monday", LiveError::Unavailable("later".to_owned()));
        }
        warnings.told("tuesday", LiveError::Unrestorable("there is no such file".to_owned()));
        assert_eq!(*lines.lock().unwrap(), ["monday: there is no such file", "tuesday: there is no such file"]);
    }
}
