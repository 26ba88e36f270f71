//! `obelus chat` without a terminal: lines in, text out, and nothing can be approved.

use crate::support::{Folder, command, obelus, obelus_reading, run};

const CHAT: [&str; 3] = ["chat", "--agent", "notes"];

#[test]
fn lines_are_messages_and_answers_are_text() {
    let ran = obelus_reading("the customer called\n\nwhich notes are there?\n/why †state.notes\n", &CHAT).exits(0);
    let ran = ran.prints("← the step «Writes a note down»").prints("← from the agent's file");
    let ran =
        ran.prints("1 ✓ Writes a note down: the customer called").prints("Written down.").prints("1 notes, 0 tasks.");
    assert!(!ran.stdout.contains('\u{1b}'), "no terminal, no codes: {:?}", ran.stdout);
    ran.says("notes · Mode full");
}

#[test]
fn a_multilingual_agent_uses_the_language_of_the_first_message() {
    let folder = Folder::new("chat-language");
    folder.file(
        "agent.yaml",
        "name: greeter\nlanguage: [ru, en]\ninstructions: {ru: Ответь, en: Answer}\nmodel: playbook:ok.yaml\n",
    );
    folder.file("ok.yaml", "- output: OK");
    let (agent, store) = (folder.path(""), folder.path("store"));
    let chat = ["chat", "--agent", &agent];
    for (said, told) in [("Hello there", "greeter · Mode shadow"), ("Добрый день", "greeter · Режим shadow")]
    {
        obelus_reading(format!("\n{said}\n"), &chat).exits(0).prints("OK").says(told);
    }
    let named: Vec<&str> = chat.into_iter().chain(["--lang", "en"]).collect();
    obelus_reading("Добрый день\n", &named).exits(0).says("greeter · Mode shadow");
    // A saved session keeps its language, whatever the user writes later.
    let kept: Vec<&str> = chat.into_iter().chain(["--session", "s", "--store", &store]).collect();
    obelus_reading("Добрый день\n", &kept).exits(0).says("greeter · Режим shadow");
    obelus_reading("Hello there\n", &kept).exits(0).says("greeter · Режим shadow");
}

#[test]
fn nothing_is_approved_without_a_terminal() {
    let ran = obelus_reading("ask Anna to call Bob\ny\nyes\n/approve q1\n", &CHAT).exits(3);
    let ran = ran.prints("Your decision is needed  q1").prints("who: \"Anna\"").prints("Keys work at a terminal only");
    let ran = ran.prints("! /approve does not work here: only a person at a terminal can approve.");
    assert!(!ran.stdout.contains("Noted for Anna"), "{}", ran.stdout);
    // A denial needs no terminal.
    let ran = obelus_reading("ask Anna to call Bob\n/deny q1 not today\n", &CHAT).exits(0);
    ran.prints("denied: not today");
}

#[test]
fn commands_work_and_unknown_ones_are_answered() {
    let typed = "/help\n/plan\n/state\n/inbox\n/cost\n/mode\n/mode canary\n/frob\n/mode yolo\n/approve\n/why †state.nothing\n/quit\nnever read\n";
    let ran = obelus_reading(typed, &CHAT).exits(0);
    let ran = ran.prints("/mode shadow|canary|full").prints("There is no plan.").prints("†state").prints("notes: []");
    let ran = ran.prints("There are no open questions.").prints("this turn: 0 requests, 0 tokens").prints("Mode full:");
    let ran = ran
        .prints("Mode canary:")
        .prints("There is no command /frob.")
        .prints("The modes are shadow, canary and full.");
    let ran = ran.prints("Which question? /approve ID").prints("†state.nothing: nothing has written it");
    assert!(!ran.stdout.contains("never read"), "{}", ran.stdout);
}

#[test]
fn a_stored_conversation_continues_where_it_was() {
    let folder = Folder::new("chat-kept");
    let store = folder.path("store");
    let kept: Vec<&str> = CHAT.into_iter().chain(["--session", "monday", "--store", &store]).collect();
    let first = obelus_reading("one\nask Anna to call Bob\n/mode canary\n", &kept).exits(3);
    first.prints(&format!("obelus answer monday:q1 --store {store} approve"));
    // The open question comes first, and the mode is the last one.
    let again = obelus_reading("/mode\n/cost\n", &kept).exits(3);
    let again = again.prints("who: \"Anna\"").prints("Mode canary:").prints("the conversation: 3 requests");
    assert!(again.stdout.find("Anna") < again.stdout.find("Mode canary"), "{}", again.stdout);
    // `obelus answer` works on the same session.
    let args = ["answer", "monday:q1", "approve", "--store", &store];
    obelus_reading("", &args).exits(0).prints("Noted for Anna.");
    let args = ["chat", "--session", "monday", "--store", &store];
    obelus_reading("/state\n", &args).exits(0).prints("who: Anna");
    let args = ["chat", "--agent", "examples/steps", "--session", "monday", "--store", &store];
    obelus_reading("", &args).exits(2).says("the session `monday` is with the agent in");
}

#[test]
fn a_bundled_agent_is_available_in_any_folder() {
    let folder = Folder::new("chat-bundled");
    let store = folder.path("store");
    for words in ["one", "two"] {
        let mut command = command(&["chat", "--agent", "notes", "--session", "s", "--store", &store]);
        run(command.current_dir(folder.path("")), format!("{words}\n").as_bytes()).exits(0).prints("Written down.");
    }
}

#[test]
fn a_mode_given_on_the_command_line_is_used() {
    let args: Vec<&str> = CHAT.into_iter().chain(["--mode", "shadow"]).collect();
    let ran = obelus_reading("the customer called\n", &args).exits(0);
    ran.prints("stays in the plan, the mode shadow executes nothing").says("Mode shadow");
}

