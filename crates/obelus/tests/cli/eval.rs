//! `obelus eval`: test conversations with a model, and the report.

use serde_json::{Value, json};

use crate::support::{Folder, command, obelus, run};

const CRM: &str = "playbook:agents/crm/playbook.yaml";

#[test]
fn the_offline_models_of_the_bundled_agents_pass_their_cases() {
    for (agent, model) in [("crm", CRM), ("notes", "playbook:agents/notes/playbook.yaml")] {
        let ran = obelus(&["eval", agent, "--model", model]).exits(0);
        assert!(ran.stdout.contains("0 failed, 0 skipped: "), "{}", ran.stdout);
    }
}

#[test]
fn a_run_is_recorded_and_replayed_without_the_model() {
    let folder = Folder::new("eval-record");
    let file = folder.path("run.jsonl");
    let first = obelus(&["eval", "crm", "--model", CRM, "--record", &file, "--json"]).exits(0).json();
    let again = obelus(&["eval", "crm", "--model", &format!("replay:{file}"), "--json"]).exits(0).json();
    assert_eq!(first["cases"], again["cases"]);
    assert_eq!(first["passed"].as_u64(), Some(first["cases"].as_array().unwrap().len() as u64));
    // A recording must contain exactly one run.
    obelus(&["eval", "crm", "--model", CRM, "--record", &file]).exits(2).says("run.jsonl").says("needs a new file");
}

/// One case of the agent `crm`: the user's message, the portal's expected requests with answers, and the expected
/// result.
fn crm_case(words: &str, portal: Value, expect: Value) -> Value {
    let turn = json!({"now": "2024-05-01T10:00:00Z", "user": words, "portal": portal, "expect": expect});
    json!({"name": words, "kind": "conversation", "agent": "crm", "settings": {"mode": "full"}, "turns": [turn]})
}

#[test]
fn the_offline_crm_model_acts_only_on_completely_understood_requests() {
    let folder = Folder::new("eval-whole");
    let ilya = json!([{"ID": "2", "NAME": "Илья", "LAST_NAME": "Кораблёв"}]);
    let deal = json!({"fields": {"TITLE": "Окна", "OPPORTUNITY": 5000}});
    let task = json!({"fields": {"TITLE": "Позвонить директору: Окна", "RESPONSIBLE_ID": 2}});
    let categories = json!({"categories": [{"id": 0, "name": "Продажи"}, {"id": 1, "name": "Сервис"}]});
    let stages = |id: u32, name: &str| json!({"method": "crm.deal.category.stage.list", "params": {"id": id}, "result": [{"NAME": name, "STATUS_ID": "S"}]});
    let nothing = json!({"calls": [], "ends": "output", "reply": {"has": ["понял не всё"]}});
    let cases = json!([
        crm_case(
            "Создай сделку «Окна» на 5000 и поставь задачу Илье: позвонить директору до пятницы",
            json!([
                {"method": "user.get", "result": ilya}, {"method": "crm.deal.add", "params": deal, "result": 7},
                {"method": "tasks.task.add", "params": task, "result": {"task": {"id": "9"}}},
            ]),
            json!({"calls": ["user.get", "crm.deal.add", "tasks.task.add"], "ends": "output"}),
        ),
        crm_case(
            "Создай сделку «Окна» и поставь задачу Гере: позвонить до пятницы",
            json!([{"method": "user.get", "result": []}]),
            json!({"calls": ["user.get"], "ends": "output", "reply": {"has": ["ничего не создаю"]}}),
        ),
        crm_case("Создай сделку «Окна» и позвони директору", json!([]), nothing.clone()),
        crm_case("Измени сумму сделки 1 на 100 тысяч", json!([]), nothing.clone()),
        crm_case("Не передай 5 сделок менеджера Ильи Дарье", json!([]), nothing),
        crm_case(
            "Какие у нас воронки?",
            json!([
                {"method": "crm.deal.category.list", "result": categories}, stages(0, "Новая"), stages(1, "Заявка"),
            ]),
            json!({"ends": "output", "reply": {"has": ["Воронок: 2", "«Продажи»: Новая", "«Сервис»: Заявка"]}}),
        ),
    ]);
    let file = folder.file("cases.json", cases.to_string());
    let ran = obelus(&["eval", "crm", "--cases", &file, "--model", CRM]).exits(0);
    assert!(ran.stdout.contains("6 passed, 0 failed"), "{}", ran.stdout);
}

