//! The answers to commands that only read, made from a session: in this process, or a copy of a server's.

use obelus_kernel::Path;
use obelus_kernel::session::plan_graph::PlannedCall;
use obelus_kernel::session::{CallStatus, Mode, Session};
use obelus_runtime::Language;
use obelus_runtime::people::Titles;
use obelus_runtime::sessions::StepView;
use obelus_words::PhraseTable as _;

use super::editor::colour;
use super::outline;
use super::steps::{StepContext, TurnSteps};
use super::text::{PLAIN, StyledLine};
use super::why;
use crate::cmd::people;
use crate::cmd::sessions::nearest;
use crate::language::{Words, fill, mode_means};
use crate::output::{BOLD, DIM};

/// `/state`: what the agent remembers.
pub(crate) fn state(session: &Session, phrases: &Words) -> Vec<StyledLine> {
    let mut lines = Vec::new();
    for (kind, view) in session.context().views().filter(|(kind, _)| *kind != "error") {
        let Some(value) = view.read(&[], None) else { continue };
        // The state includes what the session maintains: open questions, plans, confirmations.
        let value = if kind == "state" { session.state() } else { value.into_owned() };
        lines.push(StyledLine::of(BOLD, format!("†{kind}")));
        lines.extend(outline::lines(&value).into_iter().map(|line| line.indented("  ")));
    }
    if lines.is_empty() { vec![StyledLine::of(DIM, phrases.chat.no_state)] } else { lines }
}

/// `/consents`: the standing consents.
pub(crate) fn consents(session: &Session, phrases: &Words) -> Vec<StyledLine> {
    let lines = people::consent_lines(session, phrases);
    if lines.is_empty() {
        vec![StyledLine::of(DIM, phrases.chat.no_consents)]
    } else {
        lines.iter().map(|line| StyledLine::new().shown(PLAIN, line).hanging(4)).collect()
    }
}

/// `/mode`: the mode, and what it permits.
pub(crate) fn mode(mode: Mode, phrases: &Words) -> Vec<StyledLine> {
    vec![StyledLine::of(colour(mode), fill(phrases.chat.mode_is, &[mode.name(), mode_means(mode, phrases)]))]
}

/// `/why`: where a value comes from.
pub(crate) fn why(session: &Session, path: &Path, titles: &Titles, phrases: &Words) -> Vec<StyledLine> {
    match session.why(&path.to_string(), None) {
        Ok(why) => {
            let mut lines = why::lines(&why, titles, phrases, false);
            let near =
                Some(path.to_string()).filter(|_| why.value.is_none()).and_then(|path| nearest::path(session, &path));
            lines.extend(near.map(|near| StyledLine::new().shown(DIM, &fill(phrases.because.nearest, &[&near]))));
            lines
        }
        Err(fault) => vec![StyledLine::new().shown(PLAIN, &fault.to_string())],
    }
}

/// `/plan` before its first step: the planned calls.
fn planned(session: &Session, titles: &Titles, phrases: &Words) -> Vec<StyledLine> {
    let is_planned = |call: &&PlannedCall| call.is_only_planned && call.report.status != CallStatus::Denied;
    let graph = session.plan_graph(usize::MAX);
    let calls: Vec<&PlannedCall> = graph.calls.iter().filter(is_planned).collect();
    if calls.is_empty() {
        return vec![StyledLine::of(DIM, phrases.chat.no_plan)];
    }
    let line = |(index, call): (usize, &PlannedCall)| {
        let title = titles.tool(call.report.call.tool_name());
        StyledLine::of(DIM, format!("{index:>2} · ")).shown(PLAIN, &title).hanging(5)
    };
    (1..).zip(calls).map(line).collect()
}

/// `/plan` of a session whose events were not followed: its calls with their statuses.
pub(crate) fn plan(session: &Session, titles: &Titles, phrases: &Words) -> Vec<StyledLine> {
    let context = StepContext { phrases, titles, mode: session.settings().mode };
    let mut steps = TurnSteps::default();
    steps.see(&StepView::all(session, Language::named(Some(phrases.code))), &context);
    match steps.all(&context) {
        none if none.is_empty() => planned(session, titles, phrases),
        lines => lines,
    }
}

/// `/help`: rows of a name and its meaning.
pub(crate) fn help(rows: &[&str]) -> Vec<StyledLine> {
    let line = |row: &&str| {
        let (name, words) = row.rsplit_once('|').unwrap_or((row, ""));
        StyledLine::of(PLAIN, "  ").own(BOLD, format!("{name:<26}")).own(DIM, words).hanging(28)
    };
    rows.iter().map(line).collect()
}

/// The rows of `/help` for the commands of a chat.
pub(crate) fn help_rows(phrases: &Words) -> Vec<&'static str> {
    phrases.help.all()
}
