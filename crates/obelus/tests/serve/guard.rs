//! Access control: hosts, origins, tokens, roles, content types.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::client::{Reply, Server, obelus, write_head};

/// A new token, made by the command.
pub(crate) fn token(server: &Server, name: &str, role: &str) -> String {
    let mut command = obelus(&["tokens", "add", name, "--role", role, "--store"]);
    let added = command.arg(&server.store).output().unwrap();
    assert!(added.status.success(), "{added:?}");
    String::from_utf8(added.stdout).unwrap().trim().to_owned()
}

#[test]
fn every_call_needs_a_token_and_tokens_in_the_url_are_ignored() {
    let server = Server::start("token", &[]);
    for path in ["/api/v1/agents", "/api/v1/sessions", "/api/v1/questions", "/metrics", "/api/openapi.json", "/nothing"]
    {
        for headers in [&[][..], &[("authorization", "Bearer obelus_x")], &[("authorization", "Basic eDp4")]] {
            let reply = server.send("GET", path, headers, None);
            assert_eq!((reply.status, reply.code().as_str()), (401, "unauthorized"), "{path}");
        }
        let by_address = server.send("GET", &format!("{path}?token={}", server.token), &[], None);
        assert_eq!(by_address.status, 401, "{path}");
    }
    let cookie = format!("token={}", server.token);
    assert_eq!(server.send("GET", "/api/v1/agents", &[("cookie", &cookie)], None).status, 401);
    let mode = |name: &str| fs::metadata(server.store.join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("token"), mode("tokens.json")), (0o600, 0o600));
    let kept = fs::read_to_string(server.store.join("tokens.json")).unwrap();
    assert!(!kept.contains(&server.token), "only hashes are kept");
}

