//! Requests and notifications of a server.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationCapability,
    ErrorData, FormElicitationCapability, Implementation, ProtocolVersion,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

/// The most questions at once: others are declined.
const MOST_QUESTIONS: usize = 8;

/// Something that a server asks of a person while a call is at work.
pub(super) struct Question {
    pub(super) words: String,
    pub(super) schema: Value,
    /// Closed when the server takes the question back.
    pub(super) answer: oneshot::Sender<ElicitResult>,
}

/// The state that the connection to a server and its calls share.
#[derive(Default)]
pub(super) struct Shared {
    seats: Mutex<Vec<(u64, mpsc::Sender<Question>)>>,
    next: AtomicU64,
    /// Whether the list of tools was said to have changed.
    stale: AtomicBool,
    /// Whether a stateless server tells of changes.
    hears: AtomicBool,
}

impl Shared {
    /// A place for a call that has somebody to ask: questions of the server come there until it is dropped. The protocol
    /// does not say to which call a question belongs, so that the latest one gets it.
    pub(super) fn seat(self: &Arc<Self>) -> (Seat, mpsc::Receiver<Question>) {
        let (sender, questions) = mpsc::channel(MOST_QUESTIONS);
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.seats.lock().unwrap_or_else(PoisonError::into_inner).push((number, sender));
        (Seat { shared: Arc::clone(self), number }, questions)
    }

    /// Notes that the list of tools is another one.
    pub(super) fn mark_stale(&self) {
        self.stale.store(true, Ordering::Release);
    }

    /// Whether the list of tools is another one since this was asked last.
    pub(super) fn take_stale(&self) -> bool {
        self.stale.swap(false, Ordering::AcqRel)
    }

    /// Whether a server that need not tell of changes does so all the same.
    pub(super) fn hears(&self) -> bool {
        self.hears.load(Ordering::Acquire)
    }

    /// Notes whether it does.
    pub(super) fn now_hears(&self, hears: bool) {
        self.hears.store(hears, Ordering::Release);
    }

    fn ask(&self, question: Question) -> bool {
        let seats = self.seats.lock().unwrap_or_else(PoisonError::into_inner);
        seats.last().is_some_and(|(_, latest)| latest.try_send(question).is_ok())
    }
}

/// The place of a call.
pub(super) struct Seat {
    shared: Arc<Shared>,
    number: u64,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut seats = self.shared.seats.lock().unwrap_or_else(PoisonError::into_inner);
        seats.retain(|(number, _)| *number != self.number);
    }
}

/// Answers a server.
pub(super) struct Handler(pub(super) Arc<Shared>);

impl ClientHandler for Handler {
    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let Some((words, schema)) = form_of(request) else {
            return Ok(ElicitResult::new(ElicitationAction::Decline));
        };
        let (answer, answered) = oneshot::channel();
        if !self.0.ask(Question { words, schema, answer }) {
            return Ok(ElicitResult::new(ElicitationAction::Decline));
        }
        tokio::select! {
            told = answered => Ok(told.unwrap_or_else(|_| ElicitResult::new(ElicitationAction::Cancel))),
            () = context.ct.cancelled() => Ok(ElicitResult::new(ElicitationAction::Cancel)),
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.mark_stale();
    }

    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(ElicitationCapability::new().with_form(FormElicitationCapability::default()));
        let me = Implementation::new("obelus", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities, me).with_protocol_version(ProtocolVersion::V_2025_11_25)
    }
}

/// The words and the schema of a form; none for what is no form, such as an address to be opened.
pub(super) fn form_of(request: ElicitRequestParams) -> Option<(String, Value)> {
    match request {
        ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
            Some((message, serde_json::to_value(requested_schema).ok()?))
        }
        _ => None,
    }
}