#[test]
fn a_chat_that_cannot_start_says_why() {
    obelus_reading("", &["chat", "--agent", "nots"]).exits(2).says("did you mean `notes`?");
    let args: Vec<&str> = CHAT.into_iter().chain(["--model", "nonsense"]).collect();
    obelus_reading("", &args).exits(2).says("--model");
    obelus_reading(b"\xff\xfe\n", &CHAT).exits(2).says("not UTF-8");
}

#[test]
fn an_exchange_is_recorded_and_replayed() {
    let folder = Folder::new("chat-record");
    let record = folder.path("talk.jsonl");
    let args: Vec<&str> = CHAT.into_iter().chain(["--record", &record]).collect();
    let first = obelus_reading("the customer called\n", &args).exits(0);
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&record).expect("a file").permissions());
    assert_eq!(mode & 0o777, 0o600, "what was said is for its owner");
    let model = format!("replay:{record}");
    let args: Vec<&str> = CHAT.into_iter().chain(["--model", &model]).collect();
    assert_eq!(obelus_reading("the customer called\n", &args).exits(0).stdout, first.stdout);
}

#[test]
fn a_stored_request_uses_the_current_mode_and_model_options() {
    let folder = Folder::new("run-mode");
    let (store, request) = (folder.path("store"), folder.path("request.yaml"));
    folder.file(
        "request.yaml",
        "context:\n- type: tool\n  tool:\n    mark: {type: object, x-effect: create, x-trust: trusted, x-target: []}\n\
         activities:\n  mark: {exec: [sh, -c, 'echo x >> marks; echo 1']}\n",
    );
    folder.file(
        "model.yaml",
        "- user: mark\n  answer: {calls: [{_tool: mark, _outputPath: †state.n}], output: marked}\n\
         - output: 'n is {{ kinds.state.n }}'\n",
    );
    folder.file("other.yaml", "- output: from another model\n");
    let say = |words: &str, more: &[&str]| {
        let model = format!("playbook:{}", folder.path("model.yaml"));
        let args = ["run", &request, "--session", "s", "--store", &store, "--say", words];
        let model: &[&str] = if more.contains(&"--model") { &[] } else { &["--model", &model] };
        run(command(&[&args[..], model, more].concat()).current_dir(folder.path("")), b"")
    };
    let marks = || std::fs::read_to_string(folder.path("marks")).unwrap_or_default().lines().count();
    say("mark", &[]).exits(0).prints("marked");
    assert_eq!(marks(), 1);
    say("mark", &["--mode", "shadow"]).exits(0).says("stays in the plan, the mode shadow executes nothing");
    assert_eq!(marks(), 1, "the mode shadow executes nothing");
    let other = format!("playbook:{}", folder.path("other.yaml"));
    say("anything", &["--model", &other, "--mode", "full"]).exits(0).prints("from another model");
    say("what is n?", &[]).exits(0).prints("n is 1");
}

#[test]
fn the_policy_of_a_request_is_checked_and_an_expired_question_does_not_wait() {
    let folder = Folder::new("request-policy");
    let request = |policy: &str| {
        format!(
            "settings: {{question_seconds: 1, policy: {policy}}}\ncontext:\n- type: tool\n  tool:\n    \
             wipe: {{type: object, x-effect: delete}}\n- {{type: plan, plan: [{{_tool: wipe, _outputPath: †state.w}}]}}\n\
             activities:\n  wipe: {{exec: [echo, '1']}}\n"
        )
    };
    folder.file("bad.yaml", request("{rules: [{match: {effect: deleet}, verdict: refuse}]}"));
    obelus(&["plan", "run", &folder.path("bad.yaml")]).exits(2).says(
        "bad.yaml:1:67: POL-3: policy: `rules[0].match.effect`: there is no effect `deleet`; did you mean `delete`?",
    );
    folder.file("good.yaml", request("{}"));
    let store = folder.path("store");
    obelus(&["plan", "run", &folder.path("good.yaml"), "--session", "s", "--store", &store]).exits(3);
    std::thread::sleep(std::time::Duration::from_millis(1_200));
    assert_eq!(obelus(&["inbox", "--json", "--store", &store]).exits(0).json(), serde_json::json!([]));
    // The log shows this before the session is opened, and afterwards from its journal.
    let log = ["sessions", "log", "s", "--store", &store];
    obelus(&log).exits(0).prints("q1: it expired, and nobody answered");
    obelus(&["approve", "s:q1", "--store", &store]);
    let told = obelus(&log).exits(0).prints("q1: it expired, and nobody answered").stdout;
    assert_eq!(told.matches("it expired").count(), 1, "{told}");
}

#[test]
fn b24_10_missing_values_are_named_in_the_users_language() {
    let folder = Folder::new("chat-missing");
    let raw = r#"- raw: "THOUGHT:\nx\nACTION:\n[{\"method\": \"crm.deal.get\", \"params\": {}}, {\"method\": \"no.such\"}]\nASSISTANT:\nСмотрю.""#;
    folder.file("model.yaml", raw);
    let model = format!("playbook:{}", folder.path("model.yaml"));
    let mut chat = command(&["chat", "--agent", "crm", "--mode", "full", "--model", &model]);
    let ran = run(chat.env("BITRIX_WEBHOOK_URL", "https://portal.example.test/rest/1/t0ken/"), "Покажи\n".as_bytes());
    assert!(ran.stdout.contains("не хватает обязательных данных, укажите:"), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("такого действия у агента нет") && !ran.stdout.contains("required property"),
        "{}",
        ran.stdout
    );
}
