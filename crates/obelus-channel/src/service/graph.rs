//! The plan as a graph, and the agent's graph of steps.

use std::collections::BTreeMap;

use obelus_kernel::memory::{Origin, Origins};
use obelus_kernel::session::CallId;
use obelus_kernel::session::plan_graph::{PlanGraph, PlannedCall, ValueFlow};
use obelus_kernel::session::{About, AskedCall, CallStatus, Question, Session};
use obelus_kernel::steps::{StepFilter, StepNode, Steps};
use obelus_runtime::Language;
use obelus_runtime::people::{StepLine, Titles, failure_in_words};
use obelus_runtime::sessions::InboxId;
use obelus_runtime::text::plain_text;
use serde_json::{Map, Value};

use super::{Service, check_id};
use crate::ChannelError;
use crate::types::{
    PlanEdgeView, PlanGraphView, PlanNodeView, StepNodeView, StepWayView, StepsView, WriterKind, WriterView,
};

/// The limit of calls.
const MOST_NODES: usize = 2000;

/// The limit of characters of a value.
const MOST_OF_VALUE: usize = 2000;

impl Service {
    /// The calls of the latest turn, now or after a record, and the values between them.
    pub async fn graph(
        &self,
        id: &str,
        at: Option<u64>,
        wanted: Option<Language>,
    ) -> Result<PlanGraphView, ChannelError> {
        check_id(id)?;
        let (service, name) = (self.clone(), id.to_owned());
        let of = id.to_owned();
        let steps = self.blocking(move |host| Ok(host.spec(&of)?.and_then(|spec| spec.steps))).await?;
        self.read_at(id, at, move |session| {
            let language = service.language_of(session, wanted);
            let steps = steps.map(|steps| steps_view(&steps, session.node()));
            PlanViewBuilder::of(session, &name, language).view(steps)
        })
        .await
    }

    /// An agent's graph of steps; none if it has the plain loop.
    pub async fn agent_graph(&self, agent: &str) -> Result<Option<StepsView>, ChannelError> {
        let agent = self.load_agent(agent, None).await?;
        Ok(agent.steps.as_ref().map(|steps| steps_view(steps, None)))
    }
}

/// Builds the view of a session's plan.
struct PlanViewBuilder<'a> {
    session: &'a Session,
    id: &'a str,
    language: Language,
    titles: Titles,
    graph: PlanGraph,
    /// Open questions by call.
    questions: BTreeMap<(u32, u32), String>,
    /// The open question about the whole plan.
    plan_question: Option<String>,
}

impl<'a> PlanViewBuilder<'a> {
    fn of(session: &'a Session, id: &'a str, language: Language) -> Self {
        let open: Vec<Question> = session.questions().into_iter().filter(Question::is_open).collect();
        let whole = |question: &Question| InboxId::new(id, &question.id).to_string();
        let plan_question = open.iter().find(|question| question.about == About::Plan).map(whole);
        let mut questions = BTreeMap::new();
        for question in &open {
            // A delegate's question belongs to the call that it carries out.
            let of_delegate = question.id.delegate_place();
            let waiting = question.calls.iter().filter(|asked| asked.decided.is_none());
            let own = waiting.flat_map(AskedCall::places).filter(|_| of_delegate.is_none());
            questions.extend(of_delegate.into_iter().chain(own).map(|place| (place, whole(question))));
        }
        let titles = Titles::of(session.context(), language.code());
        Self { session, id, language, titles, graph: session.plan_graph(MOST_NODES), questions, plan_question }
    }

    fn view(&self, steps: Option<StepsView>) -> PlanGraphView {
        let ids: Vec<String> = self.graph.calls.iter().enumerate().map(|(index, call)| id_of(index, call)).collect();
        let nodes = self.graph.calls.iter().zip(&ids).map(|(call, id)| self.node(call, id.clone())).collect();
        let edges = self.graph.flows.iter().map(|flow| self.edge(flow, &ids)).collect();
        PlanGraphView { session: self.id.to_owned(), nodes, edges, left_out: self.graph.left_out, steps }
    }

    fn node(&self, planned: &PlannedCall, id: String) -> PlanNodeView {
        let PlannedCall { report, is_only_planned, proposed, writes } = planned;
        let tool = report.call.tool_name();
        let question = if *is_only_planned {
            self.plan_question.clone().filter(|_| report.status == CallStatus::Waiting)
        } else {
            self.questions.get(&report.place).cloned()
        };
        let consent = self.session.consent_of(report.place).filter(|_| !is_only_planned);
        let is_skipped = report.status == CallStatus::Skipped;
        let lacks = is_skipped.then(|| StepLine::of_report(report, self.session, self.language).outcome).flatten();
        let written = writes.first().filter(|_| report.status == CallStatus::Done);
        let result = written.and_then(|path| self.session.context().read(path, planned.instance()));
        PlanNodeView {
            id,
            step: (!is_only_planned).then_some(report.place.0),
            headline: self.session.call_headline_in(&report.call, Some(self.language.code())),
            title: self.titles.tool(tool),
            tool: tool.to_owned(),
            status: report.status,
            effect: self.session.context().tool(tool).map(|tool| tool.effect.name().to_owned()),
            params: params_of(&report.call),
            proposed: params_of(proposed),
            instance: planned.instance().map(str::to_owned),
            question,
            writes: writes.iter().map(ToString::to_string).collect(),
            error_words: report.error.as_ref().map(|error| failure_in_words(error, self.language)),
            error: report.error.as_ref().map(|error| serde_json::json!(error)),
            lacks,
            result: result.map(|value| cut(&value).0),
            consent: consent.map(obelus_kernel::policy::StandingConsent::id),
        }
    }

