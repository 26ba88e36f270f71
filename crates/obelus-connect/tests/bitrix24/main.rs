//! The Bitrix24 client against a server that answers as a portal does.
#![cfg(feature = "bitrix24")]

mod agent;
mod daily;
mod limits;
mod lists;
mod lost;
mod manual;
mod portal;
mod requests;
mod sandbox;
#[path = "../common/server.rs"]
#[expect(dead_code, reason = "other tests use the rest of it")]
mod server;

use std::sync::Arc;
use std::time::Duration;

use obelus_connect::bitrix24::{Bitrix24, Options, Webhook};
use obelus_kernel::Tool;
use obelus_kernel::session::{CallError, Outcome};
use obelus_runtime::{Activities, Activity, Elicitor, Work};
use serde_json::{Value, json};
use server::Server;

/// A secret that must not appear anywhere.
pub(crate) const TOKEN: &str = "s3cr3tT0ken";

/// A client for a server, without a rate limit and with short waits.
pub(crate) fn client(server: &Server) -> Bitrix24 {
    client_with(server, Options { rate: None, settle: Duration::ZERO, ..Options::default() })
}

pub(crate) fn client_with(server: &Server, options: Options) -> Bitrix24 {
    Bitrix24::new(Webhook::parse(&format!("{}/rest/1/{TOKEN}/", server.url)).unwrap(), options)
}

/// A call of a tool with this effect and this `x-bitrix24`.
#[expect(clippy::needless_pass_by_value, reason = "an annotation written in place reads better")]
pub(crate) fn work(tool: &str, effect: &str, annotation: Value, call: Value) -> Work {
    let schema = json!({"type": "object", "x-effect": effect, "x-bitrix24": annotation});
    let tool = Tool::parse(tool, &schema).unwrap();
    let (key, elicitor, slot) = ("s:1.0".to_owned(), Elicitor::nobody(), Arc::default());
    Work { call: call.into(), tool: Arc::new(tool), scope: Vec::new(), key, attempt: 1, elicitor, slot }
}

pub(crate) fn read(tool: &str, call: Value) -> Work {
    work(tool, "read", json!({}), call)
}

pub(crate) fn error(outcome: Outcome) -> CallError {
    match outcome {
        Outcome::Error(error) => {
            assert!(!error.message.contains(TOKEN), "{}", error.message);
            error
        }
        other => panic!("no error: {other:?}"),
    }
}

pub(crate) fn value(outcome: Outcome) -> Value {
    match outcome {
        Outcome::Value(value) => value,
        other => panic!("no value: {other:?}"),
    }
}

/// The client as an activity of a session.
pub(crate) fn activity(client: &Bitrix24) -> Arc<dyn Activity> {
    let mut activities = Activities::new();
    activities.add("bitrix24", client.clone());
    Arc::clone(activities.get("bitrix24").unwrap())
}

/// The outcome of a call.
pub(crate) async fn run(client: &Bitrix24, work: Work) -> Outcome {
    activity(client).run(work).await
}
