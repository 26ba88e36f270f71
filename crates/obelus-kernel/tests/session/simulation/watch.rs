//! Checks the rules after every input, with an implementation of its own.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use obelus_kernel::session::{
    About, AskedCall, CallId, CallReport, CallStatus, Decision, Input, Purpose, Question, QuestionId, QuestionStatus,
    Reply, RequestId, Session, Start, Task, TurnEnd,
};
use obelus_kernel::{Context, Message, Path, Role};
use serde_json::Value;

use super::plan::{Planned, feeders};
use super::world::{EFFECTS, World};

/// A call of a plan, and the instance it runs for.
type Job = (String, Option<String>);

pub(crate) struct Watch<'a> {
    world: &'a World,
    /// The plans of the model, and whether each runs in the order of writing.
    sent: Vec<(Vec<Planned>, bool)>,
    /// The statuses that a viewer of changes knows, by place.
    viewed: BTreeMap<(u32, u32), CallStatus>,
    finals: BTreeMap<Job, CallStatus>,
    /// For each call that needs approval: its approvals, then its starts.
    approved: BTreeMap<String, usize>,
    started: BTreeMap<String, usize>,
    /// Calls that ran, and calls that a person replaced by an edit.
    ran: BTreeSet<String>,
    /// Calls that the current input approves if the session accepts it, then those that it replaces by an edit.
    offered: Vec<String>,
    edited: Vec<String>,
    /// Effects in doubt before the current input, here and in delegates; then those of which no result was kept.
    doubts: BTreeSet<String>,
    unkept: BTreeSet<String>,
    /// Effects in doubt whose results a person gives with this input.
    settled: Vec<String>,
    consents: BTreeSet<QuestionId>,
    /// Queued messages of the user, each with the questions open at that time.
    said: VecDeque<(String, Vec<Question>)>,
    heard: Option<(String, Vec<Question>)>,
    heard_count: usize,
    /// The turn, identified by the number of user messages at its beginning.
    turn: usize,
    requests: BTreeMap<usize, u32>,
    calls: BTreeMap<usize, u32>,
    all_calls: BTreeMap<usize, u32>,
    at_limit: BTreeSet<usize>,
    /// The length of the context at the last check.
    length: usize,
}

const ASIDES: [&str; 4] = ["comment", "requires_confirmation", "confirmed", "confirmation_decision"];
/// Tools whose calls must not be repeated without a person.
const UNREPEATABLE: [&str; 3] = ["make", "edit", "wipe"];
const FINAL: [CallStatus; 5] =
    [CallStatus::Done, CallStatus::Failed, CallStatus::Skipped, CallStatus::Denied, CallStatus::Refused];

impl<'a> Watch<'a> {
    pub(crate) fn new(world: &'a World) -> Self {
        Self {
            world,
            sent: Vec::new(),
            viewed: BTreeMap::new(),
            finals: BTreeMap::new(),
            approved: BTreeMap::new(),
            started: BTreeMap::new(),
            ran: BTreeSet::new(),
            offered: Vec::new(),
            edited: Vec::new(),
            doubts: BTreeSet::new(),
            unkept: BTreeSet::new(),
            settled: Vec::new(),
            consents: BTreeSet::new(),
            said: VecDeque::new(),
            heard: None,
            heard_count: 0,
            turn: 0,
            requests: BTreeMap::new(),
            calls: BTreeMap::new(),
            all_calls: BTreeMap::new(),
            at_limit: BTreeSet::new(),
            length: 0,
        }
    }

    /// The calls in the model's notation, each with a unique tag.
    pub(crate) fn send(&mut self, calls: &[Planned], sequential: bool, lazy: bool) -> Vec<Value> {
        let plan = self.sent.len();
        self.sent.push((calls.to_vec(), sequential));
        calls.iter().enumerate().map(|(index, call)| call.to_json(&format!("{plan}.{index}"), lazy)).collect()
    }

    /// A tag for a call that is proposed again, alone.
    pub(crate) fn send_again(&mut self, tag: &str) -> String {
        let (plan, index) = tag.split_once('.').expect("a tag");
        let (plan, index): (usize, usize) = (plan.parse().expect("a plan"), index.parse().expect("a call"));
        let call = self.sent[plan].0[index].clone();
        self.sent.push((vec![call], false));
        format!("{}.0", self.sent.len() - 1)
    }

