//! The last write of a value.

use serde_json::Value;

use super::why::{ValueWrite, WhyBuilder, read_of};
use crate::context::Context;
use crate::expr::Expr;
use crate::fold::Method;
use crate::message::{Data, Message};
use crate::path::{Segment, value_at};

/// The last write of an expression's value, without the call's inputs. For a list with several writers, an element
/// was written by the latest that added this value.
pub(crate) fn last_write(context: &Context, expr: &Expr, instance: Option<&str>) -> Option<ValueWrite> {
    let path = read_of(context, expr, instance);
    let builder = WhyBuilder::of_writes(context, instance);
    let now = context.read(path, instance)?;
    let writes = builder.writes(path, context.messages().len());
    let found = writes.into_iter().find_map(|message| match &context.messages()[message] {
        Message::Data(data) if may_have_written(data, &path.segments, &now) => Some((message, data)),
        _ => None,
    });
    let (message, data) = found?;
    let call = data.output.as_ref().map(|output| &output.call);
    Some(ValueWrite { origins: context.origins(path, instance), ..builder.value_write(message, data, call) })
}

/// Whether a message that reaches a place can have written its value: one that adds elements wrote only those.
fn may_have_written(data: &Data, place: &[Segment], now: &Value) -> bool {
    let (path, method, Some(value)) = data.operation() else { return false };
    let Some((_, below)) = place.get(path.len()..).and_then(<[Segment]>::split_first) else { return true };
    let is_now = |element: &Value| value_at(element, below) == Some(now);
    match method {
        Method::Push => is_now(value),
        Method::Concat => value.as_array().is_none_or(|elements| elements.iter().any(is_now)),
        Method::Set | Method::Merge | Method::Assign => true,
    }
}
