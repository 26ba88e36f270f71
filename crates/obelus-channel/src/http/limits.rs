//! Rates and open streams of each token.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::HttpOptions;
use crate::ChannelError;

/// Rates and open streams of each token.
pub(super) struct RateLimits {
    rate: f64,
    streams: usize,
    tokens: Mutex<HashMap<String, Arc<TokenLimits>>>,
}

struct TokenLimits {
    bucket: Mutex<TokenBucket>,
    streams: Arc<Semaphore>,
}

/// A token bucket of requests. It refills over time.
struct TokenBucket {
    left: f64,
    at: Instant,
}

impl RateLimits {
    pub(super) fn new(options: &HttpOptions) -> Self {
        Self { rate: f64::from(options.rate.max(1)), streams: options.streams, tokens: Mutex::default() }
    }

    fn of(&self, name: &str) -> Arc<TokenLimits> {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = tokens.get(name) {
            return Arc::clone(known);
        }
        let bucket = Mutex::new(TokenBucket { left: self.rate * 2.0, at: Instant::now() });
        let new = Arc::new(TokenLimits { bucket, streams: Arc::new(Semaphore::new(self.streams)) });
        tokens.insert(name.to_owned(), Arc::clone(&new));
        new
    }

    /// Counts a request of a token, or refuses it.
    pub(super) fn request(&self, name: &str) -> Result<(), ChannelError> {
        self.request_at(name, Instant::now())
    }

    fn request_at(&self, name: &str, now: Instant) -> Result<(), ChannelError> {
        let limits = self.of(name);
        let mut bucket = limits.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = now.saturating_duration_since(bucket.at).as_secs_f64();
        bucket.left = (bucket.left + passed * self.rate).min(self.rate * 2.0);
        bucket.at = now;
        if bucket.left < 1.0 {
            return Err(ChannelError::TooMany("requests"));
        }
        bucket.left -= 1.0;
        Ok(())
    }

    /// Reserves an open stream for a token, as long as the permit is held.
    pub(super) fn stream(&self, name: &str) -> Result<OwnedSemaphorePermit, ChannelError> {
        let streams = Arc::clone(&self.of(name).streams);
        streams.try_acquire_owned().map_err(|_| ChannelError::TooMany("open streams"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_rate_limit_of_one_token_does_not_affect_other_tokens() {
        let limits = RateLimits::new(&HttpOptions { rate: 5, streams: 2, ..HttpOptions::default() });
        let start = Instant::now();
        let taken = (0..20).filter(|_| limits.request_at("anna", start).is_ok()).count();
        assert_eq!(taken, 10);
        assert!(limits.request_at("boris", start).is_ok());
        assert!(limits.request_at("anna", start + Duration::from_secs(1)).is_ok());
        let streams: Vec<_> = (0..3).map(|_| limits.stream("anna")).collect();
        assert_eq!(streams.iter().filter(|stream| stream.is_ok()).count(), 2);
        drop(streams);
        assert!(limits.stream("anna").is_ok());
    }
}
