//! Gives every version of a value a path of its own in an exported plan (PLAN-12).
//!
//! In a session, a later turn may replace a value that earlier calls have read. In a plan the order comes only from
//! references: all readers of a path wait for all its writers. So a call that replaces a value gets another path, and
//! the calls that read its result refer to that path.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use obelus_kernel::CallJson;
use obelus_kernel::plan::{self, Check};
use obelus_kernel::{Call, Context, Expr, Message, Path, PlanMode, Rule};
use serde_json::Value;

/// A completed call.
pub(super) struct DoneCall {
    /// The call, with its references.
    pub(super) call: CallJson,
    /// The index of the message with its result; the number of messages if the result is not stored.
    pub(super) at: usize,
    /// The call as it ran, if the journal has it.
    pub(super) ran: Option<CallJson>,
    /// The instance that it ran for.
    pub(super) instance: Option<String>,
}

/// The paths that were given to later versions.
#[derive(Default)]
pub(super) struct NewPaths {
    /// Each with the path that the session had.
    pub(super) renamed: Vec<(String, String)>,
    /// For each tool that declares its path, the paths that its calls have in the plan.
    pub(super) of_tools: BTreeMap<String, BTreeSet<String>>,
}

/// A reader that would get a value that it did not get in the session.
pub(super) struct Disorder {
    pub(super) reader: usize,
    pub(super) writer: usize,
    pub(super) path: String,
}

/// A value, from the message that wrote it.
struct Version {
    /// The call that wrote it.
    writer: usize,
    from: usize,
    path: Path,
    name: Path,
}

/// Separates the versions of values, so that each call reads in the plan what it read in the session.
pub(super) fn separate(done: &mut [DoneCall], context: &Context) -> Result<NewPaths, Disorder> {
    let check = check_of(done, context);
    let moments = moments(done, context);
    let is_rival = |warning: &plan::Warning| warning.rule == Rule::Plan5;
    if disorder(&check, done, &moments).is_none() && !check.warnings.iter().any(is_rival) {
        return Ok(NewPaths::default());
    }
    let mut separation = Separation { check, moments, context, versions: Vec::new(), new: NewPaths::default() };
    separation.rename_writes(done);
    separation.rename_reads(done)?;
    separation.name_paths_of_tools(done);
    match disorder(&check_of(done, context), done, &separation.moments) {
        Some(found) => Err(found),
        None => Ok(separation.new),
    }
}

fn check_of(done: &[DoneCall], context: &Context) -> Check {
    let calls: Vec<CallJson> = done.iter().map(|done| done.call.clone()).collect();
    plan::check(&calls, PlanMode::Eager, context)
}

struct Separation<'a> {
    check: Check,
    moments: Vec<usize>,
    context: &'a Context,
    versions: Vec<Version>,
    new: NewPaths,
}

