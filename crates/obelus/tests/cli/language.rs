//! The language of texts for people: `--lang`, else the agent's, else that of the environment.

use crate::support::{Folder, Ran, command, end, run, start, wait_for};

const AGENT: &str = r"
name: office
language: LANGUAGE
model: playbook:playbook.yaml
mode: full
tools:
  change:
    type: object
    x-title: {ru: Изменить сделку, en: Change a deal}
    x-effect: update
    x-trust: trusted
    x-target: []
    x-risky: [sum]
    properties:
      id: {type: integer, x-title: {ru: Сделка, en: Deal}}
      sum: {type: integer, minimum: 0, x-title: {ru: Сумма, en: Amount}}
    required: [id]
  wipe: {type: object, x-title: {ru: Стереть всё, en: Wipe all}, x-effect: create}
  send: {type: object, x-title: {ru: Отправить, en: Send}, x-effect: create}
  break: {type: object, x-title: {ru: Сломать, en: Break}, x-effect: read, x-trust: trusted}
policy:
  allow: [change, break]
  refuse: [wipe]
activities:
  change: {jq: '{ok: true}'}
  wipe: {jq: '{ok: true}'}
  send: {jq: '{ok: true}'}
  break: {exec: ['false']}
";

const PLAYBOOK: &str = r#"
- user: '7'
  when: '[.plan[] | select(.tool == "change")] == []'
  answer: {calls: [{_tool: change, id: 7, sum: 500, _outputPath: †state.one}], output: "7!"}
- user: '5'
  when: '[.plan[] | select(.tool == "wipe")] == []'
  answer: {calls: [{_tool: wipe, _outputPath: †state.two}, {_tool: send, _outputPath: †state.three}]}
- user: '6'
  when: '[.plan[] | select(.tool == "break")] == []'
  answer: {calls: [{_tool: break, _outputPath: †state.six}, {_tool: change, sum: 1}, {_tool: nothing}]}
- user: '8'
  raw: "8"
- answer: {output: "9!"}
"#;

