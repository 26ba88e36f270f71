//! The result of a model call, as the model's answer gives it.

use serde_json::Value;

use super::Solution;
use crate::call::{Call, without_absent};
use crate::expr::{Group, OutputPath};

/// A result of a model call, and the alternative that was chosen for it.
pub type ChosenOutput = (Value, Option<Group>);

/// The result of a model call's request: plain output, or one call of the tool with its output and path.
pub fn chosen_output(call: &Call, solution: Solution) -> Result<ChosenOutput, String> {
    let [answer] = solution.calls.as_slice() else {
        return match solution.calls.len() {
            0 => {
                let chosen = solution.output_path.as_deref().map(|path| chosen_path(call, path)).transpose()?;
                Ok((without_absent(&solution.output, call.tool.as_deref()), chosen.flatten()))
            }
            n => Err(format!("one call of `{}` was asked for, and {n} came", call.tool_name())),
        };
    };
    if answer.tool() != Some(call.tool_name()) {
        return Err(format!("a call of `{}` was asked for, and another came", call.tool_name()));
    }
    let output = answer.field("_output").ok_or("the call came without `_output`")?;
    let output = without_absent(output, call.tool.as_deref());
    let chosen = match answer.output_path() {
        None => None,
        Some(text) => chosen_path(call, text)?,
    };
    Ok((output, chosen))
}

/// The alternative with a path; none if several have it.
fn chosen_path(call: &Call, text: &str) -> Result<Option<Group>, String> {
    let path = OutputPath::parse(text).map_err(|fault| fault.to_string())?;
    let mut allowed = call.output_path.iter().flat_map(|path| &path.alternatives);
    match path.alternatives.as_slice() {
        [group] if allowed.any(|known| known == group) => Ok(Some(group.clone())),
        several if several.len() > 1 => Ok(None),
        _ => Err(format!("`{text}` is none of the alternatives")),
    }
}