#[test]
fn a_role_limits_its_calls_and_answers_carry_the_name() {
    let server = Server::start("roles", &[]);
    let (viewer, operator) = (token(&server, "vera", "viewer"), token(&server, "oleg", "operator"));
    let call = |token: &str, method: &str, path: &str, body: Option<&serde_json::Value>| {
        server.send(method, path, &[("authorization", &format!("Bearer {token}"))], body)
    };
    let new = json!({"agent": "notes", "id": "s"});
    assert_eq!(call(&viewer, "POST", "/api/v1/sessions", Some(&new)).code(), "forbidden");
    assert_eq!(call(&operator, "POST", "/api/v1/sessions", Some(&new)).status, 201);
    assert_eq!(call(&viewer, "GET", "/api/v1/sessions/s", None).status, 200);
    let words = json!({"text": "ask Anna to call", "wait": true});
    assert_eq!(call(&viewer, "POST", "/api/v1/sessions/s/messages", Some(&words)).code(), "forbidden");
    assert_eq!(call(&operator, "POST", "/api/v1/sessions/s/messages", Some(&words)).status, 200);
    let question = call(&viewer, "GET", "/api/v1/questions", None).json()[0]["id"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/questions/{question}/answer");
    assert_eq!(call(&viewer, "POST", &path, Some(&json!({"decision": "approve"}))).code(), "forbidden");
    assert_eq!(call(&operator, "POST", &path, Some(&json!({"decision": "approve"}))).status, 200);
    assert_eq!(call(&viewer, "GET", &format!("/api/v1/questions/{question}"), None).json()["by"], "api:oleg");
    assert_eq!(call(&operator, "DELETE", "/api/v1/sessions/s", None).code(), "forbidden");
    let removed = obelus(&["tokens", "rm", "oleg", "--store"]).arg(&server.store).output().unwrap();
    assert!(removed.status.success());
    assert_eq!(call(&operator, "GET", "/api/v1/agents", None).status, 401, "without a restart");
}

#[test]
fn only_an_admin_resumes_an_imported_session() {
    let server = Server::start("resume-import", &[]);
    server.session("s");
    let file = server.store.with_file_name("resume-import.jsonl");
    fs::write(&file, &server.get("/api/v1/sessions/s/export").body).unwrap();
    let store = server.kill();
    for args in [&["rm", "s"][..], &["import", file.to_str().unwrap()]] {
        let done = obelus(&[&["sessions"], args].concat()).arg("--store").arg(&store).output().unwrap();
        assert!(done.status.success(), "{args:?}: {done:?}");
    }
    let server = Server::over(store, &[]);
    let operator = format!("Bearer {}", token(&server, "oleg", "operator"));
    let path = "/api/v1/sessions/s/resume";
    // Another pause and a fork change nothing about it.
    assert_eq!(server.send("POST", "/api/v1/sessions/s/pause", &[("authorization", &operator)], None).status, 200);
    assert_eq!(server.post("/api/v1/sessions/s/fork", &json!({"id": "copy"})).status, 201);
    for path in [path, "/api/v1/sessions/copy/resume"] {
        let refused = server.send("POST", path, &[("authorization", &operator)], None);
        assert_eq!((refused.status, refused.code().as_str()), (403, "forbidden"));
        let words = refused.json()["error"].to_string();
        assert!(words.contains("imported") && words.contains("sessions show"), "{words}");
    }
    assert_eq!(server.call("POST", path, None).status, 200);
    // A pause by a person is for operators again.
    assert_eq!(server.call("POST", "/api/v1/sessions/s/pause", None).status, 200);
    assert_eq!(server.send("POST", path, &[("authorization", &operator)], None).status, 200);
}

#[test]
fn other_hosts_and_origins_are_refused_on_every_path_and_stream() {
    let server = Server::start("hosts", &["--host", "agents.example.test", "--origin", "https://console.example.test"]);
    server.session("s");
    let bearer = format!("Bearer {}", server.token);
    let port = server.address.port();
    let with = |path: &str, name: &str, value: &str| {
        server.send("GET", path, &[("authorization", &bearer), (name, value)], None)
    };
    for path in ["/healthz", "/api/", "/api/v1/agents", "/api/v1/sessions/s/events", "/api/v1/sessions/s/socket"] {
        for host in ["evil.example.test", "127.0.0.1", "localhost", "agents.example.test.evil.test"] {
            assert_eq!(with(path, "host", host).status, 403, "{path} {host}");
        }
        for origin in
            ["http://evil.example.test", "null", "https://agents.example.test:1", &format!("https://127.0.0.1:{port}")]
        {
            assert_eq!(with(path, "origin", origin).status, 403, "{path} {origin}");
        }
    }
    assert_eq!(with("/api/v1/agents", "host", "agents.example.test").status, 200);
    assert_eq!(with("/api/v1/agents", "host", &format!("localhost:{port}")).status, 200);
    let allowed = with("/api/v1/agents", "origin", "https://console.example.test");
    assert_eq!(allowed.header("access-control-allow-origin"), Some("https://console.example.test"));
    assert_eq!(allowed.header("vary"), Some("origin"));
    let own = with("/api/v1/agents", "origin", &format!("http://127.0.0.1:{port}"));
    assert_eq!(own.status, 200);
    let preflight = server.send("OPTIONS", "/api/v1/sessions", &[("origin", "https://console.example.test")], None);
    assert_eq!((preflight.status, preflight.header("access-control-allow-credentials")), (204, None));
    assert_eq!(
        server.send("OPTIONS", "/api/v1/sessions", &[("origin", "https://evil.example.test")], None).status,
        403
    );
}

#[test]
fn cross_site_forms_have_no_effect_and_answers_are_not_html() {
    let server = Server::start("csrf", &[]);
    let bearer = format!("Bearer {}", server.token);
    let body = json!({"agent": "notes"});
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"] {
        let headers = [("authorization", bearer.as_str()), ("content-type", kind)];
        let reply = server.send("POST", "/api/v1/sessions", &headers, Some(&body));
        assert_eq!((reply.status, reply.code().as_str()), (415, "not_json"), "{kind}");
    }
    for path in ["/api/", "/api/v1/agents", "/healthz", "/nothing"] {
        let reply = server.get(path);
        let policy = reply.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe") && !policy.contains('*'));
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(reply.header("access-control-allow-origin"), None, "{path}");
        assert_eq!(reply.header("set-cookie"), None, "{path}");
    }
    let page = server.send("GET", "/api/", &[], None);
    assert!(page.body.contains("<script src=\"try.js\">") && !page.body.contains("http"), "{}", page.body);
}

