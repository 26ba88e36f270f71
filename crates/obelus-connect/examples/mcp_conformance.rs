//! The client that the conformance suite of MCP drives: it connects, lists the tools and calls each of them.
//!
//! ```text
//! npx @modelcontextprotocol/conformance client --command target/debug/examples/mcp_conformance --suite all --spec-version 2026-07-28
//! ```
//!
//! The suite adds the address of its server and says in the environment which revision to speak and, in some scenarios,
//! which calls to make.

use std::env;
use std::process::ExitCode;

use obelus_connect::mcp::{AskedFuture, Elicit, LogIn, McpError, McpErrorKind, Servers, VisitFuture};
use obelus_runtime::{Elicited, Secret};
use serde_json::{Map, Value, json};

/// Fills in forms with the defaults, else with any fitting value.
struct Person;

impl Elicit for Person {
    fn ask(&self, _: String, schema: Value) -> AskedFuture<'_> {
        let fields = schema["properties"].as_object().cloned().unwrap_or_default();
        let filled: Map<_, _> = fields.into_iter().map(|(name, field)| (name, value_for(&field))).collect();
        Box::pin(std::future::ready(Elicited::Value(Value::Object(filled))))
    }
}

/// The suite's authorization servers redirect back at once, without a login page.
impl LogIn for Person {
    fn back(&self) -> String {
        "http://localhost:3000/callback".to_owned()
    }

    fn visit<'a>(&'a self, address: &'a str, _: &'a str) -> VisitFuture<'a> {
        Box::pin(async move {
            let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build();
            let answer = client.map_err(|error| error.to_string())?.get(address).send().await;
            let answer = answer.map_err(|error| error.to_string())?;
            let back = answer.headers().get("location").and_then(|value| value.to_str().ok());
            back.map(str::to_owned).ok_or_else(|| format!("sent nowhere: {}", answer.status()))
        })
    }
}

/// The metadata document by which the suite knows a client.
const KNOWN_AS: &str = "https://conformance-test.local/client-metadata.json";

/// Some value that fits a schema.
fn value_for(schema: &Value) -> Value {
    if let Some(default) = schema.get("default") {
        return default.clone();
    }
    if let Some(one) = schema.get("enum").and_then(|values| values.get(0)) {
        return one.clone();
    }
    match schema["type"].as_str() {
        Some("string") => json!("some"),
        Some("integer") => json!(1),
        Some("number") => json!(1.5),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => Value::Null,
    }
}

/// The required arguments of a tool. A parameter `schema` gets the schema of the tool before it.
fn arguments_for(schema: &Value, before: Option<&Value>) -> Map<String, Value> {
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let value = |name: &str| match (name, before) {
        ("schema", Some(before)) => before.clone(),
        _ => value_for(&schema["properties"][name]),
    };
    required.map(|name| (name.to_owned(), value(name))).collect()
}

fn context() -> Value {
    env::var("MCP_CONFORMANCE_CONTEXT").ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

/// The identity and grant that the scenario prescribes.
fn auth() -> Value {
    let scenario = env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let context = context();
    let mut auth = json!({ "client_id": KNOWN_AS });
    if let Some(id) = context["client_id"].as_str() {
        auth["client_id"] = json!(id);
    }
    if let Some(secret) = context["client_secret"].as_str() {
        Secret::provide("CONFORMANCE_CLIENT_SECRET", Secret::new(secret));
        auth["client_secret"] = json!("$CONFORMANCE_CLIENT_SECRET");
    }
    if let Some(key) = context["private_key_pem"].as_str() {
        Secret::provide("CONFORMANCE_PRIVATE_KEY", Secret::new(key));
        auth["private_key"] = json!("$CONFORMANCE_PRIVATE_KEY");
    }
    if let Some(issuer) = context["issuer"].as_str() {
        auth["issuer"] = json!(issuer);
    }
    if scenario.starts_with("auth/client-credentials") {
        auth["grant"] = json!("client_credentials");
    }
    auth
}

/// The calls that the suite prescribes, if any.
fn wanted() -> Vec<(String, Map<String, Value>)> {
    let context = context();
    let calls = context["toolCalls"].as_array().into_iter().flatten();
    let call = |call: &Value| {
        Some((call["name"].as_str()?.to_owned(), call["arguments"].as_object().cloned().unwrap_or_default()))
    };
    calls.filter_map(call).collect()
}

async fn talk(servers: &Servers) -> Result<(), McpError> {
    servers.on_change(|words| eprintln!("{words}"));
    let Some(server) = servers.get("suite") else { return Ok(()) };
    let tools = match servers.tools().await {
        Err(error) if error.trouble == McpErrorKind::NoAccess => {
            eprintln!("{error}");
            server.log_in(&Person).await?;
            servers.tools().await?
        }
        tools => tools?,
    };
    let mut calls = wanted();
    if calls.is_empty() {
        let mut before = None;
        for (name, schema) in &tools {
            let name = name.strip_prefix("suite.").unwrap_or(name);
            calls.push((name.to_owned(), arguments_for(schema, before)));
            before = Some(schema);
        }
    }
    for (tool, arguments) in calls {
        let mut called = server.call(&tool, arguments.clone(), Some(&Person)).await;
        if let Err(error) = &called
            && error.trouble == McpErrorKind::NoAccess
        {
            eprintln!("{error}");
            server.log_in(&Person).await?;
            called = server.call(&tool, arguments, Some(&Person)).await;
        }
        match called {
            Ok(brought) => eprintln!("{tool}: {:?}", brought.texts),
            Err(error) => eprintln!("{tool}: {error}"),
        }
    }
    Ok(())
}

/// Runs the client against the server of a scenario.
pub(crate) async fn run(url: &str) -> Result<(), String> {
    let protocol = env::var("MCP_CONFORMANCE_PROTOCOL_VERSION").unwrap_or_else(|_| "auto".to_owned());
    let suite = json!({"url": url, "protocol": protocol, "timeout": 20, "auth": auth()});
    let section = Map::from_iter([("suite".to_owned(), suite)]);
    let servers = Servers::parse(&section, ".".as_ref()).map_err(|error| error.to_string())?;
    let talked = talk(&servers).await;
    servers.close().await;
    talked.map_err(|error| error.to_string())
}

#[tokio::main]
async fn main() -> ExitCode {
    let Some(url) = env::args().nth(1) else {
        eprintln!("usage: mcp_conformance URL");
        return ExitCode::from(2);
    };
    match run(&url).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(words) => {
            eprintln!("{words}");
            ExitCode::FAILURE
        }
    }
}
