//! A browser on a site of the test.

use std::path::PathBuf;
use std::sync::Arc;

use obelus_connect::browser::{Browser, BrowserSection, Class, Element, PageSnapshot};
use obelus_connect::mcp::Servers;
use obelus_kernel::Tool;
use obelus_kernel::session::{CallError, Observation, Outcome};
use obelus_runtime::{Activities, Elicitor, ObservationSlot, Work};
use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard};

use crate::installed::installed;
use crate::server::{self, Asked, Server};

/// One browser at a time, because each takes half a gigabyte.
static TURN: Mutex<()> = Mutex::const_new(());

pub(crate) struct Harness {
    pub(crate) site: Server,
    pub(crate) other: Server,
    pub(crate) shots: PathBuf,
    pub(crate) outputs: PathBuf,
    activities: Activities,
    servers: Servers,
    /// The latest observation.
    pub(crate) seen: Value,
    /// The slot from which the model gets the observation.
    slot: Arc<ObservationSlot>,
    _turn: MutexGuard<'static, ()>,
}

impl Harness {
    /// A browser limited to the site of the test; `None` if no browser is installed.
    pub(crate) async fn new(name: &str, more: Value) -> Option<Self> {
        let installed = installed()?;
        let turn = TURN.lock().await;
        let other = Server::start(|asked, _| server::answer("200 OK", "text/html", elsewhere(&asked.target))).await;
        let away = other.url.clone();
        let site = Server::start(move |asked, _| page(asked, &away)).await;
        let root = std::env::temp_dir().join(format!("obelus-browser-test-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&root);
        let (shots, outputs) = (root.join("shots"), root.join("out"));
        std::fs::create_dir_all(&outputs).unwrap();
        let config = root.join("config.json");
        let offline = "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE localhost , EXCLUDE 127.0.0.1";
        let launch = json!({"browser": {"launchOptions": {"args": [offline]}}});
        std::fs::write(&config, launch.to_string()).unwrap();
        let mut command = vec![json!("node"), json!(installed.cli)];
        for flag in ["--headless", "--isolated", "--no-sandbox", "--no-webmcp", "--block-service-workers"] {
            command.push(json!(flag));
        }
        for (flag, value) in
            [("--snapshot-mode", "none"), ("--codegen", "none"), ("--timeout-settle", "50"), ("--caps", "vision")]
        {
            command.extend([json!(flag), json!(value)]);
        }
        for (flag, value) in
            [("--executable-path", &installed.chromium), ("--output-dir", &outputs), ("--config", &config)]
        {
            command.extend([json!(flag), json!(value)]);
        }
        let mcp =
            json!({"browser": {"command": command, "cwd": root, "timeout": 120, "start": 120, "most": 2_000_000}});
        let servers = Servers::parse(mcp.as_object().unwrap(), &root).unwrap();
        let mut section = json!({"sites": [site.url.strip_prefix("http://").unwrap()]});
        section.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let section = BrowserSection::parse(section.as_object().unwrap(), &root).unwrap();
        let browser = Browser::new(section, &servers, shots.clone(), Some(&shots)).unwrap();
        let mut activities = Activities::new();
        browser.bind_into(&mut activities);
        Some(Self {
            site,
            other,
            shots,
            outputs,
            activities,
            servers,
            seen: Value::Null,
            slot: Arc::default(),
            _turn: turn,
        })
    }

    /// The result of an activity.
    pub(crate) async fn run(&self, name: &str, call: Value) -> Result<Value, CallError> {
        let tool = Tool::parse(name, &json!({"type": "object", "x-effect": "read"})).unwrap();
        let (key, elicitor, slot) = ("key".to_owned(), Elicitor::nobody(), Arc::clone(&self.slot));
        let work = Work { call: call.into(), tool: Arc::new(tool), scope: Vec::new(), key, attempt: 1, elicitor, slot };
        match self.activities.get(name).unwrap().run(work).await {
            Outcome::Value(value) => Ok(value),
            Outcome::Error(error) => Err(error),
            other => panic!("{name}: {other:?}"),
        }
    }

    pub(crate) async fn observe(&mut self) -> PageSnapshot {
        self.seen = self.run("observe", json!({})).await.unwrap();
        self.slot.put(Observation::new("observe", self.text(), None));
        PageSnapshot::parse(self.text())
    }

    /// Empties the model's observation slot.
    pub(crate) fn forget(&mut self) {
        self.slot = Arc::default();
    }

    /// The changes in the latest observation; `None` if it shows the whole page.
    pub(crate) fn changes(&self) -> Option<&str> {
        self.seen["changes"].as_str()
    }

    /// The text of the latest observation.
    pub(crate) fn text(&self) -> &str {
        self.seen["text"].as_str().unwrap()
    }

    pub(crate) async fn aim(&self, tool: &str, params: Value) -> Result<(String, Value), CallError> {
        let aimed = self.run("aim", json!({"tool": format!("browser.{tool}"), "params": params})).await?;
        Ok((aimed["tool"].as_str().unwrap().to_owned(), aimed["params"].clone()))
    }

    /// Opens a page of the site.
    pub(crate) async fn open(&mut self, path: &str) -> PageSnapshot {
        let (class, params) =
            self.aim("browser_navigate", json!({"url": format!("{}{path}", self.site.url)})).await.unwrap();
        assert_eq!(class, "look");
        self.run("look", params).await.unwrap();
        self.observe().await
    }

    /// Aims at pressing the element with this role and name.
    pub(crate) async fn press(&mut self, role: &str, name: &str) -> Result<(String, Value), CallError> {
        let page = self.observe().await;
        self.aim("browser_click", json!({"target": id(&page, role, name)})).await
    }

    /// Presses it.
    pub(crate) async fn do_press(&mut self, role: &str, name: &str) -> Result<Value, CallError> {
        let (class, params) = self.press(role, name).await?;
        self.run(&class, params).await
    }

    /// The requests to the site other than GET.
    pub(crate) fn sent(&self) -> Vec<String> {
        let asked = self.site.asked();
        let sends = asked.iter().filter(|asked| asked.method != "GET");
        sends.map(|asked| format!("{} {}", asked.method, asked.target)).collect()
    }

    /// Kills the browser; its MCP server stays.
    pub(crate) fn end_browser(&self) {
        let config = self.outputs.with_file_name("config.json");
        let server = processes().into_iter().find(|(_, _, line)| line.contains(&*config.to_string_lossy()));
        let (server, _, _) = server.expect("the server is at work");
        let (browser, _, _) = processes().into_iter().find(|(_, parent, _)| *parent == server).expect("a browser");
        let ended = std::process::Command::new("kill").args(["-KILL", &browser.to_string()]).status().unwrap();
        assert!(ended.success());
    }

    pub(crate) async fn close(self) {
        self.servers.close().await;
        let root = self.outputs.parent().unwrap().to_owned();
        std::fs::remove_dir_all(root).unwrap();
    }
}

/// Id, parent and command line of each process.
fn processes() -> Vec<(u32, u32, String)> {
    let read = |entry: std::fs::DirEntry| {
        let id = entry.file_name().to_str()?.parse().ok()?;
        let status = std::fs::read_to_string(entry.path().join("status")).ok()?;
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()?;
        Some((id, parent, std::fs::read_to_string(entry.path().join("cmdline")).ok()?))
    };
    std::fs::read_dir("/proc").unwrap().flatten().filter_map(read).collect()
}

/// The id of an element.
pub(crate) fn id(page: &PageSnapshot, role: &str, name: &str) -> String {
    let is = |element: &&Element| element.role == role && element.name == name;
    page.elements().iter().find(is).unwrap_or_else(|| panic!("there is no {role} {name}")).id.clone()
}

/// Every class of actions.
pub(crate) fn classes() -> Vec<&'static str> {
    Class::ALL.map(Class::name).to_vec()
}

/// A page of the other site.
fn elsewhere(target: &str) -> &'static str {
    match target {
        "/frame" => "<label>Their password <input type=password></label><label>Code <input type=password></label>",
        _ => "<title>Other</title><h1>Elsewhere</h1>",
    }
}

