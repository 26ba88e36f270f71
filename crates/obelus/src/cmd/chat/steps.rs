//! The steps of a turn for people: numbered, each with its status and result.

use std::collections::BTreeMap;

use anstyle::{AnsiColor, Style};
use obelus_kernel::session::{CallReport, CallStatus, Mode};
use obelus_runtime::StepView;
use serde_json::Value;

use super::text::{Line, PLAIN};
use super::titles::Titles;
use crate::output::{DIM, GREEN, RED, YELLOW};
use crate::phrases::{Phrases, fill};

const NUMBER: Style = AnsiColor::Cyan.on_default();

/// The position of a call in the session: its step, and its index in the step.
pub(crate) type Place = (u32, u32);

/// The steps of a turn.
#[derive(Default)]
pub(crate) struct Steps {
    shown: BTreeMap<Place, Shown>,
    /// The results of calls, in words.
    results: BTreeMap<Place, String>,
    /// The names of running steps that get no line when they succeed.
    quiet: BTreeMap<Place, String>,
    /// The number of the next step.
    next: usize,
}

/// The name of a step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Named {
    pub(crate) title: String,
    /// The agent's comment.
    pub(crate) comment: Option<String>,
    /// It gets a line only if it does not succeed.
    pub(crate) quiet: bool,
    /// What was missing, if it could not start.
    pub(crate) lacked: Option<String>,
}

/// The latest known state of a step.
#[derive(Clone, Debug, PartialEq)]
struct Shown {
    number: usize,
    tool: String,
    named: Named,
    instance: Option<String>,
    status: CallStatus,
    error: Option<Value>,
    /// The status that was last printed.
    written: Option<CallStatus>,
    /// It is from before this turn.
    is_old: bool,
}

/// Words beside the parameters, which make a step no other one.
const BESIDE: [&str; 6] =
    ["requires_confirmation", "confirmed", "confirmation_decision", "confirmation_reason", "comment", "http_method"];

