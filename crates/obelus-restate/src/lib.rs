//! Sessions on many machines: the same kernel, stored by a [Restate](https://restate.dev) cluster and run by any
//! number of workers.
//!
//! A session is a Virtual Object. Its handlers are short: they read the head of the session, give the kernel one
//! input, set the record and the new head, and send the kernel's tasks to a second service. Nothing waits in an
//! object: the kernel's own state says what it waits for. Effects run in that second service and come back as inputs.
//! Sessions are read by queries of the state, so that reading costs no invocation; what is read is checked by sums in
//! the head.
//!
//! # Layout
//!
//! | file | subject |
//! |---|---|
//! | `wire` | the stored state, and the handlers' parameters and results |
//! | `step` | the changes of one input, as a value |
//! | `object` | the Virtual Object of a session |
//! | `effects` | the service that carries out calls and asks models |
//! | `running` | the running effects of a worker, for its end |
//! | `live` | sessions in a worker's memory |
//! | `worker` | the worker process |
//! | `registration` | the registration of a worker with the cluster |
//! | `warnings` | warnings of a worker about sessions that it cannot open |
//! | `client` | requests to a Restate cluster |
//! | `lag` | reading from a node that lags behind |
//! | `store` | the store of a host in front, and its access to the workers |

mod client;
mod effects;
mod lag;
mod live;
mod object;
mod registration;
mod running;
mod step;
mod store;
mod warnings;
mod wire;
mod worker;

pub use client::{Cluster, ClusterError};
pub use registration::{Registered, Registration};
pub use store::RestateStore;
pub use worker::{Worker, WorkerError};
