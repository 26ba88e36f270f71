//! One rule: its condition and its answer.

use obelus_kernel::CallJson;
use obelus_kernel::dialect::Dialect;
use obelus_kernel::jq::Filter;
use obelus_kernel::session::{Answer, CallStatus, Prompt, Solution};
use obelus_notebook::control_field::ControlField;
use obelus_runtime::text::plain_text;
use regex::Regex;
use serde_json::Value;

use super::facts::{Facts, Find, RuleFacts};
use super::template::{FieldError, TemplateNode, Templates, ValuePosition};
use crate::model::said_since;

/// A rule, ready to run.
pub(super) struct PlaybookRule {
    /// Its number, and its name if it has one.
    pub(super) label: String,
    /// A pattern for the user's last message.
    pub(super) user: Option<Regex>,
    /// Filters on the request.
    pub(super) find: Vec<Find>,
    /// A condition.
    pub(super) when: Option<Filter>,
    /// Whether the rule is skipped if the turn already shows its answer.
    pub(super) once: bool,
    pub(super) reply: RuleReply,
}

/// The answer of a rule.
pub(super) enum RuleReply {
    /// A solution.
    Solution(SolutionDraft),
    /// A model's raw text.
    Raw(TemplateNode),
    /// A failure.
    Fail { code: String, message: TemplateNode },
}

/// A solution with templates in it.
#[derive(Default)]
pub(super) struct SolutionDraft {
    pub(super) say: Option<TemplateNode>,
    /// The fields of each call.
    pub(super) calls: Vec<Vec<(String, TemplateNode)>>,
    /// More calls, made from data.
    pub(super) calls_from: Option<Filter>,
    pub(super) output: Option<TemplateNode>,
}

impl PlaybookRule {
    /// The answer, if the rule matches. An error names the field.
    pub(super) fn answer(&self, facts: &Facts<'_>, templates: &Templates) -> Result<Option<Answer>, String> {
        let found = match (&self.user, facts.user) {
            (None, _) => None,
            (Some(_), None) => return Ok(None),
            (Some(pattern), Some(words)) => match pattern.captures(words) {
                Some(captures) => Some((pattern, captures)),
                None => return Ok(None),
            },
        };
        let view = facts.view(found.as_ref(), &self.find)?;
        if let Some(when) = &self.when
            && !when.holds(&view.read).map_err(|error| format!("`when`: {error}"))?
        {
            return Ok(None);
        }
        let answer = self.reply.answer(&view, templates, facts.prompt.dialect)?;
        let is_repeated =
            self.once && matches!(&answer, Answer::Solution { solution, .. } if is_in_turn(facts.prompt, solution));
        if is_repeated {
            return Ok(None);
        }
        let answer = without_done(answer, facts);
        Ok(Some(if matches!(self.reply, RuleReply::Solution(_)) { asking_again(answer, facts) } else { answer }))
    }
}

impl RuleReply {
    /// The filter that makes calls from data.
    pub(super) fn calls_from(&self) -> Option<&Filter> {
        match self {
            RuleReply::Solution(draft) => draft.calls_from.as_ref(),
            RuleReply::Raw(_) | RuleReply::Fail { .. } => None,
        }
    }

    /// The answer for a request. An error names the field.
    pub(super) fn answer(
        &self,
        view: &RuleFacts<'_>,
        templates: &Templates,
        dialect: Dialect,
    ) -> Result<Answer, String> {
        let text = |node: &TemplateNode| {
            let value = templates.render(node, &view.shown(), ValuePosition::Verbatim).map_err(in_words)?;
            Ok::<_, String>(plain_text(&value))
        };
        match self {
            RuleReply::Solution(draft) => {
                let solution = for_dialect(draft.solution(view, templates)?, dialect);
                Ok(Answer::Solution { solution, tokens: 0 })
            }
            RuleReply::Raw(node) => {
                let text = text(node)?;
                Ok(match dialect.read(&text) {
                    Ok(solution) => Answer::Solution { solution, tokens: 0 },
                    Err(error) => Answer::OutOfFormat { text, error, tokens: 0 },
                })
            }
            RuleReply::Fail { code, message } => {
                Ok(Answer::Failed { code: code.as_str().into(), message: text(message)? })
            }
        }
    }
}

impl SolutionDraft {
    fn solution(&self, view: &RuleFacts<'_>, templates: &Templates) -> Result<Solution, String> {
        let shown = view.shown();
        let render = |node: &TemplateNode| templates.render(node, &shown, ValuePosition::Verbatim).map_err(in_words);
        let say = match self.say.as_ref().map(render).transpose()? {
            None | Some(Value::Null) => None,
            Some(Value::String(words)) => Some(words),
            Some(other) => Some(other.to_string()),
        };
        let calls = self.calls.iter().map(|fields| templates.render_call(fields, &shown).map_err(in_words));
        let mut calls = calls.collect::<Result<Vec<_>, _>>()?;
        if let Some(filter) = &self.calls_from {
            match filter.one_read(&view.read).map_err(|error| format!("`calls_from`: {error}"))? {
                Value::Array(more) => calls.extend(more),
                other => {
                    let found = obelus_kernel::type_name(&other);
                    return Err(format!("`calls_from`: it gives an array of calls, not {found}"));
                }
            }
        }
        let output = self.output.as_ref().map(render).transpose()?.unwrap_or_default();
        if say.is_none() && calls.is_empty() && output.is_null() {
            // The session would repeat the same request up to its limit.
            return Err("the answer is empty: no words, no calls, no output".to_owned());
        }
        let calls = calls.into_iter().map(CallJson::from).collect();
        Ok(Solution { say, calls, output, ..Solution::default() })
    }
}