/// Whether a step only says what the user decided about an earlier one: it joined that one, and came out as it did.
fn repeats_a_decision(report: &CallReport, steps: &[StepView]) -> bool {
    let says = |name: &str| report.call.get(name).is_some_and(|said| !said.is_null() && *said != Value::Bool(false));
    let is_own =
        |name: &str| name == "_tool" || name == "_instance" || !(name.starts_with('_') || BESIDE.contains(&name));
    let own = |call: &Value| -> BTreeMap<String, Value> {
        let fields = call.as_object().into_iter().flatten();
        fields.filter(|(name, _)| is_own(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    let is_same = |other: &CallReport| {
        other.place < report.place && other.status == report.status && own(&other.call) == own(&report.call)
    };
    (says("confirmed") || says("confirmation_decision")) && steps.iter().any(|step| is_same(&step.report))
}

/// A step, or the same step over many instances.
struct Row<'a> {
    first: Place,
    of: Vec<(Place, &'a Shown)>,
}

impl Steps {
    /// A turn begins: finished steps are removed, and waiting ones are printed again only when their status changes.
    pub(crate) fn begin(&mut self) {
        self.shown.retain(|_, step| !is_final(step.status));
        for step in self.shown.values_mut() {
            (step.is_old, step.written) = (true, Some(step.status));
        }
        self.results.clear();
        self.quiet.clear();
        self.next = 0;
    }

    /// How the calls stand now.
    pub(crate) fn see(&mut self, steps: &[StepView], name: &dyn Fn(&StepView) -> Named) {
        for step in steps.iter().filter(|step| !repeats_a_decision(&step.report, steps)) {
            let report = &step.report;
            let text = |name: &str| report.call.get(name).and_then(Value::as_str);
            let known = self.shown.get(&report.place);
            let named = name(step);
            self.quiet.remove(&report.place);
            if named.quiet && known.is_none() && !needs_a_word(report.status) {
                if report.status == CallStatus::Running {
                    self.quiet.insert(report.place, named.title);
                }
                continue;
            }
            let moved = known.is_none_or(|known| known.is_old && known.status != report.status);
            if moved {
                self.next += 1;
            }
            let shown = Shown {
                number: if moved { self.next } else { known.map_or(0, |known| known.number) },
                tool: text("_tool").unwrap_or_default().to_owned(),
                named,
                instance: text("_instance").map(str::to_owned),
                status: report.status,
                error: report.error.clone(),
                written: known.and_then(|known| known.written),
                is_old: known.is_some_and(|known| known.is_old) && !moved,
            };
            self.shown.insert(report.place, shown);
        }
    }

    /// Sets the result of a call.
    pub(crate) fn brought(&mut self, place: Place, words: String) {
        self.results.insert(place, words);
    }

    /// The tool of a call.
    pub(crate) fn tool(&self, place: Place) -> Option<&str> {
        self.shown.get(&place).map(|step| step.tool.as_str())
    }

    /// The lines of steps whose status changed since they were last printed; marks them as printed. Without `all`, only
    /// steps in a final status.
    pub(crate) fn write(&mut self, all: bool, look: &Look<'_>) -> Vec<Line> {
        let is_due = |step: &Shown| step.written != Some(step.status) && (all || is_final(step.status));
        let mut lines = Vec::new();
        let mut written = Vec::new();
        for row in self.rows() {
            // A step for many instances is printed when all instances can be.
            if row.of.iter().all(|(_, step)| is_due(step) || step.written == Some(step.status))
                && row.of.iter().any(|(_, step)| is_due(step))
            {
                written.extend(row.of.iter().map(|(place, _)| *place));
                lines.extend(self.lines(&row, look, None));
            }
        }
        for place in written {
            if let Some(step) = self.shown.get_mut(&place) {
                step.written = Some(step.status);
            }
        }
        lines
    }

    /// The steps that are not printed yet, one line each.
    pub(crate) fn live(&self, look: &Look<'_>, spinner: &str) -> Vec<Line> {
        let is_live = |row: &Row<'_>| row.of.iter().any(|(_, step)| step.written != Some(step.status));
        let rows = self.rows();
        let told = rows.iter().filter(|row| is_live(row)).flat_map(|row| self.lines(row, look, Some(spinner)));
        let quiet = self.quiet.values().map(|title| Line::of(DIM, format!("   {spinner} ")).shown(DIM, title));
        told.chain(quiet).collect()
    }

    /// All steps of the turn.
    pub(crate) fn all(&self, look: &Look<'_>) -> Vec<Line> {
        self.rows().iter().flat_map(|row| self.lines(row, look, None)).collect()
    }

    /// The steps in order; those of one template form one row.
    fn rows(&self) -> Vec<Row<'_>> {
        let mut rows: Vec<Row<'_>> = Vec::new();
        for (place, step) in &self.shown {
            let is_same = |row: &&mut Row<'_>| {
                let (first, other) = row.of[0];
                first.0 == place.0 && other.tool == step.tool && other.instance.is_some() && step.instance.is_some()
            };
            match rows.iter_mut().find(is_same) {
                Some(row) => row.of.push((*place, step)),
                None => rows.push(Row { first: *place, of: vec![(*place, step)] }),
            }
        }
        rows.sort_by_key(|row| self.shown[&row.first].number);
        rows
    }

    fn lines(&self, row: &Row<'_>, look: &Look<'_>, spinner: Option<&str>) -> Vec<Line> {
        let (_, step) = row.of[0];
        let status = the_least(row.of.iter().map(|(_, step)| step.status));
        let (mark, colour) = mark(status, spinner);
        let mut line = Line::of(NUMBER, format!("{:>2} ", step.number))
            .own(colour, mark)
            .own(PLAIN, " ")
            .shown(PLAIN, &if row.of.len() > 1 { look.titles.tool(&step.tool) } else { step.named.title.clone() })
            .hanging(5);
        if let (Some(comment), 1) = (&step.named.comment, row.of.len()) {
            line = line.own(DIM, " · ").shown(DIM, comment);
        }
        if row.of.len() > 1 {
            let ended = row.of.iter().filter(|(_, step)| step.status == CallStatus::Done).count();
            let count = fill(look.phrases.chat.of_so_many, &[&ended.to_string(), &row.of.len().to_string()]);
            line = line.own(DIM, format!(" × {}", row.of.len()));
            return self.over_instances(row, look, line, status, count);
        }
        if let Some(said) = self.said(row.first, step, look) {
            line = line.own(PLAIN, ": ").shown(colour_of(status), &said);
        }
        vec![line]
    }

    /// One line for a step of many instances, and one for each instance that did not succeed.
    fn over_instances(
        &self,
        row: &Row<'_>,
        look: &Look<'_>,
        line: Line,
        status: CallStatus,
        count: String,
    ) -> Vec<Line> {
        let line = match status {
            CallStatus::Done => line.own(PLAIN, ": ").own(colour_of(CallStatus::Done), look.phrases.status.done),
            CallStatus::Waiting => {
                let some_done = row.of.iter().any(|(_, step)| step.status == CallStatus::Done);
                let line = line.own(PLAIN, ": ").own(DIM, if some_done { format!("{count}, ") } else { String::new() });
                line.own(colour_of(CallStatus::Waiting), look.phrases.status.waiting)
            }
            _ => line.own(PLAIN, ": ").own(DIM, count),
        };
        let mut lines = vec![line];
        for (place, step) in row
            .of
            .iter()
            .filter(|(_, step)| matches!(step.status, CallStatus::Failed | CallStatus::Refused | CallStatus::Denied))
        {
            let (mark, colour) = mark(step.status, None);
            let name = step.named.comment.as_deref().or(step.instance.as_deref()).unwrap_or_default();
            let said = self.said(*place, step, look).unwrap_or_default();
            let line = Line::of(PLAIN, "     ").own(colour, mark).own(PLAIN, " ").shown(PLAIN, name);
            lines.push(line.own(PLAIN, ": ").shown(colour_of(step.status), &said).hanging(7));
        }
        lines
    }

    /// The details of a step after its name.
    fn said(&self, place: Place, step: &Shown, look: &Look<'_>) -> Option<String> {
        let status = &look.phrases.status;
        let text = |name: &str| step.error.as_ref().and_then(|error| error[name].as_str()).unwrap_or_default();
        let with =
            |head: &str, why: &str| Some(if why.is_empty() { head.to_owned() } else { format!("{head}: {why}") });
        match step.status {
            CallStatus::Done => Some(self.results.get(&place).cloned().unwrap_or_else(|| status.done.to_owned())),
            CallStatus::Failed if text("code") == "stopped" => Some(status.stopped.to_owned()),
            CallStatus::Failed if text("code") == "timeout" => Some(status.too_late.to_owned()),
            CallStatus::Failed => {
                let lacked = step.named.lacked.clone();
                with(status.failed, &lacked.unwrap_or_else(|| failure(step.error.as_ref())))
            }
            CallStatus::Skipped => Some(status.skipped.to_owned()),
            CallStatus::Denied => with(status.denied, text("message")),
            CallStatus::Refused if text("rule") == "POL-1" => Some(match look.mode {
                Mode::Shadow => status.only_planned.to_owned(),
                mode => fill(status.outside_mode, &[mode.name()]),
            }),
            CallStatus::Refused => with(status.refused, text("message")),
            CallStatus::Waiting => Some(status.waiting.to_owned()),
            CallStatus::Running => None,
            _ => Some(status.planned.to_owned()),
        }
    }
}

/// What is needed to describe steps.
pub(crate) struct Look<'a> {
    pub(crate) phrases: &'a Phrases,
    pub(crate) titles: &'a Titles,
    pub(crate) mode: Mode,
}