/// The output of commands in a language, by lines.
fn everything(test: &str, language: &str) -> Vec<String> {
    let folder = Folder::new(&format!("language-{test}-{language}"));
    let agent = folder.file("office/agent.yaml", AGENT.replace("LANGUAGE", language));
    folder.file("office/playbook.yaml", PLAYBOOK);
    let store = folder.path("store");
    let does = |args: &[&str]| -> Ran { run(&mut command(&[args, &["--store", &store]].concat()), b"") };
    let typed = |lines: &str| -> Ran {
        run(&mut command(&["chat", "--session", "t", "--agent", &agent, "--store", &store]), lines.as_bytes())
    };
    let lang = ["--lang", language];
    let mut said = Vec::new();
    let mut keep = |what: &str, ran: Ran| {
        let lines = [ran.stdout, ran.stderr].concat();
        said.extend(lines.lines().map(|line| format!("{what}: {line}")));
    };
    keep("list", does(&["sessions", "list", lang[0], lang[1]]));
    keep("none", does(&["inbox", lang[0], lang[1]]));
    keep("run", does(&["run", &agent, "--session", "s", "--say", "7"]));
    keep("inbox", does(&["inbox"]));
    for params in ["{\"sum\": -4}", "{\"sum\": \"x\"}", "{\"sun\": 1}"] {
        keep("misfit", does(&["answer", "s:q1", "edit", "--params", params]));
    }
    for params in ["{", "[]"] {
        keep("params", does(&["answer", "s:q1", "edit", "--params", params, lang[0], lang[1]]));
    }
    keep("unfit", does(&["answer", "s:q1", "happened", lang[0], lang[1]]));
    keep("also", does(&["answer", "s:q1", "approve", "--also", "tool", lang[0], lang[1]]));
    keep("also", does(&["answer", "s:q1", "approve", "--also", "site", lang[0], lang[1]]));
    keep("refused", does(&["run", &agent, "--session", "u", "--say", "5"]));
    keep("failed", does(&["run", &agent, "--session", "u", "--say", "6"]));
    keep("format", does(&["run", &agent, "--session", "w", "--say", "8"]));
    keep("edit", does(&["answer", "s:q1", "edit", "--params", "{\"sum\": 5}"]));
    keep("again", does(&["approve", "s:q1"]));
    keep("unknown", does(&["approve", "s:q7", lang[0], lang[1]]));
    keep("unfit", does(&["approve", "nonsense", lang[0], lang[1]]));
    keep("pause", does(&["sessions", "pause", "s"]));
    keep("paused", does(&["run", &agent, "--session", "s", "--say", "9"]));
    keep("resume", does(&["sessions", "resume", "s"]));
    keep("chat", typed(CHAT));
    for args in saved_sessions(&folder) {
        let args: Vec<&str> = args.iter().map(String::as_str).chain(lang).collect();
        keep(&args[..args.len() - 2].join(" "), does(&args));
    }
    // `policy explain` needs no store.
    for call in
        [r#"{"_tool": "change", "id": 1, "sum": 5}"#, r#"{"_tool": "wipe"}"#, r#"{"_tool": "wipe", "_from": []}"#]
    {
        let call = folder.file("call.json", call);
        keep("policy", run(&mut command(&["policy", "explain", &agent, &call, lang[0], lang[1]]), b""));
    }
    said.extend(held_store(&folder, &agent, lang));
    said
}

/// The input of a conversation without a terminal.
const CHAT: &str = "5\n9\n8\n7\n6\n/inbox\n/plan\n/state\n/cost\n/help\n/nothing\n/approve q1\n/deny q1\n/mode\n\
    /mode canary\n/why †state.one\n/why †..\n/consents\n/revoke 3\n/revoke\n/image nowhere.png\n";

/// Commands on saved sessions, valid and invalid ones.
fn saved_sessions(folder: &Folder) -> Vec<Vec<String>> {
    let export = folder.path("export.jsonl");
    let bad = folder.file("bad.jsonl", "zz");
    let state = folder.file("state.json", "{}");
    let agent = folder.path("office/agent.yaml");
    let lines = [
        "list",
        "show s",
        "log s",
        "show nosuch",
        "show a/b",
        "show s --at 999",
        "show s --why †state.one",
        "show s --why †state.none",
        "consents s",
        "consents s --revoke c1",
        "consents s --revoke zz",
        "resume s",
        "fork s t",
        "fork s t",
        "fork nosuch n",
        "prune --days 0 --dry-run",
        "rm t",
        "rm t",
        &format!("export s --out {export}"),
        &format!("import {export}"),
        &format!("import {bad}"),
        &format!("back s --save {export}.old"),
        &format!("adopt {state} --agent {agent} --session s"),
        &format!("adopt {state} --agent {agent} --session a"),
        "prune --days 0",
    ]
    .map(|line| format!("sessions {line}"));
    let others = [
        "run nobody --say 1".to_owned(),
        "run crmm --say 1".to_owned(),
        format!("run {agent} --session s"),
        "chat --agent nobody".to_owned(),
        "chat --agent crm --session s".to_owned(),
        "approve nosuch:q1".to_owned(),
    ];
    let sessions = lines.into_iter().take(24).chain(others).chain(["sessions prune --days 0".to_owned()]);
    sessions.map(|line| line.split(' ').map(str::to_owned).collect()).collect()
}

/// The output of commands while another process holds the store.
fn held_store(folder: &Folder, agent: &str, lang: [&str; 2]) -> Vec<String> {
    let store = folder.path("held");
    let mut holder = start(&mut command(&["chat", "--agent", agent, "--session", "h", "--store", &store]));
    wait_for("the store is held", || std::path::Path::new(&folder.path("held/obelus.sock")).exists());
    let commands: [&[&str]; 4] = [
        &["sessions", "prune"],
        &["sessions", "rm", "h"],
        &["run", agent, "--session", "z", "--say", "9"],
        &["sessions", "pause", "h"],
    ];
    let mut said = Vec::new();
    for args in commands {
        let ran = run(&mut command(&[args, &["--store", &store], &lang].concat()), b"");
        said.extend([ran.stdout, ran.stderr].concat().lines().map(|line| format!("held: {line}")));
    }
    drop(holder.stdin.take());
    end(holder);
    said
}

fn is_cyrillic(c: char) -> bool {
    ('\u{400}'..='\u{4ff}').contains(&c)
}

/// Whether a line has an English sentence. Commands, paths and JSON do not count.
fn has_english(line: &str) -> bool {
    // Memory is shown untranslated.
    if line.trim_start().starts_with('"') {
        return false;
    }
    // Verdicts have the same names as in files.
    let rulings = ["confirm ", "refuse ", "allow "];
    let line = rulings.iter().find_map(|name| line.strip_prefix(name)).unwrap_or(line);
    let line = line.split("obelus ").next().unwrap_or_default();
    let line = line.split("; есть: ").next().unwrap_or_default();
    let is_word = |word: &str| word.len() > 2 && word.chars().all(|c| c.is_ascii_lowercase());
    let words: Vec<&str> = line.split(' ').map(|word| word.trim_end_matches([',', '.', ':', ';'])).collect();
    words.windows(2).any(|pair| is_word(pair[0]) && is_word(pair[1]))
}

#[test]
fn messages_about_a_russian_agent_are_in_russian() {
    for line in everything("all", "ru") {
        let (_, text) = line.split_once(": ").unwrap_or_default();
        assert!(!has_english(text), "{line}");
    }
}

#[test]
fn messages_about_an_english_agent_are_in_english() {
    for line in everything("all", "en") {
        assert!(!line.chars().any(is_cyrillic), "{line}");
    }
}

#[test]
fn refusals_name_their_reason_and_invalid_values_the_valid_ones() {
    let all = everything("unfit", "ru").join("\n");
    for words in [
        "misfit: ошибка: изменение не подходит: `sum`: должно быть не меньше 0",
        "misfit: ошибка: изменение не подходит: `sum`: здесь должно быть: целое число",
        "misfit: ошибка: изменение не подходит: параметра `sun` нет; возможно, `sum`?",
        "refused: ⊘ Стереть всё: не разрешено: это запрещают правила",
        "refused: ⊘ Отправить: не разрешено: «Отправить» нет в списке разрешённого",
        "Стереть всё: не разрешено: это запрещают правила",
        "Отправить: не разрешено: «Отправить» нет в списке разрешённого",
        "show nosuch: ошибка: сессии «nosuch» нет",
        "ошибка: в журнале «s» записей ",
        "failed:   ✗ Сломать: не вышло: программа закончилась с кодом 1 (exit_1)",
        "format: Ответ модели нельзя прочесть.",
        "policy:   confirm x-risky: меняется sum",
        "held: ошибка: ",
        "again: ошибка: на вопрос s:q1 уже ответили: разрешено",
        "run:   ответить: obelus approve s:q1 --store ",
        "run: Нужен человек. Ответьте этой командой или запустите это в терминале; всё, что ждёт: obelus inbox",
    ] {
        assert!(all.contains(words), "no `{words}` in:\n{all}");
    }
}

#[test]
fn the_environment_is_the_fallback_for_the_language() {
    let folder = Folder::new("language-environment");
    let store = folder.path("store");
    let inbox = |language: &str, args: &[&str]| {
        let mut command = command(&[&["inbox", "--store", &store], args].concat());
        command.env_remove("LC_ALL").env_remove("LC_MESSAGES").env("LANG", language);
        run(&mut command, b"").exits(0)
    };
    inbox("ru_RU.UTF-8", &[]).says("Ничего не ждёт решения.");
    inbox("ru_RU.UTF-8", &["--lang", "en"]).says("There are no open questions.");
    inbox("C.UTF-8", &[]).says("There are no open questions.");
}

#[test]
fn a_missing_key_is_reported_in_one_language() {
    let folder = Folder::new("language-no-key");
    let agent = folder.file("agent.yaml", "name: office\nlanguage: [ru, en]\nmodel: openai:gpt-none\n");
    let says = |lang: &str| run(&mut command(&["run", &agent, "--say", "8", "--lang", lang]), b"").exits(1).stderr;
    let (russian, english) = (says("ru"), says("en"));
    assert!(russian.contains("Нет ключа для модели.") && !russian.contains("the environment"), "{russian}");
    assert!(russian.contains("OPENAI_API_BASE"), "{russian}");
    assert!(english.contains("the environment has no OPENAI_API_KEY"), "{english}");
}
