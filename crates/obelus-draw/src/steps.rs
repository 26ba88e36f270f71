//! Drawings of graphs of steps.

use obelus_kernel::steps::{StartAt, StepFilter, StepNode, Steps};

use crate::{Drawing, DrawnEdge, DrawnNode, NodeKind};

/// Draws a graph of steps: a box for each node, an arrow for each way to the next.
pub fn steps_drawing(steps: &Steps, title: &str) -> Drawing {
    let mut nodes: Vec<DrawnNode> = steps.nodes.iter().map(|(name, node)| box_of(steps, name, node)).collect();
    let mut edges = Vec::new();
    let place = |name: &str| steps.nodes.keys().position(|known| known == name);
    let mut arrow = |from: usize, to: &str, when: Option<&StepFilter>| {
        if let Some(to) = place(to) {
            let label = when.map(StepFilter::text).unwrap_or_default();
            edges.push(DrawnEdge { from, to, label: label.to_owned(), dashed: when.is_some() });
        }
    };
    for (from, node) in steps.nodes.values().enumerate() {
        node.next().iter().for_each(|way| arrow(from, &way.to, way.when.as_ref()));
    }
    // A start with several ways is a box of its own.
    if let StartAt::Ways(ways) = &steps.start {
        let from = nodes.len();
        nodes.push(DrawnNode { label: "start".to_owned(), details: Vec::new(), kind: NodeKind::Start });
        ways.iter().for_each(|way| arrow(from, &way.to, way.when.as_ref()));
    }
    Drawing { title: title.to_owned(), nodes, edges }
}

fn box_of(steps: &Steps, name: &str, node: &StepNode) -> DrawnNode {
    let (kind, detail) = match node {
        StepNode::Request { .. } => (NodeKind::Thought, "asks the model".to_owned()),
        StepNode::Call { call, .. } => (NodeKind::Update, format!("calls {}", call.tool)),
        StepNode::Ask { .. } => (NodeKind::Question, "asks a person".to_owned()),
        StepNode::End(end) => (NodeKind::End, format!("ends: {}", end.name)),
        StepNode::Faulty(_) => (NodeKind::Faulty, "nothing".to_owned()),
    };
    let is_start = matches!(&steps.start, StartAt::Node(start) if start == name);
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
    if is_named(&steps.at_limit) {
        details.push(format!("at a limit; {} steps", steps.max_steps));
    }
    if is_named(&steps.at_stop) {
        details.push("when stopped".to_owned());
    }
    DrawnNode { label: name.to_owned(), details, kind: if is_start { NodeKind::Start } else { kind } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_and_forced_ends_are_marked() {
        let steps: Steps = serde_json::from_value(serde_json::json!({
            "start": [{"when": ".state.n != null", "to": "count"}, {"to": "what"}],
            "max_steps": 4, "at_limit": "limit",
            "nodes": {
                "what": {"request": {}, "_outputPath": "†state.what", "next": [{"to": "count"}]},
                "count": {"request": {}, "_outputPath": "†state.n", "next": [{"to": "count"}]},
                "limit": {"end": {"name": "limit"}},
            },
        }))
        .unwrap();
        let drawing = steps_drawing(&steps, "counting");
        let start = drawing.nodes.iter().position(|node| node.kind == NodeKind::Start).unwrap();
        assert_eq!(drawing.edges.iter().filter(|edge| edge.from == start).count(), 2);
        let limit = drawing.nodes.iter().find(|node| node.label == "limit").unwrap();
        assert!(limit.details.iter().any(|line| line == "at a limit; 4 steps"), "{:?}", limit.details);
    }
}