#[test]
fn ids_cannot_be_paths() {
    let server = Server::start("paths", &[]);
    for id in ["..%2f..%2fetc%2fpasswd", "%2e%2e", "a%2fb", "a.b", "a%00b", &"x".repeat(65), "%D1%8F"] {
        let reply = server.get(&format!("/api/v1/sessions/{id}"));
        assert_eq!((reply.status, reply.code().as_str()), (400, "bad_id"), "{id}");
        let agent = server.get(&format!("/api/v1/agents/{id}"));
        assert_eq!((agent.status, agent.code().as_str()), (404, "unknown_agent"), "{id}");
    }
    for id in ["../x", "", "a b", "x:y"] {
        assert_eq!(server.post("/api/v1/sessions", &json!({"agent": "notes", "id": id})).code(), "bad_id", "{id}");
    }
    for agent in ["../notes", "notes/agent.yaml", "/etc", "@bundled/notes"] {
        assert_eq!(server.post("/api/v1/sessions", &json!({"agent": agent})).code(), "unknown_agent", "{agent}");
    }
    assert_eq!(server.post("/api/v1/sessions", &json!({"agent": ""})).code(), "bad_request", "none is named");
    let drawn =
        |_| server.post("/api/v1/sessions", &json!({"agent": "notes"})).json()["id"].as_str().unwrap().to_owned();
    let ids: std::collections::BTreeSet<String> = (0..4).map(drawn).collect();
    assert_eq!(ids.len(), 4);
    assert!(ids.iter().all(|id| id.len() == 32 && id.chars().all(|c| c.is_ascii_hexdigit())), "{ids:?}");
}

#[test]
fn streams_and_requests_of_a_token_are_limited() {
    let server = Server::start("streams", &["--streams", "2"]);
    server.session("s");
    let open: Vec<_> = (0..2).map(|_| server.stream("s", "0-0")).collect();
    let third = server.get("/api/v1/sessions/s/events");
    assert_eq!((third.status, third.code().as_str()), (429, "too_many"));
    drop(open);
    let server = Server::start("rates", &["--rate", "1"]);
    let many: Vec<u16> = (0..40).map(|_| server.get("/api/v1/agents/nobody").status).collect();
    assert!(many.contains(&429) && many.contains(&404), "{many:?}");
    assert_eq!(server.send("GET", "/healthz", &[], None).status, 200);
}

#[test]
fn events_come_by_websocket_to_those_who_have_a_token() {
    use std::io::Read as _;
    let server = Server::start("socket", &[]);
    server.session("s");
    server.say("s", "Milk");
    let connect = |token: &str| {
        let mut stream = server.connect();
        let protocols = format!("obelus.events, obelus.token.{token}");
        let headers = [
            ("upgrade", "websocket"),
            ("connection", "Upgrade"),
            ("sec-websocket-version", "13"),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
            ("sec-websocket-protocol", &protocols),
        ];
        let mut head = "GET /api/v1/sessions/s/socket?after=0-0 HTTP/1.1\r\n".to_owned();
        head.push_str(&format!("host: {}\r\n", server.address));
        headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
        std::io::Write::write_all(&mut stream, format!("{head}\r\n").as_bytes()).unwrap();
        stream
    };
    assert_eq!(Reply::read_head_only(connect("obelus_wrong")), 401);
    let mut stream = connect(&server.token);
    let mut seen = Vec::new();
    super::client::wait_for("the words come", || {
        let mut part = [0; 4096];
        let count = stream.read(&mut part).unwrap();
        seen.extend_from_slice(&part[..count]);
        String::from_utf8_lossy(&seen).contains("\"event\":\"rested\"")
    });
    let text = String::from_utf8_lossy(&seen);
    assert!(text.starts_with("HTTP/1.1 101") && text.contains("Milk") && !text.contains(&server.token), "{text}");
    let mut plain = server.connect();
    let bearer = format!("Bearer {}", server.token);
    write_head(&mut plain, server.address, "GET", "/api/v1/sessions/s/socket", &[("authorization", &bearer)], None);
    assert_eq!(Reply::read(plain).status, 400);
}

#[test]
fn listening_for_other_machines_must_be_allowed_explicitly() {
    let store = super::client::folder("public");
    let refused = obelus(&["serve", "--listen", "0.0.0.0:0", "--store"]).arg(&store).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--public"), "{refused:?}");
}
