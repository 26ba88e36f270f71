//! `obelus policy explain`

mod origins;

use anyhow::Result;
use obelus_kernel::CallJson;
use obelus_kernel::policy::{Explanation, FindingSource, Gate, Ruling, explain};
use obelus_kernel::{Context, Tool};
use obelus_runtime::Agent;
use obelus_runtime::files::read_document;
use obelus_runtime::people::explained_reason;
use obelus_words::PolicyWords;
use serde_json::{Value, json};

use super::agents::locate;
use super::run::load_agent;
use super::sessions::read_session;
use crate::cli::{Explain, PolicyCommand};
use crate::input;
use crate::language::{Language, Words, fill, words_of};
use crate::output::{self, BOLD, DIM, Exit, GREEN, RED, YELLOW, visible};

pub(crate) fn run(args: &PolicyCommand) -> Result<Exit> {
    match args {
        PolicyCommand::Explain(args) => explain_call(args),
    }
}

fn explain_call(args: &Explain) -> Result<Exit> {
    let agent = load_agent(&locate(&args.agent)?, None)?;
    // For programs the texts are English.
    let words = if args.json { Language::English.words() } else { words_of(agent.settings.language.as_deref()) };
    let name = input::name(&args.call);
    let call = CallJson::from(read_document(std::path::Path::new(&name), &input::text(&args.call)?)?);
    let mode = args.mode.map_or(agent.settings.mode, Into::into);
    let session = args.session.as_deref().map(|id| read_session(&args.store, id)).transpose()?;
    let gate = Gate::new(&agent.settings.policy, mode);
    let explained = match &session {
        Some(session) => session.explain(&call, &agent.context, gate),
        None => explain(&call, &agent.context, gate),
    };
    let tool = tool_of(&agent.context, &call);
    let explained = explained.map_err(|faults| faults.iter().map(ToString::to_string).collect());
    let found = match (explained, tool.map(|tool| origins::faults(&call, tool)).unwrap_or_default()) {
        (Ok(found), faults) if faults.is_empty() => found,
        (Ok(_), faults) | (Err(faults), _) => {
            if args.json {
                output::json(&json!({"verdict": "faulty", "errors": faults}));
            } else {
                output::answer(&format!("{RED}faulty{RED:#}: {}", words.policy.faulty));
                for fault in &faults {
                    output::answer(&format!("  {RED}{}{RED:#} {}", words.policy.error, visible(fault)));
                }
            }
            return Ok(Exit::Failed);
        }
    };
    let runs_by_model = tool.is_some_and(|tool| runs_by_model(&agent, tool));
    let mut notes = origins::unknown_tools(&call, &agent.context, &words.policy);
    notes.extend(tool.and_then(|tool| missing_origins(&call, tool, &words.policy)));
    if runs_by_model {
        return Ok(report_model_call(&call, tool, mode.name(), args.json, &words.policy));
    }
    if args.json {
        let mut document = found.to_json();
        document["tool"] = call.tool().into();
        document["effect"] = tool.map(|tool| tool.effect.name()).into();
        document["mode"] = mode.name().into();
        document["notes"] = notes.into();
        output::json(&document);
    } else {
        let report = CallExplanation { call: &call, tool, mode: mode.name(), agent: &agent, words };
        report.print(&found, &notes);
    }
    Ok(Exit::Done)
}

fn tool_of<'a>(context: &'a Context, call: &CallJson) -> Option<&'a Tool> {
    context.tool(call.tool()?).map(AsRef::as_ref)
}

/// Whether calls of a tool are carried out by the model.
fn runs_by_model(agent: &Agent, tool: &Tool) -> bool {
    let named = [tool.fixed_name("_activity"), Some(tool.name.as_str())];
    tool.fixed_name("_delegate").is_none()
        && !named.into_iter().flatten().any(|name| agent.activities.contains_key(name))
}

