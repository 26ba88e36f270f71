use super::*;
use crate::cmd::chat::question::sample::context;
use crate::language::words_of;
use obelus_kernel::session::CallReport;
use obelus_kernel::session::report_error::ReportError;
use serde_json::{Value, json};

/// The error of a report, from its JSON.
fn error(form: Value) -> Option<Box<ReportError>> {
    Some(serde_json::from_value(form).unwrap())
}

fn report(place: StepPlace, call: Value, status: CallStatus) -> CallReport {
    CallReport { place, call: call.into(), status, error: None }
}

fn see(steps: &mut TurnSteps, calls: &[CallReport], context: &StepContext<'_>) {
    let view = |report: &CallReport| StepView {
        place: report.place,
        report: report.clone(),
        headline: context.titles.tool(report.call["_tool"].as_str().unwrap_or_default()),
        lacks: None,
        consent: None,
    };
    let calls: Vec<StepView> = calls.iter().map(view).collect();
    steps.see(&calls, context);
}

fn plain(lines: &[StyledLine]) -> Vec<String> {
    lines.iter().map(|line| line.plain().trim().to_owned()).collect()
}

fn with_context<T>(mode: Mode, see: impl FnOnce(&StepContext<'_>) -> T) -> T {
    let titles = Titles::of(&context(json!([])), "ru");
    see(&StepContext { phrases: words_of(Some("ru")), titles: &titles, mode })
}

#[test]
fn steps_are_numbered_and_shown_without_method_names() {
    with_context(Mode::Full, |context| {
        let mut steps = TurnSteps::default();
        let change = json!({"_tool": "crm.deal.update", "id": 7, "comment": "Меняю сумму"});
        see(
            &mut steps,
            &[
                report((0, 0), json!({"_tool": "open_page"}), CallStatus::Running),
                report((0, 1), change.clone(), CallStatus::Blocked),
            ],
            context,
        );
        assert_eq!(plain(&steps.live(context, "⠋")), ["1 ⠋ open page", "2 · Изменить сделку · Меняю сумму: в плане"]);
        assert!(steps.write(false, context).is_empty(), "nothing has ended");
        steps.brought((0, 0), "3 раза".to_owned());
        see(
            &mut steps,
            &[
                report((0, 0), json!({"_tool": "open_page"}), CallStatus::Done),
                report((0, 1), change.clone(), CallStatus::Waiting),
            ],
            context,
        );
        assert_eq!(plain(&steps.write(false, context)), ["1 ✓ open page: 3 раза"]);
        assert_eq!(plain(&steps.write(true, context)), ["2 ? Изменить сделку: ждёт вашего решения"]);
        assert!(steps.write(true, context).is_empty(), "what was written is not written again");
        see(&mut steps, &[report((0, 1), change, CallStatus::Done)], context);
        assert_eq!(plain(&steps.write(true, context)), ["2 ✓ Изменить сделку: готово"]);
    });
}

#[test]
fn a_quiet_step_is_shown_only_if_it_fails() {
    with_context(Mode::Full, |context| {
        let mut steps = TurnSteps::default();
        let quiet = |at, status| report((0, at), json!({"_tool": "take_stock"}), status);
        see(&mut steps, &[quiet(0, CallStatus::Running), quiet(1, CallStatus::Blocked)], context);
        assert_eq!(plain(&steps.live(context, "⠋")), ["⠋ take stock"], "what is at work is seen");
        assert!(steps.write(true, context).is_empty());
        let page = report((0, 2), json!({"_tool": "open_page"}), CallStatus::Done);
        let failed =
            CallReport { error: error(json!({"message": "не найдено"})), ..quiet(1, CallStatus::Failed) };
        see(&mut steps, &[quiet(0, CallStatus::Done), page, failed], context);
        // A step that is not printed gets no number.
        assert_eq!(
            plain(&steps.write(true, context)),
            ["1 ✓ open page: готово", "2 ✗ take stock: не вышло: не найдено"]
        );
    });
}

#[test]
fn failures_are_described_plainly() {
    with_context(Mode::Canary, |context| {
        let mut steps = TurnSteps::default();
        let call = || json!({"_tool": "add_note"});
        let with = |at, status, form| CallReport { error: error(form), ..report((0, at), call(), status) };
        see(
            &mut steps,
            &[
                with(0, CallStatus::Failed, json!({"code": "ERROR_NOT_FOUND", "message": "Not found"})),
                with(1, CallStatus::Refused, json!({"rule": "POL-1", "message": "…"})),
                with(2, CallStatus::Denied, json!({"code": CallStatus::Denied, "message": "не сегодня"})),
                with(3, CallStatus::Refused, json!({"rule": "POL-2", "message": "никогда"})),
                report((0, 4), call(), CallStatus::Skipped),
            ],
            context,
        );
        assert_eq!(
            plain(&steps.write(true, context)),
            [
                "1 ✗ Writes a note down: не вышло: Not found (ERROR_NOT_FOUND)",
                "2 ⊘ Writes a note down: режим canary этого не выполняет; сменить: --mode full, в чате /mode full",
                "3 ⊘ Writes a note down: отклонено: не сегодня",
                "4 ⊘ Writes a note down: не разрешено: никогда",
                "5 – Writes a note down: пропущено: нет данных от предыдущих шагов",
            ]
        );
    });
}

#[test]
fn a_step_over_many_instances_is_one_line() {
    with_context(Mode::Full, |context| {
        let mut steps = TurnSteps::default();
        let call = |n: u32| json!({"_tool": "crm.deal.update", "_instance": format!("deal-{n}")});
        let all = |status| (0..20).map(|n| report((0, n), call(n), status)).collect::<Vec<_>>();
        see(&mut steps, &all(CallStatus::Running), context);
        assert_eq!(plain(&steps.live(context, "⠋")), ["1 ⠋ Изменить сделку × 20: 0 из 20"]);
        let mut some = all(CallStatus::Done);
        some[3] = CallReport {
            error: error(json!({"message": "нет прав"})),
            ..report((0, 3), call(3), CallStatus::Failed)
        };
        see(&mut steps, &some, context);
        assert_eq!(
            plain(&steps.write(true, context)),
            ["1 ✗ Изменить сделку × 20: 19 из 20", "✗ deal-3: не вышло: нет прав"]
        );
    });
}

#[test]
fn a_step_that_joins_another_is_shown_once() {
    with_context(Mode::Full, |context| {
        let mut steps = TurnSteps::default();
        let call = |more: Value| {
            let mut call = json!({"_tool": "add_note", "text": "x"});
            call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            call
        };
        let first = |status| report((0, 0), call(json!({})), status);
        see(&mut steps, &[first(CallStatus::Waiting)], context);
        assert_eq!(steps.write(true, context).len(), 1);
        steps.begin();
        // A repeated call shares the question, waits with it and ends with it.
        let second = |status| report((1, 0), call(json!({"comment": "ещё раз"})), status);
        see(&mut steps, &[second(CallStatus::Waiting)], context);
        assert!(steps.write(true, context).is_empty());
        see(&mut steps, &[first(CallStatus::Running)], context);
        see(&mut steps, &[first(CallStatus::Done), second(CallStatus::Done)], context);
        assert_eq!(plain(&steps.write(true, context)), ["1 ✓ Writes a note down: готово"]);
        // A later one that only reports the user's approval shares the result.
        see(&mut steps, &[report((2, 0), call(json!({"confirmed": true})), CallStatus::Done)], context);
        assert!(steps.write(true, context).is_empty());
        // Another note is another step.
        see(&mut steps, &[report((3, 0), json!({"_tool": "add_note", "text": "y"}), CallStatus::Done)], context);
        assert_eq!(plain(&steps.write(true, context)), ["2 ✓ Writes a note down: готово"]);
    });
}

#[test]
fn a_denial_is_shown_once() {
    with_context(Mode::Full, |context| {
        let mut steps = TurnSteps::default();
        let call = |more: &str| json!({"_tool": "add_note", "text": "x", more: "deny"});
        let denied = |at, call| CallReport {
            error: error(json!({"message": "не сегодня"})),
            ..report((at, 0), call, CallStatus::Denied)
        };
        see(&mut steps, &[report((0, 0), call("comment"), CallStatus::Waiting)], context);
        see(&mut steps, &[denied(0, call("comment"))], context);
        assert_eq!(plain(&steps.write(true, context)).len(), 1);
        see(&mut steps, &[denied(1, call("confirmation_decision"))], context);
        see(&mut steps, &[denied(2, call("comment"))], context);
        assert!(steps.write(true, context).is_empty(), "it was denied, and everybody knows");
    });
}

#[test]
fn a_waiting_step_is_shown_again_only_after_a_change() {
    with_context(Mode::Full, |context| {
        let mut steps = TurnSteps::default();
        let old = |status| report((0, 0), json!({"_tool": "add_note"}), status);
        see(&mut steps, &[old(CallStatus::Waiting)], context);
        assert_eq!(steps.write(true, context).len(), 1);
        steps.begin();
        see(
            &mut steps,
            &[old(CallStatus::Waiting), report((1, 0), json!({"_tool": "open_page"}), CallStatus::Done)],
            context,
        );
        assert_eq!(plain(&steps.write(true, context)), ["1 ✓ open page: готово"]);
        see(&mut steps, &[old(CallStatus::Done)], context);
        assert_eq!(plain(&steps.write(true, context)), ["2 ✓ Writes a note down: готово"]);
    });
}
