//! Tests of all examples.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Folder, at_a_terminal, command, copy, find, obelus, root, run};

#[test]
fn bundled_agents_can_be_checked_and_drawn_from_any_folder() {
    let folder = Folder::new("anywhere");
    let anywhere = |args: &[&str]| run(command(args).current_dir(folder.path("")), b"").exits(0);
    for agent in ["crm", "notes", "operator"] {
        anywhere(&["agents", "check", agent]).prints(&format!("ok @bundled/{agent}"));
    }
    anywhere(&["agents", "graph", "operator", "--format", "svg"]).prints("<svg").prints("plans one call");
    anywhere(&["agents", "list"]).prints("operator").prints("bundled");
    anywhere(&["run", "notes", "--say", "The customer called"]).prints("Written down.");
    let words = "nots: there is no such file; did you mean the agent `notes`?";
    run(command(&["run", "nots", "--say", "hi"]).current_dir(folder.path("")), b"").exits(2).says(words);
    // A user's agent hides the bundled one with the same name.
    copy(&root().join("agents/notes"), Path::new(&folder.path("agents/notes")));
    let list = anywhere(&["agents", "list", "--json"]).json();
    let names: Vec<&str> = list.as_array().expect("a list").iter().filter_map(|agent| agent["name"].as_str()).collect();
    assert_eq!(names, ["notes", "crm", "operator"]);
    assert_eq!(list[0]["folder"], "agents/notes");
}

#[test]
fn exec_reads_averages_and_writes_a_report() {
    let folder = Folder::new("example-exec");
    let ran = run(command(&["plan", "run", "examples/exec/plan.yaml", "--json"]).env("TMPDIR", &folder), b"").exits(0);
    let document = ran.json();
    let state = find(&document["context"], "†state");
    assert_eq!((&state["numbers"], &state["average"]), (&json!([12, 15, 9, 24]), &json!(15.0)));
    let report = fs::read_to_string(folder.path("obelus-example-report.json")).expect("the report was written");
    let report: Value = serde_json::from_str(&report).expect("the report is the call");
    assert_eq!((&report["title"], &report["average"]), (&json!("Visits in May"), &json!(15.0)));
    assert_eq!(state["report"]["file"], json!(folder.path("obelus-example-report.json")));
}

#[test]
fn branches_turn_an_error_into_an_apology() {
    let ran = obelus(&["plan", "run", "examples/branches/plan.yaml"]).exits(0).says("the shop is closed on Sundays");
    let words = "We could not order: the shop is closed on Sundays";
    let lines = [
        "✓ ask price: {\"code\":\"exit_3\",\"message\":\"the shop is closed on Sundays\"}".to_owned(),
        "– order: skipped: earlier steps gave no value for it (PLAN-4: †state.price has no value: call 0 `ask_price` chose \
         another path)"
            .to_owned(),
        format!("✓ apologise: {words}"),
        format!("✓ tell: {words}\n"),
    ];
    assert_eq!(ran.stdout, lines.join("\n"));
    let document = obelus(&["plan", "run", "examples/branches/plan.yaml", "--json"]).exits(0).json();
    let told = &find(&document["context"], "†state")["told"];
    assert_eq!(told, &json!("We could not order: the shop is closed on Sundays"));
}

#[test]
fn branches_can_be_simulated() {
    let ran = obelus(&["plan", "simulate", "examples/branches/plan.yaml"]).exits(0);
    let ran = ran.prints("if call 0 writes †state.price, skipped: [2]");
    ran.prints("if call 0 writes †state.trouble, skipped: [1]").prints("4 calls in 3 waves");
}

#[test]
fn batch_creates_an_invoice_for_every_customer() {
    let document = obelus(&["plan", "run", "examples/batch/plan.yaml", "--json"]).exits(0).json();
    for (name, total) in [("anna", 1800.0), ("boris", 468.0), ("vera", 6840.0)] {
        let written = document["context"].as_array().into_iter().flatten().find(|message| {
            message["_instance"] == name && message["data"].get("invoice").is_some() && message["type"] == "state"
        });
        assert_eq!(written.expect(name)["data"]["invoice"]["total"], json!(total), "{name}");
    }
    let statuses: Vec<_> = document["calls"].as_array().into_iter().flatten().map(|call| &call["status"]).collect();
    assert_eq!(statuses, ["done"; 4]);
}