    /// A call ends. A kept result ends the questions about its effect.
    pub(crate) fn ends(&mut self, call: &Value, is_kept: bool) {
        if is_kept {
            self.unkept.remove(&effect(call));
        }
    }

    /// The result of a call was not kept.
    pub(crate) fn is_not_kept(&mut self, call: &Value) {
        if UNREPEATABLE.contains(&call["_tool"].as_str().unwrap_or_default()) {
            self.unkept.insert(effect(call));
        }
    }

    pub(crate) fn before(&mut self, session: &Session, input: &Input) {
        self.doubts = doubts(session);
        self.offered.clear();
        self.settled.clear();
        self.edited.clear();
        match input {
            Input::User { text, .. } => {
                let open = session.questions().into_iter().filter(Question::is_open).collect();
                self.said.push_back((text.clone(), open));
            }
            Input::Decide { question: id, decision, .. } => {
                let Some(question) = session.question(id) else { return };
                if let (About::InDoubt, Decision::Happened { result }) = (&question.about, decision) {
                    self.settled
                        .extend(question.calls.iter().filter(|_| !result.is_null()).map(|asked| effect(&asked.call)));
                }
                if question.about != About::Call {
                    return;
                }
                let open = question.calls.iter().enumerate().filter(|(_, asked)| asked.decided.is_none());
                self.offered = match decision {
                    Decision::Approve { only } => open
                        .filter(|(index, _)| only.as_ref().is_none_or(|only| only.contains(index)))
                        .map(|(_, asked)| content(&id.to_string(), &asked.call))
                        .collect(),
                    Decision::Edit { params } => open
                        .map(|(_, asked)| {
                            self.edited.push(content(&id.to_string(), &asked.call));
                            let mut edited = (*asked.call).clone();
                            edited.as_object_mut().expect("a call").extend(params.clone());
                            content(&id.to_string(), &edited)
                        })
                        .collect(),
                    _ => Vec::new(),
                };
            }
            _ => {}
        }
    }

    pub(crate) fn after(
        &mut self,
        session: &Session,
        input: &Input,
        taken: bool,
        tasks: &[Task],
        (open, asked): (&[Start], &BTreeSet<CallId>),
        no_requests: bool,
    ) {
        if taken {
            for content in std::mem::take(&mut self.offered) {
                *self.approved.entry(content).or_default() += 1;
            }
            self.ran.append(&mut std::mem::take(&mut self.edited).into_iter().collect());
            // The result that a person gave is kept like one of the tool's.
            self.unkept.retain(|effect| !self.settled.contains(effect));
        }
        let heard_now = user_words(session);
        // One answer may claim a consent and end the turn; then the next message is taken at once.
        let mut heard: Vec<_> = self.heard.take().into_iter().collect();
        while self.heard_count < heard_now {
            heard.extend(self.said.pop_front());
            self.heard_count += 1;
        }
        self.look_for_consents(session, &heard);
        self.heard = heard.pop();
        let reports = session.calls();
        // One input may end a turn and begin the next.
        let last_rest = tasks.iter().rposition(|task| matches!(task, Task::Rest(_)));
        for (index, task) in tasks.iter().enumerate() {
            if last_rest.is_none_or(|last| index > last) {
                self.turn = heard_now;
            }
            match task {
                Task::Call(start) => self.look_at_start(session, &reports, start),
                Task::AskModel { id } => self.look_at_request(session, id),
                Task::Rest(reply) => self.look_at_rest(session, reply, index + 1 == tasks.len()),
                Task::Load { .. }
                | Task::Say(_)
                | Task::Ask { .. }
                | Task::AskAgain { .. }
                | Task::AnswerElicitation { .. } => {}
            }
        }
        self.look_at_reports(&reports);
        self.look_at_room(open, asked);
        let length = session.context().messages().len();
        if std::mem::replace(&mut self.length, length) != length {
            look_at_context(session.context());
        }
        look_at_questions(session);
        if open.is_empty() && no_requests {
            assert!(is_at_rest(session), "nothing is left to do after {input:?}, and it does not rest");
            let is_answered = last_rest.is_some() || !taken || !matches!(input, Input::Decide { .. });
            assert!(is_answered, "whoever decided is not told how things stand");
        }
    }