/// One case of the agent `notes`, with these words and expectations.
fn case(words: &str, rest: Value) -> Value {
    let mut turn = json!({"now": "2024-05-01T10:00:00Z", "user": words});
    turn.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    json!({"name": words, "kind": "conversation", "agent": "notes", "turns": [turn]})
}

#[test]
fn failures_are_reported_for_each_case() {
    let folder = Folder::new("eval-wrong");
    let note = json!([{"method": "add_note", "result": {"text": "x"}}]);
    let cases = json!([
        case("one", json!({"portal": note, "expect": {"calls": ["add_note"]}})),
        case("two", json!({"portal": [], "expect": {}})),
        case("three", json!({"portal": [{"method": "add_note", "params": {"text": "3"}, "result": {}}], "expect": {}})),
        case("four", json!({"portal": note, "expect": {"reply": {"has": ["a poem"]}}})),
        case("five", json!({"model": [{"error": "quota"}]})),
        {"name": "six", "kind": "conversation", "agent": "crm", "turns": []},
        {"name": "seven", "kind": "run"},
    ]);
    let file = folder.file("cases.json", cases.to_string());
    let ran = obelus(&["eval", "notes", "--cases", &file])
        .exits(1)
        .prints("add_note is not in this case")
        .prints("instead of {\"text\":\"3\"}")
        .prints("turn 1: reply lacks \"a poem\"")
        .prints("skipped  1: it is about a model that fails")
        .prints("skipped  1: it is for the agent `crm`")
        .prints("skipped  1: its kind is `run`");
    assert!(ran.stdout.contains("1 passed, 3 failed, 3 skipped: 8 requests, 0 tokens\n"), "{}", ran.stdout);
}

#[test]
fn a_repaired_answer_is_still_reported_as_out_of_format() {
    let folder = Folder::new("eval-format");
    let cases = json!([case("Hello", json!({"expect": {"ends": "output"}}))]);
    let file = folder.file("cases.json", cases.to_string());
    let line = |answer: Value| json!({"prompt_digest": "", "purpose": "solve", "user": "Hello", "answer": answer});
    let wrong = line(json!({"out_of_format": {"text": "I\u{1b} cannot", "error": "no JSON", "tokens": 7}}));
    let right = line(json!({"solution": {"solution": {"output": "Hello."}, "tokens": 5}}));
    let model = format!("replay:{}", folder.file("run.jsonl", format!("{wrong}\n{right}\n")));
    let ran = obelus(&["eval", "notes", "--cases", &file, "--model", &model]).exits(0);
    let ran = ran.prints("out of format: turn 1, answer 1: no JSON: «I  cannot»");
    ran.prints("1 passed, 0 failed, 0 skipped: 2 requests, 12 tokens");
}

#[test]
fn a_model_that_cannot_be_asked_ends_the_run() {
    let ran = obelus(&["eval", "crm", "--json"]).exits(1).json();
    assert_eq!((&ran["failed"], &ran["passed"]), (&json!(1), &json!(0)));
    assert!(ran["stopped"].as_str().unwrap().contains("OPENAI_API_KEY"), "{}", ran["stopped"]);
}

#[test]
fn wrong_usage_is_reported() {
    obelus(&["eval", "nobody"]).exits(2).says("no agent `nobody`");
    obelus(&["eval", "crm", "--model", "gpt"]).exits(2).says("--model").says("openai:NAME");
    obelus(&["eval", "crm", "--cases", "nowhere"]).exits(2).says("nowhere");
    obelus(&["eval", "notes", "--cases", "vectors/conversation-crm.json"]).exits(2).says("--cases");
}

