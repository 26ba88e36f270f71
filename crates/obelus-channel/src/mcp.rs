//! An MCP server at `/mcp`: talk to agents, read their states, see and answer the inbox.
//!
//! It supports 2026-07-28 and the revisions with a handshake up to 2025-11-25. It has no state between calls and no
//! stream of its own. It is implemented here because it is one endpoint with six tools.
//!
//! | file | subject |
//! |---|---|
//! | `tools` | the tools |
//! | `talk` | messages and their results |
//! | `ask` | questions to the person at the client |
//! | `reverse` | the same for clients with a handshake: the server asks on the stream of a call |

mod ask;
mod reverse;
mod talk;
mod tools;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use serde_json::{Value, json};

use crate::http::{Access, App, Failure, Json, JsonBody};
use crate::tokens::TokenRole;
use reverse::OpenQuestions;

/// The channel's name in journals: `mcp:NAME`.
const CHANNEL: &str = "mcp";

/// Revisions with a handshake, newest first.
const HANDSHAKE: [&str; 3] = ["2025-11-25", "2025-06-18", "2025-03-26"];
/// The revision without one.
const MODERN: &str = "2026-07-28";

const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const HEADER_MISMATCH: i64 = -32020;
const UNSUPPORTED_VERSION: i64 = -32022;

/// The routes.
pub fn routes() -> Router<App> {
    Router::new()
        .route("/mcp", post(receive).get(no_stream).delete(no_stream))
        .layer(Extension(Arc::new(OpenQuestions::default())))
}

/// The client's capabilities.
pub(super) struct ClientCapabilities {
    /// Whether it can ask its user.
    pub(super) can_elicit: bool,
}

/// A JSON-RPC error.
pub(super) struct RpcError {
    code: i64,
    message: String,
    data: Option<Value>,
}

impl RpcError {
    fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// The status in the revision without a handshake; the others use 200.
    fn status(&self, is_modern: bool) -> StatusCode {
        match self.code {
            METHOD_NOT_FOUND if is_modern => StatusCode::NOT_FOUND,
            PARSE_ERROR | INVALID_REQUEST | HEADER_MISMATCH | UNSUPPORTED_VERSION => StatusCode::BAD_REQUEST,
            INVALID_PARAMS if is_modern => StatusCode::BAD_REQUEST,
            _ => StatusCode::OK,
        }
    }
}

/// There is no server stream, and no session to end.
async fn no_stream(_: Access) -> StatusCode {
    StatusCode::METHOD_NOT_ALLOWED
}

async fn receive(
    State(app): State<App>,
    Extension(pending): Extension<Arc<OpenQuestions>>,
    access: Access,
    headers: HeaderMap,
    JsonBody(message): JsonBody<Value>,
) -> Result<Response, Failure> {
    let id = message["id"].clone();
    let Some(method) = message["method"].as_str().filter(|_| message["jsonrpc"] == "2.0") else {
        // A viewer cannot decide, even if an earlier token of the same name was asked.
        if access.needs(TokenRole::Operator).is_ok() && pending.answer(&access.caller.name, &message) {
            return Ok(StatusCode::ACCEPTED.into_response());
        }
        // Unexpected answers, and batches.
        let error = RpcError::new(INVALID_REQUEST, "send one request or notification of JSON-RPC 2.0");
        return Ok(failed(&Value::Null, &error, false));
    };
    if id.is_null() {
        return Ok(StatusCode::ACCEPTED.into_response());
    }
    let params = &message["params"];
    let is_modern = is_modern(method, params, &headers);
    let answered = match client_of(method, params, &headers, is_modern) {
        Ok(client) if client.can_elicit && !is_modern && method == "tools/call" => {
            return Ok(reverse::call(&app, &access, &pending, &id, params));
        }
        Ok(client) => answer(&app, &access, method, params, &client).await,
        Err(error) => Err(error),
    };
    Ok(match answered {
        Ok(mut result) => {
            if is_modern && result.get("resultType").is_none() {
                result["resultType"] = "complete".into();
            }
            let mut response = Json(json!({"jsonrpc": "2.0", "id": id, "result": result})).into_response();
            let session = reverse::session_id(&params["capabilities"]).filter(|_| method == "initialize");
            if let Some(value) = session.and_then(|session| HeaderValue::from_str(&session).ok()) {
                response.headers_mut().insert("mcp-session-id", value);
            }
            response
        }
        Err(error) => failed(&id, &error, is_modern),
    })
}