    pub(crate) fn at_the_end(&self, session: &Session) {
        assert!(is_at_rest(session));
        assert!(session.questions().iter().all(|question| !question.is_open()));
        for report in session.calls() {
            assert!(FINAL.contains(&report.status), "{} is {} at the end", report.call, report.status.name());
        }
    }

    /// ASK-6: only the user's words, said while this was the only open question, give consent.
    fn look_for_consents(&mut self, session: &Session, heard: &[(String, Vec<Question>)]) {
        for question in session.questions() {
            if question.by.as_deref() != Some("the user, in conversation") || !self.consents.insert(question.id.clone())
            {
                continue;
            }
            let is_alone = |open: &[Question]| open.len() == 1 && open[0].id == question.id;
            let consent = heard.iter().find(|(words, open)| words == "yes" && is_alone(open));
            let (_, open) = consent.unwrap_or_else(|| panic!("{} was approved by {heard:?}", question.id));
            assert!(self.world.model_may_confirm);
            let undecided: Vec<_> = open[0].calls.iter().filter(|asked| asked.decided.is_none()).collect();
            assert_eq!(undecided.len(), 1);
            *self.approved.entry(content(&question.id.to_string(), &undecided[0].call)).or_default() += 1;
        }
    }

    fn look_at_start(&mut self, session: &Session, reports: &[CallReport], start: &Start) {
        let call = &*start.call;
        let (is_own, is_first) = (!start.id.to_string().contains('/'), start.attempt == 1);
        let needs_person = match self.verdict(call) {
            Verdict::Allow => is_first && self.is_repetition(session, call),
            Verdict::Confirm => true,
            Verdict::Refuse => panic!("{call} was started in the mode {}", self.world.mode),
        };
        let content = content(&start.id.to_string(), call);
        self.ran.insert(content.clone());
        if needs_person && is_first {
            let starts = self.started.entry(content.clone()).or_default();
            *starts += 1;
            let approvals = self.approved.get(&content).copied().unwrap_or_default();
            assert!(*starts <= approvals, "{call} was started {starts} times by {approvals} approvals");
        }
        if is_first && !needs_person && !is_of_approved_plan(session, call) {
            // Delegates have their calls from the same limit.
            let calls = self.all_calls.entry(self.turn).or_default();
            *calls += 1;
            let most = self.world.max_calls;
            assert!(*calls <= most || self.at_limit.contains(&self.turn), "too many calls in one turn with delegates");
        }
        if is_own && is_first {
            let calls = self.calls.entry(self.turn).or_default();
            // LOOP-2: the limit does not count calls of an approved plan.
            *calls += u32::from(!is_of_approved_plan(session, call));
            assert!(*calls <= self.world.max_calls || self.at_limit.contains(&self.turn), "too many calls in one turn");
            self.look_at_order(session, reports, call, needs_person);
        }
    }

    /// DUR-4: whether the same effect happened, or may have, here or in a delegate, and nobody knows its result.
    fn is_repetition(&self, session: &Session, call: &Value) -> bool {
        let effect = effect(call);
        self.unkept.contains(&effect) || (self.doubts.contains(&effect) && doubts(session).contains(&effect))
    }

