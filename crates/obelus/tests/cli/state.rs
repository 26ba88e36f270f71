//! The state file of a session: imported, edited by a person, refused.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Folder, command, obelus, obelus_reading, run};

/// An example of an `agent_state` file.
const EXAMPLE: &str = r#"{
  "goals": ["Создать сделку", "Назначить звонок"],
  "done": [
    {"timestamp": "2024-05-01T10:00:00Z", "description": "Создана сделка", "object_ids": {"deal_id": 123}}
  ],
  "in_progress": [{"description": "Ожидаем подтверждения суммы", "requested_at": "2024-05-01T10:05:00Z"}],
  "objects": {
    "current_deal_id": 123, "current_contact_id": 456, "current_company_id": null, "current_task_id": 789
  },
  "next_planned_actions": [
    {"method": "crm.deal.update", "params": {"id": 123, "fields": {"OPPORTUNITY": 100000}}, "requires_confirmation": true}
  ],
  "confirmations": {
    "deal_123_opportunity": {
      "status": "requested", "requested_at": "2024-05-01T10:05:00Z",
      "description": "Изменить сумму сделки 123 до 100000",
      "action": {
        "method": "crm.deal.update", "params": {"id": 123, "fields": {"OPPORTUNITY": 100000}},
        "requires_confirmation": true
      }
    },
    "task_456_deadline": {
      "status": "denied", "requested_at": "2024-05-02T09:00:00Z", "denied_at": "2024-05-02T09:05:00Z",
      "description": "Перенести дедлайн задачи 456", "reason": "Пользователь отклонил перенос",
      "action": {
        "method": "tasks.task.update", "params": {"taskId": 456, "fields": {"DEADLINE": "2024-05-05"}},
        "confirmation_decision": "deny"
      }
    }
  },
  "event_bindings": [{"event": "onCrmDealAdd", "handler": "https://example.test/hook"}]
}"#;

fn read(path: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(path).expect("it is there")).expect("JSON")
}

#[test]
fn b24_7_a_state_of_another_program_becomes_a_session() {
    let folder = Folder::new("adopt");
    let (store, file) = (folder.path("store"), folder.path("ivan.json"));
    fs::write(&file, EXAMPLE).unwrap();
    let args = ["sessions", "adopt", &file, "--agent", "crm", "--store", &store];
    let adopted = obelus(&[&args[..], &["--json"]].concat()).exits(0).json();
    assert_eq!(adopted["session"], "ivan");
    let given: Value = serde_json::from_str(EXAMPLE).unwrap();
    for field in ["goals", "done", "objects", "confirmations", "event_bindings"] {
        assert_eq!(adopted["state"][field], given[field], "{field}");
    }
    assert_eq!(read(&folder.path("store/states/ivan.json")), adopted["state"], "and is a file of ours");
    obelus(&args).exits(2).says("сессия «ivan» уже есть").says("--session");
    // The imported session continues like any other, and its question is open.
    let chat = ["chat", "--session", "ivan", "--store", &store];
    obelus_reading("/state\n", &chat).exits(3).prints("current_deal_id: 123");
}

#[test]
fn b24_7_an_import_accepts_a_mode_and_its_question_has_one_title() {
    let folder = Folder::new("adopt-mode");
    let (store, file) = (folder.path("store"), folder.file("ivan.json", EXAMPLE));
    let adopt = |session: &str, mode: &str| {
        obelus(&["sessions", "adopt", &file, "--agent", "crm", "--session", session, "--mode", mode, "--store", &store])
    };
    let canary = adopt("a", "canary").exits(0).prints("почему спрашиваю: в режиме canary");
    assert!(!canary.stdout.contains("permits"), "{}", canary.stdout);
    let full = adopt("b", "full").exits(0).prints("почему спрашиваю: меняется «сумма»");
    let lines: Vec<&str> = full.stdout.lines().collect();
    assert_eq!(lines[1..3], ["  Изменить сделку", "    сделка: 123"], "{}", full.stdout);
    full.prints("  перенесено со словами: Изменить сумму сделки 123 до 100000");
    obelus(&["sessions", "show", "b", "--store", &store]).exits(0).prints("режим full").prints("(импорт ");
    // Memory has the same state as the file.
    let state = read(&folder.path("store/states/b.json"));
    assert_eq!(state["confirmations"].as_object().map(serde_json::Map::len), Some(2));
    obelus(&["sessions", "show", "b", "--store", &store]).exits(0).prints(&format!("†state {state:#}"));
    assert_eq!(obelus(&["sessions", "show", "b", "--json", "--store", &store]).exits(0).json()["state"], state);
}

