//! DUR-8: puts a secret into every possible place, and checks that no output contains it.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The secrets, each with its place.
const SECRETS: [(&str, &str); 5] = [
    ("CRM_TOKEN", "canary-exec-7f3a91c2"),
    ("API_TOKEN", "canary-header-55d0b6e8"),
    ("PORTAL_WEBHOOK_URL", "https://portal.example.test/rest/1/canary-webhook-91ee02/"),
    ("MODEL_API_KEY", "canary-model-c41d77aa"),
    ("UNUSED_PASSWORD", "canary-unused-0b8e6f35"),
];

/// A peer that echoes everything, including secrets; the first time as an error.
fn parrot() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for (count, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let mut asked = vec![0; 8192];
            let length = stream.read(&mut asked).unwrap_or(0);
            let echo = String::from_utf8_lossy(&asked[..length]).into_owned();
            let status = if count == 0 { "500 No" } else { "200 OK" };
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{echo}",
                echo.len()
            );
        }
    });
    format!("http://{address}/")
}

fn plan(url: &str) -> String {
    format!(
        r#"
context:
  - type: tool
    tool:
      shout: {{type: object, properties: {{n: {{}}}}, x-effect: create, x-trust: trusted, x-target: []}}
      fail: {{type: object, properties: {{n: {{}}}}, x-effect: create, x-trust: trusted, x-target: []}}
      ask: {{type: object, properties: {{n: {{}}}}, x-effect: read, x-trust: trusted}}
      doubt: {{type: object, properties: {{n: {{}}}}, x-effect: create, x-trust: trusted, x-target: []}}
  - type: plan
    plan:
      - {{_tool: shout, n: 1, _outputPath: †state.shout}}
      - {{_tool: fail, n: 2, _outputPath: †state.fail || †state.failed}}
      - {{_tool: ask, n: 3, _outputPath: †state.ask || †state.unasked}}
      - {{_tool: ask, n: 4, _outputPath: †state.again || †state.unasked2}}
      - {{_tool: doubt, n: 5, _outputPath: †state.doubt}}
activities:
  shout: {{exec: [sh, -c, 'env; printf "{{\"said\": \"%s\"}}" "$CRM_TOKEN" >/dev/null; echo "\"$CRM_TOKEN $UNUSED_PASSWORD\""'], env: [CRM_TOKEN]}}
  fail: {{exec: [sh, -c, 'echo "no: $CRM_TOKEN $PORTAL_WEBHOOK_URL" >&2; exit 1'], env: [CRM_TOKEN, PORTAL_WEBHOOK_URL]}}
  ask: {{http: {{url: '{url}', headers: {{Authorization: 'Bearer {{{{ env.API_TOKEN }}}}', X-Key: '{{{{ env.MODEL_API_KEY }}}}'}}}}, secrets: [API_TOKEN, MODEL_API_KEY]}}
  doubt:
    exec: [sh, -c, 'kill -9 $$']
    env: [CRM_TOKEN]
    reconcile: [sh, -c, 'printf "{{\"unknown\": \"looked with %s\"}}" "$CRM_TOKEN"']
"#
    )
}

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        match entry.path() {
            path if path.is_dir() => files(&path, found),
            path => found.push(path),
        }
    }
}

#[test]
fn no_secret_is_written_anywhere() {
    let folder = Folder(std::env::temp_dir().join(format!("obelus-canary-{}", std::process::id())));
    let _ = fs::remove_dir_all(&folder.0);
    fs::create_dir_all(&folder.0).unwrap();
    fs::write(folder.0.join("plan.yaml"), plan(&parrot())).unwrap();
    let obelus = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_obelus"));
        command.args(args).current_dir(&folder.0).stdin(Stdio::null()).env("OBELUS_HOME", folder.0.join("home"));
        command.envs(SECRETS);
        command.output().unwrap()
    };
    let mut said = Vec::new();
    for args in [
        &["plan", "run", "plan.yaml", "--session", "s", "--json"][..],
        &["plan", "run", "plan.yaml", "--session", "t", "--record", "answers.jsonl"],
        &["sessions", "show", "s", "--json"],
        &["sessions", "show", "s"],
        &["sessions", "log", "s"],
        &["sessions", "log", "s", "--json"],
        &["sessions", "export", "s", "--out", "s.jsonl"],
        &["sessions", "fork", "s", "f", "--at", "3"],
        &["inbox"],
        &["inbox", "--json"],
        &["answer", "s:q1", "did-not"],
        &["answer", "t:q1", "deny", "--reason", "enough"],
        &["doctor"],
    ] {
        let output = obelus(args);
        said.push((args.join(" "), [output.stdout, output.stderr].concat()));
    }
    // The peers must have received the secrets, or the test proves nothing.
    let everything: Vec<u8> = said.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
    assert!(String::from_utf8_lossy(&everything).contains("Bearer ***"), "{}", String::from_utf8_lossy(&everything));
    assert!(String::from_utf8_lossy(&everything).contains("looked with ***"));
    let mut written = Vec::new();
    files(&folder.0, &mut written);
    assert!(written.iter().any(|path| path.ends_with("home/obelus.db")), "{written:?}");
    said.extend(written.into_iter().map(|path| (path.display().to_string(), fs::read(&path).unwrap())));
    for (place, bytes) in &said {
        for (name, secret) in SECRETS {
            let found = bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
            assert!(!found, "the secret of {name} is in {place}");
        }
    }
}
