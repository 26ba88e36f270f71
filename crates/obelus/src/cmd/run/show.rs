//! The progress and the result of a session.

use std::io::IsTerminal;

use obelus_kernel::CallJson;
use obelus_kernel::session::{Mode, Question, QuestionId, RepeatReason, Reply, Session, TurnEnd};
use obelus_runtime::EventBody;
use obelus_runtime::people::{QuestionView, StepLine, undone, why_it_ended};
use obelus_runtime::sessions::InboxId;
use serde_json::{Value, json};

use super::super::people::{Narrator, RunningCalls, file_news, with_store};
use super::outcome::{CallOutcome, is_undone, outcomes};
use crate::cli::StoreArgs;
use crate::language::fill;
use crate::local_time::local_time;
use crate::output::{self, BOLD, DIM, Exit, YELLOW, visible};

/// How a session is shown.
#[derive(Clone)]
pub(crate) struct ShowOptions {
    pub(crate) as_json: bool,
    pub(crate) is_plan: bool,
    /// The folder of the store, if it was named: commands that answer a question must name it too.
    pub(crate) store: StoreArgs,
}

impl ShowOptions {
    /// Whether there is a person to ask.
    pub(crate) fn has_people(&self) -> bool {
        !self.as_json && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
    }

    /// Shows an event. `elsewhere` is the session, if it can be answered elsewhere but not here.
    pub(super) fn event(
        &self,
        event: &EventBody,
        narrator: &Narrator,
        begun: &mut RunningCalls,
        elsewhere: Option<&str>,
    ) {
        match (self.as_json, event) {
            // Programs that read the output must also learn that edits were refused.
            (_, EventBody::Files { news }) => output::note(&file_news(news, narrator.phrases)),
            (true, _) => {}
            (
                false,
                EventBody::CallBegan { .. }
                | EventBody::CallEnded { .. }
                | EventBody::QuestionDecided { .. }
                | EventBody::Delegated { .. },
            ) => {
                begun.line(event, narrator).iter().for_each(|line| output::note(line));
            }
            (false, event) => show(event, narrator, elsewhere, &self.store),
        }
    }

    /// Shows the result, or the text on which the turn rests. A stored session can be answered by other commands.
    /// `known` are the questions that the person has seen before.
    pub(super) fn end(
        &self,
        session: &Session,
        reply: &Reply,
        last_words: Option<String>,
        kept_as: Option<&str>,
        known: &[QuestionId],
    ) {
        match (self.as_json, last_words) {
            (true, _) => return output::json(&document(session, reply)),
            (false, Some(words)) if reply.output.is_null() => {
                report(session, &Reply { output: words.into(), ..reply.clone() }, self);
            }
            (false, _) => report(session, reply, self),
        }
        // A person at the terminal has already seen them.
        if !self.has_people() {
            report_questions(session, self, kept_as, known);
        }
    }

    /// The exit code. `approved` is the question whose calls the command let run.
    pub(crate) fn exit(&self, session: &Session, reply: &Reply, approved: Option<&QuestionId>) -> Exit {
        match reply.ends {
            // A detached call may still be in doubt, or wait for an answer. At a limit, a person can answer too.
            TurnEnd::Output | TurnEnd::Limit if session.questions().iter().any(Question::is_open) => Exit::Waiting,
            TurnEnd::Output if self.is_plan && reply.calls.iter().any(is_undone) => Exit::Failed,
            TurnEnd::Output
                if reply.calls.iter().any(|call| StepLine::is_left_undone(call.status, call.error.as_deref())) =>
            {
                Exit::Failed
            }
            TurnEnd::Output if approved.is_some_and(|id| has_failed(session, reply, id)) => Exit::Failed,
            TurnEnd::Output => Exit::Done,
            TurnEnd::Waiting => Exit::Waiting,
            TurnEnd::Degraded | TurnEnd::Limit => Exit::Failed,
            TurnEnd::Stopped => Exit::Interrupted,
        }
    }
}

/// Whether a call that a person approved failed.
fn has_failed(session: &Session, reply: &Reply, id: &QuestionId) -> bool {
    let Some(question) = session.question(id) else { return false };
    let is_asked = |call: &CallJson| question.calls.iter().any(|asked| is_same_call(&asked.call, call));
    reply.calls.iter().any(|report| report.status.did_not_succeed() && is_asked(&report.call))
}

/// Whether a call is the one that a person was asked about. Its parameters may have been edited.
pub(crate) fn is_same_call(one: &Value, other: &Value) -> bool {
    ["_tool", "_instance", "_outputPath"].iter().all(|field| one.get(field) == other.get(field))
}