#[test]
fn b24_5_the_state_has_exactly_its_fields() {
    let folder = Folder::new("state-exact");
    let (store, file) = (folder.path("store"), folder.file("ivan.json", EXAMPLE));
    obelus(&["sessions", "adopt", &file, "--agent", "crm", "--store", &store]).exits(0);
    let path = folder.path("store/states/ivan.json");
    let mut state = read(&path);
    state["favourites"] = json!([1]);
    fs::write(&path, state.to_string()).unwrap();
    let model = format!("playbook:{}", folder.file("model.yaml", "- output: хорошо\n"));
    let chat = ["chat", "--session", "ivan", "--model", &model, "--store", &store];
    obelus_reading("привет\n", &chat).exits(3).prints("ivan.json: ").prints("favourites");
    assert_eq!(read(&path), state, "it is left as it is");
    let shown = obelus(&["sessions", "show", "ivan", "--json", "--store", &store]).exits(0).json();
    assert!(shown["state"].get("favourites").is_none(), "{shown}");
}

#[test]
fn dur_8_a_token_in_the_users_words_is_masked_before_any_call() {
    let folder = Folder::new("state-token");
    let store = folder.path("store");
    let model = format!("playbook:{}", folder.file("model.yaml", "- output: хорошо\n"));
    let token = "q7w8e9r0t1";
    let mut chat = command(&["chat", "--agent", "crm", "--session", "s", "--model", &model, "--store", &store]);
    chat.env("BITRIX_WEBHOOK_URL", format!("https://portal.example.test/rest/1/{token}/"));
    run(&mut chat, format!("Мой вебхук /rest/1/{token}/, запомни\n").as_bytes()).exits(0);
    let mut said =
        command(&["run", "agents/crm", "--session", "t", "--model", &model, "--store", &store, "--say", token]);
    said.env("BITRIX_WEBHOOK_URL", format!("https://portal.example.test/rest/1/{token}/"));
    run(&mut said, b"").exits(0);
    let log = obelus(&["sessions", "log", "s", "--store", &store]).exits(0).prints("Мой вебхук /rest/1/***/, запомни");
    assert!(!log.stdout.contains(token));
    let mut looked = 0;
    for below in ["", "states", "logs"] {
        for entry in fs::read_dir(folder.path(&format!("store/{below}"))).unwrap() {
            let path = entry.unwrap().path();
            let Ok(bytes) = fs::read(&path) else { continue };
            let has_token = bytes.windows(token.len()).any(|part| part == token.as_bytes());
            assert!(!has_token, "{}", path.display());
            looked += 1;
        }
    }
    assert!(looked >= 4, "database, states, logs");
}

#[test]
fn an_invalid_state_is_refused_with_the_place_and_creates_no_session() {
    let folder = Folder::new("adopt-bad");
    let (store, file) = (folder.path("store"), folder.path("s.json"));
    let args = ["sessions", "adopt", &file, "--agent", "crm", "--store", &store];
    for (text, place) in [
        ("{\n  \"goals\": [,\n", "s.json:2:13: expected value"),
        ("{\"goals\": 5}", "s.json: состояние не подходит: `goals`"),
        (
            "{\"confirmations\": {\"x\": {\"status\": \"perhaps\"}}}",
            "s.json: состояние не подходит: `confirmations.x`: `status` is one of",
        ),
    ] {
        fs::write(&file, text).unwrap();
        obelus(&args).exits(2).says(place);
    }
    obelus(&["sessions", "list", "--store", &store]).exits(0).prints_nothing();
}

#[test]
fn dur_7_edits_of_the_file_take_effect_with_the_next_message() {
    let folder = Folder::new("state-edit");
    let store = folder.path("store");
    let chat = ["chat", "--agent", "notes", "--session", "s", "--store", &store];
    obelus_reading("the customer called\n", &chat).exits(0);
    let file = folder.path("store/states/s.json");
    let mut state = read(&file);
    state["notes"] = json!([{"text": "by hand"}, {"text": "as well"}]);
    fs::write(&file, state.to_string()).unwrap();
    let ran = obelus_reading("which notes are there?\n", &chat).exits(0);
    ran.prints("Your changes to the state are adopted").prints("2 notes");
    // An invalid file is reported and left unchanged.
    fs::write(&file, "{\"notes\":").unwrap();
    let ran = obelus_reading("which notes are there?\n", &chat).exits(0);
    ran.prints("s.json:1:9: EOF").prints("2 notes").prints("s.json.new");
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\"notes\":");
    let log = fs::read_to_string(folder.path("store/logs/s.jsonl")).unwrap();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    assert_eq!(lines[0]["told"], json!([{"user": "the customer called"}]));
    obelus(&["sessions", "rm", "s", "--store", &store]).exits(0);
    assert!(!std::path::Path::new(&file).exists());
}