fn failed(id: &Value, error: &RpcError, is_modern: bool) -> Response {
    let mut body = json!({"code": error.code, "message": error.message});
    if let Some(data) = &error.data {
        body["data"] = data.clone();
    }
    (error.status(is_modern), Json(json!({"jsonrpc": "2.0", "id": id, "error": body}))).into_response()
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

/// Whether a request is one of the revision without a handshake.
fn is_modern(method: &str, params: &Value, headers: &HeaderMap) -> bool {
    method == "server/discover"
        || params["_meta"].get(VERSION_KEY).is_some()
        || header(headers, "mcp-protocol-version") == Some(MODERN)
}

/// Checks the request's own metadata.
fn client_of(
    method: &str,
    params: &Value,
    headers: &HeaderMap,
    is_modern: bool,
) -> Result<ClientCapabilities, RpcError> {
    let requested = header(headers, "mcp-protocol-version");
    if !is_modern {
        return if requested.is_none_or(|version| HANDSHAKE.contains(&version)) || method == "initialize" {
            Ok(ClientCapabilities { can_elicit: reverse::can_elicit(header(headers, "mcp-session-id")) })
        } else {
            Err(unsupported(requested.unwrap_or_default()))
        };
    }
    let meta = &params["_meta"];
    let (Some(version), true) = (meta[VERSION_KEY].as_str(), meta.get(CAPABILITIES_KEY).is_some()) else {
        return Err(RpcError::new(
            INVALID_PARAMS,
            format!("params._meta needs `{VERSION_KEY}` and `{CAPABILITIES_KEY}`"),
        ));
    };
    if requested != Some(version) || header(headers, "mcp-method") != Some(method) {
        return Err(RpcError::new(HEADER_MISMATCH, "`MCP-Protocol-Version` and `Mcp-Method` must agree with the body"));
    }
    if version != MODERN {
        return Err(unsupported(version));
    }
    if method == "tools/call" && header(headers, "mcp-name") != params["name"].as_str() {
        return Err(RpcError::new(HEADER_MISMATCH, "`Mcp-Name` must be the name of the tool"));
    }
    Ok(ClientCapabilities { can_elicit: has_form(&meta[CAPABILITIES_KEY]["elicitation"]) })
}

/// Whether a client can show a form, which is the default mode.
fn has_form(elicitation: &Value) -> bool {
    elicitation.as_object().is_some_and(|modes| modes.is_empty() || modes.contains_key("form"))
}

fn unsupported(version: &str) -> RpcError {
    let requested: String = version.chars().take(32).collect();
    let supported: Vec<&str> = [MODERN].into_iter().chain(HANDSHAKE).collect();
    let data = Some(json!({"supported": supported, "requested": requested}));
    RpcError { data, ..RpcError::new(UNSUPPORTED_VERSION, "this protocol version is not supported") }
}

async fn answer(
    app: &App,
    access: &Access,
    method: &str,
    params: &Value,
    client: &ClientCapabilities,
) -> Result<Value, RpcError> {
    let capabilities = json!({"tools": {}});
    let server = json!({"name": "obelus", "version": env!("CARGO_PKG_VERSION")});
    let about = "Agents that work under human control. Talk to one; when it asks, a person decides.";
    match method {
        "initialize" => {
            let wanted = params["protocolVersion"].as_str().unwrap_or_default();
            let version = if HANDSHAKE.contains(&wanted) { wanted } else { HANDSHAKE[0] };
            Ok(json!({
                "protocolVersion": version, "capabilities": capabilities, "serverInfo": server, "instructions": about,
            }))
        }
        "server/discover" => {
            let versions: Vec<&str> = [MODERN].into_iter().chain(HANDSHAKE).collect();
            Ok(json!({
                "supportedVersions": versions, "capabilities": capabilities, "instructions": about, "ttlMs": 0,
                "cacheScope": "private", "_meta": {"io.modelcontextprotocol/serverInfo": server},
            }))
        }
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({"tools": tools::list(), "ttlMs": 0, "cacheScope": "private"})),
        "tools/call" => tools::call(app, access, params, client).await,
        _ => Err(RpcError::new(METHOD_NOT_FOUND, "there is no such method here")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn headers_and_body_of_a_modern_request_must_agree() {
        let params = json!({"name": "talk", "_meta": {VERSION_KEY: MODERN, CAPABILITIES_KEY: {"elicitation": {}}}});
        let of = |pairs: &[(&'static str, &'static str)]| {
            client_of("tools/call", &params, &headers(pairs), true)
                .map(|client| client.can_elicit)
                .map_err(|error| error.code)
        };
        let version = ("mcp-protocol-version", MODERN);
        assert_eq!(of(&[version, ("mcp-method", "tools/call"), ("mcp-name", "talk")]), Ok(true));
        assert_eq!(of(&[version, ("mcp-method", "tools/call"), ("mcp-name", "decide")]), Err(HEADER_MISMATCH));
        assert_eq!(of(&[version, ("mcp-method", "ping")]), Err(HEADER_MISMATCH));
        assert_eq!(of(&[]), Err(HEADER_MISMATCH));
    }

    #[test]
    fn an_unknown_version_is_answered_with_the_supported_versions() {
        let error =
            client_of("ping", &Value::Null, &headers(&[("mcp-protocol-version", "2031-01-01")]), false).err().unwrap();
        assert_eq!(error.code, UNSUPPORTED_VERSION);
        assert_eq!(error.data.unwrap()["supported"][0], MODERN);
        assert!(client_of("ping", &Value::Null, &headers(&[("mcp-protocol-version", "2025-11-25")]), false).is_ok());
    }

    #[test]
    fn fuzz_a_message_of_a_client_is_refused_or_read() {
        let headers = headers(&[("mcp-protocol-version", MODERN), ("mcp-method", "tools/list")]);
        crate::fuzz::fuzz("rpc", |input| {
            let Ok(message) = serde_json::from_slice::<Value>(input) else { return false };
            let (method, params) = (message["method"].as_str().unwrap_or_default(), &message["params"]);
            let plain = HeaderMap::new();
            let is_read = client_of(method, params, &plain, is_modern(method, params, &plain)).is_ok();
            is_read | client_of(method, params, &headers, is_modern(method, params, &headers)).is_ok()
        });
    }
}
