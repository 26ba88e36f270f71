//! B24-7 and DUR-7: adopting a state of another program, or the session's own state with a person's changes.

use obelus_kernel::session::{Decision, Input, QuestionStatus, Refused, TurnEnd};
use serde_json::{Value, json};

use crate::harness::Harness;

/// The state of the first seed.
fn example() -> Value {
    json!({
        "goals": ["Создать сделку", "Назначить звонок"],
        "done": [{"timestamp": "2024-05-01T10:00:00Z", "description": "Создана сделка", "object_ids": {"deal_id": 123}}],
        "in_progress": [{"description": "Ожидаем подтверждения суммы", "requested_at": "2024-05-01T10:05:00Z"}],
        "objects": {"current_deal_id": 123, "current_contact_id": 456, "current_company_id": null, "current_task_id": 789},
        "next_planned_actions": [{
            "method": "crm.deal.update", "params": {"id": 123, "fields": {"OPPORTUNITY": 100_000}},
            "requires_confirmation": true}],
        "confirmations": {
            "deal_123_opportunity": {
                "status": "requested", "requested_at": "2024-05-01T10:05:00Z",
                "description": "Изменить сумму сделки 123 до 100000",
                "action": {
                    "method": "crm.deal.update", "params": {"id": 123, "fields": {"OPPORTUNITY": 100_000}},
                    "requires_confirmation": true}},
            "task_456_deadline": {
                "status": "denied", "requested_at": "2024-05-02T09:00:00Z", "denied_at": "2024-05-02T09:05:00Z",
                "description": "Перенести дедлайн задачи 456", "reason": "Пользователь отклонил перенос",
                "action": {
                    "method": "tasks.task.update", "params": {"taskId": 456, "fields": {"DEADLINE": "2024-05-05"}},
                    "confirmation_decision": "deny"}}},
        "event_bindings": [{"event": "onCrmDealAdd", "handler": "https://example.test/hook"}],
    })
}

/// An agent with the state's two methods, ten minutes after another program asked the question.
fn agent(mode: &str) -> Harness {
    let schema = json!({"type": "object", "properties": {
        "goals": {"type": "array", "items": {"type": "string"}},
        "objects": {"type": "object", "properties": {"current_deal_id": {"type": ["integer", "null"]}}}}});
    let fields = |risky: &str, id: &str| {
        json!({"type": "object", "x-trust": "trusted", "x-effect": "update", "x-risky": [format!("fields.{risky}")],
            "_activity": "change", "required": [id], "x-entity": {"name": if id == "id" { "deal" } else { "task" }, "id": id},
            "x-leaves": [{"to": "†state.done", "method": "push", "value": "{timestamp: .now, description: \"done\", object_ids: {}}"}],
            "properties": {id: {"type": "integer"}, "fields": {"type": "object"}}})
    };
    let messages = json!([
        {"type": "tool", "tool": {
            "crm.deal.update": fields("OPPORTUNITY", "id"),
            "tasks.task.update": fields("DEADLINE", "taskId"),
            "look": {"x-trust": "untrusted", "x-effect": "read", "_activity": "read", "properties": {"q": {}}}}},
        {"type": "state", "schema": schema, "data": {
            "goals": [], "done": [], "in_progress": [], "objects": {"current_deal_id": null},
            "next_planned_actions": [], "confirmations": {}, "event_bindings": []}},
    ]);
    let kept = json!({
        "goals": "goals", "in_progress": "in_progress", "planned": "next_planned_actions",
        "confirmations": "confirmations"});
    let mut harness = Harness::on(
        messages,
        json!({"mode": mode, "kept": kept, "dialect": "blocks", "follow_up": "never", "persistent": true}),
    );
    harness.now = obelus_kernel::Time::parse("2024-05-01T10:15:00Z").expect("a time");
    harness
}

fn take_up(harness: &mut Harness, state: Value) -> Result<(), Refused> {
    harness.tell(Input::State { state, by: "the state's file".to_owned(), is_whole: false })
}

fn imported(mode: &str) -> Harness {
    let mut harness = agent(mode);
    take_up(&mut harness, example()).expect("it is taken up");
    harness
}

