//! Questions as text for people, and the session's own reasons.

use obelus_notebook::call_texts::{CallTexts, Named, param_at};
use obelus_words::Language;

use super::question::{About, Question};
use crate::names::alike;

/// The session's own reasons for people.
#[derive(Clone, Copy)]
pub(in crate::session) enum SessionReason {
    /// A question expired.
    Lapsed,
    /// The user declined in a message, without a reason.
    Declined,
    /// A person left the call out of a plan.
    LeftOut,
    /// The call was denied before, and not requested again.
    DeniedBefore,
    /// The user continued with another message while something was open.
    WentOn,
    /// The turn was stopped while something was open.
    Stopped,
    /// The agent's file no longer has the call's tool.
    ToolRemoved,
    /// The call does not fit its tool since the agent's file has changed.
    ToolChanged,
}

impl SessionReason {
    /// The text from the table. Journals contain it: the choice of Russian must not change.
    pub(in crate::session) fn text(self, language: Option<&str>) -> &'static str {
        let is_russian = language.is_some_and(|language| language.starts_with("ru"));
        let texts = &if is_russian { Language::Russian } else { Language::English }.words().session;
        match self {
            SessionReason::Lapsed => texts.lapsed,
            SessionReason::Declined => texts.declined,
            SessionReason::LeftOut => texts.left_out,
            SessionReason::DeniedBefore => texts.denied_before,
            SessionReason::WentOn => texts.went_on,
            SessionReason::Stopped => texts.stopped,
            SessionReason::ToolRemoved => texts.tool_removed,
            SessionReason::ToolChanged => texts.tool_changed,
        }
    }
}

/// The subject of a question, on one line.
pub(in crate::session) fn headline(texts: CallTexts<'_>, question: &Question) -> String {
    if let Some(headline) = &question.headline {
        return headline.clone();
    }
    match (question.about, question.calls.as_slice()) {
        // A server's own text is not a headline.
        (About::Call | About::InDoubt | About::Input, [asked]) => texts.call_headline(&asked.call),
        (About::Call | About::Plan, [first, ..]) => {
            format!("{} … ({})", texts.call_headline(&first.call), question.calls.len())
        }
        _ => question.description.lines().next().unwrap_or_default().to_owned(),
    }
}

/// The names of the values in a question.
pub(in crate::session) fn names_in(texts: CallTexts<'_>, question: &Question) -> Vec<Named> {
    let mut named: Vec<Named> = Vec::new();
    if question.about != About::Call {
        return named;
    }
    for (index, asked) in question.calls.iter().enumerate() {
        let Some(tool) = asked.call.tool().and_then(|name| texts.context.tool(name)) else { continue };
        for place in tool.named_places() {
            let last = place.rsplit('.').next().unwrap_or(place);
            let changes = question.changes.iter().filter(|change| change.call == index);
            let changes = changes.filter(|change| alike(&change.field, last));
            let new_values = param_at(&asked.call, place).into_iter();
            for value in new_values.chain(changes.filter_map(|change| change.before.as_ref())) {
                let is_known = named.iter().any(|known| known.place == *place && known.value == *value);
                if !is_known && let Some(name) = texts.name_of_value(tool, &asked.call, place, value) {
                    named.push(Named { place: place.clone(), value: value.clone(), name });
                }
            }
        }
    }
    named
}
