//! The steps of a turn for people: numbered, each with its status and result.

mod asked;

use std::collections::BTreeMap;

use anstyle::{AnsiColor, Style};
use obelus_kernel::session::{CallStatus, Mode};
use obelus_runtime::people::{Titles, failure_in_words, refusal_in_words};
use obelus_runtime::sessions::StepView;
use serde_json::Value;

use super::text::{Line, PLAIN};
use crate::language::{Words, fill};
use crate::output::{DIM, GREEN, RED, YELLOW};
use asked::AskedSteps;

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
    /// The steps that a person is or was asked about.
    asked: AskedSteps,
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
    /// The standing consent because of which it ran without a question.
    consent: Option<u64>,
    status: CallStatus,
    error: Option<Value>,
    /// The status that was last printed.
    written: Option<CallStatus>,
    /// It is from before this turn.
    is_old: bool,
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
        self.asked.begin();
        self.next = 0;
    }

    /// How the calls stand now.
    pub(crate) fn see(&mut self, steps: &[StepView], name: &dyn Fn(&StepView) -> Named) {
        for step in steps {
            let report = &step.report;
            if self.asked.is_joined(report) {
                continue;
            }
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
                consent: step.consent,
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
        if let Some(number) = step.consent {
            line = line.own(DIM, format!(" · {}", fill(look.phrases.because.by_consent, &[&format!("c{number}")])));
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
                with(
                    status.failed,
                    &lacked.unwrap_or_else(|| {
                        failure_in_words(step.error.as_ref().unwrap_or(&Value::Null), look.phrases.language)
                    }),
                )
            }
            CallStatus::Skipped if text("code") == "not_started" => Some(status.not_started.to_owned()),
            CallStatus::Skipped => Some(status.skipped.to_owned()),
            CallStatus::Denied => with(status.denied, text("message")),
            CallStatus::Refused if text("rule") == "POL-1" => Some(match look.mode {
                Mode::Shadow => status.only_planned.to_owned(),
                mode => fill(status.outside_mode, &[mode.name()]),
            }),
            CallStatus::Refused => {
                let error = step.error.as_ref().unwrap_or(&Value::Null);
                let why = refusal_in_words(error, &step.tool, look.titles, look.phrases.language);
                with(status.refused, &why)
            }
            CallStatus::Waiting => Some(status.waiting.to_owned()),
            CallStatus::Running => None,
            _ => Some(status.planned.to_owned()),
        }
    }
}

/// What is needed to describe steps.
pub(crate) struct Look<'a> {
    pub(crate) phrases: &'a Words,
    pub(crate) titles: &'a Titles,
    pub(crate) mode: Mode,
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
mod tests;
