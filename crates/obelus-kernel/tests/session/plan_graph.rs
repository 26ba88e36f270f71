//! The calls of a turn as a graph.

use std::sync::Arc;

use obelus_kernel::session::plan_graph::PlanGraph;
use obelus_kernel::session::{Answer, Input, Mode, Outcome, Session, Settings, Solution, Task};
use obelus_kernel::{Context, Time};
use serde_json::json;

/// A session whose model proposed a lookup and a note that uses its result.
fn session() -> Session {
    let tools = json!({"look": {"x-effect": "read", "properties": {"n": {}}}, "note": {"x-effect": "create",
        "properties": {"text": {}, "of": {}}}});
    let context = json!([{"type": "state", "data": {"n": 7}}, {"type": "tool", "tool": tools}]);
    let activities = ["look", "note"].map(str::to_owned).into();
    let settings = Settings { mode: Mode::Full, activities, ..Settings::default() };
    let mut session = Session::new("s", Context::from_value(context).unwrap(), None, Arc::new(settings)).unwrap();
    session.handle(Time(0), Input::User { text: "go".to_owned(), by: None }).unwrap();
    let Some(Task::AskModel { id }) = session.poll() else { panic!("the model is asked") };
    let solution = Solution::from_value(json!({"calls": [
        {"_tool": "look", "n": "†state.n", "_outputPath": "†state.found"},
        {"_tool": "note", "text": "†state.found.name", "of": "†state.n"},
    ]}));
    let answer = Answer::Solution { solution: solution.unwrap(), tokens: 1 };
    session.handle(Time(0), Input::Answer { id, answer }).unwrap();
    session
}

fn told(graph: &PlanGraph) -> Vec<(Option<usize>, usize, String)> {
    graph.flows.iter().map(|flow| (flow.from, flow.to, flow.path.to_string())).collect()
}

#[test]
fn the_plan_graph_shows_flows_between_calls_before_and_after_they_run() {
    let mut session = session();
    let expected = [
        (None, 0, "†state.n".to_owned()),
        (Some(0), 1, "†state.found.name".to_owned()),
        (None, 1, "†state.n".to_owned()),
    ];
    let graph = session.plan_graph(100);
    assert_eq!(told(&graph), expected);
    assert_eq!(graph.calls[0].writes[0].to_string(), "†state.found");
    let Some(Task::Call(start)) = session.poll() else { panic!("it looks") };
    let outcome = Outcome::Value(json!({"name": "Anna"}));
    session.handle(Time(1), Input::Ended { id: start.id.clone(), outcome }).unwrap();
    let graph = session.plan_graph(100);
    assert_eq!(graph.calls[0].report.call["n"], 7, "{graph:?}");
    assert_eq!(graph.calls[0].proposed["n"], "†state.n");
    assert_eq!(told(&graph), expected);
    let part = session.plan_graph(1);
    assert_eq!((part.calls.len(), part.left_out), (1, 1));
}

#[test]
fn an_ended_turn_keeps_its_proposals() {
    let mut session = session();
    while let Some(task) = session.poll() {
        if let Task::Call(start) = task {
            let outcome = Outcome::Value(json!({"name": "Anna"}));
            session.handle(Time(1), Input::Ended { id: start.id.clone(), outcome }).unwrap();
        }
    }
    session.handle(Time(2), Input::Stop).unwrap();
    let flows = told(&session.plan_graph(100));
    assert!(flows.contains(&(Some(0), 1, "†state.found.name".to_owned())), "{flows:?}");
}
