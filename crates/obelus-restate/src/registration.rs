//! The registration of a worker with the cluster.

use std::pin::pin;
use std::time::Duration;

use crate::client::{Cluster, ClusterError, Deployment};
use crate::worker::WorkerError;

/// After this time without a registration its reason is reported, even if no node has answered yet.
const FIRST_WORD: Duration = Duration::from_millis(1_500);

/// Registers a worker with the cluster.
#[derive(Clone)]
pub struct Registration {
    pub(crate) cluster: Cluster,
    pub(crate) uri: String,
    pub(crate) newest: bool,
}

/// A registered worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Registered {
    /// New work comes to its address.
    Newest,
    /// Its address was known, and new work goes to another one, which was registered later.
    Earlier {
        /// The other address.
        newest: String,
    },
}

impl Registration {
    /// Retries until the cluster is available and reaches the worker. `waits` gets the reason for waiting, once for
    /// each.
    pub async fn run(self, waits: impl Fn(&ClusterError)) -> Result<Registered, WorkerError> {
        let mut reported = None;
        let mut say = |error: ClusterError| {
            if reported.as_ref() != Some(&error) {
                waits(&error);
                reported = Some(error);
            }
        };
        loop {
            let mut attempt = pin!(self.cluster.apart(self.clone().attempt()));
            let tried = match tokio::time::timeout(FIRST_WORD, &mut attempt).await {
                Ok(tried) => tried,
                Err(_) => {
                    say(ClusterError::NotYet(self.cluster.addresses()));
                    attempt.await
                }
            };
            match tried {
                Ok(registered) => return Ok(registered),
                Err(error) if is_passing(&error) => say(error),
                Err(error) => return Err(error.into()),
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    async fn attempt(self) -> Result<Registered, ClusterError> {
        self.cluster.check_ingress().await?;
        let known = self.cluster.deployments().await?;
        match newer_than(&self.uri, &known) {
            Some(newest) if !self.newest => Ok(Registered::Earlier { newest }),
            _ => self.cluster.register(&self.uri).await.map(|()| Registered::Newest),
        }
    }
}

/// The address that gets the new work, if a worker's own is known and another one.
fn newer_than(uri: &str, known: &[Deployment]) -> Option<String> {
    let newest = known.iter().max_by_key(|deployment| deployment.revision())?;
    let other = newest.uri.as_deref().filter(|_| newest.revision().is_some())?;
    let is_known = known.iter().filter_map(|deployment| deployment.uri.as_deref()).any(|known| is_same(known, uri));
    (is_known && !is_same(other, uri)).then(|| other.to_owned())
}

/// Whether two addresses are the same. The cluster writes them in its own form.
fn is_same(one: &str, other: &str) -> bool {
    match (reqwest::Url::parse(one), reqwest::Url::parse(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
}

/// Whether the cluster may register the worker later.
fn is_passing(error: &ClusterError) -> bool {
    match error {
        ClusterError::Status { status, .. } => matches!(status, 429 | 500 | 502..=504),
        error => matches!(
            error,
            ClusterError::Unreachable(..) | ClusterError::NoAnswer(..) | ClusterError::WorkerUnreachable { .. }
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_newer_deployment_than_a_known_address_is_found() {
        let deployment = |uri: &str, revision: u64| {
            let services = json!([{"name": "Session", "revision": revision}, {"name": "Effects", "revision": 1}]);
            serde_json::from_value(json!({"id": "d", "uri": uri, "services": services})).unwrap()
        };
        let other = serde_json::from_value(json!({"id": "d", "uri": "http://x:1/", "services": []})).unwrap();
        let known: Vec<Deployment> = vec![deployment("http://w2:9080/", 4), deployment("http://w1:9080/", 3), other];
        assert_eq!(newer_than("http://w1:9080", &known).as_deref(), Some("http://w2:9080/"));
        assert_eq!(newer_than("http://w2:9080", &known), None);
        assert_eq!(newer_than("http://w3:9080", &known), None, "an unknown address takes the new work");
        assert_eq!(newer_than("http://w1:9080", &[]), None);
    }
}
