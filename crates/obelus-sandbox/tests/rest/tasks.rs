//! Tasks, their comments and checklists.

use serde_json::{Value, json};

use crate::support::TestPortal;

#[test]
fn a_task_is_shown_in_camel_case_with_ids_as_text() {
    let portal = TestPortal::new();
    let fields = json!({
        "TITLE": "Позвонить", "RESPONSIBLE_ID": 3, "DEADLINE": "2030-05-05T19:00:00+03:00", "GROUP_ID": 1,
        "UF_CRM_TASK": ["D_1"], "AUDITORS": [2]
    });
    let task = portal.call("tasks.task.add", &json!({"fields": fields}))["task"].take();
    assert_eq!((&task["id"], &task["responsibleId"], &task["createdBy"]), (&json!("37"), &json!("3"), &json!("1")));
    assert_eq!((&task["responsible"]["name"], &task["group"]["name"]), (&json!("Дарья Лугова"), &json!("Продажи")));
    assert_eq!((&task["auditors"], &task["ufCrmTask"]), (&json!(["2"]), &json!(["D_1"])));
    let got = portal.call("tasks.task.get", &json!({"taskId": 37}))["task"].take();
    assert!(got.get("ufCrmTask").is_none(), "it is asked for by name");
    let got = portal.call("tasks.task.get", &json!({"taskId": "37", "select": ["ID", "UF_CRM_TASK"]}));
    assert_eq!(got["task"]["ufCrmTask"], json!(["D_1"]));
    let changed =
        portal.call("tasks.task.update", &json!({"taskId": 37, "fields": {"DEADLINE": "2030-05-06T19:00:00+03:00"}}));
    assert_eq!(changed["task"]["deadline"], "2030-05-06T19:00:00+03:00");
    assert_eq!(portal.call("tasks.task.complete", &json!({"taskId": 37}))["task"]["status"], "5");
    assert_eq!(portal.call("tasks.task.delete", &json!({"taskId": 37})), json!({"task": true}));
    assert_eq!(portal.call("tasks.task.get", &json!({"taskId": 37})), json!([]));
}

#[test]
fn the_newest_task_comes_first_and_filters_work() {
    let portal = TestPortal::new();
    let found = |params: Value| {
        let answer = portal.answer("tasks.task.list", &params);
        let tasks = answer["result"]["tasks"].as_array().expect("tasks").clone();
        (answer["total"].as_i64(), tasks)
    };
    let (total, tasks) = found(json!({"select": ["ID"]}));
    assert_eq!((total, tasks[0]["id"].as_str(), tasks.len()), (Some(36), Some("36"), 36));
    let (done, _) = found(json!({"filter": {"REAL_STATUS": 5}}));
    let (open, _) = found(json!({"filter": {"!REAL_STATUS": 5}}));
    assert_eq!((done, open), (Some(4), Some(32)));
    let (late, tasks) = found(json!({"filter": {"STATUS": -1}}));
    assert!(late >= Some(1) && tasks.iter().all(|task| task["subStatus"] == "-1"), "{late:?}");
    let (of_deal, _) = found(json!({"filter": {"UF_CRM_TASK": "D_1"}}));
    assert_eq!(of_deal, Some(3));
    let (early, tasks) = found(json!({"filter": {"<=ID": 5}, "order": {"ID": "asc"}}));
    assert_eq!((early, tasks[0]["id"].as_str()), (Some(5), Some("1")));
}

#[test]
fn comments_and_checklists_take_parameters_by_name_and_by_place() {
    let portal = TestPortal::new();
    for params in [json!({"TASKID": 2, "FIELDS": {"POST_MESSAGE": "Готово"}}), json!([2, {"POST_MESSAGE": "Готово"}])]
    {
        assert!(portal.call("task.commentitem.add", &params).is_u64(), "{params}");
    }
    let comments = portal.call("task.commentitem.getlist", &json!({"TASKID": 2}));
    assert_eq!(
        (comments[0]["POST_MESSAGE"].as_str(), comments[0]["AUTHOR_NAME"].as_str()),
        (Some("Готово"), Some("Марина Светлова"))
    );
    assert_eq!(portal.call("tasks.task.get", &json!({"taskId": 2}))["task"]["commentsCount"], "2");
    let item = portal.call("task.checklistitem.add", &json!({"TASKID": 2, "FIELDS": {"TITLE": "Рулетка"}}));
    portal.call("task.checklistitem.complete", &json!({"TASKID": 2, "ITEMID": item}));
    let items = portal.call("task.checklistitem.getlist", &json!({"TASKID": 2}));
    assert_eq!(
        (&items[0]["TITLE"], &items[0]["IS_COMPLETE"], &items[0]["TOGGLED_BY"]),
        (&json!("Рулетка"), &json!("Y"), &json!("1"))
    );
    // An item of another task is not found.
    assert_eq!(portal.fault("task.checklistitem.get", &json!({"TASKID": 3, "ITEMID": item})).1, "ERROR_CORE");
}

#[test]
fn task_errors_have_their_own_codes() {
    let portal = TestPortal::new();
    for (method, params, code) in [
        ("tasks.task.get", json!({}), "100"),
        ("tasks.task.get", json!({"taskId": "x"}), "0"),
        ("tasks.task.get", json!({"taskId": 1, "select": "ID"}), "100"),
        ("tasks.task.add", json!({}), "100"),
        ("tasks.task.add", json!({"fields": {"RESPONSIBLE_ID": 1}}), "0"),
        ("tasks.task.add", json!({"fields": {"TITLE": "x"}}), "0"),
        ("tasks.task.update", json!({"taskId": 999, "fields": {}}), "0"),
        ("task.commentitem.add", json!({"TASKID": 999, "FIELDS": {"POST_MESSAGE": "x"}}), "ERROR_CORE"),
        ("task.commentitem.add", json!({"FIELDS": {"POST_MESSAGE": "x"}}), "ERROR_CORE"),
    ] {
        let fault = portal.fault(method, &params);
        assert_eq!((fault.0, fault.1.as_str()), (400, code), "{method} {params}: {fault:?}");
    }
}
