//! `obelus policy explain`

use serde_json::{Value, json};

use crate::support::{Folder, Ran, obelus, obelus_reading};

const BANK: &str = "
name: bank
mode: full
tools:
  pay:
    type: object
    properties: {to: {type: string}, amount: {type: number}, note: {type: string}}
    required: [to, amount]
    x-effect: create
    x-target: [to]
    x-risky: [amount]
  balance: {type: object, x-effect: read, x-trust: trusted}
  read_mail: {type: object, x-effect: read}
  close_account: {type: object, x-effect: delete}
  summarise: {type: object, properties: {text: {type: string}}}
activities:
  pay: {jq: .}
  balance: {jq: .}
  read_mail: {jq: .}
  close_account: {jq: .}
policy:
  allow: ['*']
  rules:
    - match: {tool: p*, param: note}
      verdict: confirm
      reason: a note is read by the bank
    - match: {tool: pay, param: to, from: 'untrusted:read_mail'}
      verdict: refuse
      reason: no money goes where a letter says
    - match: {effect: read}
      verdict: allow
";

fn explain(folder: &Folder, call: &Value, more: &[&str]) -> Ran {
    let agent = folder.file("bank/agent.yaml", BANK);
    let call = folder.file("call.json", call.to_string());
    obelus(&[&["policy", "explain", &agent, &call], more].concat())
}

#[track_caller]
fn spoken(document: &Value) -> Vec<(&str, &str)> {
    let all = document["spoken"].as_array().expect("a list");
    all.iter().map(|one| (one["by"].as_str().expect("who"), one["says"].as_str().expect("what"))).collect()
}

#[test]
fn every_matching_rule_is_named_and_the_strictest_wins() {
    let folder = Folder::new("policy-explain");
    let call = json!({"_tool": "pay", "to": "DE1", "amount": 5, "note": "rent", "_from": ["user"], "_shown": ["user"]});
    let document = explain(&folder, &call, &["--json"]).exits(0).json();
    assert_eq!(document["verdict"], "confirm");
    assert_eq!(
        spoken(&document),
        [("policy.allow[0]", "allow"), ("policy.rules[0]", "confirm"), ("x-risky", "confirm")]
    );
    assert_eq!(document["reasons"], json!(["a note is read by the bank", "it sets `amount`"]));
    assert_eq!((&document["effect"], &document["mode"]), (&json!("create"), &json!("full")));
    assert_eq!(document["notes"], json!([]));
    explain(&folder, &call, &[])
        .exits(0)
        .prints("confirm pay: a person decides   effect create, mode full")
        .prints("confirm policy.rules[0] (tool `p*`, parameter `note`): a note is read by the bank")
        .prints("confirm x-risky: it sets `amount`");
}

#[test]
fn origins_of_values_are_given_by_markers() {
    let folder = Folder::new("policy-origins");
    let call = |from: Value| json!({"_tool": "pay", "to": "DE1", "amount": 5, "_from": from, "_shown": ["user"]});
    let verdict = |call: &Value| explain(&folder, call, &["--json"]).exits(0).json();
    let refused = verdict(&call(json!({"to": ["untrusted:read_mail"]})));
    assert_eq!(refused["verdict"], "refuse");
    assert_eq!(refused["reasons"], json!(["no money goes where a letter says"]));
    let doubted = verdict(&call(json!({"to": ["untrusted:page"]})));
    assert_eq!(doubted["reasons"], json!(["it sets `amount`", "to comes from what is not trusted: page"]));
    let elsewhere = verdict(&call(json!({"amount": ["untrusted:page"]})));
    assert_eq!(spoken(&elsewhere), [("policy.allow[0]", "allow"), ("x-risky", "confirm")]);
    let steered = verdict(&json!({"_tool": "close_account", "_shown": ["untrusted:page"]}));
    let reasons = ["it deletes", "it was proposed after reading what is not trusted: page"];
    assert_eq!(steered["reasons"], json!(reasons));
    let untold = verdict(&json!({"_tool": "pay", "to": "DE1", "amount": 5}));
    assert!(untold["notes"][0].as_str().is_some_and(|note| note.contains("`_from`") && note.contains("`_shown`")));
}

/// A label that is not understood would be ignored, and a call with an untrusted value would seem to be allowed.
#[test]
fn misspelt_origins_are_errors_with_the_nearest_name() {
    let folder = Folder::new("policy-misspelt-origins");
    for (from, says) in [
        (json!(["untrused:read_mail"]), "there is no label `untrused:read_mail`; did you mean `untrusted:read_mail`?"),
        (json!({"too": ["user"]}), "`_from`: `pay` has no parameter `too`; did you mean `to`?"),
        (json!({"to": ["usr"]}), "`_from`, `to`: there is no label `usr`; did you mean `user`?"),
        (json!({"to": "user"}), "`_from`, `to`: a list of labels is expected"),
        (json!(["somewhere"]), "there are: user, author, model, trusted:TOOL, untrusted:TOOL"),
    ] {
        let call = json!({"_tool": "pay", "to": "DE1", "amount": 5, "_from": from});
        explain(&folder, &call, &[]).exits(1).prints("faulty").prints(says);
        assert_eq!(explain(&folder, &call, &["--json"]).exits(1).json()["verdict"], "faulty");
    }
    let shown = json!({"_tool": "close_account", "_shown": ["modell"]});
    explain(&folder, &shown, &[]).exits(1).prints("`_shown`: there is no label `modell`; did you mean `model`?");
    // A server may have tools that the file does not name, so an unknown one is only noted.
    let call = json!({"_tool": "pay", "to": "DE1", "amount": 5, "_from": {"to": ["untrusted:read_mial"]}});
    explain(&folder, &call, &["--lang", "en"]).exits(0).prints("has no tool `read_mial`; did you mean `read_mail`?");
    explain(&folder, &call, &["--lang", "ru"]).exits(0).prints("нет инструмента `read_mial`; возможно, `read_mail`?");
}

