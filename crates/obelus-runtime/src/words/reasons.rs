//! Why a person is asked, or a call is refused, in words. The words of an agent's author stay unchanged.

use obelus_kernel::policy::{Reason, Ruling};
use obelus_kernel::session::Mode;
use obelus_kernel::visible;
use serde::Deserialize as _;
use serde_json::Value;

use super::{Language, fill};
use crate::phrases;

phrases! {
    /// Why a person is asked, or a call is refused.
    ReasonWords {
        sets: "меняется {}", "it sets {}";
        after_reading:
            "агент решил это после чтения: {}",
            "it was decided after reading {}";
        is_shown: "ему передают данные из непроверенного источника: {}", "it is shown what is not trusted: {}";
        comes_from: "{} взято из непроверенного: {}", "{} comes from what is not trusted: {}";
        come_from: "{} взяты из непроверенного: {}", "{} come from what is not trusted: {}";
        deletes: "это удаляет", "it deletes";
        configures: "это меняет настройки на будущее", "it changes how things behave from now on";
        agent_asks: "так просит агент", "the agent asks for it";
        policy_asks: "так требуют правила", "the policy asks for it";
        policy_forbids: "это запрещают правила", "the policy forbids it";
        consented: "на это есть ваше согласие {}", "your standing consent {} covers it";
        not_listed: "«{}» нет в списке разрешённого", "“{}” is not on the allow-list";
        in_shadow: "в режиме shadow ничего не выполняется", "in the mode shadow nothing is executed";
        in_canary:
            "в режиме canary без вашего решения выполняются только чтение и создание",
            "in the mode canary only reading and creating run without your decision";
        plan: "план выполняется только с вашего согласия", "a plan runs when it is approved";
        interrupted:
            "работа прервалась, и неизвестно, было ли это сделано",
            "the work was interrupted, and it is not known whether this happened";
        lost:
            "ответ потерян, и неизвестно, было ли это сделано: {}",
            "its answer was lost, and it is not known whether this happened: {}";
        started:
            "начато {}; возможно, ещё выполняется",
            "it was started at {}, and may still be at work";
    }
}

/// What people call tools and their parameters.
pub(crate) trait ToolNames {
    /// The title of a tool.
    fn tool(&self, name: &str) -> String;

    /// The title of a parameter, if it has one. `place` is a path such as `fields.SUM`.
    fn param(&self, tool: &str, place: &str) -> Option<String>;
}

/// Tools and parameters under the names that they have in files.
pub(super) struct BareNames;

impl ToolNames for BareNames {
    fn tool(&self, name: &str) -> String {
        name.to_owned()
    }

    fn param(&self, _: &str, _: &str) -> Option<String> {
        None
    }
}

/// The reasons of a question about a tool. The sources of values are marked on their lines, so they are left out if
/// there are other reasons.
pub(crate) fn reasons_in_words(
    reasons: &[Reason],
    tool: &str,
    names: &dyn ToolNames,
    language: Language,
) -> Vec<String> {
    let is_target = |reason: &Reason| matches!(reason, Reason::UntrustedTarget { .. });
    let others: Vec<&Reason> = reasons.iter().filter(|reason| !is_target(reason)).collect();
    if !others.is_empty() {
        return others.into_iter().map(|reason| reason_in_words(reason, tool, names, language)).collect();
    }
    // Parameters from the same sources are joined into one reason.
    let mut groups: Vec<(&Vec<String>, Vec<&str>)> = Vec::new();
    for reason in reasons {
        let Reason::UntrustedTarget { path, sources } = reason else { continue };
        match groups.iter_mut().find(|(known, _)| *known == sources) {
            Some((_, paths)) => paths.push(path),
            None => groups.push((sources, vec![path])),
        }
    }
    let why = language.reasons();
    let words = |(from, paths): (&Vec<String>, Vec<&str>)| {
        let params: Vec<String> = paths.iter().map(|name| param_in_words(name, tool, names)).collect();
        let phrase = if params.len() == 1 { why.comes_from } else { why.come_from };
        fill(phrase, &[&params.join(", "), &listed_titles(from, names)])
    };
    groups.into_iter().map(words).collect()
}