    fn edge(&self, flow: &ValueFlow, ids: &[String]) -> PlanEdgeView {
        let reader = &self.graph.calls[flow.to];
        let feeder = flow.from.map(|from| &self.graph.calls[from]);
        // An earlier value does not count if a call of the plan writes it.
        let is_there = feeder.is_none_or(|feeder| feeder.report.status == CallStatus::Done);
        let context = self.session.context();
        let value = context.read(&flow.path, reader.instance()).filter(|_| is_there);
        let origins = if value.is_some() { context.origins(&flow.path, reader.instance()) } else { Origins::default() };
        let (value, is_cut) = value.map_or((None, false), |value| {
            let (value, is_cut) = cut(&value);
            (Some(value), is_cut)
        });
        let writer = match feeder {
            Some(feeder) => feeder.report.call.tool().map(|tool| self.by_tool(tool)),
            None => writer_of(&origins, &self.titles),
        };
        PlanEdgeView {
            from: flow.from.map(|from| ids[from].clone()),
            to: ids[flow.to].clone(),
            path: flow.path.to_string(),
            value,
            is_cut,
            origins: origins.iter().map(ToString::to_string).collect(),
            writer,
        }
    }

    fn by_tool(&self, name: &str) -> WriterView {
        let trusted = self.session.context().tool(name).is_some_and(|tool| tool.trusted);
        WriterView { kind: WriterKind::Tool, name: Some(name.to_owned()), title: Some(self.titles.tool(name)), trusted }
    }
}

fn id_of(index: usize, call: &PlannedCall) -> String {
    if call.is_only_planned { format!("p{index}") } else { CallId::at(call.report.place).to_string() }
}

/// The parameters of a call, without those for the engine.
fn params_of(call: &Value) -> Map<String, Value> {
    let fields = call.as_object().into_iter().flatten().filter(|(name, _)| !name.starts_with('_'));
    fields.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// A value, cut to a text if it is long; whether it was cut.
pub(super) fn cut(value: &Value) -> (Value, bool) {
    let text = plain_text(value);
    match text.char_indices().nth(MOST_OF_VALUE) {
        Some((end, _)) => (text[..end].into(), true),
        None => (value.clone(), false),
    }
}

/// The author of a value, by its origins.
pub(super) fn writer_of(origins: &Origins, titles: &Titles) -> Option<WriterView> {
    let plain = |kind, trusted| WriterView { kind, name: None, title: None, trusted };
    let mut all = origins.iter();
    match (all.next()?, all.next()) {
        (_, Some(_)) => Some(plain(WriterKind::Several, origins.is_trusted())),
        (Origin::User, None) => Some(plain(WriterKind::User, true)),
        (Origin::Author, None) => Some(plain(WriterKind::Author, true)),
        (Origin::Model, None) => Some(plain(WriterKind::Model, true)),
        (Origin::Tool { name, trusted }, None) => Some(WriterView {
            kind: WriterKind::Tool,
            name: Some(name.to_string()),
            title: Some(titles.tool(name)),
            trusted: *trusted,
        }),
    }
}

/// A graph of steps, and the session's position in it.
pub(super) fn steps_view(steps: &Steps, at: Option<&str>) -> StepsView {
    let starts = steps.start.nodes();
    let node = |(name, node): (&String, &StepNode)| {
        let (kind, detail, writes) = match node {
            StepNode::Request { output_path, .. } => ("request", None, output_path.clone()),
            StepNode::Call { call, .. } => ("call", Some(call.tool.clone()), call.output_path.clone()),
            StepNode::Ask { output_path, .. } => ("ask", None, output_path.clone()),
            StepNode::End(end) => ("end", Some(end.name.clone()), None),
            StepNode::Faulty(_) => ("faulty", None, None),
        };
        StepNodeView {
            name: name.clone(),
            kind: kind.to_owned(),
            detail,
            writes,
            is_start: starts.contains(&name.as_str()),
            is_here: at == Some(name.as_str()),
        }
    };
    let ways = steps.nodes.iter().flat_map(|(from, node)| node.next().iter().map(move |way| (from, way)));
    let ways = ways.filter(|(_, way)| steps.nodes.contains_key(&way.to)).map(|(from, way)| StepWayView {
        from: from.clone(),
        to: way.to.clone(),
        when: way.when.as_ref().map(|when| StepFilter::text(when).to_owned()),
    });
    StepsView { nodes: steps.nodes.iter().map(node).collect(), edges: ways.collect(), at: at.map(str::to_owned) }
}
