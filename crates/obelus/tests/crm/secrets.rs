//! The webhook's address is a secret: after a conversation its token is in no file and no output.

use std::fs;
use std::path::Path;

use crate::office::{Office, TOKEN};
use crate::support::run;

/// All files below a folder with their content.
fn files(folder: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).expect("readable") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push((path.display().to_string(), fs::read(&path).expect("readable")));
        }
    }
}

fn has_token(bytes: &[u8]) -> bool {
    bytes.windows(TOKEN.len()).any(|part| part.eq_ignore_ascii_case(TOKEN.as_bytes()))
}

#[test]
fn the_token_is_in_no_file_no_output_and_no_prompt() {
    let office = Office::open("secrets", 0.0);
    office.model(
        r#"
- user: создай
  raw: "THOUGHT:\nx\nACTION:\n[{\"method\": \"crm.deal.add\", \"params\": {\"fields\": {\"TITLE\": \"Окна\"}}}, {\"method\": \"crm.deal.update\", \"params\": {\"id\": 1, \"fields\": {\"OPPORTUNITY\": 5}}}]\nASSISTANT:\nСоздаю."
- user: покажи
  when: .results == [] and .errors == []
  raw: "THOUGHT:\nx\nACTION:\n[{\"method\": \"crm.deal.list\", \"params\": {}, \"http_method\": \"GET\"}, {\"method\": \"crm.contact.get\", \"params\": {\"id\": 424242}}]\nASSISTANT:\nСмотрю."
- user: мусор
  raw: "это не блоки"
- raw: "THOUGHT:\nx\nACTION:\n[]\nASSISTANT:\nВот."
"#,
    );
    let record = office.folder.path("record.jsonl");
    let talk = |lines: &str| run(office.chat("full").args(["--record", &record]), lines.as_bytes());
    let mut outputs = vec![
        talk("Создай сделку\n/state\n/plan\n/inbox\n/deny q1 Не сейчас\n"),
        talk("Покажи сделки\n/why †state.done\n/cost\nмусор\n"),
        run(&mut office.obelus(&["sessions", "log", "s"]), b""),
        run(&mut office.obelus(&["sessions", "log", "s", "--json"]), b""),
        run(&mut office.obelus(&["sessions", "show", "s", "--json"]), b""),
        run(&mut office.obelus(&["sessions", "export", "s"]), b""),
        run(&mut crate::support::command(&["agents", "prompt", &office.folder.path("crm")]), b""),
    ];
    // Errors about an unreachable portal and an invalid address do not contain the address.
    let address = office.portal.base_url().to_owned();
    let wrong = address.replace("127.0.0.1", "127.0.0.2");
    outputs.push(run(office.chat("full").env("BITRIX_WEBHOOK_URL", &wrong), "Создай сделку ещё раз\n".as_bytes()));
    let broken = format!("ftp://example.test/{TOKEN}");
    outputs.push(run(office.chat("full").env("BITRIX_WEBHOOK_URL", &broken), "Покажи сделки снова\n".as_bytes()));
    for (number, ran) in outputs.iter().enumerate() {
        assert!(!has_token(ran.stdout.as_bytes()), "{number}: {}", ran.stdout);
        assert!(!has_token(ran.stderr.as_bytes()), "{number}: {}", ran.stderr);
        assert!(!ran.stdout.is_empty(), "{number} printed nothing: {}", ran.stderr);
    }
    let mut found = Vec::new();
    files(Path::new(&office.folder.path("")), &mut found);
    assert!(
        found.iter().any(|(name, _)| name.contains("store"))
            && found.iter().any(|(name, _)| name.ends_with("record.jsonl"))
    );
    for (name, bytes) in found {
        assert!(!has_token(&bytes), "{name}");
    }
    assert!(has_token(address.as_bytes()), "the test looks for what is there to be found");
}
