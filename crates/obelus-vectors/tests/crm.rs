//! Every rule of the CRM agent has conversations that test it. Tests with a real portal, a real process or further
//! files are in `crates/obelus/tests/crm`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use obelus_vectors::CaseOutcome;
use serde_json::{Value, json};

/// The conversations of each rule, with their outcomes.
static BY_RULE: LazyLock<BTreeMap<String, Vec<CaseOutcome>>> = LazyLock::new(|| {
    let mut by_rule: BTreeMap<String, Vec<CaseOutcome>> = BTreeMap::new();
    for file in conversations() {
        let text = fs::read_to_string(&file).expect("readable");
        let cases: Vec<Value> = serde_json::from_str(&text).expect("an array of cases");
        let outcomes = obelus_vectors::run_file(&file, &text).expect("cases");
        for (case, outcome) in cases.iter().zip(outcomes) {
            for rule in case["rules"].as_array().expect("a case names its rules") {
                by_rule.entry(rule.as_str().unwrap_or_default().to_owned()).or_default().push(outcome.clone());
            }
        }
    }
    by_rule
});

fn conversations() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors");
    let files = obelus_vectors::find_files(&[folder]).expect("the folder is readable");
    let is_talk = |file: &PathBuf| file.file_name().is_some_and(|n| n.to_string_lossy().starts_with("conversation-"));
    files.into_iter().filter(is_talk).collect()
}

/// Asserts that the rule has enough conversations and that all of them pass.
fn holds(rule: &str, at_least: usize) {
    let outcomes = BY_RULE.get(rule).map(Vec::as_slice).unwrap_or_default();
    assert!(outcomes.len() >= at_least, "{rule} has {} conversations", outcomes.len());
    for outcome in outcomes {
        assert!(outcome.ok(), "{}: {}: {}", outcome.file.display(), outcome.name, outcome.why.join("; "));
    }
}

#[test]
fn b24_1_a_message_becomes_a_goal_a_reply_and_steps_that_are_reported_to_the_user() {
    holds("B24-1", 20);
}

#[test]
fn b24_2_action_is_an_array_of_steps_that_run_in_order_and_may_refer_to_results() {
    holds("B24-2", 10);
}

#[test]
fn b24_3_an_answer_out_of_format_is_repaired_once_and_then_degrades() {
    holds("B24-3", 10);
}

#[test]
fn b24_4_the_model_sees_no_address_and_no_key() {
    holds("B24-4", 1);
}

#[test]
fn b24_5_the_state_has_the_specified_fields_and_is_updated_by_every_success() {
    holds("B24-5", 20);
}

#[test]
fn b24_6_the_model_sees_the_relevant_part_of_a_large_state() {
    holds("B24-6", 2);
}

#[test]
fn b24_7_an_imported_state_can_be_continued() {
    holds("B24-7", 10);
}

#[test]
fn b24_8_every_listed_method_has_its_effect_and_is_recorded_in_the_state() {
    holds("B24-8", 20);
    // Every method is called by some conversation.
    let all: String = conversations().iter().map(|file| fs::read_to_string(file).expect("readable")).collect();
    let methods = "user.current user.get crm.contact.list crm.contact.get crm.company.list crm.company.get crm.deal.list \
        crm.deal.get crm.deal.category.list crm.deal.category.stage.list crm.status.list crm.activity.list \
        tasks.task.list sonet.group.get sonet.group.user.get event.get crm.deal.add crm.activity.add \
        crm.timeline.comment.add tasks.task.add task.commentitem.add task.checklistitem.add crm.deal.update \
        tasks.task.update event.bind event.unbind";
    for method in methods.split_whitespace() {
        assert!(all.contains(&format!("\"method\": \"{method}\"")), "no conversation calls {method}");
    }
}

#[test]
fn b24_9_risky_fields_need_approval_in_any_case_and_creations_by_origin() {
    holds("B24-9", 10);
}

#[test]
fn b24_10_missing_values_and_portal_errors_are_reported() {
    holds("B24-10", 8);
}

#[test]
fn b24_11_a_method_without_a_tool_file_does_not_exist() {
    holds("B24-11", 1);
}

#[test]
fn b24_12_daily_work_runs_and_deletions_money_and_status_need_approval() {
    holds("B24-12", 7);
}

#[test]
fn rules_of_questions_modes_and_the_loop_hold_in_conversations() {
    for (rule, at_least) in
        [("ASK-1", 3), ("ASK-2", 4), ("ASK-3", 10), ("ASK-5", 2), ("ASK-6", 15), ("POL-1", 10), ("POL-2", 3)]
    {
        holds(rule, at_least);
    }
    for (rule, at_least) in
        [("POL-5", 2), ("POL-6", 3), ("POL-7", 7), ("LOOP-2", 1), ("LOOP-3", 1), ("LOOP-4", 5), ("PLAN-4", 1)]
    {
        holds(rule, at_least);
    }
}

#[test]
fn an_unexpected_conversation_fails_its_case() {
    let answer = "THOUGHT:\nx\nACTION:\n[{\"method\": \"crm.deal.add\", \"params\": {\"fields\": {\"TITLE\": \"A\"}}}]\nASSISTANT:\nСоздаю.";
    let turn = |changed: Value| {
        let mut turn = json!({
            "now": "2024-05-01T10:00:00Z", "user": "Создай", "model": [answer],
            "portal": [{"method": "crm.deal.add", "params": {"fields": {"TITLE": "A"}}, "result": 5}],
            "expect": {"ends": "output", "calls": ["crm.deal.add"], "state": {"objects": {"current_deal_id": 5}}},
        });
        for (name, value) in changed.as_object().expect("fields") {
            turn[name] = value.clone();
        }
        let case = json!([{"name": "x", "kind": "conversation", "agent": "crm", "settings": {"mode": "canary"}, "turns": [turn]}]);
        obelus_vectors::run_file("x.json".as_ref(), &case.to_string()).expect("a case").remove(0)
    };
    let same = turn(json!({}));
    assert!(same.ok(), "{:?}", same.why);
    for changed in [
        json!({"model": []}),
        json!({"model": [answer, answer]}),
        json!({"portal": []}),
        json!({"portal": [{"method": "crm.deal.add", "result": 5}, {"method": "crm.deal.add", "result": 6}]}),
        json!({"portal": [{"method": "crm.deal.get", "result": 5}]}),
        json!({"portal": [{"method": "crm.deal.add", "params": {"fields": {"TITLE": "B"}}, "result": 5}]}),
        json!({"expect": {"ends": "waiting"}}),
        json!({"expect": {"calls": []}}),
        json!({"expect": {"state": {"objects": {"current_deal_id": 6}}}}),
        json!({"expect": {"state": {"done": []}}}),
        json!({"expect": {"state": {"nothing": "*"}}}),
        json!({"expect": {"reply": {"has": ["Удаляю"]}}}),
        json!({"expect": {"reply": {"lacks": ["создаю"]}}}),
        json!({"expect": {"prompt": {"lacks": ["crm.deal.add"]}}}),
        json!({"expect": {"mood": "good"}}),
        json!({"user": null, "answer": {"approve": "deal_5_opportunity"}}),
    ] {
        assert!(!turn(changed.clone()).ok(), "{changed}");
    }
}
