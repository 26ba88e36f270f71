//! Calls that the policy refuses: why, what the person can do, and the exit code.

use crate::support::{Folder, obelus, obelus_reading};

const AGENT: &str = "
name: desk
language: [en, ru]
model: playbook:playbook.yaml
mode: full
tools:
  find_order:
    {type: object, properties: {number: {type: integer}, _outputPath: {const: †state.order}}, x-effect: read,
     x-trust: trusted, x-title: {en: Look an order up, ru: Найти заказ}}
  weather:
    {type: object, properties: {_outputPath: {const: †state.weather}}, x-effect: read,
     x-title: {en: Ask for the weather, ru: Узнать погоду}}
  refund:
    {type: object, properties: {amount: {type: number}, _outputPath: {const: †state.refund}}, x-effect: create,
     x-title: {en: Pay money back, ru: Вернуть деньги}, x-labels: {amount: {en: amount, ru: сумма}}}
activities:
  find_order: {jq: '{paid: 320}'}
  weather: {jq: '{sky: \"rain\"}'}
  refund: {jq: '{paid: true}'}
policy:
  rules:
    - {match: {tool: refund, param: amount, from: untrusted}, verdict: refuse, reason: an amount never comes from a stranger}
";

const PLAYBOOK: &str = "
- {user: refund, when: 'any(.results[]; .tool == \"refund\")', answer: {output: Paid back.}}
- {user: refund, when: 'any(.results[]; .tool == \"find_order\")', answer: {calls: [{_tool: refund, amount: †state.order.paid}]}}
- {user: refund, answer: {calls: [{_tool: find_order, number: 17}]}}
- {when: 'any(.results[]; .tool == \"weather\")', answer: {output: Better not today.}}
- {answer: {calls: [{_tool: weather}]}}
";

fn desk(name: &str) -> (Folder, String, String) {
    let folder = Folder::new(name);
    folder.file("desk/playbook.yaml", PLAYBOOK);
    folder.file("desk/agent.yaml", AGENT);
    let (agent, store) = (folder.path("desk"), folder.path("store"));
    (folder, agent, store)
}

#[test]
fn a_refusal_because_of_an_untrusted_source_says_why_and_what_to_do() {
    let (_folder, agent, store) = desk("refused-chat");
    let chat = ["chat", "--agent", &agent, "--session", "s", "--store", &store, "--lang", "en"];
    let why = ": not allowed: an amount never comes from a stranger; «amount» depends on what was read in \
        this session and is not trusted: «Ask for the weather». Ask for it in a new session, before that is read, or do \
        it yourself.";
    obelus_reading("Can we fit it?\nrefund\n", &chat).exits(1).prints("Better not today.").prints(why);
    let show = |command| obelus(&["sessions", command, "s", "--store", &store, "--lang", "en"]).exits(0);
    for command in ["show", "log"] {
        let shown = show(command).prints(why);
        assert_eq!(shown.stdout.matches("not allowed").count(), 1, "{}", shown.stdout);
    }
    let run = ["run", &agent, "--say", "refund", "--session", "s", "--store", &store, "--lang", "ru"];
    let ran = obelus(&run)
        .exits(1)
        .says("⊘ Вернуть деньги (сумма: 320): не разрешено: an amount never comes from a stranger");
    ran.says("«сумма» зависит от непроверенного, что прочитано в этой сессии: «Узнать погоду»").says("в новой сессии");
    // In a new session nothing untrusted was read.
    obelus(&["run", &agent, "--say", "refund", "--lang", "en"]).exits(0).prints("Paid back.");
}

#[test]
fn a_refused_call_fails_the_run_and_a_call_outside_the_mode_does_not() {
    let (folder, agent, _) = desk("refused-exit");
    obelus(&["run", &agent, "--say", "refund", "--mode", "shadow"]).exits(0);
    let forbids = AGENT.replace("match: {tool: refund, param: amount, from: untrusted}", "match: {tool: refund}");
    folder.file("desk/agent.yaml", forbids);
    let ran = obelus(&["run", &agent, "--say", "refund"]).exits(1).says("an amount never comes from a stranger");
    assert!(!ran.stderr.contains("new session"), "another session would not help: {}", ran.stderr);
    let json = obelus(&["run", &agent, "--say", "refund", "--json"]).exits(1).json();
    assert_eq!(json["calls"][1]["status"], "refused");
}

#[test]
fn a_refused_read_is_told_also_if_it_is_quiet() {
    let (folder, agent, store) = desk("refused-quiet");
    let forbids = AGENT
        .replace("match: {tool: refund, param: amount, from: untrusted}", "match: {tool: weather}")
        .replace("x-effect: read,\n     x-title: {en: Ask", "x-effect: read, x-quiet: true,\n     x-title: {en: Ask");
    assert!(forbids.contains("x-quiet"));
    folder.file("desk/agent.yaml", forbids);
    let refused = [
        ("en", "⊘ Ask for the weather: not allowed: an amount never comes from a stranger"),
        ("ru", "⊘ Узнать погоду: не разрешено: an amount never comes from a stranger"),
    ];
    for (lang, words) in refused {
        let run = ["run", &agent, "--say", "fit", "--session", lang, "--store", &store, "--lang", lang];
        obelus(&run).exits(1).says(words);
        obelus(&["sessions", "show", lang, "--store", &store, "--lang", lang]).exits(0).prints(words);
    }
}
