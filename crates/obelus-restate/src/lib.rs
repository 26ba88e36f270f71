//! Sessions on many machines: the same kernel, kept by a [Restate](https://restate.dev) cluster and worked at by any
//! number of workers.
//!
//! A session is a Virtual Object. Its handlers are short: they read the head of the session, give the kernel one input, set
//! the record and the new head, and send what the kernel wants done to a second service. Nothing waits in an object; the
//! kernel's own state is the wait. Effects run in that second service and come back as inputs. Sessions are read by
//! queries of the state, so that reading costs no invocation, and what was read is held against sums in the head.
//!
//! # Layout
//!
//! | file | subject |
//! |---|---|
//! | `wire` | what is kept in the state, and what handlers take and return |
//! | `step` | one input: what it changes, as a value |
//! | `object` | the Virtual Object of a session |
//! | `effects` | the service that carries out calls and asks models |
//! | `live` | sessions that a worker has in memory |
//! | `worker` | a process that works at sessions |
//! | `client` | requests to a Restate cluster |
//! | `store` | the store of a host in front, and its way to the workers |

mod client;
mod effects;
mod live;
mod object;
mod step;
mod store;
mod wire;
mod worker;

pub use client::{Cluster, ClusterError};
pub use store::RestateStore;
pub use worker::{Registration, Worker, WorkerError};
