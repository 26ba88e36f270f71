//! Commands print the same about a session with `--server` and with `--store`.

use std::fs;

use serde_json::Value;

use crate::Office;

/// An office whose session `s` has changed something and has an open question.
fn busy(name: &str) -> Office {
    let office = Office::open(name);
    office.remote(&["chat", "--agent", "desk", "--session", "s"], "hello\nset 1\n", 3);
    office.remote(&["answer", "s:q1", "approve"], "", 0);
    office.remote(&["chat", "--session", "s"], "set 2\n", 3);
    office
}

#[test]
fn sessions_of_a_server_and_of_a_store_are_shown_alike() {
    let office = busy("alike");
    let store = office.path("store");
    for args in [
        &["sessions", "show", "s"][..],
        &["sessions", "show", "s", "--at", "3"],
        &["sessions", "show", "s", "--why", "†state.changed"],
        &["sessions", "show", "s", "--why", "†state.changed", "--json"],
        &["sessions", "log", "s"],
        &["sessions", "log", "s", "--json"],
        &["sessions", "consents", "s"],
        &["sessions", "consents", "s", "--json"],
        &["sessions", "export", "s"],
    ] {
        let local = office.expect(&[args, &["--store", &store]].concat(), "", 0);
        // The command that answers a question at the store does not reach the server.
        let local: String = local.split_inclusive('\n').filter(|line| !line.starts_with("  to answer: ")).collect();
        assert_eq!(office.remote(args, "", 0), local, "{args:?}");
    }
    let list = office.remote(&["sessions", "list"], "", 0);
    assert!(list.contains("waits for you"), "{list}");
    let past = office.remote(&["sessions", "show", "s", "--at", "3", "--json"], "", 0);
    let past: Value = serde_json::from_str(&past).unwrap();
    assert_eq!((&past["waiting"], &past["status"]), (&Value::Array(Vec::new()), &"under_way".into()));
    assert_eq!(past["agent"], "desk");
    office.remote(&["sessions", "show", "nobody"], "", 2);
}

#[test]
fn the_result_of_an_answer_is_shown_at_once_and_an_edit_is_previewed() {
    let office = busy("told");
    let answered = office.remote(&["answer", "s:q2", "edit", "--params", "{\"sum\": 7}"], "", 3);
    assert!(answered.contains("sum: 7   ✎ instead of 5"), "{answered}");
    assert!(answered.contains("▸ Change a deal") && answered.contains("✓ Change a deal: Windows"), "{answered}");
    let wrong = office.remote(&["answer", "s:q3", "edit", "--params", "{\"total\": 7}"], "", 2);
    assert!(wrong.contains("total"), "{wrong}");
}

#[test]
fn commands_of_a_conversation_show_the_same_over_a_server_and_of_a_store() {
    let office = busy("commands");
    let said = |command: &str| office.remote(&["chat", "--session", "s"], &format!("{command}\n"), 3);
    let state = said("/state");
    assert!(state.contains("†state") && state.contains("Windows"), "{state}");
    assert!(said("/plan").contains("Change a deal"), "{}", said("/plan"));
    assert!(said("/why †state").contains("†state"), "{}", said("/why †state"));
    assert!(said("/consents").contains("Nothing runs by standing consent."));
    assert!(said("/cost").contains("the conversation: "), "{}", said("/cost"));
    assert!(said("/mode").contains("Mode full"), "{}", said("/mode"));
    let help = said("/help");
    assert!(help.contains("/why †path") && help.contains("/stop") && !help.contains("/image"), "{help}");
    let mode = said("/mode shadow");
    assert!(mode.contains("--mode shadow") && said("/mode").contains("Mode full"), "{mode}");
    assert!(said("/image a.png").contains("without --server"));
    assert!(said("/approve q2").contains("only a person at a terminal"));
    assert!(said("/pln").contains("Did you mean /plan?"));
    assert!(said("/revoke c9").contains("c9"), "{}", said("/revoke c9"));
    office.remote(&["chat", "--session", "s"], "/deny q2 not today\n", 0);
    let inbox = office.remote(&["inbox", "--json"], "", 0);
    assert!(!inbox.contains("s:q2"), "{inbox}");
}

