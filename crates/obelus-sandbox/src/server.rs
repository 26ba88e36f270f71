//! Serves requests: access, limits, the call itself, the log and the events.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::batch::batch;
use crate::clock::PortalClock;
use crate::entity::{HANDLER, USER};
use crate::events::{Delivery, EventQueue, EventSender, RecordEvent, form};
use crate::limits::{PortalLimits, times};
use crate::log::{LogEntry, RequestLog};
use crate::methods::{MethodCall, Methods, RecordChange, V3, int_of, text_of};
use crate::portal::PortalSettings;
use crate::store::PortalStore;
use crate::tongue::PortalLanguage;
use crate::wire::{MethodAnswer, RestError, RestParams};

/// Parameters longer than this are cut on the page.
const MAX_LINE: usize = 140;

pub(crate) struct PortalServer {
    pub(crate) settings: PortalSettings,
    pub(crate) methods: Methods,
    pub(crate) clock: PortalClock,
    pub(crate) sender: EventSender,
    pub(crate) courier: EventQueue,
    state: Mutex<ServerState>,
    served: AtomicU64,
}

/// The state that one request at a time may use.
pub(crate) struct ServerState {
    pub(crate) store: PortalStore,
    pub(crate) log: RequestLog,
    limits: PortalLimits,
    /// Answers of REST 3.0 by idempotency key and method, with the body they answer.
    answered: BTreeMap<(String, String), (String, HttpReply)>,
}

/// A request.
pub(crate) struct RestRequest<'a> {
    /// The path after `/rest/`.
    pub(crate) path: &'a str,
    pub(crate) params: RestParams,
    pub(crate) from: IpAddr,
    /// The header `Idempotency-Key`.
    pub(crate) key: Option<&'a str>,
}

/// The answer to a request.
#[derive(Clone)]
pub(crate) struct HttpReply {
    pub(crate) status: u16,
    pub(crate) body: Value,
    pub(crate) as_xml: bool,
    /// Close the connection instead of answering.
    pub(crate) dropped: bool,
}

/// Changes and events of the calls of a request.
#[derive(Default)]
struct SideEffects {
    changes: Vec<RecordChange>,
    events: Vec<RecordEvent>,
}

impl PortalServer {
    pub(crate) fn new(
        settings: PortalSettings,
        clock: PortalClock,
        store: PortalStore,
        sender: EventSender,
        courier: EventQueue,
    ) -> PortalServer {
        let state = Mutex::new(ServerState {
            store,
            log: RequestLog::default(),
            limits: PortalLimits::default(),
            answered: BTreeMap::new(),
        });
        PortalServer { settings, methods: Methods::all(), clock, sender, courier, state, served: AtomicU64::new(0) }
    }

    /// Ignores poisoning: a panic rolls its transaction back, so the state is consistent.
    pub(crate) fn state(&self) -> MutexGuard<'_, ServerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a request. A repeated creation of REST 3.0 with the same idempotency key gets the earlier answer.
    pub(crate) fn serve(&self, request: RestRequest<'_>) -> HttpReply {
        let newer = request.path.strip_prefix("api/");
        let (user, token, name) = split_path(newer.unwrap_or(request.path));
        let (name, as_xml) = match (name.strip_suffix(".json"), name.strip_suffix(".xml")) {
            (Some(name), _) => (name, false),
            (_, Some(name)) => (name, true),
            _ => (name, false),
        };
        if let Err(fault) = self.check(user, token, &request.params) {
            return HttpReply { status: fault.status, body: fault.json(), as_xml, dropped: false };
        }
        if newer.is_none() {
            return HttpReply { as_xml, ..self.answer(name, request) };
        }
        let name = format!("{V3}{name}");
        let Some(known) = request.key.map(|key| (key.to_owned(), name.clone())) else {
            return self.answer(&name, request);
        };
        let body_now = request.params.value().to_string();
        if let Some((body, reply)) = self.state().answered.get(&known) {
            let words = "The key was already used with another request body";
            let reused = RestError::new(422, "BITRIX_REST_V3_EXCEPTION_IDEMPOTENCYKEYREUSEDEXCEPTION", words);
            return if *body == body_now { reply.clone() } else { v3_fault(&reused) };
        }
        let reply = self.answer(&name, request);
        if reply.status == 200 {
            self.state().answered.insert(known, (body_now, HttpReply { dropped: false, ..reply.clone() }));
        }
        reply
    }

