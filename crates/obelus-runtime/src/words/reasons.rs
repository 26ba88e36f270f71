//! The reasons of questions and refusals as text. The agent author's texts are unchanged.

use obelus_kernel::policy::ConsentId;
use obelus_kernel::policy::{Reason, Ruling};
use obelus_kernel::session::Mode;
use obelus_kernel::session::report_error::ReportError;
use obelus_kernel::{Time, visible};

use super::{Language, fill};
use crate::effect::{INTERRUPTED, NO_RESULT_WITHIN};
use crate::view::local_time;

/// Titles of tools and their parameters.
pub trait ToolNames {
    /// The title of a tool.
    fn tool(&self, name: &str) -> String;

    /// The title of a parameter, if it has one. `place` is a path such as `fields.SUM`.
    fn param(&self, tool: &str, place: &str) -> Option<String>;

    /// A time in the zone of the agent, or of this machine.
    fn time(&self, time: Time) -> String {
        local_time(time, None)
    }
}

/// Tools and parameters by their names in files.
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
    let why = &language.words().reasons;
    let words = |(from, paths): (&Vec<String>, Vec<&str>)| {
        let params: Vec<String> = paths.iter().map(|name| param_in_words(name, tool, names)).collect();
        let phrase = if params.len() == 1 { why.comes_from } else { why.come_from };
        fill(phrase, &[&params.join(", "), &listed_titles(from, names, language)])
    };
    groups.into_iter().map(words).collect()
}

/// One reason for an engineer, with names as in files. English reasons are used unchanged.
pub fn explained_reason(reason: &Reason, tool: &str, language: Language) -> String {
    match language {
        Language::English => reason.to_string(),
        Language::Russian => reason_in_words(reason, tool, &BareNames, language),
    }
}

/// Why the policy refused a call, from the error in the call's report. If a rule about origins refused it: also which
/// sources it depends on, and what the person can do.
pub(crate) fn refusal_in_words(error: &ReportError, tool: &str, names: &dyn ToolNames, language: Language) -> String {
    let words = match &error.reason {
        Some(reason) => reason_in_words(reason, tool, names, language),
        // Sessions of earlier versions have only the text.
        None => error.message.clone(),
    };
    let Some(Reason::UntrustedTarget { path, sources }) = error.origins.as_deref() else {
        return visible(&words);
    };
    let why = &language.words().reasons;
    let param = if path.is_empty() { why.the_call.to_owned() } else { param_in_words(path, tool, names) };
    let depends = fill(why.depends_on, &[&param, &listed_titles(sources, names, language)]);
    visible(&format!("{}; {depends}. {}", words.trim_end_matches(['.', ' ']), why.ask_anew))
}

/// The mode that refused a call, from the error in the call's report.
pub(crate) fn refused_by_mode(error: &ReportError) -> Option<Mode> {
    match error.reason.as_deref() {
        Some(Reason::Mode(mode, _)) => Some(*mode),
        _ => None,
    }
}

/// The titles of the tools in a list: the first ones, and how many more there are.
pub(crate) fn listed_titles(tools: &[String], names: &dyn ToolNames, language: Language) -> String {
    const MOST: usize = 3;
    let shown = tools.iter().take(MOST).map(|name| format!("«{}»", names.tool(name)));
    let shown = shown.collect::<Vec<_>>().join(", ");
    match tools.len().saturating_sub(MOST) {
        0 => shown,
        more => fill(language.words().reasons.and_more, &[&shown, &more.to_string()]),
    }
}

/// The title of a parameter within a sentence.
fn param_in_words(name: &str, tool: &str, names: &dyn ToolNames) -> String {
    names.param(tool, name).map_or_else(|| name.to_owned(), |title| format!("«{title}»"))
}