#[test]
fn consents_are_revoked_and_sessions_pruned_and_moved_through_a_server() {
    let office = busy("kept");
    let offered = office.remote(&["answer", "s:q2", "approve", "--also", "tool"], "", 3);
    let code = offered.split("--agreed ").nth(1).unwrap().trim();
    office.remote(&["answer", "s:q2", "approve", "--also", "tool", "--agreed", code], "", 0);
    assert!(office.remote(&["sessions", "consents", "s"], "", 0).contains("c1"));
    office.remote(&["sessions", "consents", "s", "--revoke", "c1"], "", 0);
    let listed: Value = serde_json::from_str(&office.remote(&["sessions", "consents", "s", "--json"], "", 0)).unwrap();
    assert_eq!(listed[0]["holds"], false, "{listed}");
    let file = office.path("s.jsonl");
    office.remote(&["sessions", "export", "s", "--out", &file], "", 0);
    let other = office.path("other");
    office.expect(&["sessions", "import", &file, "--store", &other], "", 0);
    assert!(fs::read_to_string(&file).unwrap().contains("agents/desk"), "an admin's export has the agent's folder");
    let viewer = office.expect(&["tokens", "add", "olga", "--role", "viewer", "--store", &office.path("store")], "", 0);
    let token = viewer.lines().find(|line| line.starts_with("obelus_")).unwrap();
    let headers = format!("Authorization: Bearer {token}\r\n");
    assert_eq!(office.http("GET", "/api/v1/sessions/s/export", &headers, "").0, 403);
    let (status, lines) = office.http("GET", "/api/v1/sessions/s/export?look=true", &headers, "");
    assert!(status == 200 && lines.contains("set 1") && !lines.contains("agents/desk"), "{status} {lines}");
    fs::write(office.path("viewer"), token).unwrap();
    let by_viewer = ["--server", &office.url, "--token-file", &office.path("viewer")];
    let shown = office.expect(&[&["sessions", "show", "s"][..], &by_viewer].concat(), "", 0);
    assert!(shown.contains("api:local: set 1"), "{shown}");
    // Showing a session needs no files of its agent.
    fs::rename(office.path("agents"), office.path("elsewhere")).unwrap();
    assert_eq!(office.remote(&["sessions", "show", "s"], "", 0), shown);
    fs::rename(office.path("elsewhere"), office.path("agents")).unwrap();
    office.expect(&[&["sessions", "prune", "--days", "0"][..], &by_viewer].concat(), "", 1);
    assert!(office.remote(&["sessions", "prune", "--days", "0", "--dry-run"], "", 0).contains("s\n"));
    office.remote(&["sessions", "prune", "--days", "1"], "", 0);
    assert!(office.remote(&["sessions", "list"], "", 0).contains("desk"));
    office.remote(&["sessions", "prune", "--days", "0"], "", 0);
    assert!(!office.remote(&["sessions", "list"], "", 0).contains("desk"));
}

#[test]
fn a_plan_is_exported_on_the_machine_with_the_agents_files() {
    let office = Office::open("plan");
    let said = office.remote(&["sessions", "export", "s", "--plan"], "", 2);
    assert!(said.contains("on the server's machine with --store"), "{said}");
}

#[test]
fn commands_that_need_the_store_name_an_alternative() {
    let office = Office::open("store-only");
    for args in [
        &["sessions", "import", "s.jsonl"][..],
        &["sessions", "adopt", "state.json", "--agent", "desk"],
        &["sessions", "back", "s", "--save", "s.jsonl"],
        &["sessions", "prune", "--shrink"],
    ] {
        let said = office.remote(args, "", 2);
        assert!(said.contains("--store") && said.contains("end the server"), "{args:?}: {said}");
    }
}