    /// Carries out a method or a batch, and logs it.
    fn answer(&self, name: &str, request: RestRequest<'_>) -> HttpReply {
        let start = self.clock.precise();
        let mut state = self.state();
        let asked = describe_params(&request.params);
        let mut commands = Vec::new();
        let mut effects = SideEffects::default();
        let admitted = self
            .check_user_active(&state.store)
            .and_then(|()| if self.settings.rate { state.limits.request(request.from, start) } else { Ok(()) });
        let (outcome, time) = match admitted {
            Err(fault) => (Err(fault), None),
            Ok(()) if name.eq_ignore_ascii_case("batch") => {
                let outcome = batch(&request.params, |name, params| {
                    commands.push(name.to_owned());
                    self.call(&mut state, name, params, &mut effects)
                });
                (outcome, None)
            }
            Ok(()) => self.call(&mut state, name, request.params, &mut effects),
        };
        let finish = self.clock.precise();
        let dropped = self.drops_answer(self.served.fetch_add(1, Ordering::Relaxed));
        let (status, body) = match &outcome {
            Ok(answer) => (200, body(answer, time.unwrap_or_else(|| times(start, finish)))),
            Err(fault) if name.starts_with(V3) && fault.status != 404 => (fault.status, v3_fault(fault).body),
            Err(fault) => (fault.status, fault.json()),
        };
        state.log.push(LogEntry {
            number: 0,
            at: finish as i64,
            method: name.trim_start_matches(V3).to_owned(),
            asked: match &outcome {
                Ok(answer) if effects.changes.is_empty() && commands.is_empty() => {
                    format!("{asked} {}", row_count(answer, self.settings.language))
                }
                Ok(_) => String::new(),
                Err(_) => asked,
            },
            commands,
            fault: outcome.err().map(|fault| (fault.status, fault.code, fault.words)),
            changes: effects.changes,
            dropped,
        });
        self.send_events(&state.store, &effects.events);
        HttpReply { status, body, as_xml: false, dropped }
    }

    /// Checks the user and the token of the webhook.
    fn check(&self, user: &str, token: &str, params: &RestParams) -> Result<(), RestError> {
        if user.is_empty() {
            return Err(match params.get("auth").and_then(Value::as_str) {
                None | Some("") => RestError::new(401, "NO_AUTH_FOUND", "Wrong authorization data"),
                Some(_) => RestError::new(401, "expired_token", "The access token provided has expired."),
            });
        }
        if user == self.settings.user.to_string() && token == self.settings.token {
            Ok(())
        } else {
            Err(RestError::new(403, "INVALID_CREDENTIALS", "Invalid request credentials"))
        }
    }

    /// Refuses the webhook of a user who is no longer active.
    fn check_user_active(&self, store: &PortalStore) -> Result<(), RestError> {
        let user = store.get(&USER, self.settings.user)?.unwrap_or_default();
        match int_of(&user, "ACTIVE") {
            1 => Ok(()),
            _ => Err(RestError::new(403, "user_access_error", "The user does not have access to the portal.")),
        }
    }

    /// Runs one method in a transaction.
    fn call(
        &self,
        state: &mut ServerState,
        name: &str,
        params: RestParams,
        effects: &mut SideEffects,
    ) -> (Result<MethodAnswer, RestError>, Option<Value>) {
        let start = self.clock.precise();
        let name = name.trim_end_matches(".json");
        let Some((name, method)) = self.methods.get(name) else {
            return (Err(RestError::new(404, "ERROR_METHOD_NOT_FOUND", "Method not found!")), None);
        };
        if !method.scope.is_empty() && !self.settings.scopes.iter().any(|scope| scope == method.scope) {
            let words = "The request requires higher privileges than provided by the webhook token";
            return (Err(RestError::new(403, "insufficient_scope", words)), None);
        }
        if self.settings.rate
            && let Err(fault) = state.limits.method(name, start)
        {
            return (Err(fault), None);
        }
        let mut call = MethodCall {
            store: &state.store,
            settings: &self.settings,
            methods: &self.methods,
            user: self.settings.user,
            now: self.clock.now(),
            params,
            changes: Vec::new(),
            events: Vec::new(),
        };
        let outcome = in_transaction(&state.store, || (method.run)(&mut call));
        if outcome.is_ok() {
            effects.changes.append(&mut call.changes);
            effects.events.append(&mut call.events);
        }
        let finish = self.clock.precise();
        let cost = self.settings.operating_cost.unwrap_or(finish - start);
        let time = state.limits.worked(name, start, finish, cost);
        (outcome, Some(time))
    }