impl Separation<'_> {
    fn rename_writes(&mut self, done: &mut [DoneCall]) {
        for index in 0..done.len() {
            let writes: Vec<Arc<Path>> = self.check.calls[index].writes().cloned().collect();
            let [path] = &writes[..] else { continue };
            let path = &**path;
            let at = done[index].at;
            let replaces = replaces(&done[index].call, self.context);
            let new = (replaces && self.is_touched(index, path, done)).then(|| self.free_name(path, &done[index].call));
            let name = new.flatten().unwrap_or_else(|| self.name_at(path, at));
            if name != *path {
                done[index].call.set_output_path(&name.to_string());
                self.new.renamed.push((name.to_string(), path.to_string()));
            }
            if replaces {
                self.versions.push(Version { writer: index, from: at, path: path.clone(), name });
            }
        }
        self.new.renamed.sort_unstable();
        self.new.renamed.dedup();
    }

    /// Whether calls before this one wrote its path, or read it. A path whose parts or whole were written apart keeps
    /// its name, because a reader may need both writes.
    fn is_touched(&self, index: usize, path: &Path, done: &[DoneCall]) -> bool {
        let writes = |other: usize| self.check.calls[other].all_writes();
        let earlier = |other: usize| writes(other).filter(|written| written.overlaps(path));
        if (0..index).flat_map(earlier).any(|written| !path.covers(written)) {
            return false;
        }
        let is_read = |other: usize| {
            let mut reads = self.check.calls[other].reads().into_iter();
            self.moments[other] <= done[index].at && reads.any(|read| read.overlaps(path))
        };
        (0..index).any(|other| earlier(other).next().is_some())
            || (0..done.len()).any(|other| other != index && is_read(other))
    }

    /// The path of a value for a call that sees this many messages.
    fn name_at(&self, path: &Path, moment: usize) -> Path {
        let version = self.versions.iter().rev().find(|version| version.from < moment && version.path.covers(path));
        let Some(version) = version else { return path.clone() };
        let mut name = version.name.clone();
        name.segments.extend(path.segments[version.path.segments.len()..].iter().cloned());
        name
    }

    /// A path beside this one that nothing else uses. If the schema forbids it there, it is of another kind.
    fn free_name(&self, path: &Path, call: &CallJson) -> Option<Path> {
        let parse = |text: String| match Expr::parse(&text) {
            Ok(Expr::Ref(path)) => Some((*path).clone()),
            _ => None,
        };
        let last = path.to_string().rsplit('.').next().unwrap_or_default().trim_start_matches('†').to_owned();
        let is_permitted = |name: &Path| {
            let mut call = CallJson::of_tool(call.tool());
            call.set_output_path(&name.to_string());
            Call::read(&call, self.context).1.iter().all(|fault| fault.rule != Rule::Ctx7)
        };
        let is_free = |name: &Path| {
            let is_used = |call: &Call| {
                call.all_writes().any(|used| used.overlaps(name)) || call.reads().iter().any(|used| used.overlaps(name))
            };
            self.context.read(name, None).is_none()
                && !self.check.calls.iter().any(is_used)
                && !self.versions.iter().any(|version| version.name.overlaps(name))
        };
        (2..1000).find_map(|number| {
            let beside = parse(format!("{path}_{number}"))?;
            let name = if is_permitted(&beside) { beside } else { parse(format!("†found.{last}_{number}"))? };
            is_free(&name).then_some(name)
        })
    }

    fn rename_reads(&self, done: &mut [DoneCall]) -> Result<(), Disorder> {
        for (reader, call) in done.iter_mut().enumerate() {
            let moment = self.moments[reader];
            let mut names: BTreeMap<String, String> = BTreeMap::new();
            for path in self.check.calls[reader].reads() {
                // A read of the whole does not see a part that has another name.
                let is_apart = |version: &&Version| {
                    let is_part = path.covers(&version.path) && path.segments.len() < version.path.segments.len();
                    is_part && version.from < moment && version.name != version.path
                };
                if let Some(part) = self.versions.iter().find(is_apart) {
                    return Err(Disorder { reader, writer: part.writer, path: part.path.to_string() });
                }
                let name = self.name_at(path, moment);
                if name != **path {
                    names.insert(path.to_string(), name.to_string());
                }
            }
            if let Some(fields) = call.call.make_mut().as_object_mut() {
                let params = fields.iter_mut().filter(|(name, _)| !["_tool", "_outputPath"].contains(&name.as_str()));
                params.for_each(|(_, value)| rename(value, &names));
            }
        }
        Ok(())
    }

    /// A tool that fixes its path is given all paths of its calls, and each call names its own.
    fn name_paths_of_tools(&mut self, done: &mut [DoneCall]) {
        let renamed: BTreeSet<String> = self.new.renamed.iter().map(|(name, _)| name.clone()).collect();
        let is_renamed = |call: &CallJson| call.output_path().is_some_and(|path| renamed.contains(path));
        let declares = |tool: &&str| self.context.tool(tool).is_some_and(|tool| tool.meta("_outputPath").is_some());
        let tools = done.iter().filter(|done| is_renamed(&done.call)).filter_map(|done| done.call.tool());
        let tools: BTreeSet<String> = tools.filter(declares).map(str::to_owned).collect();
        for (index, done) in done.iter_mut().enumerate() {
            let Some(tool) = done.call.tool().filter(|tool| tools.contains(*tool)).map(str::to_owned) else { continue };
            if done.call.output_path().is_none() {
                let mut fixed = self.check.calls[index].writes().map(ToString::to_string);
                let Some(path) = fixed.next() else { continue };
                done.call.set_output_path(&path);
            }
            let path = done.call.output_path().unwrap_or_default().to_owned();
            self.new.of_tools.entry(tool).or_default().insert(path);
        }
    }
}

/// Whether a call replaces the value at its path, instead of adding to it.
fn replaces(call: &CallJson, context: &Context) -> bool {
    let declared = || {
        let tool = call.tool().and_then(|name| context.tool(name))?;
        tool.meta("_outputMethod")?.fixed.as_ref()?.as_str()
    };
    call.output_method().or_else(declared).is_none_or(|method| method == "set")
}

/// The number of messages that each call saw when its references were resolved: the latest that gives the values it
/// ran with. A call may have waited for a person while later turns went on.
fn moments(done: &[DoneCall], context: &Context) -> Vec<usize> {
    let mut moments: Vec<usize> = done.iter().map(|done| done.at).collect();
    let mut past = Context::new();
    let messages = context.messages();
    for length in 0..=messages.len() {
        let is_changed = length == 0 || matches!(messages[length - 1], Message::Data(_));
        for (moment, done) in moments.iter_mut().zip(done).filter(|(_, done)| is_changed && length <= done.at) {
            let Some(ran) = &done.ran else { continue };
            if fits(&done.call, ran, &past, done.instance.as_deref()) {
                *moment = length;
            }
        }
        if messages.get(length).is_some_and(|next| past.append(vec![next.clone()]).is_err()) {
            break;
        }
    }
    moments
}

