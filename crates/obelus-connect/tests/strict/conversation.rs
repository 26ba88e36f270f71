//! The CRM agent with JSON answers, its client, the sandbox portal, and a server that enforces the schema of the
//! request, as the provider does. What the model writes in the strict form reaches the portal unchanged.

use obelus_connect::activity::bind;
use obelus_connect::model::openai::{OpenAi, OpenAiOptions, ServerAccess, Structured};
use obelus_kernel::dialect::Dialect;
use obelus_kernel::session::{Decision, Mode, Question, Reply, TurnEnd};
use obelus_runtime::files::AgentCatalogue;
use obelus_runtime::{Agent, Connections, EventBody, Host, Secret, SessionHandle, SessionSpec, Subscription};
use obelus_sandbox::{Portal, SandboxOptions};
use serde_json::{Value, json};

use crate::rules::breaches;
use crate::stream::{Asked, Model, Say};
use crate::writer::written;

/// The intended answers, one per request, as plain calls.
fn script() -> Vec<Value> {
    let to_results = |mut call: Value| {
        call["_outputPath"] = "†results".into();
        call["_outputMethod"] = "push".into();
        call
    };
    let list = json!({"_tool": "crm.deal.list", "filter": {">=OPPORTUNITY": 100_000, "@STAGE_ID": ["NEW", "WON"]},
        "order": {"OPPORTUNITY": "DESC"}, "select": ["ID", "TITLE", "OPPORTUNITY"], "limit": 5});
    let who = json!({"_tool": "user.get", "ID": [1, 2], "filter": {"ACTIVE": true}});
    let update = json!({"_tool": "crm.deal.update", "id": "†results[0][0].ID", "fields": {"OPPORTUNITY": 123_456, "UF_CRM_NOTE": "из JSON"},
        "requires_confirmation": true, "_reasoningForCall": "об этом попросили"});
    let add = json!({"_tool": "crm.deal.add", "fields": {"TITLE": "Поставка «окон»", "OPPORTUNITY": "250000"}});
    vec![
        json!({"say": "Смотрю.", "calls": [to_results(list), to_results(who)]}),
        json!({"calls": [], "output": "Вот самые крупные."}),
        json!({"say": "Меняю сумму.", "calls": [to_results(update)]}),
        json!({"calls": [], "output": "Сумма изменена."}),
        json!({"say": "Создаю.", "calls": [to_results(add)]}),
        json!({"calls": [], "output": "Сделка создана."}),
    ]
}

/// Answers as a provider with strict structured outputs would: always by the schema of the request.
fn enforced(asked: &Asked, number: usize) -> Say {
    let format = &asked.json()["response_format"];
    assert_eq!((&format["type"], &format["json_schema"]["strict"]), (&json!("json_schema"), &json!(true)));
    let schema = &format["json_schema"]["schema"];
    assert_eq!(breaches(schema), Vec::<String>::new());
    let answer = written(&script()[number], schema).expect("the schema lets the model say it");
    assert!(jsonschema::is_valid(schema, &answer), "{answer}");
    Say::stream(&answer.to_string(), 5)
}

/// The parameters of a call, without fields for the engine.
fn params(call: &Value) -> Value {
    call.as_object()
        .unwrap()
        .iter()
        .filter(|(name, _)| !name.starts_with('_'))
        .map(|(n, v)| (n.clone(), v.clone()))
        .collect()
}

async fn approved(handle: &SessionHandle, words: &str) -> Reply {
    handle.say(words).await.unwrap();
    loop {
        let reply = handle.rested().await.unwrap().unwrap();
        if reply.ends != TurnEnd::Waiting {
            return reply;
        }
        let open = handle.inspect(|session| session.questions().into_iter().find(Question::is_open).unwrap().id);
        let question = open.await.unwrap();
        handle.answer(question, Decision::Approve { only: None }, "a test").await.unwrap();
    }
}

/// The calls started since the last check.
fn began(events: &mut Subscription) -> Vec<Value> {
    let began = |event: &EventBody| match event {
        EventBody::CallBegan { call, .. } => Some((**call).clone()),
        _ => None,
    };
    std::iter::from_fn(|| events.try_next()).filter_map(|event| began(&event.body)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_crm_agent_works_in_the_strict_form() {
    let portal = Portal::start(SandboxOptions { rate: false, ..SandboxOptions::default() }).await.unwrap();
    Secret::provide("BITRIX_WEBHOOK_URL", Secret::new(portal.base_url()));
    let server = Model::start(enforced).await;
    let options = OpenAiOptions { structured: Structured::Strict, retries: 0, ..OpenAiOptions::named("gpt-test") };
    let model = OpenAi::new(options, ServerAccess::new(Some(&server.base), None));

    let agent = Agent::load(&AgentCatalogue::default().find("crm").unwrap()).unwrap();
    let activities = bind(&agent.activities, &agent.folder).unwrap();
    let mut spec = SessionSpec::from_agent(agent);
    (spec.settings.dialect, spec.settings.mode) = (Dialect::Json, Mode::Full);
    let host = Host::new(Connections::new(activities).with_model(model));
    let handle = host.create_temporary("s", spec).await.unwrap();
    let mut events = handle.subscribe(None);

    let reply = approved(&handle, "Какие сделки самые крупные, и кто ими занят?").await;
    assert_eq!((reply.ends, reply.output), (TurnEnd::Output, json!("Вот самые крупные.")), "{:?}", reply.reason);
    let calls = began(&mut events);
    assert_eq!(
        params(&calls[0]),
        json!({"filter": {">=OPPORTUNITY": 100_000, "@STAGE_ID": ["NEW", "WON"]}, "order": {"OPPORTUNITY": "DESC"},
            "select": ["ID", "TITLE", "OPPORTUNITY"], "limit": 5})
    );
    assert_eq!(params(&calls[1]), json!({"ID": [1, 2], "filter": {"ACTIVE": true}}));

    let reply = approved(&handle, "Поставь первой из них сумму 123456").await;
    assert_eq!(reply.ends, TurnEnd::Output, "{:?}", reply.reason);
    let reply = approved(&handle, "Создай сделку «Поставка окон» на 250000").await;
    assert_eq!(reply.ends, TurnEnd::Output, "{:?}", reply.reason);

    let calls = began(&mut events);
    let of = |tool: &str| calls.iter().filter(|call| call["_tool"] == tool).collect::<Vec<_>>();
    let [update] = of("crm.deal.update")[..] else { panic!("{calls:#?}") };
    assert_eq!(params(update)["fields"], json!({"OPPORTUNITY": 123_456, "UF_CRM_NOTE": "из JSON"}));
    let [add] = of("crm.deal.add")[..] else { panic!("{calls:#?}") };
    assert_eq!(params(add), json!({"fields": {"TITLE": "Поставка «окон»", "OPPORTUNITY": "250000"}}));
    assert_eq!(server.asked().len(), 6);
}