/// One reason.
pub(super) fn reason_in_words(reason: &Reason, tool: &str, names: &dyn ToolNames, language: Language) -> String {
    let why = &language.words().reasons;
    match reason {
        Reason::Risky(path) => fill(why.sets, &[&param_in_words(path, tool, names)]),
        Reason::ProposedAfterReading(from) | Reason::PlannedAfterReading(from) => {
            fill(why.after_reading, &[&listed_titles(from, names, language)])
        }
        Reason::UntrustedScopes(from) => fill(why.is_shown, &[&listed_titles(from, names, language)]),
        Reason::UntrustedTarget { path, sources } => {
            fill(why.comes_from, &[&param_in_words(path, tool, names), &listed_titles(sources, names, language)])
        }
        Reason::Deletes => why.deletes.to_owned(),
        Reason::Configures => why.configures.to_owned(),
        Reason::AgentAsks => why.agent_asks.to_owned(),
        Reason::Listed(Ruling::Refuse) => why.policy_forbids.to_owned(),
        Reason::Listed(Ruling::Allow) => why.policy_allows.to_owned(),
        Reason::Listed(Ruling::Confirm) => why.policy_asks.to_owned(),
        Reason::PlanNeedsApproval => why.plan.to_owned(),
        Reason::Interrupted => why.interrupted.to_owned(),
        Reason::AnswerLost(known) => fill(why.lost, &[&known_in_words(known, language)]),
        Reason::Happened(known) => fill(why.happened, &[known]),
        Reason::MayHaveHappened => why.may_have_happened.to_owned(),
        Reason::WasInDoubt => why.was_in_doubt.to_owned(),
        Reason::DeniedBefore => why.denied_before.to_owned(),
        Reason::Started(time) => fill(why.started, &[&names.time(*time)]),
        Reason::NotListed(tool) => fill(why.not_listed, &[&names.tool(tool)]),
        Reason::Mode(Mode::Shadow, _) => why.in_shadow.to_owned(),
        Reason::Mode(..) => why.in_canary.to_owned(),
        Reason::Consented { number, .. } => fill(why.consented, &[&ConsentId(*number).to_string()]),
        Reason::Author(_) | Reason::Grounded(_) => reason.to_string(),
    }
}

/// What is known of a lost answer: this program's own texts in the reader's language, a service's as they are.
fn known_in_words(known: &str, language: Language) -> String {
    let why = &language.words().reasons;
    let own = |part: &str| match part {
        INTERRUPTED => why.was_interrupted.to_owned(),
        late if late.starts_with(NO_RESULT_WITHIN) => why.no_result.to_owned(),
        other => other.to_owned(),
    };
    if language == Language::English {
        known.to_owned()
    } else {
        known.split("; ").map(own).collect::<Vec<_>>().join("; ")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(error: Value) -> ReportError {
        serde_json::from_value(error).unwrap()
    }

    #[test]
    fn a_refusal_is_described_by_its_reason_and_an_older_one_by_its_text() {
        let told = |error, language| refusal_in_words(&read(error), "pay", &BareNames, language);
        let not_listed = json!({"message": "`pay` is not on the allow-list", "reason": {"not_listed": "pay"}});
        assert_eq!(told(not_listed.clone(), Language::Russian), "«pay» нет в списке разрешённого");
        assert_eq!(told(not_listed, Language::English), "“pay” is not on the allow-list");
        assert_eq!(told(json!({"reason": {"listed": "refuse"}}), Language::Russian), "это запрещают правила");
        let of_author = json!({"message": "no", "reason": {"author": "платит бухгалтер"}});
        assert_eq!(told(of_author, Language::Russian), "платит бухгалтер");
        assert_eq!(told(json!({"message": "the policy forbids it"}), Language::Russian), "the policy forbids it");
    }

    #[test]
    fn a_lost_answer_is_described_in_the_readers_language() {
        let told = |language| {
            let lost = Reason::AnswerLost("the work was interrupted; no entry has it".to_owned());
            reason_in_words(&lost, "pay", &BareNames, language)
        };
        assert!(
            told(Language::Russian).ends_with(": работа прервалась; no entry has it"),
            "{}",
            told(Language::Russian)
        );
        assert!(told(Language::English).ends_with(": the work was interrupted; no entry has it"));
        let late = Reason::AnswerLost("no result within 3 seconds".to_owned());
        assert!(
            reason_in_words(&late, "pay", &BareNames, Language::Russian).ends_with(": нет ответа за отведённое время")
        );
    }

    #[test]
    fn a_refusal_because_of_origins_names_the_sources_and_the_remedy() {
        let error = |path| {
            json!({"reason": {"author": "a stranger never decides about money."},
                "origins": {"untrusted_target": {"path": path, "sources": ["weather"]}}})
        };
        let told = |path, language| refusal_in_words(&read(error(path)), "pay", &BareNames, language);
        assert_eq!(
            told("amount", Language::English),
            "a stranger never decides about money; amount depends on what was read in this session and is not trusted: \
             «weather». Ask for it in a new session, before that is read, or do it yourself."
        );
        assert!(told("", Language::Russian).contains("это действие зависит от непроверенного"));
    }
}