/// The agent `notes` with a price in its file, and the address of a server for it.
fn priced(folder: &Folder) -> (String, String) {
    let agent = std::fs::read_to_string(crate::support::root().join("agents/notes/agent.yaml")).unwrap();
    let model = "model: {openai: tiny, stream: false, retries: 0, price: {input: 1000, output: 2000}}";
    folder.file("agent/agent.yaml", agent.replace("model: playbook:playbook.yaml", model));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || listener.incoming().flatten().for_each(answer));
    (folder.path("agent"), base)
}

#[test]
fn a_server_that_counts_tokens_gives_a_cost() {
    let folder = Folder::new("eval-cost");
    let (agent, base) = priced(&folder);
    let cases = json!([case("Hello", json!({"expect": {}})), case("Hi", json!({"expect": {}}))]);
    folder.file("agent/cases.json", cases.to_string());
    let mut told = command(&["eval", &agent, "--model", "openai:tiny"]);
    let ran = run(told.env("OPENAI_API_BASE", &base), b"").exits(0);
    let ran = ran.prints("Hello 1 request, 15 tokens (10 in, 5 out), cost 0.0200");
    ran.prints("2 passed, 0 failed, 0 skipped: 2 requests, 30 tokens (20 in, 10 out), cost 0.0400");
}

#[test]
fn a_chat_shows_the_cost_of_turn_and_conversation() {
    let folder = Folder::new("chat-cost");
    let (agent, base) = priced(&folder);
    let store = folder.path("store");
    let chat = ["chat", "--agent", &agent, "--session", "s", "--store", &store];
    let typed = |lines: &str| run(command(&chat).env("OPENAI_API_BASE", &base), lines.as_bytes()).exits(0);
    let ran = typed("Hello\nHi\n/cost\n").prints("this turn: 1 request, 15 tokens, cost 0.0200");
    ran.prints("the conversation: 2 requests, 30 tokens, cost 0.0400");
    let again = typed("Hey\n/cost\n").prints("this turn: 1 request, 15 tokens, cost 0.0200");
    again.prints("the conversation: 3 requests, 45 tokens, cost 0.0600");

    let shown = obelus(&["sessions", "show", "s", "--store", &store]).exits(0);
    shown.prints("model 3 requests, 45 tokens (30 in, 15 out), cost 0.0600; the latest turn: 1 request, 15 tokens (10 in, 5 out), cost 0.0200");
    let spent = obelus(&["sessions", "show", "s", "--store", &store, "--json"]).exits(0).json()["spent"].clone();
    assert_eq!(spent["session"], json!({"requests": 3, "tokens": 45, "input": 30, "output": 15, "cost": 0.06}));
    assert_eq!(spent["turn"]["cost"], 0.02);
    // Each request has its own record.
    let log = obelus(&["sessions", "log", "s", "--json", "--store", &store]).exits(0).stdout;
    assert_eq!(
        log.lines().filter(|line| line.contains(r#""used":{"id":"#) && line.contains(r#""cost":0.02"#)).count(),
        3
    );
    // The journal has the cost at every point.
    let first = obelus(&["sessions", "show", "s", "--at", "3", "--store", &store, "--json"]).exits(0).json();
    assert_eq!((&first["spent"]["session"]["requests"], &first["spent"]["session"]["cost"]), (&json!(1), &json!(0.02)));
}

/// Answers one request as a server would, with its usage.
fn answer(mut stream: std::net::TcpStream) {
    use std::io::{Read, Write};
    let (mut seen, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&seen).to_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length =
                head.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse::<usize>().ok());
            let begun = seen.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
            if seen.len() - begun >= length.unwrap_or(body.len()) {
                break;
            }
        }
        match stream.read(&mut piece) {
            Ok(read @ 1..) => seen.extend_from_slice(&piece[..read]),
            _ => return,
        }
    }
    let solution = json!({"calls": [], "output": "Hello."}).to_string();
    let body = json!({
        "choices": [{"index": 0, "message": {"role": "assistant", "content": solution}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    })
    .to_string();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
    let _ = write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
}
