//! The console's page, and how a browser gets a token.

use std::fs;

use serde_json::{Value, json};

use super::client::{Server, folder, obelus};

#[test]
fn the_page_is_served_without_a_token_and_with_a_strict_policy() {
    let server = Server::start("page", &[]);
    let page = server.send("GET", "/", &[], None);
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'self';") && !policy.contains("unsafe"), "{policy}");
    assert!(page.body.contains("Obelus"), "{page:?}");
    for path in ["/assets/none.js", "/assets/..%2f..%2fCargo.toml", "/assets/../../Cargo.toml"] {
        let status = server.send("GET", path, &[], None).status;
        assert!(status == 404 || status == 401, "{path}: {status}");
    }
    assert_eq!(server.send("GET", "/api/v1/me", &[], None).code(), "unauthorized");
}

#[test]
fn the_code_of_a_link_is_exchanged_once_for_its_token() {
    let server = Server::start("link", &[]);
    let code = server.post("/api/v1/links", &json!({})).json()["code"].clone();
    let login = |code: &Value| server.send("POST", "/api/v1/login", &[], Some(&json!({"code": code})));
    assert_eq!(login(&json!("guess")).code(), "unauthorized");
    let first = login(&code).json();
    assert_eq!((&first["token"], &first["role"]), (&json!(server.token), &json!("admin")));
    let again = login(&code);
    assert_eq!((again.status, again.code().as_str()), (401, "unauthorized"));
    let message = again.json()["error"]["message"].to_string();
    assert!(message.contains("STORE/token"), "it says what to do: {message}");
    assert_eq!(server.get("/api/v1/me").json()["name"], "local");
    let by_address = server.send("GET", &format!("/api/v1/me?token={}", server.token), &[], None);
    assert_eq!(by_address.status, 401);
}

#[test]
fn no_code_is_printed_to_a_file() {
    let store = folder("no-code");
    let log = store.join("server.log");
    let server = Server::logged(store.join("store"), &[], &log);
    assert_eq!(server.get("/api/v1/me").status, 200);
    let printed = fs::read_to_string(log).unwrap();
    assert!(!printed.contains("code="), "whoever reads the log could sign in: {printed}");
    assert!(printed.contains("sign in with a token") && printed.contains("store/token"), "{printed}");
}

#[test]
fn a_body_with_a_code_is_small() {
    let server = Server::start("small-code", &[]);
    let login = |length: usize| server.send("POST", "/api/v1/login", &[], Some(&json!({"code": "x".repeat(length)})));
    assert_eq!((login(256).status, login(2_000).status), (401, 413));
}

#[test]
fn the_description_is_printed_without_a_server() {
    let printed = obelus(&["serve", "--openapi"]).output().unwrap();
    assert!(printed.status.success());
    let printed: Value = serde_json::from_slice(&printed.stdout).unwrap();
    let schemas = &printed["components"]["schemas"];
    assert_eq!(schemas["QuestionRow"]["properties"]["view"]["$ref"], "#/components/schemas/QuestionView");
    assert!(schemas["EventBody"]["oneOf"].as_array().unwrap().len() > 20, "{}", schemas["EventBody"]);
    let server = Server::start("description", &[]);
    assert_eq!(server.get("/api/openapi.json").json(), printed);
}