#[test]
fn the_mode_is_explained_first_and_model_calls_are_not_actions() {
    let folder = Folder::new("policy-modes");
    let delete = json!({"_tool": "close_account"});
    let document = explain(&folder, &delete, &["--mode", "canary", "--json"]).exits(0).json();
    assert_eq!(document["verdict"], "refuse");
    assert_eq!(spoken(&document)[0], ("mode", "refuse"));
    assert!(spoken(&document).contains(&("x-effect", "confirm")), "{document}");
    let thought = json!({"_tool": "summarise", "text": "x"});
    explain(&folder, &thought, &["--mode", "shadow"])
        .exits(0)
        .prints("allow summarise")
        .prints("so the model carries it out");
    explain(&folder, &json!({"_tool": "balance"}), &[]).exits(0).prints("allow balance").prints("policy.rules[2]");
}

#[test]
fn errors_of_a_faulty_call_are_explained() {
    let folder = Folder::new("policy-faulty");
    explain(&folder, &json!({"_tool": "payy", "to": "x"}), &[]).exits(1).prints("did you mean `pay`?");
    let document = explain(&folder, &json!({"_tool": "pay", "to": 5, "amount": 1}), &["--json"]).exits(1).json();
    assert_eq!(document["verdict"], "faulty");
    assert!(document["errors"][0].as_str().is_some_and(|error| error.contains("to")), "{document}");
    let agent = folder.path("bank/agent.yaml");
    obelus_reading("_tool: balance", &["policy", "explain", &agent, "-"]).exits(0).prints("allow balance");
    obelus_reading("{", &["policy", "explain", &agent, "-"]).exits(2).prints_nothing().says("stdin");
    obelus(&["policy", "explain", "nobody", "-"]).exits(2).prints_nothing().says("no agent `nobody`");
    let hostile = json!({"_tool": "pay\u{202e}", "to": "x"});
    let shown = explain(&folder, &hostile, &[]).exits(1);
    assert!(!shown.stdout.contains('\u{202e}'), "{}", shown.stdout);
}

/// POL-3: a policy that names something unknown is an error wherever it is read.
#[test]
fn an_unknown_name_in_a_policy_is_an_error_with_the_nearest_name() {
    let folder = Folder::new("policy-names");
    for (from, to, place, says) in [
        ("match: {tool: pay,", "match: {tool: pya,", "27:21", "there is no tool `pya`; did you mean `pay`?"),
        ("param: note", "param: nto", "24:32", "there is no `nto`; did you mean `to`?"),
        ("untrusted:read_mail", "untrusted:read_mial", "27:43", "did you mean `read_mail`?"),
        ("allow: ['*']", "refuse: [clos_account]", "22:12", "did you mean `close_account`?"),
        ("verdict: confirm", "verdict: ask", "25:16", "unknown variant `ask`, expected one of allow, confirm, refuse"),
        ("effect: read}\n      verdict", "effect: raed}\n      verdict", "30:23", "did you mean `read`?"),
    ] {
        assert!(BANK.contains(from), "{from}");
        let agent = folder.file("bank/agent.yaml", BANK.replace(from, to));
        let place = format!("agent.yaml:{place}: ");
        obelus(&["agents", "check", &agent]).exits(1).prints(&place).prints(says);
        obelus(&["run", &agent, "--say", "hi"]).exits(2).prints_nothing().says(&place).says(says);
        let call = folder.file("call.json", "{\"_tool\": \"balance\"}");
        obelus(&["policy", "explain", &agent, &call]).exits(2).prints_nothing().says(&place).says(says);
    }
    let request = "settings: {policy: {confirm: [lend_bok]}}\nactivities: {lend_book: {jq: '1'}}\ncontext:\n  \
        - {type: tool, tool: {lend_book: {type: object, properties: {}, x-effect: create}}}\n  \
        - {type: plan, plan: [{_tool: lend_book, _outputPath: †state.lent}]}\n";
    let file = folder.file("lend.yaml", request);
    let says = "lend.yaml:1:31: POL-3: policy: `confirm[0]`: there is no tool `lend_bok`; did you mean `lend_book`?";
    for command in ["check", "simulate"] {
        obelus(&["plan", command, &file]).exits(1).prints(says);
    }
    obelus(&["plan", "run", &file]).exits(2).prints_nothing().says(says);
    obelus(&["run", &file]).exits(2).prints_nothing().says(says);
    let file = folder.file("ask.yaml", request.replace("{confirm: [lend_bok]}", "[{verdict: ask}]"));
    obelus(&["plan", "check", &file])
        .exits(2)
        .says("ask.yaml:1:31: ")
        .says("expected one of `allow`, `confirm`, `refuse`");
}
