//! Tools of servers as activities.

use std::sync::Arc;
use std::time::Duration;

use obelus_kernel::Call;
use obelus_kernel::session::{CallError, Outcome};
use obelus_runtime::{Activity, ActivityFuture, Work};
use serde_json::{Map, Value, json};

use super::NoticeSender;
use super::error::{McpError, McpErrorKind, quoted};
use super::offer::difference;
use super::request::Elicit;
use super::server::Server;
use super::shots;
use super::tool_result::ToolResult;

/// Additional time to end a server that hangs and to start another.
const MORE_TIME: Duration = Duration::from_secs(30);

/// A tool of a server, as a session knows it.
pub(super) struct McpTool {
    server: Arc<Server>,
    tool: String,
    /// Its definition in the session.
    pinned: Arc<Value>,
    news: Arc<NoticeSender>,
}

impl McpTool {
    pub(super) fn new(server: Arc<Server>, tool: String, pinned: Value, news: Arc<NoticeSender>) -> Self {
        Self { server, tool, pinned: Arc::new(pinned), news }
    }
}

impl Activity for McpTool {
    fn run(&self, work: Work) -> ActivityFuture {
        let (server, tool) = (Arc::clone(&self.server), self.tool.clone());
        let (pinned, news) = (Arc::clone(&self.pinned), Arc::clone(&self.news));
        Box::pin(async move {
            let called = call(&server, &tool, &pinned, &news, &work).await;
            match called {
                Ok(brought) => outcome_of(brought, server.name(), &tool).unwrap_or_else(Outcome::Error),
                Err(error) if error.trouble.leaves_doubt() && !work.tool.idempotent => {
                    Outcome::Lost { message: error.to_string() }
                }
                Err(error) => Outcome::Error(CallError::new(error.trouble.code(), error.to_string())),
            }
        })
    }

    fn time_limit(&self) -> Option<Duration> {
        let spec = self.server.spec();
        // The client has its own time limit, with a better error.
        Some(spec.limit + 2 * spec.start + MORE_TIME)
    }
}

/// Calls a tool if its definition is unchanged. An idempotent call is repeated once if the connection broke.
async fn call(
    server: &Server,
    tool: &str,
    pinned: &Value,
    news: &NoticeSender,
    work: &Work,
) -> Result<ToolResult, McpError> {
    let arguments = arguments_of(work);
    let elicitor = (!work.elicitor.is_nobody()).then_some(&work.elicitor as &dyn Elicit);
    let mut again = work.tool.idempotent;
    loop {
        check(server, tool, pinned, news).await?;
        match server.call(tool, arguments.clone(), elicitor).await {
            Err(error) if error.trouble == McpErrorKind::Lost && again => again = false,
            result => return result,
        }
    }
}

async fn check(server: &Server, tool: &str, pinned: &Value, news: &NoticeSender) -> Result<(), McpError> {
    let name = format!("{}.{tool}", server.name());
    let listed = server.listed().await?;
    let changed = match listed.tools.get(tool) {
        None => Some("it is gone".to_owned()),
        Some(now) => difference(pinned, now),
    };
    let Some(changed) = changed else {
        news.note_unchanged(&name);
        return Ok(());
    };
    let words = format!(
        "the tool `{tool}` is not what this session was given, and is not called ({changed}); a new session takes it as \
         it is now"
    );
    let error = McpError::new(server.name(), McpErrorKind::ToolChanged, words);
    news.changed(&name, error.to_string());
    Err(error)
}

/// The parameters of a call without our own: a server gets only what its tool declares.
fn arguments_of(work: &Work) -> Map<String, Value> {
    let fields = work.call.as_object().into_iter().flatten();
    let params = fields.filter(|(name, _)| Call::is_param(name, &work.tool));
    params.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The result of a call as a value. Images are written to files, and the value has their paths.
fn outcome_of(brought: ToolResult, server: &str, tool: &str) -> Result<Outcome, CallError> {
    if brought.is_error {
        let words = quoted(&brought.texts.join(" "));
        let words = if words.is_empty() { "it failed and does not say why".to_owned() } else { words };
        return Err(CallError::new("tool", words));
    }
    let mut images = Vec::new();
    for image in &brought.images {
        let stem = format!("{server}-{}", tool.replace('.', "_"));
        let shown = match shots::write(image, &stem) {
            Ok(path) => json!({"image": path.to_string_lossy()}),
            Err(error) => json!({"image": null, "problem": format!("it could not be written: {error}")}),
        };
        images.push(shown);
    }
    let mut texts = brought.texts;
    let value = match (brought.structured, texts.len()) {
        (Some(structured), _) => structured,
        (None, 0) if images.len() == 1 => return Ok(Outcome::Value(images.remove(0))),
        (None, 0) => Value::Null,
        (None, 1) => Value::String(texts.remove(0)),
        (None, _) => json!({ "texts": texts }),
    };
    Ok(Outcome::Value(match (value, images.is_empty()) {
        (value, true) => value,
        (Value::Null, false) => json!({ "images": images }),
        (value, false) => json!({"result": value, "images": images}),
    }))
}
