//! Bad input: a clear error or a closed connection, bounded memory, and other clients are served.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::json;

use super::client::{Reply, Server, wait_for, write_head};

#[test]
fn invalid_bodies_are_refused_with_a_reason() {
    let server = Server::start("bodies", &[]);
    server.session("s");
    let bearer = format!("Bearer {}", server.token);
    let send = |path: &str, body: &str| {
        let mut stream = server.connect();
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        write_head(&mut stream, server.address, "POST", path, &headers, Some(body.len()));
        // The server may not read a body that is too large.
        let _ = stream.write_all(body.as_bytes());
        Reply::read(stream)
    };
    let say = "/api/v1/sessions/s/messages";
    for body in [
        "",
        "{",
        "null",
        "[]",
        "\"x\"",
        "{\"text\": 1}",
        "{}",
        "{\"text\": \"x\", \"more\": 1}",
        "\u{0}",
        "{\"text\": \"x\"} x",
    ] {
        let reply = send(say, body);
        assert_eq!((reply.status, reply.code().as_str()), (400, "bad_request"), "{body}");
    }
    let deep = format!("{{\"text\": {}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(send(say, &deep).status, 413);
    let deep = format!("{{\"decision\": \"value\", \"value\": {}1{}}}", "[".repeat(64), "]".repeat(64));
    assert_eq!(send("/api/v1/questions/s:q1/answer", &deep).code(), "too_large");
    assert_eq!(send(say, &format!("{{\"text\": \"{}\"}}", "x".repeat(2 << 20))).code(), "too_large");
    for (path, body) in [
        ("/api/v1/questions/s:q1/answer", json!({"decision": "perhaps"})),
        ("/api/v1/questions/s:q1/answer", json!({"decision": "approve", "only": "all"})),
        ("/api/v1/sessions", json!({"agent": 5})),
        ("/api/v1/sessions/s/fork", json!({"at": -1})),
    ] {
        assert_eq!(send(path, &body.to_string()).code(), "bad_request", "{path} {body}");
    }
    for path in ["/api/v1/sessions?limit=x", "/api/v1/sessions/s/state?at=-1", "/api/v1/sessions/s/timeline?after=x"] {
        assert_eq!(server.get(path).status, 400, "{path}");
    }
    assert_eq!(server.get("/api/v1/sessions/s/provenance?path=%E2%80%A0%E2%80%A0").status, 400);
    assert_eq!(server.get("/api/v1/questions/s:q1").code(), "unknown_question");
    assert_eq!(server.get("/api/v1/questions/nonsense").code(), "unknown_question");
}

#[test]
fn oversized_and_incomplete_bodies_use_little_memory() {
    let server = Server::start("large", &[]);
    let session = server.session("s");
    let before = server.memory();
    let bearer = format!("Bearer {}", server.token);
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    let path = format!("/api/v1/sessions/{session}/messages");
    let mut stream = server.connect();
    write_head(&mut stream, server.address, "POST", &path, &headers, Some(100 << 20));
    let reply = Reply::read(stream);
    assert_eq!((reply.status, reply.code().as_str()), (413, "too_large"));
    // The same without a declared length.
    let mut stream = server.connect();
    let chunked = [headers[0], headers[1], ("transfer-encoding", "chunked")];
    write_head(&mut stream, server.address, "POST", &path, &chunked, None);
    let part = format!("100000\r\n{}\r\n", "x".repeat(0x10_0000));
    let sent = (0..100).take_while(|_| stream.write_all(part.as_bytes()).is_ok()).count();
    assert!(sent < 100, "the server took {sent} MiB");
    // The client disconnects after half a body.
    let mut stream = server.connect();
    write_head(&mut stream, server.address, "POST", &path, &headers, Some(1000));
    stream.write_all(b"{\"text\": ").unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let status = Reply::read(stream).status;
    assert!(status == 400 || status == 0, "{status}");
    assert!(server.peak() < before + 64 * 1024, "{} KiB, at most {}", before, server.peak());
    assert_eq!(server.get("/api/v1/sessions/s/state").json()["notes"], json!([]), "nothing of it was taken");
}

/// A server with short time limits.
fn impatient(name: &str) -> Server {
    Server::start(name, &["--head-timeout", "1500", "--body-timeout", "1500", "--unread-timeout", "1500"])
}

#[test]
fn a_body_that_comes_too_slowly_is_cut_off() {
    let server = impatient("slow");
    server.session("s");
    let bearer = format!("Bearer {}", server.token);
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    let mut slow = server.connect();
    write_head(&mut slow, server.address, "POST", "/api/v1/sessions/s/messages", &headers, Some(1000));
    // Single bytes do not extend the time limit.
    let mut drops = slow.try_clone().unwrap();
    let dropping = std::thread::spawn(move || {
        while drops.write_all(b" ").is_ok() {
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    });
    let reply = Reply::read(slow);
    assert_eq!((reply.status, reply.code().as_str()), (408, "timed_out"));
    dropping.join().unwrap();
    let half = b"GET /healthz HTTP/1.1\r\nhost: ";
    let mut head = server.connect();
    head.write_all(half).unwrap();
    let mut said = Vec::new();
    let _ = head.read_to_end(&mut said);
    assert!(said.is_empty() || said.starts_with(b"HTTP/1.1 4"), "{}", String::from_utf8_lossy(&said));
}

#[test]
fn a_client_that_never_reads_is_disconnected_and_its_buffer_is_freed() {
    let server = impatient("never-reads");
    let session = server.session("s");
    let words = "long words ".repeat(60_000);
    for _ in 0..3 {
        server.say(&session, &words);
    }
    // Twenty megabytes: more than the system buffers for a client that does not read.
    let unread: Vec<_> = (0..10).map(|_| server.stream(&session, "0-0")).collect();
    wait_for("they are cut off", || server.get("/metrics").body.contains("obelus_streams 0"));
    drop(unread);
    assert!(server.peak() < 512 * 1024, "{} KiB", server.peak());
    assert_eq!(server.get("/api/v1/agents/notes").status, 200);
}

#[test]
fn numbers_at_the_end_of_their_range_and_unknown_methods_are_answered() {
    let server = Server::start("numbers", &[]);
    server.session("s");
    let last = u64::MAX;
    for path in [
        format!("log?after={last}"),
        format!("timeline?after={last}-{}", u32::MAX),
        format!("timeline?after={last}-0&limit={last}"),
        format!("log?limit={last}"),
    ] {
        assert_eq!(server.get(&format!("/api/v1/sessions/s/{path}")).status, 200, "{path}");
    }
    assert_eq!(server.get(&format!("/api/v1/sessions/s/state?at={last}")).status, 404);
    let before = server.get("/metrics").body.len();
    for n in 0..50 {
        let refused = server.send(&format!("M{n}{}", "X".repeat(1000)), "/x", &[("host", "evil.example.test")], None);
        assert_eq!(refused.status, 403);
    }
    assert!(server.get("/metrics").body.len() < before + 5_000);
}

#[test]
fn errors_of_path_and_query_have_the_form_of_their_protocol() {
    let server = Server::start("forms", &[]);
    for (path, place) in [
        ("/threads/%FF", "/detail"),
        ("/threads/s/runs?x=%FF", "/detail"),
        ("/v1/models/%FF", "/error/message"),
        ("/api/v1/agents/%FF", "/error/message"),
    ] {
        let reply = server.get(path);
        assert!((400..500).contains(&reply.status), "{path} {reply:?}");
        assert!(reply.json().pointer(place).is_some_and(serde_json::Value::is_string), "{path} {reply:?}");
    }
}

#[test]
fn a_thousand_silent_connections_are_closed_and_the_others_are_served() {
    let mut limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current = limit.maximum;
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).unwrap();
    let server = Server::start("silent", &["--head-timeout", "3000"]);
    let silent: Vec<TcpStream> = (0..1000).map(|_| server.connect()).collect();
    let mut half = server.connect();
    half.write_all(b"GET /healthz HTTP/1.1\r\nhost: ").unwrap();
    assert_eq!(server.get("/api/v1/agents/notes").status, 200);
    for mut stream in silent.into_iter().chain([half]) {
        let mut said = Vec::new();
        // The connection is closed, with an error or without.
        let read = stream.read_to_end(&mut said);
        assert!(!read.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock), "it is still open");
        assert!(said.is_empty() || said.starts_with(b"HTTP/1.1 4"), "{}", String::from_utf8_lossy(&said));
    }
    assert_eq!(server.get("/api/v1/agents/notes").status, 200);
}

#[test]
fn a_client_that_does_not_read_delays_no_other() {
    let server = Server::start("unread", &[]);
    let session = server.session("s");
    let before = server.memory();
    let unread: Vec<_> = (0..20).map(|_| server.stream(&session, "0-0")).collect();
    let words = "long words ".repeat(10_000);
    for _ in 0..6 {
        assert_eq!(server.say(&session, &words)["turn"]["text"], "Written down.");
    }
    let mut reader = server.stream(&session, "0-0");
    assert_eq!(reader.until("rested").iter().filter(|event| event.name == "user_said").count(), 1);
    assert!(server.memory() < before + 256 * 1024, "{} KiB, then {}", before, server.memory());
    drop(unread);
}