#[test]
fn delegate_summarises_the_complaint_without_seeing_the_customer() {
    let ran = obelus(&["run", "examples/delegate/request.yaml"]).exits(0).says("Let me read it.");
    assert_eq!(ran.stdout, "Scratched window, two letters unanswered, a discount is wanted.\n");

    // The delegate sees only its input and scopes.
    let folder = Folder::new("example-delegate");
    let playbook = fs::read_to_string(root().join("examples/delegate/playbook.yaml")).expect("the example's playbook");
    let honest = "'Scratched window, two letters unanswered, a discount is wanted.'";
    assert!(playbook.contains(honest));
    let telling = folder.file("telling.yaml", playbook.replace(honest, "'{{ kinds|tojson }}'"));
    let model = format!("playbook:{telling}");
    let ran = obelus(&["run", "examples/delegate/request.yaml", "--model", &model]).exits(0);
    let ran = ran.prints("nobody answered my two letters");
    assert!(!ran.stdout.contains("Olga"), "{}", ran.stdout);
}

#[test]
fn steps_ask_a_person_and_exit_with_3_where_there_is_none() {
    let ran = obelus(&["run", "examples/steps", "--say", "Book a table"]).exits(3).prints_nothing();
    ran.says("How many people come?").says("Waiting for a person");
    let document = obelus(&["run", "examples/steps", "--say", "Book a table", "--json"]).exits(3).json();
    assert_eq!(document["ends"], "waiting");
    assert_eq!(document["waiting"][0]["description"], "How many people come?");
    assert_eq!(document["waiting"].as_array().map(Vec::len), Some(1));
}

#[test]
fn steps_continue_with_the_typed_answer() {
    let typed = [("Esc later", "a"), ("Answer", "5\r")];
    let Some(screen) = at_a_terminal(&["run", "examples/steps", "--say", "A table for monday"], &typed) else {
        return;
    };
    screen.exits(0).prints("How many people come?").prints("Booked the long one for 5, monday.");
}

#[test]
fn steps_ignore_invalid_answers() {
    let typed = [
        ("Esc later", "y"),
        ("Press one of the keys", "a"),
        ("Answer", "maybe\r"),
        ("Esc later", "a"),
        ("Answer", "\r"),
        ("Nothing was changed", "a"),
        ("Answer", "21\r"),
        ("Esc later", "\u{1b}"),
    ];
    let Some(screen) = at_a_terminal(&["run", "examples/steps", "--say", "A table"], &typed) else { return };
    let screen = screen.exits(3).prints("\"maybe\" is not of type \"integer\"");
    let screen = screen.prints("21 is greater than the maximum of 20");
    assert!(!screen.stdout.contains("Booked") && !screen.stdout.contains("✓ book"), "{}", screen.stdout);
}

#[test]
fn steps_end_as_declared_when_a_person_declines() {
    let typed = [("Esc later", "n"), ("Reason", "not today\r")];
    let Some(screen) = at_a_terminal(&["run", "examples/steps", "--say", "A table"], &typed) else { return };
    screen.exits(0).prints("Nothing was booked.");
}

#[test]
fn ctrl_c_at_a_question_leaves() {
    let typed = [("Esc later", "\u{3}")];
    let Some(screen) = at_a_terminal(&["run", "examples/steps", "--say", "A table"], &typed) else { return };
    let screen = screen.exits(130).prints("How many people come?");
    assert!(!screen.stdout.contains("Booked"), "{}", screen.stdout);
}

#[test]
fn steps_can_be_drawn() {
    obelus(&["agents", "graph", "examples/steps", "--format", "svg"]).exits(0).prints("<svg").prints("gave_up");
    obelus(&["agents", "check", "examples/steps"]).exits(0).prints("ok examples/steps");
}

#[test]
fn the_demo_plan_is_valid_and_can_be_drawn() {
    obelus(&["plan", "check", "examples/demo/plan.json"]).exits(0).prints("sound: 10 calls in 6 waves");
    for (format, part) in [("mermaid", "flowchart"), ("dot", "digraph"), ("svg", "<svg"), ("json", "\"nodes\"")] {
        let ran = obelus(&["plan", "graph", "examples/demo/plan.json", "--format", format]);
        ran.exits(0).prints(part).prints("send_email");
    }
}