#[test]
fn b24_7_the_example_state_is_imported_and_exported_unchanged() {
    let harness = imported("full");
    let state = harness.session.state();
    let mut expected = example();
    for field in ["goals", "done", "objects", "next_planned_actions", "event_bindings"] {
        assert_eq!(state[field], expected[field], "{field}");
    }
    let confirmations = &mut expected["confirmations"];
    assert_eq!(state["confirmations"]["task_456_deadline"], confirmations["task_456_deadline"]);
    let asked = &state["confirmations"]["deal_123_opportunity"];
    for field in ["status", "requested_at", "action"] {
        assert_eq!(asked[field], confirmations["deal_123_opportunity"][field], "{field}");
    }
    assert_eq!(state["in_progress"][0]["requested_at"], "2024-05-01T10:05:00Z");
    assert_eq!((harness.waiting().len(), harness.rested(), harness.requests.len()), (1, TurnEnd::Waiting, 0));
    assert!(harness.started.is_empty(), "nothing of it runs by itself");
}

#[test]
fn b24_7_an_imported_denial_stays_a_denial() {
    let mut harness = imported("full");
    harness.user("Перенеси дедлайн");
    harness.solve(
        json!([{"_tool": "tasks.task.update", "taskId": 456, "fields": {"DEADLINE": "2024-05-05"}}]),
        json!(null),
    );
    assert_eq!(harness.states("tasks.task.update"), ["denied"]);
}

#[test]
fn an_imported_state_replaces_the_former_one_and_keeps_origins() {
    let mut harness = imported("full");
    harness.user("look");
    harness.solve(json!([{"_tool": "look", "q": 1, "_outputPath": "†state.page"}]), json!("seen"));
    harness.returns("look", json!("a stranger's words"));
    let put = |harness: &mut Harness, state: Value| {
        harness.tell(Input::State { state, by: "api:anna".to_owned(), is_whole: true })
    };
    let mut state = harness.session.state();
    let fields = state.as_object_mut().unwrap();
    fields.shift_remove("event_bindings");
    fields["objects"] = json!({"current_deal_id": 7});
    let state = state.clone();
    put(&mut harness, state.clone()).expect("it is put");
    assert_eq!(harness.session.state(), state);
    let origins =
        |field: &str| harness.session.context().origins(&obelus_kernel::Path::field("state", field.to_owned()), None);
    assert!(!origins("page").is_trusted() && origins("goals").is_trusted());
    let fault = put(&mut harness, json!({"goals": 1})).unwrap_err();
    assert_eq!((fault.code.name(), harness.session.state()), ("bad_state", state), "nothing has changed");
    put(&mut harness, json!({})).expect("it is put");
    assert_eq!(harness.session.state().get("page"), None);
}

#[test]
fn importing_its_own_state_changes_nothing() {
    let mut harness = imported("full");
    let (state, messages) = (harness.session.state(), harness.session.context().messages().len());
    take_up(&mut harness, state.clone()).expect("it is taken up");
    assert_eq!(harness.session.state(), state);
    assert_eq!(harness.session.context().messages().len(), messages);
    assert_eq!(harness.waiting().len(), 1);
}

#[test]
fn dur_7_a_status_changed_to_approved_approves() {
    let mut harness = imported("full");
    let mut state = harness.session.state();
    state["confirmations"]["deal_123_opportunity"]["status"] = "approved".into();
    take_up(&mut harness, state).expect("it is taken up");
    let ran = &harness.handed_out("crm.deal.update")[..];
    assert!(matches!(ran, [ran] if ran["id"] == 123 && ran["fields"] == json!({"OPPORTUNITY": 100_000})), "{ran:?}");
    harness.returns("crm.deal.update", json!(true));
    let question = &harness.session.questions()[0];
    assert_eq!((question.status, question.by.as_deref()), (QuestionStatus::Approved, Some("the state's file")));
    let state = harness.session.state();
    assert_eq!(state["confirmations"]["deal_123_opportunity"]["status"], "approved");
    assert_eq!((state["next_planned_actions"].clone(), state["in_progress"].clone()), (json!([]), json!([])));
}

