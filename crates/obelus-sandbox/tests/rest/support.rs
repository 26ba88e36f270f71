//! A portal for tests with a minimal HTTP client.

use std::io::{Read, Write};
use std::net::TcpStream;

use obelus_sandbox::{Portal, SandboxOptions};
use serde_json::Value;

/// A portal with its own runtime; it stops with the test.
pub(crate) struct TestPortal {
    pub(crate) portal: Portal,
    /// Runs the portal.
    _runtime: tokio::runtime::Runtime,
}

/// An HTTP response.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Reply {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {}", self.body))
    }
}

impl TestPortal {
    /// A portal without limits.
    pub(crate) fn new() -> TestPortal {
        TestPortal::with(SandboxOptions { rate: false, ..SandboxOptions::default() })
    }

    pub(crate) fn with(options: SandboxOptions) -> TestPortal {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
        let portal = runtime.block_on(Portal::start(options)).expect("a portal");
        TestPortal { portal, _runtime: runtime }
    }

    /// Sends a request; `None` if the connection is dropped.
    pub(crate) fn send(&self, method: &str, path: &str, content_type: &str, body: &str) -> Option<Reply> {
        let mut stream = TcpStream::connect(self.portal.address()).expect("it listens");
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: portal\r\nConnection: close\r\n\
             Content-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .expect("it reads");
        let mut answer = String::new();
        // A dropped connection may be reset.
        let _ = stream.read_to_string(&mut answer);
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        Some(Reply { status, head: head.to_owned(), body: body.to_owned() })
    }

    /// The path of a method under the webhook.
    pub(crate) fn path(&self, method: &str) -> String {
        let base = self.portal.base_url();
        let start = base.find("/rest/").expect("a webhook");
        format!("{}{method}", &base[start..])
    }

    /// Calls a method with JSON.
    #[track_caller]
    pub(crate) fn post(&self, method: &str, params: &Value) -> Reply {
        self.send("POST", &self.path(method), "application/json", &params.to_string()).expect("an answer")
    }

    /// The whole answer to a call that must succeed.
    #[track_caller]
    pub(crate) fn answer(&self, method: &str, params: &Value) -> Value {
        let reply = self.post(method, params);
        assert_eq!(reply.status, 200, "{method} {params}: {}", reply.body);
        reply.json()
    }

    /// The result of a call that must succeed.
    #[track_caller]
    pub(crate) fn call(&self, method: &str, params: &Value) -> Value {
        self.answer(method, params)["result"].take()
    }

    /// Status, code and description of a call that must fail.
    #[track_caller]
    pub(crate) fn fault(&self, method: &str, params: &Value) -> (u16, String, String) {
        let reply = self.post(method, params);
        let body = reply.json();
        let of = |name: &str| body[name].as_str().unwrap_or_else(|| panic!("no {name} in {body}")).to_owned();
        (reply.status, of("error"), of("error_description"))
    }

    /// Gets a page.
    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Reply {
        self.send("GET", path, "text/plain", "").expect("an answer")
    }
}
