//! A toy page: a few words, ids that change with every look, and somebody who looks, aims and acts.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use obelus_connect::activity::bind;
use obelus_connect::model::Playbook;
use obelus_kernel::session::{CallError, Input, Reply, Session, Settings};
use obelus_kernel::{Message, Time};
use obelus_runtime::{Activities, Agent, Driver};
use serde_json::{Value, json};

/// Words of the page that belong into nothing that is kept.
pub(crate) const CANARY: &str = "canary-7f3a";

/// Goods with their prices, one on each page.
const GOODS: [(&str, u32); 3] = [("Blue kettle", 1990), ("Red kettle", 1490), ("Grey kettle", 2590)];

/// The pages, and what was done with them.
#[derive(Default)]
pub(crate) struct Harness {
    at: usize,
    looks: u32,
    removed: bool,
    /// What each id stands for; nothing after an action.
    ids: Vec<(String, &'static str)>,
    /// What was called, in order.
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

/// A session of the bundled operator with its model, and the page it works on, if there is one.
pub(crate) struct Office {
    pub(crate) driver: Driver,
    pub(crate) harness: Arc<Mutex<Harness>>,
}

impl Office {
    /// At the toy page.
    pub(crate) fn new() -> Self {
        Self::with(120, true)
    }

    pub(crate) fn with(max_steps: u32, has_page: bool) -> Self {
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
        let settings = Settings { activities: activities.names(), ..agent.settings };
        let session = Session::new("s", agent.context, agent.schema, Arc::new(settings)).unwrap();
        let mut steps = (*agent.steps.unwrap()).clone();
        steps.max_steps = max_steps;
        let session = session.with_steps(Arc::new(steps));
        let model = Playbook::parse(Path::new("playbook.yaml"), include_str!("playbook.yaml")).unwrap();
        let driver = Driver::new(session, Arc::new(activities), Arc::new(model), || Time(0));
        Self { driver, harness }
    }

    pub(crate) async fn says(&mut self, words: &str) -> Reply {
        self.told(Input::User { text: words.to_owned() }).await
    }

    pub(crate) async fn told(&mut self, input: Input) -> Reply {
        self.driver.turn(input).await.unwrap()
    }

    /// What lies at a kind of memory.
    pub(crate) fn kind(&self, name: &str) -> Value {
        let context = self.driver.session().context();
        context.read(&obelus_kernel::Path::root(name), None).map(std::borrow::Cow::into_owned).unwrap_or_default()
    }

    pub(crate) fn facts(&self) -> Vec<String> {
        let state = self.kind("state");
        let facts = state["facts"].as_array().unwrap().iter();
        facts.map(|fact| fact["fact"].as_str().unwrap().to_owned()).collect()
    }

    pub(crate) fn log(&self) -> Vec<String> {
        self.harness.lock().unwrap_or_else(PoisonError::into_inner).log.clone()
    }
}

/// Looks, aims and acts on the toy page.
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
