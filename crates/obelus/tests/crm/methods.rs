//! B24-4 and B24-11: there is no default portal, and a file adds methods.

use serde_json::json;

use crate::office::Office;
use crate::support::run;

#[test]
fn b24_4_without_a_portal_the_agent_names_the_variable_to_set() {
    let office = Office::open("nowhere", 0.0);
    office.model(
        "- raw: \"THOUGHT:\\nx\\nACTION:\\n[{\\\"method\\\": \\\"user.current\\\"}]\\nASSISTANT:\\nПроверяю.\"\n",
    );
    let ran = run(office.chat("canary").env_remove("BITRIX_WEBHOOK_URL"), "Кто я?\n".as_bytes());
    let words = format!("{}{}", ran.stdout, ran.stderr);
    assert!(words.contains("BITRIX_WEBHOOK_URL"), "{words}");
    assert_eq!(office.portal.requests(), 0, "there is no portal to fall back on");
}

#[test]
fn b24_11_a_tool_file_adds_methods_without_code() {
    let office = Office::open("leads", 0.0);
    let tools = r#"
crm.lead.add:
  type: object
  description: Новый лид
  x-title: {ru: Создать лид, en: Create a lead}
  x-entity: {name: lead}
  x-effect: create
  x-trust: trusted
  x-target: []
  _activity: bitrix24
  properties: {fields: {type: object, properties: {TITLE: {type: string}}, required: [TITLE]}}
  required: [fields]
  x-leaves:
    - to: †state.done
      method: push
      value: '{timestamp: .now, description: "Создан лид «\(.call.fields.TITLE)»", object_ids: {lead_id: .result}}'
crm.lead.update:
  type: object
  description: Изменить лид
  x-title: {ru: Изменить лид, en: Change the lead}
  x-labels: {fields.STATUS_ID: {ru: статус, en: status}}
  x-entity: {name: lead, id: id}
  x-effect: update
  x-trust: trusted
  x-risky: [fields.STATUS_ID]
  _activity: bitrix24
  properties: {id: {type: integer}, fields: {type: object}}
  required: [id, fields]
crm.lead.list:
  type: object
  description: Лиды
  x-effect: read
  x-bitrix24: {list: true}
  _activity: bitrix24
  properties: {filter: {type: object}, select: {type: array}, limit: {type: [integer, string]}}
  x-leaves:
    - to: †state.done
      method: push
      value: '{timestamp: .now, description: "Получено лидов: \(.result | length)", object_ids: {}}'
"#;
    office.folder.file("crm/tools/leads.yaml", tools);
    office.edit("crm/agent.yaml", "tools: [", "tools: [tools/leads.yaml, ");
    office.model(
        r#"
- user: создай
  raw: "THOUGHT:\nx\nACTION:\n[{\"method\": \"crm.lead.add\", \"params\": {\"fields\": {\"TITLE\": \"Новый лид\"}}, \"_outputPath\": \"†made.lead\"}, {\"method\": \"crm.lead.update\", \"params\": {\"id\": \"†made.lead\", \"fields\": {\"status_id\": \"IN_PROCESS\"}}}]\nASSISTANT:\nСоздаю."
- user: покажи
  when: .results == []
  raw: "THOUGHT:\nx\nACTION:\n[{\"method\": \"crm.lead.list\", \"params\": {\"filter\": {\"TITLE\": \"Новый лид\"}, \"limit\": \"all\"}}]\nASSISTANT:\nСмотрю."
- user: покажи
  raw: "THOUGHT:\nx\nACTION:\n[]\nASSISTANT:\nВот он."
"#,
    );
    // The risky field asks, ignoring case; the creation does not.
    office.says("full", "Создай лид\n").exits(3).prints("IN_PROCESS").prints("Изменить лид");
    let leads = office.portal_says("crm.lead.list", &json!({"filter": {"TITLE": "Новый лид"}}));
    assert_eq!(leads["result"].as_array().map(Vec::len), Some(1), "{leads}");
    assert_ne!(leads["result"][0]["STATUS_ID"], "IN_PROCESS");
    let id = leads["result"][0]["ID"].as_str().expect("an id");
    assert_eq!(office.state()["confirmations"][format!("lead_{id}_status_id")]["status"], "requested");
    office.answers("q1", &["approve"]).exits(0);
    let lead = office.portal_says("crm.lead.get", &json!({"id": id}));
    assert_eq!(lead["result"]["STATUS_ID"], "IN_PROCESS");
    office.says("full", "Покажи лиды\n").exits(0).prints("Вот он.");
    let done = office.state()["done"].to_string();
    assert!(done.contains("Создан лид «Новый лид»") && done.contains("Получено лидов: 1"), "{done}");
}
