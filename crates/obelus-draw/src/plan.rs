//! Drawings of plans.

use obelus_kernel::Effect;
use obelus_kernel::plan::{Check, RunsFor};
use obelus_notebook::wording::plain_text;

use crate::{Drawing, DrawnEdge, DrawnNode, NodeKind};

/// Draws a checked plan: a box for each call, an arrow for each dependency between calls.
pub fn plan_drawing(check: &Check, title: &str) -> Drawing {
    let faulty = |index: usize| check.errors.iter().any(|fault| fault.call == Some(index));
    let nodes = check.calls.iter().enumerate().map(|(index, call)| {
        let kind = match (&call.tool, faulty(index)) {
            (None, _) | (_, true) => NodeKind::Faulty,
            (Some(_), _) if call.delegate.is_some() => NodeKind::Delegate,
            (Some(tool), _) => match tool.effect {
                Effect::Read => NodeKind::Read,
                Effect::Create => NodeKind::Create,
                Effect::Update => NodeKind::Update,
                Effect::Delete => NodeKind::Delete,
                Effect::Configure => NodeKind::Configure,
            },
        };
        let mut details: Vec<String> =
            call.params.iter().map(|(name, value)| format!("{name}: {}", plain_text(&value.outline()))).collect();
        match &check.runs_for[index] {
            RunsFor::Once => {}
            RunsFor::Each => details.push("for each instance".to_owned()),
            RunsFor::One(name) => details.push(format!("for {name}")),
        }
        details.extend(call.output_path.as_ref().map(|path| format!("→ {path}")));
        DrawnNode { label: format!("{index} {}", call.tool_name()), details, kind }
    });
    let edges = check.graph.edges().iter().map(|edge| DrawnEdge {
        from: edge.from,
        to: edge.to,
        label: edge.path.to_string(),
        dashed: false,
    });
    Drawing { title: title.to_owned(), nodes: nodes.collect(), edges: edges.collect() }
}