/// The message and code of a failed call.
fn failure(error: Option<&Value>) -> String {
    let text = |name: &str| error.and_then(|error| error[name].as_str()).unwrap_or_default();
    match (text("message"), text("code")) {
        ("", code) => code.to_owned(),
        (message, "") => message.to_owned(),
        (message, code) => format!("{message} ({code})"),
    }
}

fn is_final(status: CallStatus) -> bool {
    matches!(
        status,
        CallStatus::Done | CallStatus::Failed | CallStatus::Skipped | CallStatus::Denied | CallStatus::Refused
    )
}

/// Whether a step with this status is printed even if it is quiet.
fn needs_a_word(status: CallStatus) -> bool {
    matches!(status, CallStatus::Failed | CallStatus::Denied | CallStatus::Refused | CallStatus::Waiting)
}

/// The status of a step for many instances: the worst of them.
fn the_least(all: impl Iterator<Item = CallStatus>) -> CallStatus {
    const ORDER: [CallStatus; 9] = [
        CallStatus::Running,
        CallStatus::Waiting,
        CallStatus::Ready,
        CallStatus::Blocked,
        CallStatus::Failed,
        CallStatus::Refused,
        CallStatus::Denied,
        CallStatus::Skipped,
        CallStatus::Done,
    ];
    all.min_by_key(|status| ORDER.iter().position(|known| known == status)).unwrap_or(CallStatus::Done)
}

