//! `obelus serve --telegram` against a fake Bot API: conversations, cards, splits, outsiders, crashes.

mod edit;
mod fake;

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use fake::{ANNA, FakeApi, TOKEN};
use serde_json::{Value, json};

/// An agent whose tool `change` needs a person.
const AGENT: &str = concat!(
    include_str!("../fixtures/desk.yaml"),
    "    properties: {id: {type: integer}, sum: {type: integer}, note: {type: string}}
activities:
  change: {jq: '{title: \"Windows\"}'}
"
);

const PLAYBOOK: &str = "- user: '^set (?<id>\\d+)'
  answer:
    say: May I?
    calls: [{_tool: change, id: '{{ m.id | int }}', sum: 5, _outputPath: †state.changed}]
    output: The amount is set.
- user: '^note'
  answer:
    say: May I?
    calls: [{_tool: change, id: 3, sum: 5, note: '{% for n in range(900) %}word {{ n }} {% endfor %}', _outputPath: †state.changed}]
    output: The amount is set.
- user: '^long'
  output: \"{% for n in range(60) %}Paragraph {{ n }} with *signs* and [a link](https://example.test/x_y).{% for m in range(4) %} Some more words of it.{% endfor %}\\n\\n{% endfor %}\"
- user: '.*'
  output: 'You said: {{ user }}'
";

/// A folder with an agent and a store, a fake Bot API, and a server that uses both.
struct Office {
    folder: PathBuf,
    api: FakeApi,
    server: Option<Child>,
}

impl Office {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("obelus-telegram-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("agents/desk")).unwrap();
        fs::write(folder.join("agents/desk/agent.yaml"), AGENT).unwrap();
        fs::write(folder.join("agents/desk/p.yaml"), PLAYBOOK).unwrap();
        fs::write(folder.join("token"), TOKEN).unwrap();
        fs::set_permissions(folder.join("token"), fs::Permissions::from_mode(0o600)).unwrap();
        let api = FakeApi::start();
        let config = format!("token_file: token\nagent: desk\nallow: [{ANNA}]\napi: {}\n", api.url());
        fs::write(folder.join("telegram.yaml"), config).unwrap();
        Self { folder, api, server: None }
    }

    fn open(name: &str) -> Self {
        let mut office = Self::new(name);
        office.start();
        office
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_obelus"));
        command.args(args).args(["--store", &self.path("store")]).env("LANG", "C").env_remove("OBELUS_HOME");
        command
    }

    fn serve(&self) -> Command {
        let (agents, telegram) = (self.path("agents"), self.path("telegram.yaml"));
        self.command(&["serve", "--listen", "127.0.0.1:0", "--agents", &agents, "--telegram", &telegram])
    }

    fn start(&mut self) {
        let mut server = self.serve().stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("http://"), "{line}");
        self.server = Some(server);
    }

    /// Kills the server, as a power failure would.
    fn kill(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.kill().unwrap();
            server.wait().unwrap();
        }
    }

    /// The output of a command on the store.
    fn obelus(&self, args: &[&str]) -> String {
        let ran = self.command(args).output().unwrap();
        assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8_lossy(&ran.stdout).into_owned()
    }

    /// Waits until the bot has stored the number of its card and is idle.
    fn wait_until_written(&self) {
        let read = || fs::read_to_string(self.folder.join("store/telegram.json")).unwrap_or_default();
        let mut before = String::new();
        let mut same = 0;
        while same < 5 {
            std::thread::sleep(std::time::Duration::from_millis(100));
            let now = read();
            same = if now == before && now.contains("\"message\":") { same + 1 } else { 0 };
            before = now;
        }
    }

    /// Waits for a button with this label; returns the text of the card and the button.
    fn button(&self, card: i64, label: &str) -> (String, Value) {
        self.api.wait(|telegram| {
            let text = telegram.messages[&card]["text"].as_str()?.to_owned();
            let rows = telegram.messages[&card]["reply_markup"]["inline_keyboard"].as_array()?;
            let mut keys = rows.iter().filter_map(Value::as_array).flatten();
            Some((text, keys.find(|key| key["text"].as_str().is_some_and(|text| text.contains(label)))?.clone()))
        })
    }

    /// Presses the button with this label; returns the text of the card.
    fn press(&self, card: i64, label: &str) -> String {
        let (text, button) = self.button(card, label);
        self.api.press(ANNA, card, &button);
        text
    }

    /// Causes a question; returns the number and the buttons of its card.
    fn card(&self) -> (i64, Vec<Value>) {
        self.api.say(ANNA, "set 1");
        self.api.wait(|telegram| telegram.card(ANNA))
    }
}

