//! The scripted demo: five messages without key, network or terminal.

use crate::support::{Folder, command, run};

#[test]
fn the_tour_asks_only_what_the_rules_require() {
    let ran = run(command(&["demo", "--tour"]).env_remove("BITRIX_WEBHOOK_URL"), b"").exits(0);
    let tour = &ran.stdout;
    assert_eq!(tour.matches("Вы: ").count(), 8, "five messages and three answers: {tour}");
    assert_eq!(tour.matches("? Нужно ваше решение").count(), 3, "{tour}");
    assert!(tour.contains("срок: 20") && tour.contains("T18:00:00"), "the task is due on Friday: {tour}");
    for part in [
        "Создать сделку (название: Поставка окон, сумма: 250000, валюта: RUB): готово",
        "сумма: сейчас 534500.00 → 100000",
        "стадия: сейчас «Согласование договора» (UC_7QK2DM) → «Сделка провалена» (LOSE)",
        "отклонено: клиент ещё думает",
        "? Нужно ваше решение по 20 шагам",
        "Изменить сделку × 20: готово",
    ] {
        assert!(tour.contains(part), "no {part:?} in {tour}");
    }
    // No names of methods and no secrets are shown.
    for part in ["crm.", "tasks.task", "rest/1", "sandbox0token"] {
        assert!(!tour.contains(part) && !ran.stderr.contains(part), "{part:?} in {tour}{}", ran.stderr);
    }
}

#[test]
fn the_english_tour_has_no_russian_words() {
    let ran = run(command(&["demo", "--tour", "--lang", "en"]).env_remove("BITRIX_WEBHOOK_URL"), b"").exits(0);
    let tour = &ran.stdout;
    assert_eq!(tour.matches("You: ").count(), 8, "five messages and three answers: {tour}");
    for part in ["New → Document preparation", "Window supply", "the customer is still thinking", "20"] {
        assert!(tour.contains(part), "no {part:?} in {tour}");
    }
    let is_russian = |c: char| ('\u{400}'..='\u{4ff}').contains(&c);
    for (number, line) in tour.lines().chain(ran.stderr.lines()).enumerate() {
        assert!(!line.contains(is_russian), "line {number}: {line}\n{tour}");
    }
}

#[test]
fn the_demo_refuses_partly_understood_requests() {
    for (said, answer) in [
        ("Переведи сделку 3 на стадию «В работе», но сначала позвони", "ничего не делаю"),
        ("Change the amount of deal 1 to 100000 and call the customer", "so I do nothing"),
    ] {
        let folder = Folder::new("half");
        let store = folder.path("store");
        run(&mut command(&["demo", "--store", &store, "--lang", "ru"]), b"").exits(0);
        let mut again = command(&["chat", "--session", "demo", "--store", &store]);
        run(again.current_dir(folder.path("")), format!("{said}\n").as_bytes()).exits(0).prints(answer);
    }
}

#[test]
fn without_a_terminal_the_demo_runs_by_itself_and_stores_no_secret() {
    let folder = Folder::new("demo");
    let store = folder.path("store");
    run(&mut command(&["demo", "--store", &store]), b"").exits(0);
    let state = std::fs::read_to_string(folder.path("store/states/demo.json")).expect("the state's file");
    let log = std::fs::read_to_string(folder.path("store/logs/demo.jsonl")).expect("the log");
    let state: serde_json::Value = serde_json::from_str(&state).expect("JSON");
    assert_eq!(state["goals"].as_array().map(Vec::len), Some(5));
    assert_eq!(state["confirmations"]["deal_1_opportunity"]["status"], "approved");
    assert_eq!(state["confirmations"]["deal_3_stage_id"]["reason"], "клиент ещё думает");
    assert!(!log.contains("sandbox0token") && !state.to_string().contains("sandbox0token"));
    // The conversation can be continued from any folder.
    let mut again = command(&["chat", "--session", "demo", "--store", &store]);
    run(again.current_dir(folder.path("")), "Привет\n".as_bytes()).exits(0).prints("Здравствуйте");
}

#[test]
fn the_demo_starts_a_server_unless_disabled() {
    let says = |args: &[&str]| run(command(args).env_remove("BITRIX_WEBHOOK_URL"), b"").exits(0).stderr;
    let with = says(&["demo", "--tour", "--lang", "en"]);
    let (_, rest) = with.split_once("Server: http://127.0.0.1:").unwrap_or_else(|| panic!("{with}"));
    assert!(
        rest.contains("The console (the link works once): http://127.0.0.1:") && rest.contains("/#code="),
        "{rest}"
    );
    let (_, token) = rest.split_once("its token is in ").expect("the file of the token");
    let file = token.split(')').next().expect("a file");
    assert!(!std::path::Path::new(file).exists(), "it is removed with the demo: {file}");
    assert!(!says(&["demo", "--tour", "--lang", "en", "--no-server"]).contains("Server:"));
}