#[test]
fn playbooks_answer() {
    let folder = Folder::new("example-playbooks");
    let said = |words: &str| {
        let request = json!({"context": [{"type": "text", "role": "user", "text": words}]});
        folder.file("request.json", request.to_string())
    };
    let greeting = "playbook:examples/playbooks/greeting.yaml";
    let ran = obelus(&["run", &said("Привет!"), "--model", greeting]).exits(0);
    assert_eq!(ran.stdout, "Здравствуйте! Чем помочь?\n");
    let ran = obelus(&["run", &said("Сколько времени?"), "--model", greeting]).exits(0);
    assert_eq!(ran.stdout, "Я понимаю только приветствия, а вы сказали: «Сколько времени?»\n");
}

#[test]
fn the_playbook_of_deals_changes_the_found_deal() {
    let folder = Folder::new("example-deal-sum");
    let request = folder.file("request.yaml", DEALS);
    let args = ["run", &request, "--model", "playbook:examples/playbooks/deal-sum.yaml"];
    obelus(&args).exits(0).prints("Сумма сделки «Окна» теперь 100 000.").says("Смотрю сделку 1.");
}

#[test]
fn the_playbook_of_reminders_writes_to_everybody() {
    let folder = Folder::new("example-reminders");
    let request = folder.file("request.yaml", REMINDERS);
    let ran = obelus(&["run", &request, "--model", "playbook:examples/playbooks/reminders.yaml", "--json"]).exits(0);
    let document = ran.json();
    assert_eq!(document["solution"]["output"], json!({"reminded": ["anna", "boris"]}));
    let sent = json!({"anna": "Анна, завтра в 9:00 встреча.", "boris": "Борис, завтра в 10:30 встреча."});
    assert_eq!(find(&document["context"], "†sent"), sent);
}

#[test]
fn a_planner_before_reading_writes_to_olga_and_ignores_orders_in_letters() {
    let ran = obelus(&["run", "examples/plan-before-reading", "--say", "Tell Olga what came today", "--json"]).exits(0);
    let document = ran.json();
    assert_eq!(find(&document["context"], "†state.sent"), json!({"sent": "olga@example.test"}));
    assert!(!document["context"].to_string().contains("forwarded"), "{document}");
}

/// A new example needs a test here, or, if it needs a browser, among those of the operator.
#[test]
fn every_example_has_a_test() {
    let entries = fs::read_dir(root().join("examples")).expect("there are examples");
    let entries = entries.map(|entry| entry.expect("readable")).filter(|entry| entry.path().is_dir());
    let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
    names.sort();
    assert_eq!(
        names,
        [
            "batch",
            "branches",
            "delegate",
            "demo",
            "exec",
            "mcp-notes",
            "operator-shop",
            "plan-before-reading",
            "playbooks",
            "steps"
        ]
    );
}

const REMINDERS: &str = "
settings: {approval: checked}
context:
  - {type: text, role: user, text: Напомни всем}
  - type: state
    data: {people: [{id: anna, name: Анна, time: '9:00'}, {id: boris, name: Борис, time: '10:30'}]}
  - type: tool
    tool:
      compose:
        {type: object, properties: {name: {}, time: {}, _output: {type: string}}, x-effect: read, x-trust: trusted}
      send: {type: object, properties: {to: {}, text: {}}, x-effect: read, x-trust: trusted}
  - {type: plan, mode: lazy, plan: []}
activities:
  send: {jq: .call.text}
";

const DEALS: &str = "
context:
  - {type: text, role: user, text: 'Измени сумму сделки 1 на 100 000'}
  - type: tool
    tool:
      deal_get: {type: object, properties: {id: {type: integer}}, x-effect: read, x-trust: trusted}
      deal_update:
        {type: object, properties: {id: {type: integer}, sum: {type: integer}}, x-effect: read, x-trust: trusted}
activities:
  deal_get: {jq: '{id: .call.id, title: \"Окна\"}'}
  deal_update: {jq: .call}
";

#[test]
fn a_planner_without_read_data_follows_only_the_user() {
    let say = ["--say", "Tell Olga what came today"];
    let document = obelus(&[&["run", "examples/plan-before-reading", "--json"], &say[..]].concat()).exits(0).json();
    assert_eq!(document["ends"], "output");
    let state = find(&document["context"], "†state");
    assert_eq!((&state["sent"]["sent"], &state["forwarded"]), (&json!("olga@example.test"), &Value::Null));
    assert!(document["solution"]["output"].as_str().is_some_and(|words| words.contains("the windows are ready")));

    // The same model with `while_reading` obeys the letter, until a person is asked.
    let folder = Folder::new("example-while-reading");
    let file =
        |name: &str| fs::read_to_string(root().join("examples/plan-before-reading").join(name)).expect("the example");
    folder.file("playbook.yaml", file("playbook.yaml"));
    let reads = file("agent.yaml").replace("planning: before_reading", "planning: while_reading");
    let agent = folder.file("agent.yaml", reads);
    let ran = obelus(&[&["run", &agent], &say[..]].concat()).exits(3);
    ran.says("to: \"eve@evil.example.test\"").says("it was decided after reading");
}