impl Drop for Office {
    fn drop(&mut self) {
        self.kill();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn a_card_is_answered_by_its_button_once_and_shows_who_answered() {
    let office = Office::open("card");
    let (card, buttons) = office.card();
    let text = office.api.wait(|telegram| telegram.messages[&card]["text"].as_str().map(str::to_owned));
    assert!(text.contains("Change a deal") && !text.contains("telegram-42:q1"), "{text}");
    for button in &buttons {
        assert!(button["callback_data"].as_str().unwrap().len() <= 64);
    }
    office.api.press(ANNA, card, &buttons[0]);
    office.api.shows(ANNA, "Approved by Anna");
    office.api.shows(ANNA, "The amount is set.");
    office.api.press(ANNA, card, &buttons[0]);
    office.api.wait(|telegram| telegram.answers().contains(&"This question was answered already.").then_some(()));
    office.api.wait(|telegram| {
        let methods = telegram.calls.iter().map(|(method, params)| (method.as_str(), params));
        assert!(methods.clone().all(|(_, params)| params.get("parse_mode").is_none()), "everything is plain text");
        let done = telegram.texts(ANNA).iter().filter(|text| text.contains("The amount is set.")).count();
        assert_eq!((done, telegram.texts(ANNA).len()), (1, 3), "{:?}", telegram.texts(ANNA));
        methods.clone().any(|(method, _)| method == "sendChatAction").then_some(())
    });
}

#[test]
fn a_denial_can_have_a_reason_and_an_answer_elsewhere_closes_the_card() {
    let office = Office::open("no");
    let (card, buttons) = office.card();
    office.api.press(ANNA, card, &buttons[1]);
    office.api.shows(ANNA, "You may reply to this message with the reason.");
    let reply = json!({"text": "the customer is still thinking", "reply_to_message": {"message_id": card,
        "from": {"id": 999, "is_bot": true}, "chat": {"id": ANNA, "type": "private"}}});
    office.api.message(ANNA, reply);
    office.api.shows(ANNA, "Denied by Anna");
    let shown = office.obelus(&["sessions", "show", "telegram-42", "--json"]);
    assert!(shown.contains("the customer is still thinking"), "{shown}");
    let (second, _) = {
        office.api.say(ANNA, "set 2");
        office.api.wait(|telegram| telegram.card(ANNA).filter(|(number, _)| *number != card))
    };
    office.obelus(&["answer", "telegram-42:q2", "approve"]);
    office.api.shows(ANNA, "Already approved by a person at the command line");
    office.api.wait(|telegram| {
        let keys = &telegram.messages[&second]["reply_markup"]["inline_keyboard"];
        (keys.as_array().is_some_and(Vec::is_empty)).then_some(())
    });
}

#[test]
fn unknown_users_are_refused_and_their_buttons_decide_nothing() {
    let office = Office::open("outsider");
    let (card, buttons) = office.card();
    office.api.say(66, "set 1");
    office.api.shows(66, "Your number is 66.");
    office.api.press(66, card, &buttons[0]);
    office.api.wait(|telegram| telegram.answers().contains(&"This bot does not answer you.").then_some(()));
    // In a group the permission also depends on the person who writes or presses.
    let group = json!({"chat": {"id": -500, "type": "group"}, "text": "@test_bot set 1"});
    office.api.message(66, group.clone());
    office.api.message(ANNA, json!({"chat": {"id": -500, "type": "group"}, "text": "not for the bot"}));
    office.api.message(ANNA, json!({"chat": {"id": -500, "type": "group"}, "text": "@test_bot good morning"}));
    office.api.shows(-500, "You said: good morning");
    office.api.wait(|telegram| {
        assert_eq!(telegram.texts(-500), ["You said: good morning"]);
        assert_eq!(telegram.texts(66).len(), 1);
        Some(())
    });
    let inbox = office.obelus(&["inbox", "--json"]);
    assert!(inbox.contains("telegram-42:q1"), "it still waits: {inbox}");
    let sessions = office.obelus(&["sessions", "list"]);
    assert!(!sessions.contains("telegram-66"), "{sessions}");
}

#[test]
fn long_messages_are_split_between_paragraphs_and_files_are_refused() {
    let office = Office::open("long");
    office.api.message(ANNA, json!({"voice": {"file_id": "f"}}));
    office.api.shows(ANNA, "I understand text only");
    office.api.say(ANNA, "long");
    office.api.shows(ANNA, "Paragraph 59 with *signs* and [a link](https://example.test/x_y).");
    office.api.wait(|telegram| {
        let parts: Vec<&str> = telegram.texts(ANNA).into_iter().filter(|text| text.contains("Paragraph")).collect();
        assert!(parts.len() >= 2 && parts.iter().all(|part| part.starts_with("Paragraph ")), "{parts:?}");
        let count: usize = parts.iter().map(|part| part.matches("Paragraph ").count()).sum();
        assert_eq!(count, 60);
        Some(())
    });
}

#[test]
fn a_card_whose_whole_text_was_not_delivered_cannot_be_approved() {
    let office = Office::open("cut");
    office.api.say(ANNA, "note");
    let (card, keys) = office.api.wait(|telegram| telegram.card(ANNA));
    assert!(keys.len() > 1, "with its file it can be approved: {keys:?}");
    office.api.press(ANNA, card, &keys[1]);
    office.press(card, "without a reason");
    office.api.wait(|telegram| telegram.card(ANNA).is_none().then_some(()));
    office.api.refuse(
        "sendDocument",
        usize::MAX,
        json!({"ok": false, "error_code": 400, "description": "Bad Request"}),
    );
    office.api.say(ANNA, "note 2");
    let (card, keys) = office.api.wait(|telegram| telegram.card(ANNA).filter(|(other, _)| *other != card));
    let text = office.api.wait(|telegram| telegram.messages[&card]["text"].as_str().map(str::to_owned));
    assert!(text.contains("could not be sent") && !text.contains("in the file above"), "{text}");
    let labels: Vec<&str> = keys.iter().filter_map(|key| key["text"].as_str()).collect();
    assert!(labels.len() == 1 && labels[0].contains("No"), "{labels:?}");
    office.api.press(ANNA, card, &keys[0]);
    office.api.wait(|telegram| telegram.card(ANNA).is_none().then_some(()));
}

#[test]
fn a_kill_between_an_update_and_its_answer_loses_and_repeats_nothing() {
    let mut office = Office::open("kill");
    office.api.refuse("sendMessage", usize::MAX, json!({"ok": false, "error_code": 502, "description": "Bad Gateway"}));
    office.api.say(ANNA, "good morning");
    office.api.wait(|telegram| telegram.calls.iter().any(|(method, _)| method == "sendMessage").then_some(()));
    office.kill();
    // The worst case: the number of the update was not stored, and Telegram sends it again.
    let file = office.folder.join("store/telegram.json");
    let mut saved: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    saved["offset"] = 0.into();
    fs::write(&file, saved.to_string()).unwrap();
    office.api.refuse("sendMessage", 0, Value::Null);
    office.start();
    office.api.say(ANNA, "good night");
    office.api.shows(ANNA, "You said: good night");
    office.api.wait(|telegram| {
        assert_eq!(telegram.texts(ANNA), ["You said: good morning", "You said: good night"]);
        Some(())
    });
    let log = office.obelus(&["sessions", "log", "telegram-42", "--json"]);
    assert_eq!(log.matches("\"good morning\"").count(), 1, "{log}");
}

#[test]
fn a_card_works_after_a_restart_and_rate_limits_are_waited_for() {
    let mut office = Office::open("again");
    let many =
        json!({"ok": false, "error_code": 429, "description": "Too Many Requests", "parameters": {"retry_after": 1}});
    office.api.refuse("sendMessage", 2, many);
    let (card, buttons) = office.card();
    let file = office.folder.join("store/telegram.json");
    office.wait_until_written();
    office.kill();
    // The worst case: the number of the message was not stored.
    let mut saved: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    for card in saved["cards"].as_object_mut().unwrap().values_mut() {
        card.as_object_mut().unwrap().remove("message").expect("a number");
    }
    fs::write(&file, saved.to_string()).unwrap();
    office.start();
    office.api.press(ANNA, card, &buttons[0]);
    office.api.shows(ANNA, "The amount is set.");
    office.api.shows(ANNA, "Approved by Anna");
    office.api.wait(|telegram| {
        assert!(telegram.messages[&card]["text"].as_str().unwrap().contains("Approved by Anna"));
        assert_eq!(telegram.texts(ANNA).len(), 3, "{:?}", telegram.texts(ANNA));
        Some(())
    });
}

#[test]
fn an_invalid_config_or_token_is_reported_at_the_start() {
    let office = Office::new("wrong");
    let said = |office: &Office| {
        let ran = office.serve().output().unwrap();
        assert!(!ran.status.success());
        String::from_utf8_lossy(&ran.stderr).into_owned()
    };
    fs::write(office.folder.join("token"), "123456:other").unwrap();
    let words = said(&office);
    assert!(words.contains("401") && words.contains("BotFather") && !words.contains("123456:other"), "{words}");
    fs::write(office.folder.join("telegram.yaml"), "token_file: token\nagents: desk\n").unwrap();
    let words = said(&office);
    assert!(words.contains("telegram.yaml") && words.contains("unknown field `agents`"), "{words}");
}

#[test]
fn a_refusal_of_the_bot_api_does_not_end_the_server() {
    let office = Office::open("refused");
    let not_found = json!({"ok": false, "error_code": 404, "description": "Not Found"});
    office.api.refuse("getUpdates", 1, not_found);
    office.api.say(ANNA, "one");
    office.api.shows(ANNA, "You said: one");
}

#[test]
fn failures_of_the_bot_api_lose_and_repeat_no_message() {
    let office = Office::open("failures");
    let failed = json!({"ok": false, "error_code": 500, "description": "Internal Server Error"});
    let many =
        json!({"ok": false, "error_code": 429, "description": "Too Many Requests", "parameters": {"retry_after": 1}});
    office.api.refuse("getUpdates", 1, failed);
    office.api.refuse("sendMessage", 2, many);
    office.api.say(ANNA, "two");
    office.api.shows(ANNA, "You said: two");
    office.api.say(ANNA, "three");
    office.api.shows(ANNA, "You said: three");
    let texts = office.api.wait(|telegram| Some(telegram.texts(ANNA).join("\n")));
    assert_eq!(texts.matches("You said: two").count(), 1, "{texts}");
}

#[test]
fn forwarded_messages_are_not_the_users_words() {
    let office = Office::open("forwarded");
    let origin = json!({"type": "hidden_user", "sender_user_name": "Mallory"});
    office.api.message(ANNA, json!({"text": "set 7", "forward_origin": origin}));
    office.api.shows(ANNA, "they are not your words");
    assert!(office.api.wait(|telegram| Some(telegram.card(ANNA).is_none())));
}
