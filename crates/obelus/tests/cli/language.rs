//! People are spoken to in one language: `--lang`, else the agent's, else that of the environment.

use crate::support::{Folder, Ran, command, run};

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
policy:
  allow: [change]
  refuse: [wipe]
activities:
  change: {jq: '{ok: true}'}
  wipe: {jq: '{ok: true}'}
  send: {jq: '{ok: true}'}
";

const PLAYBOOK: &str = r#"
- user: '7'
  when: '[.plan[] | select(.tool == "change")] == []'
  answer: {calls: [{_tool: change, id: 7, sum: 500, _outputPath: †state.one}], output: "7!"}
- user: '5'
  when: '[.plan[] | select(.tool == "wipe")] == []'
  answer: {calls: [{_tool: wipe, _outputPath: †state.two}, {_tool: send, _outputPath: †state.three}]}
- user: '8'
  raw: "8"
- answer: {output: "9!"}
"#;

/// Everything that commands say to people in a language, a line each.
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
    keep("refused", does(&["run", &agent, "--session", "u", "--say", "5"]));
    keep("edit", does(&["answer", "s:q1", "edit", "--params", "{\"sum\": 5}"]));
    keep("again", does(&["approve", "s:q1"]));
    keep("unknown", does(&["approve", "s:q7", lang[0], lang[1]]));
    keep("nosuch", does(&["sessions", "show", "nosuch", lang[0], lang[1]]));
    keep("nosuch", does(&["approve", "nosuch:q1", lang[0], lang[1]]));
    keep("nosuch", does(&["sessions", "show", "s", "--at", "999", lang[0], lang[1]]));
    keep("nosuch", does(&["sessions", "show", "a/b", lang[0], lang[1]]));
    keep("unfit", does(&["approve", "nonsense", lang[0], lang[1]]));
    keep("pause", does(&["sessions", "pause", "s"]));
    keep("paused", does(&["run", &agent, "--session", "s", "--say", "9"]));
    keep("resume", does(&["sessions", "resume", "s"]));
    keep("list", does(&["sessions", "list", lang[0], lang[1]]));
    keep("show", does(&["sessions", "show", "s"]));
    keep("log", does(&["sessions", "log", "s"]));
    keep("chat", typed("5\n9\n8\n7\n/inbox\n/plan\n/state\n/cost\n/help\n/nothing\n/approve q1\n/deny q1\n/mode\n"));
    said
}

fn is_cyrillic(c: char) -> bool {
    ('\u{400}'..='\u{4ff}').contains(&c)
}

/// Whether a line has a sentence in Latin letters, commands and JSON aside.
fn has_english(line: &str) -> bool {
    let line = line.split("obelus ").next().unwrap_or_default();
    let is_word = |word: &str| word.len() > 2 && word.chars().all(|c| c.is_ascii_lowercase());
    let words: Vec<&str> = line.split(' ').map(|word| word.trim_end_matches([',', '.', ':', ';'])).collect();
    words.windows(2).any(|pair| is_word(pair[0]) && is_word(pair[1]))
}

#[test]
fn a_russian_agent_is_told_of_in_russian() {
    for line in everything("all", "ru") {
        let (_, text) = line.split_once(": ").unwrap_or_default();
        assert!(!has_english(text), "{line}");
    }
}

#[test]
fn an_english_agent_is_told_of_in_english() {
    for line in everything("all", "en") {
        assert!(!line.chars().any(is_cyrillic), "{line}");
    }
}

#[test]
fn refusals_are_told_by_their_reason_and_unfit_values_by_what_would_fit() {
    let all = everything("unfit", "ru").join("\n");
    for words in [
        "misfit: ошибка: изменение не подходит: `sum`: должно быть не меньше 0",
        "misfit: ошибка: изменение не подходит: `sum`: нужно другое: целое число",
        "misfit: ошибка: изменение не подходит: параметра `sun` нет; возможно, `sum`?",
        "refused: ✗ Стереть всё — запрещено: это запрещают правила",
        "refused: ✗ Отправить — запрещено: «Отправить» нет в списке разрешённого",
        "Стереть всё: не разрешено: это запрещают правила",
        "Отправить: не разрешено: «Отправить» нет в списке разрешённого",
        "nosuch: ошибка: сессии «nosuch» нет",
        "nosuch: ошибка: в журнале «s» записей ",
        "again: ошибка: на вопрос s:q1 уже ответили: разрешено",
        "run:   ответить: obelus approve s:q1 · obelus deny s:q1 --reason ПРИЧИНА",
        "run: Нужен человек. Ответьте этой командой или запустите это в терминале; всё, что ждёт: obelus inbox",
    ] {
        assert!(all.contains(words), "no `{words}` in:\n{all}");
    }
}

#[test]
fn the_environment_chooses_where_nothing_else_does() {
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