    /// PLAN-1, PLAN-3: the calls that feed a call have ended; in a sequence, also those before it.
    fn look_at_order(&self, session: &Session, reports: &[CallReport], call: &Value, needs_person: bool) {
        let tag = call["comment"].as_str().expect("every call has a tag");
        let (plan, index) = tag.split_once('.').expect("a tag");
        let (plan, index): (usize, usize) = (plan.parse().expect("a plan"), index.parse().expect("a call"));
        let (calls, sequential) = &self.sent[plan];
        let instance = call["_instance"].as_str();
        let feeders = feeders(calls, index, instance, self.world.has_instances).into_iter();
        // In a sequence only earlier calls feed a call.
        for (feeder, of) in feeders.filter(|(feeder, _)| !sequential || *feeder < index) {
            let job = (format!("{plan}.{feeder}"), of);
            let report = reports.iter().find(|report| job_of(report) == job);
            if let Some(report) = report {
                assert!(
                    FINAL.contains(&report.status),
                    "{call} runs, and {} feeds it, {:?}",
                    report.call,
                    report.status
                );
            }
        }
        // An approved call may run after later ones of its sequence.
        if !sequential || needs_person {
            return;
        }
        let in_doubt =
            session.questions().iter().any(|question| question.is_open() && question.about == About::InDoubt);
        for (before, call_before) in calls.iter().enumerate().take(index) {
            let may_run = call_before.is_forgotten() || call_before.tool == "child" || in_doubt;
            let tag = format!("{plan}.{before}");
            for report in reports.iter().filter(|report| job_of(report).0 == tag) {
                let status = report.status;
                // It may have been approved after the next call started.
                let has_waited = status == CallStatus::Waiting
                    || matches!(self.verdict(&report.call), Verdict::Confirm)
                    || was_asked_about(session, &report.call);
                let lets_go = FINAL.contains(&status) || has_waited || (status == CallStatus::Running && may_run);
                assert!(lets_go, "{call} runs, and {} stands before it, {status:?}", report.call);
            }
        }
    }

    fn look_at_request(&mut self, session: &Session, id: &RequestId) {
        let is_thought = session.prompt(id).is_some_and(|prompt| matches!(prompt.purpose, Purpose::ModelCall { .. }));
        if !id.to_string().contains('/') && !is_thought {
            let requests = self.requests.entry(self.turn).or_default();
            *requests += 1;
            assert!(*requests <= self.world.max_requests, "too many requests in one turn");
        }
    }

    fn look_at_rest(&mut self, session: &Session, reply: &Reply, is_last: bool) {
        match reply.ends {
            TurnEnd::Limit => drop(self.at_limit.insert(self.turn)),
            TurnEnd::Output if is_last => {
                // Questions of delegates do not count.
                let mut own = session.questions().into_iter().filter(|question| !question.id.to_string().contains('/'));
                let open = own.find(Question::is_open);
                assert!(open.is_none(), "it rests in output, and {open:?} waits");
                for report in &reply.calls {
                    let is_forgotten = report.call.get("_outputPath").is_none();
                    assert!(FINAL.contains(&report.status) || is_forgotten, "{} is {:?}", report.call, report.status);
                }
            }
            _ => {}
        }
    }

    /// A viewer who reads only changed calls knows the status of each call.
    pub(crate) fn look_at_changes(&mut self, session: &mut Session) {
        let changed: Vec<_> = session.take_changed_calls().collect();
        let reports = changed.into_iter().filter_map(|place| session.call_report(place));
        self.viewed.extend(reports.map(|report| (report.place, report.status)));
        for report in session.calls() {
            assert_eq!(self.viewed.get(&report.place), Some(&report.status), "{}", report.call);
        }
    }

    /// CALL-2: a final state never changes.
    fn look_at_reports(&mut self, reports: &[CallReport]) {
        for report in reports {
            let job = job_of(report);
            if let Some(before) = self.finals.get(&job) {
                assert_eq!(*before, report.status, "{} has ended before", report.call);
            } else if FINAL.contains(&report.status) {
                self.finals.insert(job, report.status);
                let is_handed_out = !matches!(report.call["_tool"].as_str(), Some("child" | "muse"));
                let has_run = || self.ran.contains(&content("", &report.call));
                assert!(report.status != CallStatus::Done || !is_handed_out || has_run(), "{} never ran", report.call);
            }
        }
    }

    /// PLAN-5, except for repeated calls and calls that have asked a person.
    fn look_at_room(&self, open: &[Start], asked: &BTreeSet<CallId>) {
        let is_plain =
            |start: &&Start| !start.id.to_string().contains('/') && start.attempt == 1 && !asked.contains(&start.id);
        let own = open.iter().filter(is_plain).count();
        assert!(own <= self.world.max_parallel as usize, "{own} calls run at once");
    }

