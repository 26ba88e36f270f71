use serde_json::json;

use super::*;
use obelus_notebook::call_json::CallJson;
use obelus_notebook::plan::StepOptions;

/// A scheduler with one step of calls to tools `a` and `b`, and its jobs in order.
fn scheduler(calls: Value, options: StepOptions) -> (Scheduler, Context, Vec<JobRef>) {
    let context = Context::from_value(json!([
        {"type": "state", "data": {}},
        {"type": "tool", "tool": {"a": {"properties": {"x": {}}}, "b": {"properties": {"x": {}}}}},
    ]));
    let context = context.unwrap();
    let calls: Vec<CallJson> = calls.as_array().unwrap().iter().cloned().map(Into::into).collect();
    let (step, faults) = ActiveStep::new(&calls, options, Trigger::Graph, Origins::default(), &context);
    assert!(faults.is_empty(), "{faults:?}");
    let mut scheduler = Scheduler::default();
    let jobs = (0..step.jobs.len()).collect::<Vec<_>>();
    let number = scheduler.add(step);
    (scheduler, context, jobs.into_iter().map(|job| JobRef::new(number, job)).collect())
}

#[test]
fn a_call_is_looked_at_again_when_what_feeds_it_has_ended() {
    let calls = json!([
        {"_tool": "a", "_outputPath": "†state.n"},
        {"_tool": "b", "x": "†state.n", "_outputPath": "†state.m"},
    ]);
    let (mut scheduler, context, jobs) = scheduler(calls, StepOptions::default());
    assert_eq!(scheduler.readiness(jobs[0], &context), Readiness::Now);
    assert_eq!(scheduler.readiness(jobs[1], &context), Readiness::NotYet);
    scheduler.run(jobs[0], Time::default());
    assert!(scheduler.is_running());
    assert!(scheduler.close(jobs[0], Status::Done) && !scheduler.close(jobs[0], Status::Failed));
    assert_eq!((scheduler.next_to_check(), scheduler.next_to_check()), (Some(jobs[1]), None));
    assert_eq!(scheduler.readiness(jobs[1], &context), Readiness::Now);
}

#[test]
fn a_call_without_a_path_is_detached_and_the_turn_does_not_wait_for_it() {
    let (mut scheduler, _, jobs) = scheduler(json!([{"_tool": "a"}]), StepOptions::default());
    scheduler.run(jobs[0], Time::default());
    assert!(scheduler.has_detached() && !scheduler.is_running());
    scheduler.set_awaits_user(jobs[0], true);
    assert!(!scheduler.has_detached() && scheduler.awaits_user());
    scheduler.set_awaits_user(jobs[0], false);
    scheduler.close(jobs[0], Status::Failed);
    assert_eq!(scheduler.take_ended().len(), 1);
    assert!(scheduler.is_idle());
}

#[test]
fn a_call_that_awaits_a_person_takes_no_room() {
    let calls = json!([{"_tool": "a", "_outputPath": "†state.n"}]);
    let (mut scheduler, _, jobs) = scheduler(calls, StepOptions::default());
    scheduler.run(jobs[0], Time::default());
    assert!(!scheduler.has_room(1));
    scheduler.set_awaits_user(jobs[0], true);
    assert!(scheduler.has_room(1) && !scheduler.is_running());
}

#[test]
fn in_a_sequence_the_next_call_waits_for_the_one_before() {
    let calls = json!([{"_tool": "a", "_outputPath": "†state.n"}, {"_tool": "b", "_outputPath": "†state.m"}]);
    let (mut scheduler, context, jobs) = scheduler(calls, StepOptions { sequential: true, keeps_results: false });
    scheduler.run(jobs[0], Time::default());
    assert_eq!(scheduler.readiness(jobs[1], &context), Readiness::NotYet);
    scheduler.close(jobs[0], Status::Failed);
    assert_eq!(scheduler.next_to_check(), Some(jobs[1]));
    assert_eq!(scheduler.readiness(jobs[1], &context), Readiness::Now);
}