/// Why the policy refused a call, from the error in the call's report.
pub(crate) fn refusal_in_words(error: &Value, tool: &str, names: &dyn ToolNames, language: Language) -> String {
    let words = match Reason::deserialize(&error["reason"]) {
        Ok(reason) => reason_in_words(&reason, tool, names, language),
        // Sessions of earlier versions have the words alone.
        Err(_) => error["message"].as_str().unwrap_or_default().to_owned(),
    };
    visible(&words)
}

/// The titles of the tools in a list.
pub(crate) fn listed_titles(tools: &[String], names: &dyn ToolNames) -> String {
    tools.iter().map(|name| format!("«{}»", names.tool(name))).collect::<Vec<_>>().join(", ")
}

/// The title of a parameter within a sentence.
fn param_in_words(name: &str, tool: &str, names: &dyn ToolNames) -> String {
    names.param(tool, name).map_or_else(|| name.to_owned(), |title| format!("«{title}»"))
}

/// One reason.
pub(super) fn reason_in_words(reason: &Reason, tool: &str, names: &dyn ToolNames, language: Language) -> String {
    let why = language.reasons();
    match reason {
        Reason::Risky(path) => fill(why.sets, &[&param_in_words(path, tool, names)]),
        Reason::ProposedAfterReading(from) | Reason::PlannedAfterReading(from) => {
            fill(why.after_reading, &[&listed_titles(from, names)])
        }
        Reason::UntrustedScopes(from) => fill(why.is_shown, &[&listed_titles(from, names)]),
        Reason::UntrustedTarget { path, sources } => {
            fill(why.comes_from, &[&param_in_words(path, tool, names), &listed_titles(sources, names)])
        }
        Reason::Deletes => why.deletes.to_owned(),
        Reason::Configures => why.configures.to_owned(),
        Reason::AgentAsks => why.agent_asks.to_owned(),
        Reason::Listed(Ruling::Refuse) => why.policy_forbids.to_owned(),
        Reason::Listed(_) => why.policy_asks.to_owned(),
        Reason::PlanNeedsApproval => why.plan.to_owned(),
        Reason::Interrupted => why.interrupted.to_owned(),
        Reason::AnswerLost(known) => fill(why.lost, &[known]),
        Reason::Started(time) => fill(why.started, &[&time.to_string()]),
        Reason::NotListed(tool) => fill(why.not_listed, &[&names.tool(tool)]),
        Reason::Mode(Mode::Shadow, _) => why.in_shadow.to_owned(),
        Reason::Mode(..) => why.in_canary.to_owned(),
        Reason::Consented { number, .. } => fill(why.consented, &[&format!("c{number}")]),
        Reason::Author(_) | Reason::Grounded(_) => reason.to_string(),
    }
}

impl Language {
    /// What is said of reasons.
    pub(crate) fn reasons(self) -> &'static ReasonWords {
        match self {
            Language::Russian => &ReasonWords::RU,
            Language::English => &ReasonWords::EN,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_refusal_is_told_by_its_reason_and_an_older_one_by_its_words() {
        let told = |error: Value, language| refusal_in_words(&error, "pay", &BareNames, language);
        let not_listed = json!({"message": "`pay` is not on the allow-list", "reason": {"not_listed": "pay"}});
        assert_eq!(told(not_listed.clone(), Language::Russian), "«pay» нет в списке разрешённого");
        assert_eq!(told(not_listed, Language::English), "“pay” is not on the allow-list");
        assert_eq!(told(json!({"reason": {"listed": "refuse"}}), Language::Russian), "это запрещают правила");
        let of_author = json!({"message": "no", "reason": {"author": "платит бухгалтер"}});
        assert_eq!(told(of_author, Language::Russian), "платит бухгалтер");
        assert_eq!(told(json!({"message": "the policy forbids it"}), Language::Russian), "the policy forbids it");
    }
}