fn mark(status: CallStatus, spinner: Option<&str>) -> (&str, Style) {
    match status {
        CallStatus::Done => ("✓", GREEN),
        CallStatus::Failed => ("✗", RED),
        CallStatus::Refused | CallStatus::Denied => ("⊘", YELLOW),
        CallStatus::Skipped => ("–", DIM),
        CallStatus::Waiting => ("?", YELLOW),
        CallStatus::Running => (spinner.unwrap_or("▸"), NUMBER),
        _ => ("·", DIM),
    }
}

fn colour_of(status: CallStatus) -> Style {
    match status {
        CallStatus::Failed => AnsiColor::Red.on_default(),
        CallStatus::Waiting | CallStatus::Refused | CallStatus::Denied => AnsiColor::Yellow.on_default(),
        _ => DIM,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::chat::titles::tests::sample;
    use obelus_kernel::session::CallReport;
    use serde_json::json;
    use std::sync::Arc;

    fn report(place: Place, call: Value, status: CallStatus) -> CallReport {
        CallReport { place, call: Arc::new(call), status, error: None }
    }

    fn see(steps: &mut Steps, calls: &[CallReport]) {
        let view = |report: &CallReport| StepView {
            place: report.place,
            report: report.clone(),
            headline: String::new(),
            lacks: None,
        };
        let calls: Vec<StepView> = calls.iter().map(view).collect();
        steps.see(&calls, &|step| Named {
            title: sample("ru").tool(step.report.call["_tool"].as_str().unwrap_or_default()),
            comment: step.report.call["comment"].as_str().map(str::to_owned),
            quiet: sample("ru").is_quiet(step.report.call["_tool"].as_str().unwrap_or_default()),
            lacked: None,
        });
    }

    fn told(lines: &[Line]) -> Vec<String> {
        lines.iter().map(|line| line.plain().trim().to_owned()).collect()
    }

    fn with_look<T>(mode: Mode, see: impl FnOnce(&Look<'_>) -> T) -> T {
        let titles = sample("ru");
        see(&Look { phrases: Phrases::of(Some("ru")), titles: &titles, mode })
    }

    #[test]
    fn steps_are_numbered_and_told_without_method_names() {
        with_look(Mode::Full, |look| {
            let mut steps = Steps::default();
            let change = json!({"_tool": "crm.deal.update", "id": 7, "comment": "Меняю сумму"});
            see(
                &mut steps,
                &[
                    report((0, 0), json!({"_tool": "open_page"}), CallStatus::Running),
                    report((0, 1), change.clone(), CallStatus::Blocked),
                ],
            );
            assert_eq!(told(&steps.live(look, "⠋")), ["1 ⠋ open page", "2 · Изменить сделку · Меняю сумму: в плане"]);
            assert!(steps.write(false, look).is_empty(), "nothing has ended");
            steps.brought((0, 0), "3 раза".to_owned());
            see(
                &mut steps,
                &[
                    report((0, 0), json!({"_tool": "open_page"}), CallStatus::Done),
                    report((0, 1), change.clone(), CallStatus::Waiting),
                ],
            );
            assert_eq!(told(&steps.write(false, look)), ["1 ✓ open page: 3 раза"]);
            assert_eq!(told(&steps.write(true, look)), ["2 ? Изменить сделку · Меняю сумму: ждёт вашего решения"]);
            assert!(steps.write(true, look).is_empty(), "what was written is not written again");
            see(&mut steps, &[report((0, 1), change, CallStatus::Done)]);
            assert_eq!(told(&steps.write(true, look)), ["2 ✓ Изменить сделку · Меняю сумму: готово"]);
        });
    }

    #[test]
    fn a_quiet_step_is_told_only_where_it_does_not_go_well() {
        with_look(Mode::Full, |look| {
            let mut steps = Steps::default();
            let quiet = |at, status| report((0, at), json!({"_tool": "take_stock"}), status);
            see(&mut steps, &[quiet(0, CallStatus::Running), quiet(1, CallStatus::Blocked)]);
            assert_eq!(told(&steps.live(look, "⠋")), ["⠋ take stock"], "what is at work is seen");
            assert!(steps.write(true, look).is_empty());
            let page = report((0, 2), json!({"_tool": "open_page"}), CallStatus::Done);
            let failed =
                CallReport { error: Some(json!({"message": "не найдено"})), ..quiet(1, CallStatus::Failed) };
            see(&mut steps, &[quiet(0, CallStatus::Done), page, failed]);
            // A step that is not printed gets no number.
            assert_eq!(
                told(&steps.write(true, look)),
                ["1 ✓ open page: готово", "2 ✗ take stock: не вышло: не найдено"]
            );
        });
    }

    #[test]
    fn what_went_wrong_is_said_plainly() {
        with_look(Mode::Canary, |look| {
            let mut steps = Steps::default();
            let call = || json!({"_tool": "add_note"});
            let with = |at, status, error| CallReport { error: Some(error), ..report((0, at), call(), status) };
            see(
                &mut steps,
                &[
                    with(0, CallStatus::Failed, json!({"code": "ERROR_NOT_FOUND", "message": "Not found"})),
                    with(1, CallStatus::Refused, json!({"rule": "POL-1", "message": "…"})),
                    with(2, CallStatus::Denied, json!({"code": CallStatus::Denied, "message": "не сегодня"})),
                    with(3, CallStatus::Refused, json!({"rule": "POL-2", "message": "никогда"})),
                    report((0, 4), call(), CallStatus::Skipped),
                ],
            );
            assert_eq!(
                told(&steps.write(true, look)),
                [
                    "1 ✗ Writes a note down: не вышло: Not found (ERROR_NOT_FOUND)",
                    "2 ⊘ Writes a note down: режим canary этого не выполняет",
                    "3 ⊘ Writes a note down: отклонено: не сегодня",
                    "4 ⊘ Writes a note down: не разрешено: никогда",
                    "5 – Writes a note down: пропущено: нет данных от предыдущих шагов",
                ]
            );
        });
    }

    #[test]
    fn a_step_over_many_instances_is_one_line() {
        with_look(Mode::Full, |look| {
            let mut steps = Steps::default();
            let call = |n: u32| json!({"_tool": "crm.deal.update", "_instance": format!("deal-{n}")});
            let all = |status| (0..20).map(|n| report((0, n), call(n), status)).collect::<Vec<_>>();
            see(&mut steps, &all(CallStatus::Running));
            assert_eq!(told(&steps.live(look, "⠋")), ["1 ⠋ Изменить сделку × 20: 0 из 20"]);
            let mut some = all(CallStatus::Done);
            some[3] = CallReport {
                error: Some(json!({"message": "нет прав"})),
                ..report((0, 3), call(3), CallStatus::Failed)
            };
            see(&mut steps, &some);
            assert_eq!(
                told(&steps.write(true, look)),
                ["1 ✗ Изменить сделку × 20: 19 из 20", "✗ deal-3: не вышло: нет прав"]
            );
        });
    }

    #[test]
    fn what_waited_before_is_not_told_again_until_it_moves() {
        with_look(Mode::Full, |look| {
            let mut steps = Steps::default();
            let old = |status| report((0, 0), json!({"_tool": "add_note"}), status);
            see(&mut steps, &[old(CallStatus::Waiting)]);
            assert_eq!(steps.write(true, look).len(), 1);
            steps.begin();
            see(
                &mut steps,
                &[old(CallStatus::Waiting), report((1, 0), json!({"_tool": "open_page"}), CallStatus::Done)],
            );
            assert_eq!(told(&steps.write(true, look)), ["1 ✓ open page: готово"]);
            see(&mut steps, &[old(CallStatus::Done)]);
            assert_eq!(told(&steps.write(true, look)), ["2 ✓ Writes a note down: готово"]);
        });
    }
}
