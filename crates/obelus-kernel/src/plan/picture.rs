//! A plan as a drawing.

use super::check::Check;
use super::template::Who;
use crate::draw::{Drawing, Edge, Look, Node};
use crate::tool::Effect;

/// Draws a checked plan: a box for each call, an arrow for each value that flows.
pub fn picture(check: &Check, title: &str) -> Drawing {
    let faulty = |index: usize| check.errors.iter().any(|fault| fault.call == Some(index));
    let nodes = check.calls.iter().enumerate().map(|(index, call)| {
        let look = match (&call.tool, faulty(index)) {
            (None, _) | (_, true) => Look::Faulty,
            (Some(_), _) if call.delegate.is_some() => Look::Delegate,
            (Some(tool), _) => match tool.effect {
                Effect::Read => Look::Read,
                Effect::Create => Look::Create,
                Effect::Update => Look::Update,
                Effect::Delete => Look::Delete,
                Effect::Configure => Look::Configure,
            },
        };
        let mut details: Vec<String> =
            call.params.iter().map(|(name, value)| format!("{name}: {}", plain(&value.outline()))).collect();
        match &check.who[index] {
            Who::Once => {}
            Who::Each => details.push("for each instance".to_owned()),
            Who::One(name) => details.push(format!("for {name}")),
        }
        details.extend(call.output_path.as_ref().map(|path| format!("→ {path}")));
        Node { label: format!("{index} {}", call.tool_name()), details, look }
    });
    let edges = check.graph.edges().iter().map(|edge| Edge {
        from: edge.from,
        to: edge.to,
        label: edge.path.to_string(),
        dashed: false,
    });
    Drawing { title: title.to_owned(), nodes: nodes.collect(), edges: edges.collect() }
}

fn plain(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
