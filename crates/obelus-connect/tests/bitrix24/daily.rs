//! The daily work of a sales team (B24-12) by the tools of the bundled agent on the sandbox portal, names beside codes,
//! and the data that a session begins with (B24-13).

use std::sync::Arc;
use std::time::Duration;

use obelus_connect::StandardConnector;
use obelus_connect::bitrix24::{Bitrix24, Options, Webhook};
use obelus_kernel::session::{Mode, Outcome};
use obelus_runtime::files::AgentCatalogue;
use obelus_runtime::{Agent, Connector, Elicitor, Host, Language, MemoryStore, Secret, SessionSpec, Work};
use obelus_sandbox::{Events, Portal, SandboxOptions};
use serde_json::{Value, json};

use super::{run, value};

struct Office {
    portal: Portal,
    client: Bitrix24,
    agent: Agent,
}

impl Office {
    async fn new() -> Self {
        let portal = Portal::start(SandboxOptions { rate: false, ..SandboxOptions::default() }).await.unwrap();
        let options = Options { rate: None, settle: Duration::ZERO, language: Language::Russian, ..Options::default() };
        let client = Bitrix24::new(Webhook::parse(portal.base_url()).unwrap(), options);
        Self { portal, client, agent: Agent::load(&AgentCatalogue::default().find("crm").unwrap()).unwrap() }
    }

    async fn outcome(&self, tool: &str, call: Value) -> Outcome {
        let tool = Arc::clone(self.agent.context.tool(tool).unwrap_or_else(|| panic!("no tool {tool}")));
        let (key, elicitor, slot) = (format!("s:{call}"), Elicitor::nobody(), Arc::default());
        let work = Work { call: call.into(), tool, scope: Vec::new(), key, attempt: 1, elicitor, slot };
        run(&self.client, work).await
    }

