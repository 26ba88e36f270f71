//! `obelus policy explain`

use anyhow::Result;
use obelus_kernel::policy::{Explanation, Gate, Ruling, explain};
use obelus_kernel::{Context, Tool};
use obelus_runtime::Agent;
use obelus_runtime::files::read_document;
use serde_json::{Value, json};

use super::agents::locate;
use super::run::load_agent;
use super::sessions::read_session;
use crate::cli::{Explain, Policy};
use crate::input;
use crate::output::{self, BOLD, DIM, Exit, GREEN, RED, YELLOW, visible};

pub(crate) fn run(args: &Policy) -> Result<Exit> {
    match args {
        Policy::Explain(args) => explain_call(args),
    }
}

fn explain_call(args: &Explain) -> Result<Exit> {
    let agent = load_agent(&locate(&args.agent)?, None)?;
    let name = input::name(&args.call);
    let call = read_document(std::path::Path::new(&name), &input::text(&args.call)?)?;
    let mode = args.mode.map_or(agent.settings.mode, Into::into);
    let session = args.session.as_deref().map(|id| read_session(&args.store, id)).transpose()?;
    let gate = Gate::new(&agent.settings.policy, mode);
    let gate = match &session {
        Some(session) => gate.with_consents(session.consents(), session.now()),
        None => gate,
    };
    let found = match explain(&call, &agent.context, gate) {
        Ok(found) => found,
        Err(faults) => {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            if args.json {
                output::json(&json!({"verdict": "faulty", "errors": faults}));
            } else {
                output::answer(&format!("{RED}faulty{RED:#}: the call is invalid and does not reach the policy"));
                for fault in &faults {
                    output::answer(&format!("  {RED}error{RED:#} {}", visible(fault)));
                }
            }
            return Ok(Exit::Failed);
        }
    };
    let tool = tool_of(&agent.context, &call);
    let is_latent = tool.is_some_and(|tool| is_latent(&agent, tool));
    let missing_origins = tool.and_then(|tool| missing_origins(&call, tool));
    if is_latent {
        return Ok(report_latent(&call, tool, mode.name(), args.json));
    }
    if args.json {
        let mut document = found.to_json();
        document["tool"] = call["_tool"].clone();
        document["effect"] = tool.map(|tool| tool.effect.name()).into();
        document["mode"] = mode.name().into();
        document["notes"] = missing_origins.into_iter().collect();
        output::json(&document);
    } else {
        report(&found, &call, tool, mode.name(), &agent, missing_origins.as_deref());
    }
    Ok(Exit::Done)
}

fn tool_of<'a>(context: &'a Context, call: &Value) -> Option<&'a Tool> {
    context.tool(call.get("_tool")?.as_str()?).map(AsRef::as_ref)
}

/// Whether calls of a tool are carried out by the model.
fn is_latent(agent: &Agent, tool: &Tool) -> bool {
    let named = [tool.fixed_name("_activity"), Some(tool.name.as_str())];
    tool.fixed_name("_delegate").is_none()
        && !named.into_iter().flatten().any(|name| agent.activities.contains_key(name))
}

/// Reports a call that the model carries out. Such calls do not act, and no policy applies to them.
fn report_latent(call: &Value, tool: Option<&Tool>, mode: &str, as_json: bool) -> Exit {
    let why = "no activity is bound to it, so the model carries it out: it does not act and runs in every mode";
    let effect = tool.map(|tool| tool.effect.name()).unwrap_or_default();
    if as_json {
        let spoken = json!([{"by": "activities", "says": "allow", "why": why}]);
        let reasons: [&str; 0] = [];
        output::json(&json!({"verdict": "allow", "reasons": reasons, "spoken": spoken, "tool": call["_tool"],
            "effect": effect, "mode": mode, "notes": reasons}));
        return Exit::Done;
    }
    let name = call["_tool"].as_str().unwrap_or_default();
    output::answer(&headline(Ruling::Allow, name, effect, mode));
    output::answer(&format!("  {GREEN}{:<8}{GREEN:#}activities: {why}", "allow"));
    Exit::Done
}

/// The verdict on one line.
fn headline(ruling: Ruling, name: &str, effect: &str, mode: &str) -> String {
    let (colour, means) = match ruling {
        Ruling::Allow => (GREEN, "it runs"),
        Ruling::Confirm => (YELLOW, "a person decides"),
        Ruling::Refuse => (RED, "it does not run"),
    };
    format!(
        "{colour}{}{colour:#} {BOLD}{}{BOLD:#}: {means}   {DIM}effect {effect}, mode {mode}{DIM:#}",
        ruling.name(),
        visible(name)
    )
}

/// Which origins the file does not give although they could change the verdict.
fn missing_origins(call: &Value, tool: &Tool) -> Option<String> {
    let targets = match &tool.target {
        Some(paths) if paths.is_empty() => Vec::new(),
        Some(paths) => paths.iter().map(|path| format!("`{path}`")).collect(),
        None if tool.effect.name() == "read" => Vec::new(),
        None => vec!["any parameter".to_owned()],
    };
    let acts = tool.effect.name() != "read";
    let mut open = Vec::new();
    if call.get("_from").is_none() && !targets.is_empty() {
        open.push(format!(
            "the origins of its values are not given: an untrusted value in {} needs a confirmation (use `_from`)",
            targets.join(", ")
        ));
    }
    if call.get("_shown").is_none() && acts {
        open.push(
            "what the model had read before is not given: untrusted data needs a confirmation (use `_shown`)"
                .to_owned(),
        );
    }
    (!open.is_empty()).then(|| open.join("; "))
}

fn report(
    found: &Explanation,
    call: &Value,
    tool: Option<&Tool>,
    mode: &str,
    agent: &Agent,
    missing_origins: Option<&str>,
) {
    let name = call["_tool"].as_str().unwrap_or_default();
    let effect = tool.map(|tool| tool.effect.name()).unwrap_or_default();
    output::answer(&headline(found.verdict.ruling(), name, effect, mode));
    for one in &found.findings {
        let colour = match one.says {
            Ruling::Allow => GREEN,
            Ruling::Confirm => YELLOW,
            Ruling::Refuse => RED,
        };
        let says = one.says.name();
        let rule = rule_of(agent, &one.by).map(|rule| format!(" ({rule})")).unwrap_or_default();
        output::answer(&format!(
            "  {colour}{says:<8}{colour:#}{}{DIM}{}{DIM:#}: {}",
            visible(&one.by),
            visible(&rule),
            visible(&one.why.to_string())
        ));
    }
    if found.findings.is_empty() {
        output::answer(&format!("  {DIM}no rule applies{DIM:#}"));
    }
    if let Some(words) = missing_origins {
        output::answer(&format!("  {DIM}note: {words}{DIM:#}"));
    }
}

/// What a policy rule matches, in words.
fn rule_of(agent: &Agent, by: &str) -> Option<String> {
    let index: usize = by.strip_prefix("policy.rules[")?.strip_suffix(']')?.parse().ok()?;
    agent.settings.policy.rules().get(index).map(|rule| rule.matching.to_string())
}