/// Reports a call that the model carries out. Such calls do not act, and no policy applies to them.
fn report_model_call(call: &Value, tool: Option<&Tool>, mode: &str, as_json: bool, words: &PolicyWords) -> Exit {
    let why = words.model_call;
    let effect = tool.map(|tool| tool.effect.name()).unwrap_or_default();
    if as_json {
        let spoken = json!([{"by": "activities", "says": "allow", "why": why}]);
        let mut document = json!({"verdict": "allow", "reasons": [], "spoken": spoken});
        document["tool"] = call["_tool"].clone();
        document["effect"] = effect.into();
        document["mode"] = mode.into();
        document["notes"] = json!([]);
        output::json(&document);
        return Exit::Done;
    }
    let name = CallJson::tool_of(call).unwrap_or_default();
    output::answer(&headline(Ruling::Allow, name, effect, mode, words));
    output::answer(&format!("  {GREEN}{:<8}{GREEN:#}activities: {why}", "allow"));
    Exit::Done
}

/// The verdict on one line.
fn headline(ruling: Ruling, name: &str, effect: &str, mode: &str, words: &PolicyWords) -> String {
    let (colour, means) = match ruling {
        Ruling::Allow => (GREEN, words.runs),
        Ruling::Confirm => (YELLOW, words.person_decides),
        Ruling::Refuse => (RED, words.does_not_run),
    };
    let under = fill(words.effect_and_mode, &[effect, mode]);
    format!("{colour}{}{colour:#} {BOLD}{}{BOLD:#}: {means}   {DIM}{under}{DIM:#}", ruling.name(), visible(name))
}

/// Origins that the file lacks although they could change the verdict.
fn missing_origins(call: &Value, tool: &Tool, words: &PolicyWords) -> Option<String> {
    let targets = match &tool.target {
        Some(paths) if paths.is_empty() => Vec::new(),
        Some(paths) => paths.iter().map(|path| format!("`{path}`")).collect(),
        None if !tool.effect.acts() => Vec::new(),
        None => vec![words.any_param.to_owned()],
    };
    let acts = tool.effect.acts();
    let mut open = Vec::new();
    if call.get("_from").is_none() && !targets.is_empty() {
        open.push(fill(words.no_origins, &[&targets.join(", ")]));
    }
    if call.get("_shown").is_none() && acts {
        open.push(words.no_shown.to_owned());
    }
    (!open.is_empty()).then(|| open.join("; "))
}

/// A call that is explained to a person.
struct CallExplanation<'a> {
    call: &'a CallJson,
    tool: Option<&'a Tool>,
    mode: &'a str,
    agent: &'a Agent,
    words: &'a Words,
}

impl CallExplanation<'_> {
    fn print(&self, found: &Explanation, notes: &[String]) {
        let words = &self.words.policy;
        let name = self.call.tool_name();
        let effect = self.tool.map(|tool| tool.effect.name()).unwrap_or_default();
        output::answer(&headline(found.verdict.ruling(), name, effect, self.mode, words));
        for one in &found.findings {
            let colour = match one.says {
                Ruling::Allow => GREEN,
                Ruling::Confirm => YELLOW,
                Ruling::Refuse => RED,
            };
            let says = one.says.name();
            let rule = rule_of(self.agent, one.by).map(|rule| format!(" ({rule})")).unwrap_or_default();
            let why = if matches!(one.by, FindingSource::List(Ruling::Allow, _)) {
                self.words.reasons.listed.to_owned()
            } else {
                explained_reason(&one.why, name, self.words.language)
            };
            output::answer(&format!(
                "  {colour}{says:<8}{colour:#}{}{DIM}{}{DIM:#}: {}",
                visible(&one.by.to_string()),
                visible(&rule),
                visible(&why)
            ));
        }
        if found.findings.is_empty() {
            output::answer(&format!("  {DIM}{}{DIM:#}", words.no_rule));
        }
        for note in notes {
            output::answer(&format!("  {DIM}{}{DIM:#}", visible(&fill(words.note, &[note]))));
        }
    }
}

/// What a policy rule matches, as text.
fn rule_of(agent: &Agent, by: FindingSource) -> Option<String> {
    let FindingSource::Rule(index) = by else { return None };
    agent.settings.policy.rules().get(index).map(|rule| rule.matching.to_string())
}