    async fn call(&self, tool: &str, call: Value) -> Value {
        value(self.outcome(tool, call).await)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn contacts_companies_and_leads_are_created_changed_and_deleted() {
    let office = Office::new().await;
    for (kind, fields, change) in [
        ("contact", json!({"NAME": "Мария", "PHONE": [{"VALUE": "+7 000 555-99-01"}]}), json!({"POST": "Директор"})),
        (
            "company",
            json!({"TITLE": "ООО «Проба»", "EMAIL": [{"VALUE": "a@example.test"}]}),
            json!({"COMMENTS": "Новая"}),
        ),
        ("lead", json!({"TITLE": "Заявка", "OPPORTUNITY": 1000}), json!({"STATUS_ID": "IN_PROCESS"})),
    ] {
        let tool = |what: &str| format!("crm.{kind}.{what}");
        let id = office.call(&tool("add"), json!({ "fields": fields })).await;
        assert!(id.is_u64(), "{kind}: {id}");
        assert_eq!(office.call(&tool("update"), json!({"id": id, "fields": change})).await, json!(true));
        let record = office.call(&tool("get"), json!({ "id": id })).await;
        for (name, value) in change.as_object().unwrap() {
            assert_eq!(&record[name], value);
        }
        assert_eq!(record["ASSIGNED_BY"], "Марина Светлова", "{kind}");
        assert_eq!(office.call(&tool("delete"), json!({ "id": id })).await, json!(true));
        assert!(matches!(office.outcome(&tool("get"), json!({ "id": id })).await, Outcome::Error(_)), "{kind}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_records_with_a_phone_number_are_found() {
    let office = Office::new().await;
    let asked = json!({"type": "PHONE", "values": ["8 (000) 555-40-00"]});
    assert_eq!(office.call("crm.duplicate.findbycomm", asked).await, json!({"CONTACT": [1]}));
    let asked = json!({"type": "PHONE", "values": ["+7 000 111-11-11"]});
    assert_eq!(office.call("crm.duplicate.findbycomm", asked).await, json!([]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn product_rows_set_the_amount_of_a_deal() {
    let office = Office::new().await;
    let deal = office.call("crm.deal.add", json!({"fields": {"TITLE": "Окна"}})).await;
    let rows = json!([{"productName": "Окно", "price": 12000, "quantity": 3}, {"productId": 4, "quantity": 2}]);
    let set = json!({"ownerType": "D", "ownerId": deal, "productRows": rows});
    office.call("crm.item.productrow.set", set).await;
    let listed =
        office.call("crm.item.productrow.list", json!({"filter": {"=ownerType": "D", "=ownerId": deal}})).await;
    let names: Vec<&str> =
        listed["productRows"].as_array().unwrap().iter().map(|row| row["productName"].as_str().unwrap()).collect();
    assert_eq!(names, ["Окно", "Замена стеклопакетов"]);
    let record = office.call("crm.deal.get", json!({ "id": deal })).await;
    assert_eq!(record["OPPORTUNITY"], "106000.00");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invoices_and_quotes_are_created_changed_and_deleted() {
    let office = Office::new().await;
    for type_id in [31, 7] {
        let fields = json!({"title": "Окна", "opportunity": 5000, "companyId": 1});
        let made = office.call("crm.item.add", json!({"entityTypeId": type_id, "fields": fields})).await;
        let id = &made["item"]["id"];
        let change = json!({"entityTypeId": type_id, "id": id, "fields": {"title": "Двери"}});
        office.call("crm.item.update", change).await;
        let of = json!({"entityTypeId": type_id, "id": id});
        let item = office.call("crm.item.get", of.clone()).await["item"].clone();
        assert_eq!((&item["title"], &item["opportunity"]), (&json!("Двери"), &json!(5000.0)), "{item}");
        office.call("crm.item.delete", of.clone()).await;
        assert!(matches!(office.outcome("crm.item.get", of).await, Outcome::Error(_)), "{type_id}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_meetings_and_letters_are_activities_of_a_record() {
    let office = Office::new().await;
    let planned =
        json!({"ownerTypeId": 2, "ownerId": 1, "title": "Позвонить", "deadline": "2027-11-20T12:00:00+03:00"});
    let call = office.call("crm.activity.todo.add", planned).await;
    let letter = json!({"fields": {
        "TYPE_ID": 4, "SUBJECT": "Предложение", "OWNER_TYPE_ID": 2, "OWNER_ID": 1, "DIRECTION": 2, "RESPONSIBLE_ID": 3,
        "START_TIME": "2027-11-20T12:00:00+03:00",
        "COMMUNICATIONS": [{"VALUE": "a@example.test", "ENTITY_ID": 1, "ENTITY_TYPE_ID": 3}],
    }});
    let letter = office.call("crm.activity.add", letter).await;
    let done = json!({"id": call, "fields": {"COMPLETED": "Y"}});
    assert_eq!(office.call("crm.activity.update", done).await, json!(true));
    let asked = json!({"filter": {"@ID": [call, letter]}, "order": {"ID": "ASC"}});
    let rows = office.call("crm.activity.list", asked).await;
    let seen: Vec<Value> =
        rows.as_array().unwrap().iter().map(|row| json!([row["TYPE"], row["COMPLETED"], row["RESPONSIBLE"]])).collect();
    assert_eq!(seen, [json!(["дело", "Y", "Марина Светлова"]), json!(["письмо", "N", "Дарья Лугова"])]);
    assert!(rows[0]["OWNER"].as_str().unwrap().starts_with("Поставка пластиковых окон"), "{}", rows[0]["OWNER"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_are_listed_and_completed_one_by_one() {
    let office = Office::new().await;
    let asked = json!({"filter": {"<REAL_STATUS": 4}, "select": ["ID", "TITLE", "STATUS"], "limit": 3});
    let rows = office.call("tasks.task.each", asked).await;
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 4, "three tasks, and the mark that there are more");
    assert!(rows[..3].iter().all(|row| row["id"].is_string() && row["statusName"].is_string()), "{rows:?}");
    assert_eq!(rows[3]["_more"]["shown"], 3);
    let done = office.call("tasks.task.complete", json!({"taskId": rows[0]["id"]})).await;
    assert_eq!(done["task"]["status"], "5");
    let task = office.call("tasks.task.get", json!({"taskId": rows[0]["id"]})).await;
    assert_eq!(task["task"]["statusName"], "завершена");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_are_added_to_codes_and_looked_up_once() {
    let office = Office::new().await;
    let asked = || json!({"filter": {"ID": 1}, "select": ["ID", "STAGE_ID", "CATEGORY_ID", "ASSIGNED_BY_ID", "CONTACT_ID", "COMPANY_ID"]});
    let rows = office.call("crm.deal.list", asked()).await;
    for name in ["STAGE", "FUNNEL", "ASSIGNED_BY", "CONTACT", "COMPANY"] {
        assert!(rows[0][name].as_str().is_some_and(|name| name.chars().any(char::is_alphabetic)), "{name}: {rows}");
    }
    assert_eq!((&rows[0]["STAGE"], &rows[0]["FUNNEL"]), (&json!("Новая"), &json!("Продажи")));
    assert_eq!(office.portal.requests(), 2, "the list, and one batch for all names");
    office.call("crm.deal.list", asked()).await;
    assert_eq!(office.portal.requests(), 3, "the names are known");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_has_the_portals_own_key_and_no_visible_marker() {
    let office = Office::new().await;
    let fields = || json!({"fields": {"TITLE": "Позвонить", "RESPONSIBLE_ID": "3", "DESCRIPTION": "О договоре"}});
    let made = office.call("tasks.task.add", fields()).await;
    let again = office.call("tasks.task.add", fields()).await;
    assert_eq!(made, again, "the same key makes one task");
    let task = office.call("tasks.task.get", json!({"taskId": made["task"]["id"]})).await;
    assert_eq!(task["task"]["description"], "О договоре");
    assert_eq!(task["task"]["responsible"]["name"], "Дарья Лугова");
    // Fields that the newer method does not have are created by the older one, with a marker.
    let tagged = json!({"fields": {"TITLE": "С меткой", "RESPONSIBLE_ID": 3, "TAGS": ["срочно"]}});
    let made = office.call("tasks.task.add", tagged).await;
    let task = office.call("tasks.task.get", json!({"taskId": made["task"]["id"]})).await;
    let marked = task["task"]["description"].as_str().unwrap();
    assert!(marked.len() == 10 && marked.starts_with('[') && marked.ends_with(']'), "{task}");
}

async fn begun(events: Events, variable: &str, mode: &str, policy: Value) -> SessionSpec {
    let portal = Portal::start(SandboxOptions { rate: false, events, ..SandboxOptions::default() }).await.unwrap();
    Secret::provide(variable, Secret::new(portal.base_url()));
    let mut spec = SessionSpec::from_agent(Agent::load(&AgentCatalogue::default().find("crm").unwrap()).unwrap());
    spec.activities[0].bound["bitrix24"]["bitrix24"]["webhook"] = format!("${variable}").into();
    spec.settings.mode = serde_json::from_value(json!(mode)).unwrap();
    spec.settings.policy = serde_json::from_value(policy).unwrap();
    let connected = StandardConnector::new().begin(&mut spec, None).await;
    assert!(connected.is_ok());
    spec.check_names().unwrap();
    spec
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_session_contains_staff_funnels_and_stages() {
    let spec = begun(Events::Open, "BEGUN_OPEN_WEBHOOK", "canary", json!({})).await;
    let known = |path: &str| {
        let found = spec.context.resolve(&obelus_kernel::Expr::parse(path).unwrap(), None);
        found.unwrap_or_else(|| panic!("{path} is not known")).into_owned()
    };
    let staff = known("†portal.staff");
    assert_eq!(staff.as_array().unwrap().len(), 7, "one of eight works there no more");
    assert_eq!(staff[3], json!({"ID": "4", "NAME": "Илья", "LAST_NAME": "Кедров"}));
    assert_eq!(known("†portal.you_act_as"), json!({"ID": "1", "NAME": "Марина", "LAST_NAME": "Светлова"}));
    assert_eq!(known("†portal.currency"), json!("RUB"));
    assert_eq!(known("†portal.funnels")[0], json!({"id": 0, "name": "Продажи"}));
    assert_eq!(known("†portal.stages.DEAL_STAGE_1")[0], json!({"STATUS_ID": "C1:NEW", "NAME": "Новая заявка"}));
    assert!(spec.context.tool("event.bind").is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_are_offered_only_where_the_portal_permits_them() {
    let spec = begun(Events::Strict, "BEGUN_STRICT_WEBHOOK", "canary", json!({})).await;
    for tool in ["event.get", "event.bind", "event.unbind"] {
        assert!(spec.context.tool(tool).is_none(), "{tool}");
    }
    assert!(spec.context.tool("crm.deal.list").is_some());
    assert_eq!(spec.withheld, ["event.get", "event.bind", "event.unbind"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_shadow_mode_nothing_is_read_at_the_start() {
    let spec = begun(Events::Strict, "BEGUN_SHADOW_WEBHOOK", "shadow", json!({})).await;
    assert!(spec.withheld.is_empty() && spec.context.view("portal").is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_mode_of_a_new_session_decides_whether_it_reads_at_the_start() {
    let office = Office::new().await;
    Secret::provide("BEGUN_IN_MODE_WEBHOOK", Secret::new(office.portal.base_url()));
    let host = Host::builder(StandardConnector::new()).store(Arc::new(MemoryStore::new())).build();
    for (of_agent, chosen, reads) in [
        (Mode::Full, Some(Mode::Shadow), false),
        (Mode::Shadow, Some(Mode::Canary), true),
        (Mode::Shadow, None, false),
        (Mode::Canary, None, true),
    ] {
        let mut spec = SessionSpec::from_agent(Agent::load(&AgentCatalogue::default().find("crm").unwrap()).unwrap());
        spec.activities[0].bound["bitrix24"]["bitrix24"]["webhook"] = "$BEGUN_IN_MODE_WEBHOOK".into();
        spec.settings.mode = of_agent;
        let id = format!("{}-{}", of_agent.name(), chosen.map_or("own", Mode::name));
        let before = office.portal.requests();
        let session = host.create_in(&id, spec, chosen).await.unwrap();
        assert_eq!(office.portal.requests() > before, reads, "{id}");
        let knows = |session: &obelus_kernel::session::Session| session.context().view("portal").is_some();
        assert_eq!(session.inspect(knows).await.unwrap(), reads, "{id}");
        let mode = session.inspect(|session| (session.settings().mode, session.file_mode())).await.unwrap();
        assert_eq!(mode, (chosen.unwrap_or(of_agent), of_agent), "{id}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_refused_by_the_policy_are_not_read_at_the_start() {
    let policy = json!({"refuse": ["user.get"]});
    let spec = begun(Events::Open, "BEGUN_REFUSED_WEBHOOK", "canary", policy).await;
    let portal = spec.context.view("portal").unwrap().read(&[], None).unwrap().into_owned();
    assert!(portal.get("staff").is_none() && portal.get("funnels").is_some(), "{portal}");
}

#[test]
fn records_returned_by_the_portal_are_untrusted() {
    let agent = Agent::load(&AgentCatalogue::default().find("crm").unwrap()).unwrap();
    for name in ["tasks.task.update", "tasks.task.complete", "crm.item.update", "crm.product.list", "sonet.group.get"] {
        assert!(!agent.context.tool(name).unwrap().trusted, "{name}");
    }
}

#[test]
fn deals_and_contacts_are_changed_only_by_their_own_methods() {
    let agent = Agent::load(&AgentCatalogue::default().find("crm").unwrap()).unwrap();
    for (name, params) in [
        ("crm.item.add", json!({"fields": {"title": "x"}})),
        ("crm.item.update", json!({"id": 1, "fields": {"title": "x"}})),
        ("crm.item.delete", json!({"id": 1})),
    ] {
        for (kind, is_refused) in [(json!(2), true), (json!("3"), true), (json!(31), false)] {
            let mut call = params.clone();
            call["_tool"] = name.into();
            call["entityTypeId"] = kind.clone();
            let gate = obelus_kernel::policy::Gate::new(&agent.settings.policy, agent.settings.mode);
            let faults = obelus_kernel::policy::explain(&call, &agent.context, gate).err();
            assert_eq!(faults.is_some(), is_refused, "{name} {kind}: {faults:?}");
        }
    }
}