#[test]
fn dur_7_a_status_changed_to_denied_denies_with_its_reason() {
    let mut harness = imported("full");
    let mut state = harness.session.state();
    state["confirmations"]["deal_123_opportunity"]["status"] = "denied".into();
    state["confirmations"]["deal_123_opportunity"]["reason"] = "рано".into();
    take_up(&mut harness, state).expect("it is taken up");
    assert!(harness.started.is_empty());
    assert_eq!(harness.session.state()["confirmations"]["deal_123_opportunity"]["reason"], "рано");
    assert_eq!(harness.session.questions()[0].status, QuestionStatus::Denied);
}

#[test]
fn an_approval_with_other_parameters_runs_with_them() {
    let mut harness = imported("full");
    let mut state = harness.session.state();
    let entry = &mut state["confirmations"]["deal_123_opportunity"];
    entry["status"] = "approved".into();
    entry["action"]["params"]["fields"]["OPPORTUNITY"] = 90_000.into();
    take_up(&mut harness, state).expect("it is taken up");
    assert_eq!(harness.handed_out("crm.deal.update")[0]["fields"]["OPPORTUNITY"], 90_000);
}

#[test]
fn a_field_that_a_person_took_out_of_an_approved_call_is_not_sent() {
    let mut harness = agent("full");
    harness.user("Поменяй сумму");
    let fields = json!({"OPPORTUNITY": 10, "STAGE_ID": "WON"});
    harness.solve(json!([{"_tool": "crm.deal.update", "id": 7, "fields": fields}]), json!(null));
    let mut state = harness.session.state();
    let (_, entry) = state["confirmations"].as_object_mut().expect("an object").iter_mut().next().expect("a question");
    entry["status"] = "approved".into();
    entry["action"]["params"]["fields"] = json!({"OPPORTUNITY": 10});
    take_up(&mut harness, state).expect("it is taken up");
    assert_eq!(harness.handed_out("crm.deal.update")[0]["fields"], json!({"OPPORTUNITY": 10}));
}

#[test]
fn denying_one_of_several_calls_leaves_the_others_waiting() {
    let mut harness = agent("full");
    harness.user("Поменяй суммы");
    let change = |id: u64| json!({"_tool": "crm.deal.update", "id": id, "fields": {"OPPORTUNITY": id * 10}});
    harness.solve(json!([change(1), change(2), change(3)]), json!(null));
    let mut state = harness.session.state();
    let entries = state["confirmations"].as_object().expect("an object").clone();
    let of = |id: u64| entries.iter().find(|(_, entry)| entry["action"]["params"]["id"] == id).expect("it").0;
    let (second, third) = (of(2).clone(), of(3).clone());
    state["confirmations"][&second]["status"] = "denied".into();
    state["confirmations"][&third]["status"] = "approved".into();
    take_up(&mut harness, state).expect("it is taken up");
    assert_eq!(harness.handed_out("crm.deal.update"), [change(3)]);
    let after = harness.session.state();
    let status = |id: u64| after["confirmations"][of(id)]["status"].clone();
    assert_eq!((status(1), status(2), status(3)), (json!("requested"), json!("denied"), json!("approved")));
}

#[test]
fn late_approvals_are_ignored() {
    let mut harness = imported("full");
    let mut state = harness.session.state();
    state["confirmations"]["deal_123_opportunity"]["status"] = "approved".into();
    harness.now = harness.now.plus_seconds(25 * 3600);
    take_up(&mut harness, state).expect("it is taken up");
    assert!(harness.started.is_empty());
    assert_eq!(harness.session.questions()[0].status, QuestionStatus::Expired);
    assert_eq!(harness.session.state()["confirmations"]["deal_123_opportunity"]["status"], "denied");
}

#[test]
fn an_imported_question_waits_in_every_mode_and_runs_if_the_mode_permits() {
    let mut harness = imported("canary");
    assert_eq!(harness.waiting().len(), 1);
    let entry = harness.session.state()["confirmations"]["deal_123_opportunity"].clone();
    assert_eq!(entry, example()["confirmations"]["deal_123_opportunity"]);
    harness.tell(Input::Mode { mode: obelus_kernel::session::Mode::Full }).expect("taken");
    harness.decide("q1", Decision::Approve { only: None }).expect("taken");
    assert_eq!(harness.handed_out("crm.deal.update").len(), 1);

    // An approval that the mode forbids is refused; the question stays open.
    let mut harness = imported("canary");
    let refused = harness.decide("q1", Decision::Approve { only: None }).unwrap_err();
    assert_eq!((refused.code.name(), harness.waiting().len(), harness.started.len()), ("not_in_this_mode", 1, 0));
    assert_eq!(harness.session.state()["next_planned_actions"][0]["method"], "crm.deal.update");
}

