//! A toy site whose ids change with every observation, and activities that observe, aim and act.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use obelus_connect::activity::bind;
use obelus_connect::model::Playbook;
use obelus_kernel::session::{CallError, Input, Question, Reply, Session};
use obelus_kernel::{Message, Time};
use obelus_runtime::{Activities, Agent, Connections, Host, MemoryStore, SessionHandle, SessionSpec};
use serde_json::{Value, json};

/// Text of the page that must not be stored anywhere.
pub(crate) const CANARY: &str = "canary-7f3a";

/// Products and prices, one on each page.
const GOODS: [(&str, u32); 3] = [("Blue kettle", 1990), ("Red kettle", 1490), ("Grey kettle", 2590)];

/// The pages, and a log of what was done.
#[derive(Default)]
pub(crate) struct Harness {
    at: usize,
    looks: u32,
    removed: bool,
    /// The element of each id; empty after an action.
    ids: Vec<(String, &'static str)>,
    /// The calls, in order.
    pub(crate) log: Vec<String>,
}

impl Harness {
    fn look(&mut self) -> Value {
        self.looks += 1;
        self.log.push("observe".to_owned());
        let (name, price) = GOODS[self.at];
        let mut links = vec![("button", "Remove")];
        if self.removed {
            links.clear();
        }
        if self.at + 1 < GOODS.len() {
            links.push(("link", "Next"));
        }
        let mut text = format!("- heading \"{name}\" [level=1]\n- paragraph: Price {price}, {CANARY}\n");
        self.ids.clear();
        for (index, (role, label)) in links.into_iter().enumerate() {
            let id = format!("e{}", self.looks as usize * 10 + index);
            text.push_str(&format!("- {role} \"{label}\" [ref={id}]\n"));
            self.ids.push((id, label));
        }
        json!({"about": {"address": self.address(), "unchanged": 0}, "text": text})
    }

    fn address(&self) -> String {
        format!("https://harness.example.test/{}", self.at + 1)
    }

    fn aim(&self, call: &Value) -> Result<Value, CallError> {
        if self.ids.is_empty() {
            return Err(CallError::new("not_observed", "the page may have changed: observe first"));
        }
        let target = call["params"]["target"].as_str().unwrap_or_default();
        let Some((_, label)) = self.ids.iter().find(|(id, _)| id == target) else {
            return Err(CallError::new("unknown_element", "that id is not on the page as it was observed"));
        };
        let (class, role) = if *label == "Remove" { ("delete", "button") } else { ("look", "link") };
        let form = json!({"method": "POST", "address": "https://harness.example.test/remove", "fields": []});
        let form = if class == "delete" { form } else { Value::Null };
        Ok(json!({"tool": class, "params": {
            "address": self.address(), "role": role, "name": label, "nth": 0, "form": form, "sends": null,
            "do": {"tool": "press"},
        }}))
    }

    fn act(&mut self, call: &Value) -> Value {
        self.ids.clear();
        self.log.push(format!(
            "{} {}",
            call["_tool"].as_str().unwrap_or_default(),
            call["name"].as_str().unwrap_or_default()
        ));
        match call["_tool"].as_str() {
            Some("delete") => self.removed = true,
            _ => self.at += 1,
        }
        json!({"address": self.address(), "did": "press", "changed": true})
    }
}

/// A session of the bundled operator with a playbook as model, and the toy site.
pub(crate) struct Office {
    host: Host,
    pub(crate) handle: SessionHandle,
    pub(crate) harness: Arc<Mutex<Harness>>,
}

impl Office {
    /// With the toy site.
    pub(crate) async fn new() -> Self {
        Self::with(120, true).await
    }

    pub(crate) async fn with(max_steps: u32, has_page: bool) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../agents/operator");
        let mut agent = Agent::load(&folder).unwrap_or_else(|problems| panic!("{problems:?}"));
        let tools = json!({
            "harness.press": {"properties": {"target": {"type": "string"}}, "required": ["target"], "x-effect": "update"},
            "notes.add": {"properties": {"text": {"type": "string"}}, "required": ["text"], "x-effect": "update"},
        });
        agent.context.append(vec![Message::Tool(Box::new(tools.as_object().unwrap().clone()))]).unwrap();
        let harness = Arc::new(Mutex::new(Harness::default()));
        let mut activities = bind(&agent.activities, &agent.folder).unwrap();
        if has_page {
            on_page(&mut activities, &harness);
        }
        activities.register("notes.add", |_| async { Ok(json!({"id": 7})) });
        let mut steps = (**agent.steps.as_ref().unwrap()).clone();
        steps.max_steps = max_steps;
        agent.steps = Some(Arc::new(steps));
        let model = Playbook::parse(Path::new("playbook.yaml"), include_str!("playbook.yaml")).unwrap();
        let connections = Connections::new(activities).with_model(model);
        let host = Host::builder(connections).store(Arc::new(MemoryStore::new())).clock(|| Time(0)).build();
        let handle = host.create("s", SessionSpec::from_agent(agent)).await.unwrap();
        Self { host, handle, harness }
    }

    pub(crate) async fn says(&mut self, words: &str) -> Reply {
        self.told(Input::User { text: words.to_owned(), by: None }).await
    }

    pub(crate) async fn told(&mut self, input: Input) -> Reply {
        self.handle.tell(input).await.unwrap();
        self.handle.rested().await.unwrap().unwrap()
    }

    /// Unloads the session. It continues without its observations, as in a new process.
    pub(crate) async fn restarts(&self) {
        self.host.passivate("s").await;
    }

    pub(crate) async fn look<T: Send + 'static>(&self, look: impl FnOnce(&Session) -> T + Send + 'static) -> T {
        self.handle.inspect(look).await.unwrap()
    }

    pub(crate) async fn questions(&self) -> Vec<Question> {
        self.look(Session::questions).await
    }

    /// The content of a kind of memory.
    pub(crate) async fn kind(&self, name: &str) -> Value {
        let path = obelus_kernel::Path::root(name);
        let read = move |session: &Session| session.context().read(&path, None).map(std::borrow::Cow::into_owned);
        self.look(read).await.unwrap_or_default()
    }

    pub(crate) async fn facts(&self) -> Vec<String> {
        let state = self.kind("state").await;
        let facts = state["facts"].as_array().unwrap().iter();
        facts.map(|fact| fact["fact"].as_str().unwrap().to_owned()).collect()
    }

    pub(crate) fn log(&self) -> Vec<String> {
        self.harness.lock().unwrap_or_else(PoisonError::into_inner).log.clone()
    }
}

/// Registers activities for the toy site.
fn on_page(activities: &mut Activities, harness: &Arc<Mutex<Harness>>) {
    type Doing = fn(&mut Harness, &Value) -> Result<Value, CallError>;
    let parts: [(&str, Doing); 4] = [
        ("observe", |harness, _| Ok(harness.look())),
        ("aim", |harness, call| harness.aim(call)),
        ("look", |harness, call| Ok(harness.act(call))),
        ("delete", |harness, call| Ok(harness.act(call))),
    ];
    for (name, doing) in parts {
        let harness = Arc::clone(harness);
        activities.register(name, move |work| {
            let brought = doing(&mut harness.lock().unwrap_or_else(PoisonError::into_inner), &work.call);
            async move { brought }
        });
    }
}
