//! The steps of a turn for people: numbered, each with its status and result.

mod asked;

use std::collections::BTreeMap;

use anstyle::{AnsiColor, Style};
use obelus_kernel::session::{CallStatus, Mode};
use obelus_runtime::people::{StepLine, Titles};
use obelus_runtime::sessions::StepView;

use super::question::{style, styled};
use super::text::{PLAIN, StyledLine};
use crate::language::{Language, Words, fill};
use crate::output::DIM;
use asked::AskedSteps;

const NUMBER: Style = AnsiColor::Cyan.on_default();

/// The position of a call in the session: its step, and its index in the step.
pub(crate) type StepPlace = (u32, u32);

/// The steps of a turn.
#[derive(Default)]
pub(crate) struct TurnSteps {
    shown: BTreeMap<StepPlace, StepState>,
    /// The results of calls, as text.
    results: BTreeMap<StepPlace, String>,
    /// Who edited calls, as text.
    edited: BTreeMap<StepPlace, String>,
    /// The names of running steps that get no line when they succeed.
    quiet: BTreeMap<StepPlace, String>,
    /// The number of the next step.
    next: usize,
    /// The steps that a person is or was asked about.
    asked: AskedSteps,
}

/// The latest known state of a step.
#[derive(Clone, Debug, PartialEq)]
struct StepState {
    number: usize,
    tool: String,
    line: StepLine,
    instance: Option<String>,
    status: CallStatus,
    /// The status that was last printed.
    written: Option<CallStatus>,
    /// It is from before this turn.
    is_old: bool,
}

/// A step, or the same step over many instances.
struct StepRow<'a> {
    first: StepPlace,
    of: Vec<(StepPlace, &'a StepState)>,
}

impl TurnSteps {
    /// A turn begins: finished steps are removed, and waiting ones are printed again only when their status changes.
    pub(crate) fn begin(&mut self) {
        self.shown.retain(|_, step| !is_final(step.status));
        for step in self.shown.values_mut() {
            (step.is_old, step.written) = (true, Some(step.status));
        }
        self.results.clear();
        self.edited.clear();
        self.quiet.clear();
        self.asked.begin();
        self.next = 0;
    }

    /// Updates the statuses of the calls.
    pub(crate) fn see(&mut self, steps: &[StepView], context: &StepContext<'_>) {
        for step in steps {
            let report = &step.report;
            if self.asked.is_joined(report) {
                continue;
            }
            let known = self.shown.get(&report.place);
            let line = StepLine::of(step, context.titles, context.mode, context.phrases.language);
            self.quiet.remove(&report.place);
            if line.is_quiet && known.is_none() && !needs_a_word(report.status) {
                if report.status == CallStatus::Running {
                    self.quiet.insert(report.place, line.headline);
                }
                continue;
            }
            let has_progressed = known.is_none_or(|known| known.is_old && known.status != report.status);
            if has_progressed {
                self.next += 1;
            }
            let shown = StepState {
                number: if has_progressed { self.next } else { known.map_or(0, |known| known.number) },
                tool: report.call.tool_name().to_owned(),
                line,
                instance: report.call.instance().map(str::to_owned),
                status: report.status,
                written: known.and_then(|known| known.written),
                is_old: known.is_some_and(|known| known.is_old) && !has_progressed,
            };
            self.shown.insert(report.place, shown);
        }
    }

    /// Sets the result of a call.
    pub(crate) fn brought(&mut self, place: StepPlace, words: String) {
        self.results.insert(place, words);
    }

    /// Sets who edited a call.
    pub(crate) fn edited(&mut self, place: StepPlace, who: String) {
        self.edited.insert(place, who);
    }

    /// The tool of a call.
    pub(crate) fn tool(&self, place: StepPlace) -> Option<&str> {
        self.shown.get(&place).map(|step| step.tool.as_str())
    }