#[test]
fn a_step_that_the_mode_forbids_stays_planned_and_does_not_run() {
    for mode in ["shadow", "canary"] {
        let harness = imported(mode);
        let entry = harness.session.state()["confirmations"]["deal_123_opportunity"].clone();
        for field in ["status", "requested_at", "action"] {
            assert_eq!(entry[field], example()["confirmations"]["deal_123_opportunity"][field], "{mode}: {field}");
        }
        assert!(harness.started.is_empty(), "{mode}");
    }
}

#[test]
fn a_planned_step_survives_the_import_of_a_state_with_a_question() {
    let mut harness = agent("shadow");
    harness.user("a deal");
    harness.solve(json!([{"_tool": "look", "q": 7}]), json!(null));
    let planned = |harness: &Harness| harness.session.state()["next_planned_actions"].clone();
    assert_eq!(planned(&harness)[0]["method"], "look");
    take_up(&mut harness, example()).expect("it is taken up");
    assert_eq!(planned(&harness)[0]["method"], "look");
}

#[test]
fn an_unknown_method_of_an_imported_state_is_kept_unchanged() {
    let mut harness = agent("full");
    let mut state = example();
    state["confirmations"]["deal_123_opportunity"]["action"]["method"] = "crm.lead.update".into();
    take_up(&mut harness, state.clone()).expect("it is taken up");
    assert!(harness.started.is_empty());
    let kept = harness.session.state();
    assert_eq!(
        kept["confirmations"]["deal_123_opportunity"]["action"],
        state["confirmations"]["deal_123_opportunity"]["action"]
    );
}

#[test]
fn an_invalid_state_is_refused_with_the_place_and_changes_nothing() {
    let entry = |change: &dyn Fn(&mut Value)| {
        let mut state = example();
        change(&mut state["confirmations"]["deal_123_opportunity"]);
        state
    };
    let with = |name: &str, value: Value| {
        let mut state = example();
        state[name] = value;
        state
    };
    let cases = [
        (json!([1]), "an object, not an array"),
        (with("goals", json!(["a", 7])), "goals.1"),
        (with("objects", json!({"current_deal_id": "x"})), "objects.current_deal_id"),
        (with("confirmations", json!("none")), "`confirmations`"),
        (with("next_planned_actions", json!({})), "`next_planned_actions`"),
        (with("next_planned_actions", json!([{"params": {}}])), "`next_planned_actions`[0]"),
        (entry(&|entry| entry["status"] = "yes".into()), "confirmations.deal_123_opportunity"),
        (entry(&|entry| entry["requested_at"] = "yesterday".into()), "`requested_at`"),
        (entry(&|entry| entry["action"] = Value::Null), "`action` is missing"),
        (entry(&|entry| entry["action"]["params"] = 5.into()), "`action`"),
    ];
    for (state, place) in cases {
        let mut harness = agent("full");
        let before = harness.session.snapshot();
        let words = harness.session.would_take(&state).expect_err(place).to_string();
        assert!(words.contains(place), "{place}: {words}");
        assert_eq!(take_up(&mut harness, state).expect_err(place).to_string(), words);
        let mut after = harness.session.snapshot();
        after["now"] = before["now"].clone();
        assert_eq!(after, before, "{place}");
    }
}

#[test]
fn an_approval_with_invalid_parameters_is_refused_completely() {
    let mut harness = imported("full");
    let before = harness.session.snapshot();
    let mut state = harness.session.state();
    state["goals"] = json!(["something else"]);
    let entry = &mut state["confirmations"]["deal_123_opportunity"];
    entry["status"] = "approved".into();
    entry["action"]["params"]["id"] = "not a number".into();
    let words = take_up(&mut harness, state).expect_err("it cannot run").to_string();
    assert!(words.contains("confirmations.deal_123_opportunity.action"), "{words}");
    assert_eq!(harness.session.snapshot(), before);
}