/// Shows an event to a person.
fn show(event: &EventBody, narrator: &Narrator, elsewhere: Option<&str>, store: &StoreArgs) {
    let words = &narrator.phrases.running;
    match event {
        EventBody::AgentSaid { text } => output::note(&visible(text)),
        EventBody::ModelAsked { .. } => output::note(&format!("{DIM}{}{DIM:#}", words.asking)),
        EventBody::QuestionAskedAgain { question, because: RepeatReason::ItWillLapse } => {
            let (id, until) = (visible(&question.id.to_string()), local_time(question.expires_at));
            output::note(&format!("{YELLOW}?{YELLOW:#} {BOLD}{id}{BOLD:#} {}", fill(words.lapses, &[&until])));
        }
        EventBody::QuestionAsked { question } => {
            let id = visible(&question.id.to_string());
            match elsewhere.filter(|_| question.asked_by().is_some()) {
                Some(session) => {
                    let view = QuestionView::by_titles(question, &narrator.titles, narrator.phrases.language);
                    output::note(&narrator.question(&view, false));
                    let id = InboxId::new(session, &question.id).to_string();
                    output::note(&fill(words.call_waits, &[&with_store(&id, store)]));
                }
                None => output::note(&format!("{YELLOW}?{YELLOW:#} {BOLD}{id}{BOLD:#} {}", words.needs_decision)),
            }
        }
        // Text is shown when it is complete, because stderr may be a file. A question that is asked again with more
        // details is shown in full before a decision is requested.
        _ => {}
    }
}

fn document(session: &Session, reply: &Reply) -> Value {
    let calls: Vec<Value> = outcomes(session, reply).iter().map(CallOutcome::to_json).collect();
    let open: Vec<Value> = session.questions().iter().filter(|q| q.is_open()).map(Question::to_json).collect();
    let mut document = json!({
        "schema": session.schema(),
        "context": session.context().to_json(),
        "solution": {"calls": reply.calls.iter().map(|report| (*report.call).clone()).collect::<Vec<_>>(), "output": reply.output},
        "ends": reply.ends,
        "waiting": open,
    });
    let (turn, whole) = session.spent();
    if whole.requests > 0 {
        document["spent"] = json!({"turn": turn, "session": whole});
    }
    if let Some(reason) = &reply.reason {
        document["reason"] = json!(reason);
    }
    if let Some(end) = &reply.end {
        document["end"] = end.as_str().into();
    }
    if !reply.said.is_empty() {
        document["solution"]["say"] = reply.said.join("\n").into();
    }
    document["calls"] = calls.into();
    document
}

fn report(session: &Session, reply: &Reply, shown: &ShowOptions) {
    let narrator = Narrator::of(session);
    let language = narrator.phrases.language;
    // A person at the terminal has already seen steps, text and questions.
    let is_seen = shown.has_people();
    if shown.is_plan {
        let line = |call: &CallOutcome<'_>| call.line(&narrator.titles, session, language);
        let lines: Vec<String> = outcomes(session, reply).iter().map(line).collect();
        if !lines.is_empty() {
            output::answer(&lines.join("\n"));
        }
    } else if !is_seen {
        for line in undone(session, reply, language) {
            output::note(&line);
        }
    }
    match &reply.output {
        Value::Null => {}
        Value::String(words) if is_seen && std::io::stdout().is_terminal() && reply.said.contains(words) => {}
        Value::String(words) => output::answer(&visible(words)),
        other => output::answer(&visible(&format!("{other:#}"))),
    }
    if session.settings().mode == Mode::Shadow && !reply.calls.is_empty() {
        output::note(narrator.phrases.running.in_shadow);
    }
    let why = why_it_ended(reply, Some(&narrator.titles), language);
    if !why.is_empty() {
        output::note(&visible(&why));
    }
}

/// Shows the open questions: those that the person has seen before on one line each.
fn report_questions(session: &Session, shown: &ShowOptions, kept_as: Option<&str>, known: &[QuestionId]) {
    let narrator = Narrator::of(session);
    let open: Vec<Question> = session.questions().into_iter().filter(Question::is_open).collect();
    let (known, new): (Vec<&Question>, Vec<&Question>) =
        open.iter().partition(|question| kept_as.is_some() && known.contains(&question.id));
    let view = |question: &Question| QuestionView::of(session, question, narrator.phrases.language);
    for question in &new {
        let view = view(question);
        output::note(&narrator.question(&view, false));
        if let Some(name) = kept_as {
            let id = InboxId::new(name, &question.id).to_string();
            output::note(&narrator.how_to_answer(&view, &id, &shown.store));
        }
    }
    let words = &narrator.phrases.running;
    let at_store = with_store("", &shown.store);
    if !new.is_empty() {
        output::note(&match kept_as {
            Some(_) => fill(words.waiting_kept, &[&at_store]),
            None => words.waiting.to_owned(),
        });
    }
    if let (Some(name), false) = (kept_as, known.is_empty()) {
        for question in known {
            let id = InboxId::new(name, &question.id).to_string();
            output::note(&Narrator::in_short(&view(question).under(id)));
        }
        output::note(&fill(words.others_wait, &[&at_store]));
    }
}