/// Puts the references of the proposal back into an edited call, except where a person wrote another value.
pub(super) fn keep_references(call: &mut Value, proposed: &Value, messages: &[Message]) {
    let (Some(fields), Some(proposed)) = (call.as_object_mut(), proposed.as_object()) else { return };
    let has_reference = |value: &Value| value.to_string().contains('†');
    let mut past = Context::new();
    for length in 0..=messages.len() {
        for (name, value) in proposed.iter().filter(|(name, value)| !name.starts_with('_') && has_reference(value)) {
            if fields.get(name).is_some_and(|ran| !has_reference(ran) && fits(value, ran, &past, None)) {
                fields.insert(name.clone(), value.clone());
            }
        }
        if messages.get(length).is_some_and(|next| past.append(vec![next.clone()]).is_err()) {
            break;
        }
    }
}

/// Whether the references of a proposal have the values of the call that ran.
fn fits(proposed: &Value, ran: &Value, past: &Context, instance: Option<&str>) -> bool {
    match (proposed, ran) {
        (Value::String(text), _) if text.starts_with("††") => true,
        (Value::String(text), _) if text.starts_with('†') => {
            Expr::parse(text).is_ok_and(|expr| past.resolve(&expr, instance).is_some_and(|value| *value == *ran))
        }
        (Value::String(text), Value::String(ran)) => filled(text, past, instance).is_none_or(|text| text == *ran),
        (Value::Object(fields), Value::Object(ran)) => fields
            .iter()
            .filter(|(name, _)| !name.starts_with('_'))
            .all(|(name, value)| ran.get(name).is_none_or(|ran| fits(value, ran, past, instance))),
        (Value::Array(items), Value::Array(ran)) => {
            items.iter().zip(ran).all(|(item, ran)| fits(item, ran, past, instance))
        }
        _ => true,
    }
}

/// A text with the values of its references; none if it has none.
fn filled(text: &str, past: &Context, instance: Option<&str>) -> Option<String> {
    let mut rest = text.find("{†").filter(|_| !text.contains("{††")).map(|_| text)?;
    let mut filled = String::new();
    while let Some((before, after)) = rest.split_once("{†") {
        let (path, after) = after.split_once('}')?;
        let expr = Expr::parse(&format!("†{path}")).ok()?;
        filled.push_str(before);
        match past.resolve(&expr, instance).as_deref() {
            Some(Value::String(value)) => filled.push_str(value),
            Some(value) => filled.push_str(&value.to_string()),
            None => {}
        }
        rest = after;
    }
    Some(filled + rest)
}

/// Replaces paths in the references of a value.
fn rename(value: &mut Value, names: &BTreeMap<String, String>) {
    match value {
        Value::String(text) => {
            for (path, name) in names.iter().rev() {
                *text = renamed(text, path, name);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, names)),
        Value::Object(fields) => fields.values_mut().for_each(|value| rename(value, names)),
        _ => {}
    }
}

fn renamed(text: &str, path: &str, name: &str) -> String {
    let mut result = String::new();
    let mut done = 0;
    for (start, _) in text.match_indices(path) {
        let end = start + path.len();
        let goes_on = text[end..].chars().next().is_some_and(|next| next.is_alphanumeric() || "_-".contains(next));
        if !goes_on && !text[..start].ends_with('†') {
            result.push_str(&text[done..start]);
            result.push_str(name);
            done = end;
        }
    }
    result + &text[done..]
}

/// The first call that would read in the plan what it did not read in the session.
fn disorder(check: &Check, done: &[DoneCall], moments: &[usize]) -> Option<Disorder> {
    let feeders = |reader: usize| check.graph.edges_into(reader).iter();
    let is_wrong = |writer: usize, reader: usize| {
        // Another call replaced the value before it was read, and nothing in the plan says that it comes later.
        let is_replaced = |other: usize| {
            let covers =
                check.calls[other].all_writes().any(|new| check.calls[writer].all_writes().all(|old| new.covers(old)));
            done[writer].at < done[other].at
                && done[other].at < moments[reader]
                && covers
                && !leads_to(check, writer, other)
        };
        done[writer].at >= moments[reader] || feeders(reader).any(|edge| is_replaced(edge.from))
    };
    (0..done.len()).flat_map(feeders).find(|edge| is_wrong(edge.from, edge.to)).map(|edge| Disorder {
        reader: edge.to,
        writer: edge.from,
        path: edge.path.to_string(),
    })
}

/// Whether a call waits for another, directly or by calls between them.
fn leads_to(check: &Check, from: usize, to: usize) -> bool {
    let (mut seen, mut left) = (BTreeSet::new(), vec![from]);
    while let Some(call) = left.pop() {
        if call == to {
            return true;
        }
        left.extend(check.graph.fed_by(call).iter().filter(|next| seen.insert(**next)));
    }
    false
}