#[test]
fn an_approval_of_another_or_a_partial_action_is_refused_completely() {
    for (change, why) in [
        (json!({"method": "crm.deal.get"}), "was asked about, not"),
        (json!({"params": {"id": 123}}), "`fields` was asked about and is missing"),
    ] {
        let mut harness = imported("full");
        let mut state = harness.session.state();
        let entry = &mut state["confirmations"]["deal_123_opportunity"];
        entry["status"] = "approved".into();
        for (name, value) in change.as_object().unwrap() {
            entry["action"][name] = value.clone();
        }
        let refused = take_up(&mut harness, state).unwrap_err();
        assert_eq!(refused.code.name(), "bad_state");
        assert!(refused.text.contains(why), "{}", refused.text);
        assert_eq!(harness.waiting().len(), 1, "it still waits");
    }
}

#[test]
fn a_state_is_not_imported_while_the_session_is_at_work() {
    let mut harness = agent("full");
    harness.user("Создай сделку");
    assert_eq!(take_up(&mut harness, example()).expect_err("it is at work").code.name(), "at_work");
}

#[test]
fn an_edit_does_not_raise_the_trust_of_a_value() {
    let mut harness = agent("full");
    harness.user("Посмотри");
    harness.solve(json!([{"_tool": "look", "q": 1, "_outputPath": "†state.objects.current_deal_id"}]), json!(null));
    harness.returns("look", json!(123));
    let mut state = harness.session.state();
    state["objects"]["current_company_id"] = 5.into();
    take_up(&mut harness, state).expect("it is taken up");
    let path = obelus_kernel::Path::root("state");
    let origins = harness.session.context().origins(&path, None);
    assert_eq!(origins.untrusted().collect::<Vec<_>>(), ["look"]);
    assert_eq!(harness.session.state()["objects"], json!({"current_deal_id": 123, "current_company_id": 5}));
}

#[test]
fn a_decided_question_cannot_be_decided_again_by_the_file() {
    let mut harness = imported("full");
    let mut state = harness.session.state();
    let question = harness.waiting()[0].clone();
    harness.decide(&question, Decision::Deny { reason: "no".to_owned() }).expect("taken");
    state["confirmations"]["deal_123_opportunity"]["status"] = "approved".into();
    take_up(&mut harness, state).expect("it is taken up");
    assert!(harness.started.is_empty());
    assert_eq!(harness.session.state()["confirmations"]["deal_123_opportunity"]["status"], "denied");
}

/// The state of the seed, with its question approved by another program.
fn approved_elsewhere() -> Value {
    let mut state = example();
    state["confirmations"]["deal_123_opportunity"]["status"] = "approved".into();
    state["confirmations"]["deal_123_opportunity"]["approved_at"] = "2024-05-01T10:10:00Z".into();
    state
}

#[test]
fn an_imported_approval_that_did_not_run_is_asked_again() {
    let mut harness = agent("full");
    take_up(&mut harness, approved_elsewhere()).expect("it is taken up");
    assert_eq!((harness.waiting(), harness.started.len()), (vec!["q1".to_owned()], 0));
    let question = harness.question("q1");
    assert_eq!(harness.session.headline(&question), "Изменить сумму сделки 123 до 100000");
    assert_eq!(question.headline.as_deref(), Some("Изменить сумму сделки 123 до 100000"));
    assert!(question.description.starts_with("crm.deal.update"), "{}", question.description);
    take_up(&mut harness, approved_elsewhere()).expect("it is taken up");
    assert_eq!((harness.waiting().len(), harness.started.len()), (1, 0), "reading it again is no yes");
    harness.approve("q1");
    assert_eq!(harness.handed_out("crm.deal.update")[0]["fields"]["OPPORTUNITY"], 100_000);
}

#[test]
fn an_imported_approval_that_has_run_is_kept_unchanged() {
    let mut harness = agent("full");
    let mut state = approved_elsewhere();
    state["next_planned_actions"] = json!([]);
    let deed =
        json!({"timestamp": "2024-05-01T10:11:00Z", "description": "Сумма изменена", "object_ids": {"deal_id": 123}});
    state["done"].as_array_mut().expect("a list").push(deed);
    take_up(&mut harness, state).expect("it is taken up");
    assert!(harness.waiting().is_empty() && harness.started.is_empty());
    assert_eq!(harness.session.state()["confirmations"]["deal_123_opportunity"]["status"], "approved");
}