/// Adapts the solution to the dialect: in blocks, calls run in order and keep their results, and `say` is never null.
fn for_dialect(solution: Solution, dialect: Dialect) -> Solution {
    match dialect {
        Dialect::Json => solution,
        Dialect::Blocks => {
            let say = solution.say.clone().or_else(|| solution.output.as_str().map(str::to_owned));
            Solution { say, sequential: true, keeps_results: true, ..solution }
        }
    }
}

fn in_words(FieldError { field, text }: FieldError) -> String {
    format!("`{field}`: {text}")
}

/// The answer without calls that have ended in this turn, so that a repeated request does not repeat its effects. If
/// no call is left, the text is left out too, and if only calls are left that wait for a person, it is not repeated;
/// the output remains.
fn without_done(answer: Answer, facts: &Facts<'_>) -> Answer {
    let Answer::Solution { mut solution, tokens } = answer else { return answer };
    if facts.is_follow_up() && !solution.calls.is_empty() {
        let of_turn = || facts.prompt.plan.iter().filter(|report| !facts.is_of_earlier_turn(report));
        let is_now = |call: &CallJson, is_so: fn(CallStatus) -> bool| {
            of_turn().any(|report| is_so(report.status) && is_same(call, &report.call))
        };
        solution.calls.retain(|call| !is_now(call, |status| matches!(status, CallStatus::Done | CallStatus::Denied)));
        let was_said = solution.say.as_ref().is_some_and(|words| said_since(facts.prompt).any(|said| said == words));
        let waits = |call: &CallJson| is_now(call, |status| status == CallStatus::Waiting);
        if solution.calls.is_empty() || (was_said && solution.calls.iter().all(waits)) {
            solution.say = None;
            solution = for_dialect(solution, facts.prompt.dialect);
        }
    }
    Answer::Solution { solution, tokens }
}

/// The answer with a request for a decision (ASK-3) in each call that a person denied before the user's last message: a
/// rule does not know what was denied, and without the request the call would be ignored.
fn asking_again(answer: Answer, facts: &Facts<'_>) -> Answer {
    use ControlField::{ConfirmationDecision, Confirmed, RequiresConfirmation};
    let Answer::Solution { mut solution, tokens } = answer else { return answer };
    for call in &mut solution.calls {
        let says = [RequiresConfirmation, Confirmed, ConfirmationDecision];
        let has_said = says.iter().any(|field| call.get(field.name()).is_some());
        let tool = facts.prompt.tools.iter().find(|tool| tool.name == call.tool_name());
        let is_param = tool.is_some_and(|tool| tool.param(RequiresConfirmation.name()).is_some());
        let was_denied = || facts.earlier_end(|ended| is_same(call, ended)) == Some(CallStatus::Denied);
        if !has_said && !is_param && was_denied() {
            call.ask_confirmation();
        }
    }
    Answer::Solution { solution, tokens }
}

/// Whether the turn already contains a solution: its words were said, and its calls are in the plan.
fn is_in_turn(prompt: &Prompt, solution: &Solution) -> bool {
    let was_said = |words: &String| said_since(prompt).any(|said| said == words);
    let was_called = |call: &CallJson| prompt.plan.iter().any(|report| is_same(call, &report.call));
    let has_trace = solution.say.is_some() || !solution.calls.is_empty();
    has_trace && solution.say.as_ref().is_none_or(was_said) && solution.calls.iter().all(was_called)
}

/// Whether a reported call is the proposed one: the same tool and parameters, where a reference matches any value.
fn is_same(proposed: &Value, reported: &Value) -> bool {
    let fields = proposed.as_object().into_iter().flatten();
    let mut compared = fields.filter(|(name, value)| CallJson::is_of_action(name) && !value.is_null());
    compared.all(|(name, value)| reported.get(name).is_some_and(|other| may_become(value, other)))
}

fn may_become(proposed: &Value, reported: &Value) -> bool {
    match (proposed, reported) {
        (Value::String(text), _) if text.starts_with('†') => match text.strip_prefix("††") {
            Some(rest) => reported.as_str().is_some_and(|other| other == text || other.strip_prefix('†') == Some(rest)),
            None => true,
        },
        (Value::Array(items), Value::Array(others)) => {
            items.len() == others.len() && items.iter().zip(others).all(|(item, other)| may_become(item, other))
        }
        (Value::Object(fields), Value::Object(others)) => {
            fields.len() == others.len()
                && fields.iter().all(|(name, value)| others.get(name).is_some_and(|other| may_become(value, other)))
        }
        (proposed, reported) => proposed == reported,
    }
}
