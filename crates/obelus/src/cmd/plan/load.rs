//! A request with a plan, its errors, and their positions in the file.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use obelus_kernel::plan::{self, Check, Simulation, Warning};
use obelus_kernel::policy::{self, Gate};
use obelus_kernel::session::Mode;
use obelus_kernel::{Call, Context, Fault, Path as DataPath, Rule, Tool, closest};
use obelus_runtime::SessionSpec;
use obelus_runtime::files::{Places, place_of};
use serde_json::{Value, json};

use super::super::delegates::delegate_faults;
use super::super::faults::{SpecProblem, at, place_of_tool, problems_of};
use super::super::tool_notes::{stray_scopes, tool_notes};
use crate::cli::PlanFile;
use crate::input;

/// A request with its plan.
pub(super) struct Loaded {
    pub(super) name: String,
    pub(super) spec: SessionSpec,
    pub(super) check: Check,
    /// Errors outside of the plan.
    pub(super) problems: Vec<SpecProblem>,
    /// Notes with their places in the file.
    pub(super) notes: Vec<SpecProblem>,
    /// The index of the message with the plan.
    message: usize,
    places: Places,
}

impl Loaded {
    /// Reads a request and checks its plan; an error if there is none.
    pub(super) fn read(args: &PlanFile) -> Result<Self> {
        let (name, text) = (input::name(&args.file), input::text(&args.file)?);
        let request = input::request_from(&args.file, &text)?;
        let mut spec = SessionSpec::from_request(&args.file, request)?;
        give_input(&mut spec, args.input.as_deref())?;
        let Some(found) = spec.context.plan() else {
            bail!("{name}: the context has no plan: add a message {{\"type\": \"plan\", \"plan\": [ … calls … ]}}");
        };
        let mut check = plan::check(&found.calls, found.mode, &spec.context);
        let unbound = spec.unbound_tools().into_iter();
        check.warnings.extend(unbound.map(|fault| Warning { rule: Rule::Tool3, call: None, text: fault.text }));
        let notes = delegate_faults(&spec).into_iter().filter(|fault| fault.is_note);
        check.warnings.extend(notes.map(|fault| Warning { rule: Rule::Del1, call: None, text: fault.text }));
        let unread = spec.unread_in_delegates().into_iter();
        check.warnings.extend(unread.map(|fault| Warning { rule: Rule::Del1, call: None, text: fault.text }));
        let is_plan = |message: &obelus_kernel::Message| matches!(message, obelus_kernel::Message::Plan(_));
        let message = spec.context.messages().iter().rposition(is_plan).unwrap_or_default();
        let problems = problems_of(&spec, None);
        let notes = notes_on_tools(&check, &spec, message);
        Ok(Self { name, check, problems, notes, message, places: Places::of(&text), spec })
    }

    /// Simulates the plan in a mode. Without bindings the executors of calls are unknown.
    pub(super) fn dry_run(&self, mode: Mode) -> Simulation {
        let spec = &self.spec;
        let has_bindings = spec.activities.iter().any(|lot| !lot.bound.is_empty());
        let runs_by_model = |tool: &Tool| has_bindings && spec.runs_by_model(tool);
        let gate = Gate::new(&spec.settings.policy, mode);
        let mut dry = policy::simulate(&self.check, &spec.context, gate, runs_by_model);
        for (row, call) in dry.calls.iter_mut().zip(&self.check.calls) {
            if let Some(by) = self.executor(call) {
                row["by"] = by.into();
            }
        }
        dry
    }

    /// The executor of a call, unless it is the model.
    fn executor(&self, call: &Call) -> Option<String> {
        if let Some(delegate) = &call.delegate {
            return Some(format!("the delegate `{delegate}`"));
        }
        let is_bound = |name: &&str| self.spec.activities.iter().any(|lot| lot.bound.contains_key(*name));
        let own = call.tool.as_ref().map(|tool| tool.name.as_str());
        let name = call.named_activity().filter(is_bound).or(own.filter(is_bound))?;
        Some(format!("the activity `{name}`"))
    }

    /// Whether there are no errors.
    pub(super) fn is_valid(&self) -> bool {
        self.check.is_valid() && self.problems.is_empty()
    }

    /// All errors with their positions: `FILE:LINE:COLUMN: WORDS`.
    pub(super) fn errors(&self) -> Vec<String> {
        let faults = self.check.errors.iter().map(|fault| (self.place(fault), fault.to_string()));
        let problems = self.problems.iter().map(|problem| (self.places.find(&problem.field), problem.to_string()));
        problems.chain(faults).map(|(place, words)| format!("{}{}: {words}", self.name, at(place))).collect()
    }