    /// POL-1, POL-2, computed from the data of the world.
    fn verdict(&self, call: &Value) -> Verdict {
        let tool = call["_tool"].as_str().unwrap_or_default();
        let Some((_, effect)) = EFFECTS.into_iter().find(|(name, _)| *name == tool) else { return Verdict::Allow };
        let world = self.world;
        let in_mode = match world.mode {
            "full" => true,
            "canary" => matches!(effect, "read" | "create"),
            _ => false,
        };
        let listed = |list: &[&str]| list.contains(&tool);
        let is_left_out = !world.allow.is_empty() && !listed(&world.allow) && !listed(&world.confirm);
        if !in_mode || listed(&world.refuse) || is_left_out {
            return Verdict::Refuse;
        }
        let risky = tool == "edit" && call.get("sum").is_some();
        let asks = effect == "delete" || risky || call["requires_confirmation"] == true || listed(&world.confirm);
        if asks { Verdict::Confirm } else { Verdict::Allow }
    }
}

enum Verdict {
    Allow,
    Confirm,
    Refuse,
}

/// What an approval is bound to: the session, and the call without the fields beside its parameters.
fn content(id: &str, call: &Value) -> String {
    let session = id.rsplit_once('/').map_or("", |(session, _)| session);
    let fields: BTreeMap<&String, &Value> =
        call.as_object().expect("a call").iter().filter(|(name, _)| !ASIDES.contains(&name.as_str())).collect();
    format!("{session} {fields:?}")
}

/// What a call does, wherever it is made and its result goes.
fn effect(call: &Value) -> String {
    let is_param = |name: &&String| *name == "_tool" || !(name.starts_with('_') || ASIDES.contains(&name.as_str()));
    let fields: BTreeMap<&String, &Value> =
        call.as_object().expect("a call").iter().filter(|(name, _)| is_param(name)).collect();
    format!("{fields:?}")
}

/// The effects in doubt, here and in delegates.
fn doubts(session: &Session) -> BTreeSet<String> {
    let questions = session.questions().into_iter();
    let open = questions.filter(|question| question.is_open() && question.about == About::InDoubt);
    open.flat_map(|question| question.calls.iter().map(|asked| effect(&asked.call)).collect::<Vec<_>>()).collect()
}

/// Whether a person was asked about a call.
fn was_asked_about(session: &Session, call: &Value) -> bool {
    let is_it = |asked: &AskedCall| asked.call["comment"] == call["comment"];
    session.questions().iter().any(|question| question.about == About::Call && question.calls.iter().any(is_it))
}

fn job_of(report: &CallReport) -> Job {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let tag = text(&report.call["comment"]).or_else(|| text(&report.call));
    (tag.expect("every call has a tag"), text(&report.call["_instance"]))
}

fn user_words(session: &Session) -> usize {
    let is_user = |message: &&Message| matches!(message, Message::Text(text) if text.role == Role::User);
    session.context().messages().iter().filter(is_user).count()
}

fn is_at_rest(session: &Session) -> bool {
    session.snapshot()["turn"]["phase"].as_str().is_some_and(|phase| phase.starts_with("Rested"))
}

fn is_of_approved_plan(session: &Session, call: &Value) -> bool {
    let is_approved = |question: &Question| {
        question.about == About::Plan && question.status == QuestionStatus::Approved && question.by.is_some()
    };
    let is_it = |asked: &AskedCall| asked.call["comment"] == call["comment"] && asked.decided != Some(false);
    let has_it = |question: &Question| question.calls.iter().any(is_it);
    session.questions().iter().any(|question| is_approved(question) && has_it(question))
}

/// ASK-2: at most one open question per call.
fn look_at_questions(session: &Session) {
    let mut asked = BTreeSet::new();
    let questions = session.questions().into_iter();
    for question in questions.filter(|question| question.is_open() && question.about == About::Call) {
        for call in question.calls.iter().filter(|call| call.decided.is_none()) {
            assert!(asked.insert(content(&question.id.to_string(), &call.call)), "{} is asked about twice", call.call);
        }
    }
}

/// CTX-6, and the serialised context can be parsed.
fn look_at_context(context: &Context) {
    let mut again = Context::new();
    context.messages().iter().for_each(|message| again.append(vec![message.clone()]).expect("it folds"));
    let names = || context.instances().iter().map(|name| Some(name.as_str())).chain([None]);
    for (kind, _) in context.views() {
        for instance in names() {
            assert_eq!(context.read(&Path::root(kind), instance), again.read(&Path::root(kind), instance), "{kind}");
        }
    }
    let written = context.to_json();
    assert_eq!(Context::from_value(written.clone()).expect("it is read back").to_json(), written);
}