    /// Sends events to their handlers.
    fn send_events(&self, store: &PortalStore, events: &[RecordEvent]) {
        for happening in events {
            for handler in store.find(&HANDLER, "EVENT", happening.event.clone()).unwrap_or_default() {
                self.courier.send(Delivery {
                    handler: text_of(&handler, "HANDLER").to_owned(),
                    form: form(&self.sender, happening, int_of(&handler, "ID"), self.clock.now()),
                });
            }
        }
    }

    /// Whether to drop this answer: pseudo-random, the same in every run.
    fn drops_answer(&self, number: u64) -> bool {
        let mut mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let chance = ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64;
        chance < self.settings.drop_answers
    }
}

/// An error in the form of REST 3.0.
fn v3_fault(fault: &RestError) -> HttpReply {
    let body = json!({"error": {"code": fault.code, "message": fault.words}});
    HttpReply { status: fault.status, body, as_xml: false, dropped: false }
}

/// Splits `1/token/crm.deal.list` into user, token and method; a path of one part is only a method.
fn split_path(path: &str) -> (&str, &str, &str) {
    let mut split_path = path.trim_end_matches('/').splitn(3, '/');
    match (split_path.next(), split_path.next(), split_path.next()) {
        (Some(user), Some(token), Some(name)) => (user, token, name),
        (Some(user), Some(token), None) => (user, token, ""),
        (name, ..) => ("", "", name.unwrap_or_default()),
    }
}

/// The parameters in one short line: `id 1`, `filter {"CLOSED":"N"}`.
fn describe_params(params: &RestParams) -> String {
    let shown = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let all = match params.value() {
        Value::Object(all) => all.iter().map(|(name, value)| format!("{name} {}", shown(value))).collect(),
        Value::Array(all) => all.iter().map(shown).collect::<Vec<_>>(),
        _ => Vec::new(),
    };
    let line = all.join(", ");
    match line.char_indices().nth(MAX_LINE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// The number of rows of a list: `→ 50 из 150`; empty if the answer is not a list.
fn row_count(answer: &MethodAnswer, language: PortalLanguage) -> String {
    let nested = ["tasks", "items"].iter().find_map(|name| answer.result.get(name));
    let Some(rows) = nested.unwrap_or(&answer.result).as_array() else { return String::new() };
    match answer.total {
        Some(total) if total > rows.len() as i64 => format!("→ {} {} {total}", rows.len(), language.said("из")),
        _ => format!("→ {}", rows.len()),
    }
}

fn in_transaction(
    store: &PortalStore,
    work: impl FnOnce() -> Result<MethodAnswer, RestError>,
) -> Result<MethodAnswer, RestError> {
    let transaction = store.db.unchecked_transaction()?;
    let answer = work()?;
    transaction.commit()?;
    Ok(answer)
}

fn body(answer: &MethodAnswer, time: Value) -> Value {
    let mut body = json!({"result": answer.result});
    if let Some(next) = answer.next {
        body["next"] = json!(next);
    }
    if let Some(total) = answer.total {
        body["total"] = json!(total);
    }
    body["time"] = time;
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_and_its_result_are_logged_in_one_short_line() {
        assert_eq!(describe_params(&RestParams::of_query("id=1&filter[CLOSED]=N")), "id 1, filter {\"CLOSED\":\"N\"}");
        let long = describe_params(&RestParams::of_query(&format!("x={}", "ы".repeat(500))));
        assert_eq!(long.chars().count(), MAX_LINE + 1);
        assert_eq!(
            row_count(&MethodAnswer { result: json!([1, 2]), total: Some(150), next: None }, PortalLanguage::Russian),
            "→ 2 из 150"
        );
        assert_eq!(row_count(&json!({"tasks": [1]}).into(), PortalLanguage::English), "→ 1");
        assert_eq!(row_count(&json!({"ID": "1"}).into(), PortalLanguage::English), "");
    }

    #[test]
    fn a_path_is_split_into_webhook_and_method() {
        assert_eq!(split_path("1/tok/crm.deal.list"), ("1", "tok", "crm.deal.list"));
        assert_eq!(split_path("crm.deal.list"), ("", "", "crm.deal.list"));
        assert_eq!(split_path("1/tok/"), ("1", "tok", ""));
        assert_eq!(split_path("api/1/tok/x"), ("api", "1", "tok/x"));
    }
}