fn page(asked: &Asked, other: &str) -> server::Reply {
    let html = |body: &str| server::answer("200 OK", "text/html; charset=utf-8", body);
    match asked.target.split('?').next().unwrap_or_default() {
        "/" => html(&include_str!("site.html").replace("OTHER", other)),
        "/frame" => html(
            "<form method=post action=/frame/send><textarea name=t aria-label=Inside></textarea><button>Send it</button></form>",
        ),
        "/meta" => {
            html(&format!("<title>Meta</title><meta http-equiv=refresh content='0;url={other}/away'><h1>Meta</h1>"))
        }
        "/worker.js" => server::answer("200 OK", "text/javascript", "fetch('/api/worker', {method: 'POST'})"),
        "/file.bin" => server::answer("200 OK", "application/octet-stream", "canary-file"),
        "/redirect" => server::redirect(&format!("{other}/away")),
        "/big" => {
            let lines: String = (0..1000).map(|n| format!("<p><a href=\"/i/{n}\">Item {n} of many</a></p>")).collect();
            html(&format!("<title>Big</title>{lines}<button>Last of all</button>"))
        }
        "/tall" => html("<title>Tall</title><body style='margin:0'><div style='height:3000px'>Up</div><p>Down</p>"),
        "/cabinet" => html(
            "<title>Cabinet</title><h1>Cabinet</h1><button onclick=\"document.cookie = 'user=anna'; localStorage.theme = 'dark'; \
             location.reload()\">Log in</button><p id=p></p><script>p.textContent = document.cookie ? 'logged in as ' + \
             document.cookie.split('=')[1] + ', theme ' + localStorage.theme : 'not logged in'</script>",
        ),
        "/loads" => html(
            &"<title>Loads</title><h1>Loads</h1><p id=p></p><script>const post = (to, body) => fetch(to, {method: 'POST', body: \
              JSON.stringify(body)}); post('/api/list', {page: 1}).then(() => { p.textContent = 'list loaded'; }); \
              post('/api/delete', {}); post('/api/graphql', {query: 'mutation a { b }'}); post('OTHER/api', {});</script>\
              <button onclick=\"post('/api/book', {seat: '12A', password: 'x', note: 'it is hush 4711'})\">Book</button>"
                .replace("OTHER", other),
        ),
        "/framed" => html(
            &"<title>Framed</title><h1>Framed</h1><iframe src=\"OTHER/frame\"></iframe><iframe srcdoc=\"<label>Own password \
              <input type=password></label>\"></iframe><search><label>Word <input name=word></label></search>"
                .replace("OTHER", other),
        ),
        "/rows" => html(include_str!("rows.html")),
        "/otherwise" => html(include_str!("otherwise.html")),
        "/guests" => {
            let more: String = (0..120).map(|at| format!("<input name=f{at} aria-label=\"Field {at}\" value=x>")).collect();
            let guest = "<label>Guest <input name=guest value=VALUE></label>";
            let guests = guest.replace("VALUE", "Anna") + &guest.replace("VALUE", "''");
            html(&format!("<form method=post action={other}/book>{guests}{more}<button>Book</button></form>"))
        }
        "/form" => html(include_str!("form.html")),
        "/clickable" => html(include_str!("clickable.html")),
        "/closed" => html(
            "<title>Dialogs</title><style>.shut { position: fixed; opacity: 0; pointer-events: none }</style><h1>Dialogs</h1>\
             <div role=dialog class=shut><button>Discard</button></div><div role=dialog><button>Keep editing</button></div>\
             <button class=\"btn\"><i class=\"fa fa-bars\">\u{f0c9}</i></button>",
        ),
        "/editor" => html(
            "<title>Edit</title><h1>Edit the page</h1><form method=post action=/save><label>Title <input name=title value=Tea></label>\
             <div contenteditable aria-label=Words>Hello <b>there</b></div><button>Save</button></form>",
        ),
        "/table" => html(
            "<title>People</title><h1>People</h1><table><tr><th>Name</th><th>Mail</th><th></th></tr><tr><td>Anna</td><td>a@example.test</td>\
             <td><a href=/people/1/delete><img src=/img/trash.svg width=9 height=9></a> <button data-tooltip=Archive style='width:9px;height:9px'></button>\
             </td></tr></table>",
        ),
        "/wrapped" => html(include_str!("wrapped.html")),
        path => html(&format!("<title>Page</title><h1>{path}</h1><a href=\"/\">Home</a>")),
    }
}