    /// The lines of steps whose status changed since they were last printed; marks them as printed. Without `all`, only
    /// steps in a final status.
    pub(crate) fn write(&mut self, all: bool, context: &StepContext<'_>) -> Vec<StyledLine> {
        let is_due = |step: &StepState| step.written != Some(step.status) && (all || is_final(step.status));
        let mut lines = Vec::new();
        let mut written = Vec::new();
        for row in self.rows() {
            // A step for many instances is printed when all instances can be.
            if row.of.iter().all(|(_, step)| is_due(step) || step.written == Some(step.status))
                && row.of.iter().any(|(_, step)| is_due(step))
            {
                written.extend(row.of.iter().map(|(place, _)| *place));
                lines.extend(self.lines(&row, context, None));
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
    pub(crate) fn live(&self, context: &StepContext<'_>, spinner: &str) -> Vec<StyledLine> {
        let is_live = |row: &StepRow<'_>| row.of.iter().any(|(_, step)| step.written != Some(step.status));
        let rows = self.rows();
        let lines = rows.iter().filter(|row| is_live(row)).flat_map(|row| self.lines(row, context, Some(spinner)));
        let quiet = self.quiet.values().map(|title| StyledLine::of(DIM, format!("   {spinner} ")).shown(DIM, title));
        lines.chain(quiet).collect()
    }

    /// All steps of the turn.
    pub(crate) fn all(&self, context: &StepContext<'_>) -> Vec<StyledLine> {
        self.rows().iter().flat_map(|row| self.lines(row, context, None)).collect()
    }

    /// The steps in order; those of one template form one row.
    fn rows(&self) -> Vec<StepRow<'_>> {
        let mut rows: Vec<StepRow<'_>> = Vec::new();
        for (place, step) in &self.shown {
            let is_same = |row: &&mut StepRow<'_>| {
                let (first, other) = row.of[0];
                first.0 == place.0 && other.tool == step.tool && other.instance.is_some() && step.instance.is_some()
            };
            match rows.iter_mut().find(is_same) {
                Some(row) => row.of.push((*place, step)),
                None => rows.push(StepRow { first: *place, of: vec![(*place, step)] }),
            }
        }
        rows.sort_by_key(|row| self.shown[&row.first].number);
        rows
    }

    fn lines(&self, row: &StepRow<'_>, context: &StepContext<'_>, spinner: Option<&str>) -> Vec<StyledLine> {
        let (_, step) = row.of[0];
        let shown = self.shown_line(row.first, step, context.phrases.language);
        if row.of.len() > 1 {
            return self.over_instances(row, context, spinner);
        }
        let line = head(step.number, &shown, spinner).hanging(5);
        vec![line.joined(styled(shown.words()))]
    }

    /// One line for a step of many instances, and one for each instance that did not succeed.
    fn over_instances(&self, row: &StepRow<'_>, context: &StepContext<'_>, spinner: Option<&str>) -> Vec<StyledLine> {
        let (_, step) = row.of[0];
        let status = the_least(row.of.iter().map(|(_, step)| step.status));
        let done = row.of.iter().filter(|(_, step)| step.status == CallStatus::Done).count();
        let count = fill(context.phrases.chat.of_so_many, &[&done.to_string(), &row.of.len().to_string()]);
        // All instances with this status have the same text.
        let with_status = row.of.iter().find(|(_, step)| step.status == status).map_or(step, |(_, step)| step);
        let said = with_status.line.outcome.as_deref().unwrap_or_default();
        let line =
            head(step.number, &with_status.line, spinner).shown(PLAIN, &context.titles.tool(&step.tool)).hanging(5);
        let line = line.own(DIM, format!(" × {}", row.of.len())).own(PLAIN, ": ");
        let tone = style(with_status.line.outcome_tone());
        let mut lines = vec![match status {
            CallStatus::Done => line.shown(tone, said),
            CallStatus::Waiting if done > 0 => line.own(DIM, format!("{count}, ")).shown(tone, said),
            CallStatus::Waiting => line.shown(tone, said),
            _ => line.own(DIM, count),
        }];
        let is_amiss = |status| matches!(status, CallStatus::Failed | CallStatus::Refused | CallStatus::Denied);
        for (place, step) in row.of.iter().filter(|(_, step)| is_amiss(step.status)) {
            let mut shown = self.shown_line(*place, step, context.phrases.language);
            shown.headline = shown.comment.take().or_else(|| step.instance.clone()).unwrap_or_default();
            lines.push(StyledLine::of(PLAIN, "     ").joined(styled(shown.line())).hanging(7));
        }
        lines
    }

    /// A step with its result as text, if there is one, and who edited it.
    fn shown_line(&self, place: StepPlace, step: &StepState, language: Language) -> StepLine {
        let mut line = step.line.clone();
        if let Some(who) = self.edited.get(&place) {
            line = line.edited_by(who, language);
        }
        if let Some(result) = self.results.get(&place).filter(|_| step.status == CallStatus::Done) {
            line.outcome = Some(result.clone());
        }
        line
    }
}

/// What is needed to describe steps.
pub(crate) struct StepContext<'a> {
    pub(crate) phrases: &'a Words,
    pub(crate) titles: &'a Titles,
    pub(crate) mode: Mode,
}

/// The number of a step, and its sign.
fn head(number: usize, step: &StepLine, spinner: Option<&str>) -> StyledLine {
    let (sign, colour) = match step.status {
        CallStatus::Running => (spinner.unwrap_or(step.sign()), NUMBER),
        _ => (step.sign(), style(step.tone())),
    };
    StyledLine::of(NUMBER, format!("{number:>2} ")).own(colour, sign).own(PLAIN, " ")
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

#[cfg(test)]
mod tests;
