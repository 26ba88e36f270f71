//! `obelus worker`, and hosts of sessions in a Restate cluster.

use anyhow::{Context as _, Result, bail};
use obelus_restate::{Cluster, ClusterError, Registered, RestateStore, Worker};
use obelus_runtime::{Connector, Host};

use super::host::{Notices, connector};
use crate::cli::{EngineArgs, EngineName, WorkerArgs};
use crate::language::{fill, words_of};
use crate::output::{self, DIM, Exit};

/// The default port of the admin API.
const ADMIN_PORT: u16 = 9070;

/// A host of the sessions in a cluster.
pub(crate) fn host(at: &EngineArgs, connector: impl Connector) -> Result<Host> {
    let store = RestateStore::new(cluster(at, Cluster::for_people)?);
    Ok(Host::builder(connector).store(store.shared()).workers(store.workers()).build())
}

/// Refuses the address of a cluster that would be ignored.
pub(crate) fn check(at: &EngineArgs) -> Result<()> {
    if at.engine != EngineName::Restate && at.restate.is_some() {
        bail!("{}", words_of(None).serving.restate_without_engine);
    }
    Ok(())
}

fn cluster(at: &EngineArgs, made: impl Fn(&str, &str) -> Result<Cluster, ClusterError>) -> Result<Cluster> {
    let ingress = at.restate.as_deref().unwrap_or_default();
    let admin = at.restate_admin.clone().unwrap_or_else(|| admin_of(ingress));
    made(ingress, &admin).context("--restate")
}

/// The admin APIs of nodes, by their ingress.
fn admin_of(ingress: &str) -> String {
    let of_one = |address: &str| {
        let address = address.trim().trim_end_matches('/');
        let begin = address.find("://").map_or(0, |at| at + 3);
        let end = address[begin..].rfind(':').map_or(address.len(), |at| begin + at);
        // IPv6 addresses contain colons too.
        let end = if address[end..].contains(']') { address.len() } else { end };
        format!("{}:{ADMIN_PORT}", &address[..end])
    };
    ingress.split(',').map(of_one).collect::<Vec<_>>().join(",")
}

pub(crate) fn worker(args: &WorkerArgs) -> Result<Exit> {
    check(&args.engine)?;
    if args.engine.engine != EngineName::Restate {
        bail!("{}", words_of(None).serving.worker_engine);
    }
    if args.advertise.is_none() && args.listen.ip().is_unspecified() {
        bail!("{}", fill(words_of(None).serving.worker_advertise, &[&args.listen.to_string()]));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let done = runtime.block_on(work(args));
    runtime.shutdown_background();
    done
}

async fn work(args: &WorkerArgs) -> Result<Exit> {
    let words = &words_of(None).serving;
    let cluster = cluster(&args.engine, Cluster::new)?;
    let connector = connector(&args.store, &Notices::default())?;
    let worker = Worker::bind(cluster.clone(), connector, args.listen).await.context("--listen")?;
    let cannot_open = |what: &str| output::warning(&fill(words.worker_cannot_open, &[what, "--agents"]));
    let worker = worker.agents(args.agents.clone()).warning(cannot_open);
    let uri = args.advertise.clone().unwrap_or_else(|| format!("http://{}", worker.address()));
    let registration = worker.registration(&uri, args.newest);
    let end = super::serve::end_signal()?;
    let registered = async {
        let waits = |error: &_| output::warning(&fill(words.worker_waits, &[&format!("{error}")]));
        match registration.run(waits).await {
            Err(error) => error,
            Ok(registered) => {
                // Programs read this line.
                output::answer(&uri);
                if let Registered::Earlier { newest } = registered {
                    output::warning(&fill(words.worker_earlier, &[&newest, "--newest"]));
                }
                output::note(&format!("{DIM}{}{DIM:#}", fill(words.worker_works, &[cluster.address()])));
                std::future::pending().await
            }
        }
    };
    let mut failure = None;
    let ended = async {
        tokio::select! {
            () = end => {}
            error = registered => failure = Some(error),
        }
    };
    worker.serve(ended).await;
    match failure {
        None => Ok(Exit::Done),
        Some(error) => Err(error).context("--restate"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_admin_address_is_derived_from_the_ingress() {
        for (ingress, admin) in [
            ("http://127.0.0.1:8080", "http://127.0.0.1:9070"),
            ("http://restate.example.test/", "http://restate.example.test:9070"),
            ("http://n1:8080, http://n2:8081", "http://n1:9070,http://n2:9070"),
            ("http://[::1]:8080", "http://[::1]:9070"),
            ("http://[::1]", "http://[::1]:9070"),
        ] {
            assert_eq!(admin_of(ingress), admin);
        }
    }
}
