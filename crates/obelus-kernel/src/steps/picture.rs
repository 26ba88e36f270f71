//! A graph of steps as boxes and arrows.

use super::{Start, StepFilter, StepNode, Steps};
use crate::draw::{Drawing, Edge, Look, Node};

impl Steps {
    /// The graph as a drawing.
    pub fn picture(&self, title: &str) -> Drawing {
        let mut nodes: Vec<Node> = self.nodes.iter().map(|(name, node)| self.box_of(name, node)).collect();
        let mut edges = Vec::new();
        let place = |name: &str| self.nodes.keys().position(|known| known == name);
        let mut arrow = |from: usize, to: &str, when: Option<&StepFilter>| {
            if let Some(to) = place(to) {
                let label = when.map(StepFilter::text).unwrap_or_default();
                edges.push(Edge { from, to, label: label.to_owned(), dashed: when.is_some() });
            }
        };
        for (from, node) in self.nodes.values().enumerate() {
            node.next().iter().for_each(|way| arrow(from, &way.to, way.when.as_ref()));
        }
        // With several ways in, the beginning is a box of its own.
        if let Start::Ways(ways) = &self.start {
            let from = nodes.len();
            nodes.push(Node { label: "start".to_owned(), details: Vec::new(), look: Look::Start });
            ways.iter().for_each(|way| arrow(from, &way.to, way.when.as_ref()));
        }
        Drawing { title: title.to_owned(), nodes, edges }
    }

    fn box_of(&self, name: &str, node: &StepNode) -> Node {
        let (look, detail) = match node {
            StepNode::Request { .. } => (Look::Thought, "asks the model".to_owned()),
            StepNode::Call { call, .. } => (Look::Update, format!("calls {}", call.tool)),
            StepNode::Ask { .. } => (Look::Question, "asks a person".to_owned()),
            StepNode::End(end) => (Look::End, format!("ends: {}", end.name)),
            StepNode::Faulty(_) => (Look::Faulty, "nothing".to_owned()),
        };
        let is_start = matches!(&self.start, Start::Node(start) if start == name);
        let mut details = vec![detail];
        let written = match node {
            StepNode::Call { call, .. } => call.output_path.as_deref(),
            node => node.output_path(),
        };
        details.extend(written.map(|path| format!("→ {path}")));
        if let Some(plans) = node.request().and_then(|request| request.plans.as_ref()) {
            details.push(format!("plans one call → {}", plans.to));
        }
        let is_named = |forced: &Option<String>| forced.as_deref() == Some(name);
        if is_named(&self.at_limit) {
            details.push(format!("at a limit; {} steps", self.max_steps));
        }
        if is_named(&self.at_stop) {
            details.push("when stopped".to_owned());
        }
        Node { label: name.to_owned(), details, look: if is_start { Look::Start } else { look } }
    }
}
