//! The routes of the API.
//!
//! | file | subject |
//! |---|---|
//! | `agents` | agents |
//! | `login` | the caller, and one-time links for browsers |
//! | `sessions` | sessions and their contents |
//! | `inspect` | the plan as a graph, values of the state, instances, pictures |
//! | `talk` | messages, stop, pause, resume |
//! | `questions` | the inbox, answers, consents |
//! | `past` | timeline, log, fork |
//! | `health` | health checks and metrics |

mod agents;
mod health;
mod inspect;
mod login;
mod past;
mod questions;
mod sessions;
mod talk;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::docs::BearerToken;
use super::reply::{ErrorBody, Failure};
use super::{App, console, docs, guard, socket, stream};
use crate::ChannelError;

/// The result of a handler.
type JsonResult<T> = Result<super::Json<T>, Failure>;

/// The description of the API; paths and schemas are added by the routes.
#[derive(OpenApi)]
#[openapi(
    info(title = "Obelus", description = "Sessions with agents: words, events, questions and answers."),
    components(schemas(ErrorBody)),
    modifiers(&BearerToken),
    security(("token" = []))
)]
struct Description;

/// All routes and the description of the API.
fn api() -> (Router<App>, utoipa::openapi::OpenApi) {
    OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(agents::list))
        .routes(routes!(agents::show))
        .routes(routes!(agents::graph))
        .routes(routes!(agents::files))
        .routes(routes!(agents::policy))
        .routes(routes!(agents::prompt))
        .routes(routes!(sessions::list, sessions::create))
        .routes(routes!(sessions::show, sessions::remove))
        .routes(routes!(sessions::state, sessions::edit_state))
        .routes(routes!(sessions::messages, talk::say))
        .routes(routes!(sessions::plan))
        .routes(routes!(sessions::provenance))
        .routes(routes!(inspect::graph))
        .routes(routes!(inspect::values))
        .routes(routes!(inspect::changes))
        .routes(routes!(inspect::instances))
        .routes(routes!(inspect::picture))
        .routes(routes!(talk::turn))
        .routes(routes!(talk::stop))
        .routes(routes!(talk::pause))
        .routes(routes!(talk::resume))
        .routes(routes!(questions::inbox))
        .routes(routes!(questions::recent))
        .routes(routes!(questions::show))
        .routes(routes!(questions::form))
        .routes(routes!(questions::preview))
        .routes(routes!(questions::look))
        .routes(routes!(questions::picture))
        .routes(routes!(questions::answer))
        .routes(routes!(questions::consents))
        .routes(routes!(questions::revoke))
        .routes(routes!(past::timeline))
        .routes(routes!(past::log))
        .routes(routes!(past::export))
        .routes(routes!(past::forecast, past::fork))
        .routes(routes!(past::usage))
        .routes(routes!(stream::events))
        .routes(routes!(stream::changes))
        .routes(routes!(socket::connect))
        .routes(routes!(login::login))
        .routes(routes!(login::me))
        .routes(routes!(login::link))
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        .routes(routes!(health::metrics))
        .split_for_parts()
}

/// The description of the API as JSON.
pub fn description() -> String {
    docs::as_text(&api().1).to_string()
}

/// The router with all routes, behind the guard.
pub(super) fn router(app: &App, more: Vec<Router<App>>) -> Router {
    let (mut router, description) = api();
    for routes in more {
        router = router.merge(routes);
    }
    let description = docs::as_text(&description);
    router
        .route("/api/openapi.json", get(move || docs::description(description.clone())))
        .route("/", get(console::page))
        .route("/assets/{*name}", get(console::asset))
        .route(console::ICON, get(console::icon))
        .route("/api/", get(docs::page))
        .route("/api/try.js", get(docs::script))
        .fallback(unknown)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(app.clone(), guard::guard))
        .with_state(app.clone())
}

async fn unknown(request: axum::extract::Request) -> Failure {
    let path: String = request.uri().path().chars().take(200).collect();
    ChannelError::NotFound(format!("{} {path}", request.method())).into()
}

async fn wrong_method() -> Failure {
    ChannelError::WrongMethod.into()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Every field that a caller can send, in the path, the query, headers and bodies. None of them is an address that
    /// the server calls (docs/server.md, "Addresses that the server calls"). A new field with an address must be
    /// checked for the host that it resolves to.
    const FIELDS: &str = "about after agent at code consent decision digest error id idempotency-key input instance kind lang \
        last-event-id limit look message mode only params path question reason result say session state status text timeout to \
        typed until value wait";

    /// The names of the properties of a schema.
    fn add_names(schema: &serde_json::Value, all: &serde_json::Value, names: &mut BTreeSet<String>) {
        if let Some(name) = schema["$ref"].as_str().and_then(|name| name.rsplit('/').next()) {
            return add_names(&all[name], all, names);
        }
        for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
            names.insert(name.clone());
            add_names(inner, all, names);
        }
        let parts = ["oneOf", "anyOf", "allOf"].into_iter().filter_map(|kind| schema[kind].as_array()).flatten();
        parts.chain(schema.get("items")).for_each(|inner| add_names(inner, all, names));
    }

    #[test]
    fn request_fields_contain_no_url_for_the_server_to_call() {
        let value: serde_json::Value = serde_json::from_str(&docs::as_text(&api().1)).unwrap();
        let mut names = BTreeSet::new();
        for call in
            value["paths"].as_object().unwrap().values().flat_map(|methods| methods.as_object().unwrap().values())
        {
            let sent = call["parameters"].as_array().into_iter().flatten();
            names.extend(sent.map(|parameter| parameter["name"].as_str().unwrap().to_owned()));
            for body in call["requestBody"]["content"].as_object().into_iter().flat_map(|kinds| kinds.values()) {
                add_names(&body["schema"], &value["components"]["schemas"], &mut names);
            }
        }
        assert_eq!(names.into_iter().collect::<Vec<_>>().join(" "), FIELDS);
    }

    #[test]
    fn every_api_path_documents_its_errors() {
        let (_, description) = api();
        assert!(description.paths.paths.len() >= 20);
        let text = docs::as_text(&description);
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        for (path, methods) in value["paths"].as_object().unwrap() {
            for (method, call) in methods.as_object().unwrap() {
                let responses = call["responses"].as_object().unwrap();
                let is_plain = ["/healthz", "/readyz", "/metrics"].contains(&path.as_str());
                assert!(is_plain || responses.contains_key("4XX"), "{method} {path}");
                assert!(call["operationId"].is_string(), "{method} {path}");
            }
        }
    }
}