#[test]
fn a_new_agent_is_valid_and_answers_and_an_existing_folder_is_not_changed() {
    let folder = Folder::new("new-agent");
    let here = |args: &[&str]| run(command(args).current_dir(folder.path("")), b"");
    here(&["new", "desk"]).exits(0).prints("agents/desk/agent.yaml").says("obelus chat --agent desk");
    here(&["agents", "check", "desk"]).exits(0).prints("ok agents/desk");
    here(&["run", "desk", "--say", "how much is paper"]).exits(0).prints("The price of paper: 5");
    here(&["run", "desk", "--say", "order 2 pens"]).exits(3).says("an order costs money");
    here(&["new", "desk"]).exits(2).says("agents/desk exists already and was not changed");
    here(&["new", "../desk"]).exits(2).says("is not a valid name of an agent");
    for name in ["null", "12"] {
        here(&["new", name]).exits(0);
        here(&["agents", "check", name]).exits(0).prints(&format!("ok agents/{name}"));
    }
    here(&["agents", "copy", "crm", "--as", "sales"]).exits(0).prints("agents/sales/tools/deals.yaml");
    here(&["agents", "check", "sales"]).exits(0).prints("ok agents/sales");
    here(&["agents", "copy", "crmm"]).exits(2).says("is no bundled agent");
    here(&["new", "shop", "--lang", "ru"]).exits(0).says("Поговорить: obelus chat --agent shop");
    here(&["new", "shop", "--lang", "ru"]).exits(2).says("такая папка уже есть");
    here(&["agents", "check", "shop"]).exits(0).prints("ok agents/shop");
    for name in ["desk", "shop"] {
        let text = std::fs::read_to_string(folder.path(&format!("agents/{name}/agent.yaml"))).unwrap();
        assert!(text.contains("\n  after_reading: grounded"), "POL-4: {text}");
    }
    here(&["new", "../shop", "--lang", "ru"]).exits(2).says("не годится как имя агента");
    here(&["agents", "copy", "crmm", "--lang", "ru"]).exits(2).says("встроенного агента «crmm» нет");
}

#[test]
fn a_new_agent_of_a_russian_user_is_russian() {
    let folder = Folder::new("new-russian");
    let here = |args: &[&str]| {
        let mut command = command(args);
        run(command.current_dir(folder.path("")).env("LC_ALL", "ru_RU.UTF-8"), b"")
    };
    here(&["new", "lavka"]).exits(0);
    let checked = here(&["agents", "check", "lavka"]).exits(0).prints("ok agents/lavka");
    assert!(!checked.stdout.contains("note"), "{}", checked.stdout);
    for (said, answer) in [
        ("Сколько стоит бумага?", "Цена, бумага: 5"),
        ("сколько стоят ручки", "ручки: 2"),
        ("цена Кофе", "9"),
        ("сколько стоит слон", "такого товара нет"),
        ("привет", "сколько стоит бумага"),
    ] {
        here(&["run", "lavka", "--say", said]).exits(0).prints(answer);
    }
    here(&["run", "lavka", "--say", "закажи 2 ручки"]).exits(3).says("заказ стоит денег").says("Заказать");
    let file = fs::read_to_string(folder.path("agents/lavka/agent.yaml")).expect("it is there");
    assert!(file.contains("name: lavka\n") && file.contains("language: ru\n"), "{file}");
}

#[test]
fn a_session_whose_playbook_is_gone_still_shows_its_questions_and_its_memory() {
    let folder = Folder::new("no-playbook");
    let here = |args: &[&str]| run(command(args).current_dir(folder.path("")), b"");
    let store = folder.path("store");
    here(&["new", "desk"]).exits(0);
    here(&["run", "desk", "--say", "order 2 pens", "--session", "s", "--store", &store]).exits(3);
    fs::remove_file(folder.path("agents/desk/playbook.yaml")).expect("it is there");
    here(&["inbox", "--store", &store]).exits(0).prints("an order costs money");
    here(&["sessions", "show", "s", "--store", &store]).exits(0).prints("order 2 pens");
    let other = folder.path("stor");
    here(&["inbox", "--store", &other]).exits(0).says("there is no store");
}