    /// The notes with their positions: `FILE:LINE:COLUMN: WORDS`.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        self.notes.iter().map(|note| format!("{}{}: {note}", self.name, at(self.places.find(&note.field))))
    }

    /// The check as JSON, with positions, and the errors outside of the plan.
    pub(super) fn to_json(&self) -> Value {
        let mut document = self.check.to_json();
        for note in &self.notes {
            let mut row = json!({"rule": note.rule, "call": null, "message": note.text});
            place_into(&mut row, self.places.find(&note.field));
            if let Some(warnings) = document["warnings"].as_array_mut() {
                warnings.push(row);
            }
        }
        let Some(errors) = document["errors"].as_array_mut() else { return document };
        for (row, fault) in errors.iter_mut().zip(&self.check.errors) {
            place_into(row, self.place(fault));
        }
        for problem in &self.problems {
            let mut row = json!({"rule": problem.rule, "call": null, "message": problem.text});
            place_into(&mut row, self.places.find(&problem.field));
            errors.push(row);
        }
        document["valid"] = self.is_valid().into();
        document
    }

    /// The position of a plan's error.
    fn place(&self, fault: &Fault) -> Option<(u64, u64)> {
        // An error of a tool names the tool's field.
        let tool = fault.field.strip_prefix("tool.").filter(|_| fault.call.is_none());
        if let Some((name, rest)) = tool.map(|field| field.split_once('.').unwrap_or((field, ""))) {
            return self.places.find(&format!("{}.{rest}", place_of_tool(&self.spec, name)));
        }
        let message = fault.call.map(|_| self.message);
        place_of(&self.places, &Fault { message, ..fault.clone() })
    }
}

/// Notes on the tools, and on scopes of the plan's calls that name nothing. `message` is the index of the message with
/// the plan.
fn notes_on_tools(check: &Check, spec: &SessionSpec, message: usize) -> Vec<SpecProblem> {
    let written: Vec<_> = check.calls.iter().flat_map(Call::all_writes).cloned().collect();
    let mut notes = tool_notes(spec, Some(&written));
    for (index, call) in check.calls.iter().enumerate() {
        let stray = stray_scopes(call.raw.scopes(), Some(&written), &spec.context);
        notes.extend(stray.into_iter().map(|(scope, text)| SpecProblem {
            rule: Some(Rule::Call4),
            field: format!("context[{message}].plan[{index}]._scopes[{scope}]"),
            text: format!("call {index}: `_scopes`: {text}"),
        }));
    }
    notes
}

/// Sets the input of a request: JSON, or `@FILE`.
pub(crate) fn give_input(spec: &mut SessionSpec, given: Option<&str>) -> Result<()> {
    let Some(given) = given else { return Ok(()) };
    let value: Value = match given.strip_prefix('@').map(Path::new) {
        Some(file) => serde_json::from_str(&input::text(file)?)
            .with_context(|| format!("--input: {} is not JSON", input::name(file)))?,
        None => serde_json::from_str(given).context("--input is JSON, or @FILE")?,
    };
    must_be_known(&spec.context, &value)?;
    spec.give_input(value).context("--input")
}

/// Refuses names that the request's input does not have. An input without schema and data may have any.
fn must_be_known(context: &Context, given: &Value) -> Result<()> {
    let data = context.read(&DataPath::root("input"), None);
    let schema = context.view("input").and_then(|view| view.schema(None));
    let declared = schema.and_then(|schema| schema["properties"].as_object());
    let known = data.as_deref().and_then(Value::as_object).into_iter().chain(declared).flat_map(|fields| fields.keys());
    let known: Vec<&str> = known.map(String::as_str).collect();
    let is_open = known.is_empty()
        || schema.is_some_and(|schema| {
            schema.get("patternProperties").is_some()
                || schema.get("additionalProperties").is_some_and(|more| more != false)
        });
    let messages = context.to_json().to_string();
    for name in given.as_object().into_iter().flatten().map(|(name, _)| name).filter(|_| !is_open) {
        if !known.contains(&name.as_str()) && !messages.contains(&format!("†input.{name}")) {
            let hint = closest(name, &known).map(|near| format!("; did you mean `{near}`?"));
            let hint = hint.unwrap_or_else(|| format!("; it has {}", known.join(", ")));
            bail!("--input: the input has no `{name}`{hint}");
        }
    }
    Ok(())
}

fn place_into(row: &mut Value, place: Option<(u64, u64)>) {
    if let Some((line, column)) = place {
        (row["line"], row["column"]) = (line.into(), column.into());
    }
}
