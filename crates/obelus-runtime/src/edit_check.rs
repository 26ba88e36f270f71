//! Checks of a person's edit (ASK-3) before it is sent to the session. They are not part of replay: journals have edits
//! that were taken without them.

use obelus_kernel::session::refusals::{InvalidValue, RefusalCode as Code};
use obelus_kernel::session::{About, Question, QuestionId, Refused, Session};
use obelus_kernel::{Tool, visible};
use obelus_notebook::call::dotted;
use obelus_notebook::edited::other_spelling;
use obelus_notebook::schema::{Breach, format_breaches};
use obelus_words::Language;
use serde_json::{Map, Value};

/// A question as an edit of its only open call would change it. Besides what the session itself refuses, these edits
/// are: one that changes nothing, one that changes a field by another spelling of its name, and one with a value that is
/// not of its `format`.
pub(crate) fn edited_question(
    session: &Session,
    id: &QuestionId,
    params: &Map<String, Value>,
) -> Result<Question, Refused> {
    let edited = session.edited_question(id, params)?;
    let asked = session.question(id);
    let both = asked.iter().flat_map(|asked| asked.calls.iter().zip(&edited.calls));
    let Some((before, after)) = both.into_iter().find(|(before, _)| before.decided.is_none()) else {
        return Ok(edited);
    };
    if before.call == after.call {
        let language = Language::named(session.settings().language.as_deref());
        return Err(Refused::new(Code::BadEdit, language.words().refusals.no_change));
    }
    let context = session.context_of(id);
    let Some(tool) = context.tool(after.call.tool_name()) else { return Ok(edited) };
    let respelled = context.respelled(params, tool).ok().flatten();
    let changes = respelled.as_ref().unwrap_or(params);
    if let Some(name) = other_spelling(tool, &before.call, changes, session.settings().language.as_deref()) {
        let misfit = Some(Box::new(InvalidValue::UnknownParam(name.clone())));
        return Err(Refused { misfit, ..Refused::new(Code::BadEdit, name.text()) });
    }
    must_have_formats(tool, &before.call, &after.call).map(|()| edited)
}

/// Refuses a decision that is an edit, if these checks refuse it. The session itself says what else is wrong.
pub(crate) fn check(session: &Session, id: &QuestionId, params: &Map<String, Value>) -> Result<(), Refused> {
    match session.question(id).map(|question| question.about) {
        Some(About::Call) => match edited_question(session, id, params) {
            Err(refused) if refused.code == Code::BadEdit => Err(refused),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Values that the edit does not change may be as they are.
fn must_have_formats(tool: &Tool, before: &Value, after: &Value) -> Result<(), Refused> {
    let pointer = |breach: &Breach| -> String {
        breach.place.iter().map(|key| format!("/{}", key.replace('~', "~0").replace('/', "~1"))).collect()
    };
    let is_new = |breach: &Breach| before.pointer(&pointer(breach)) != after.pointer(&pointer(breach));
    let Some(Breach { place, keyword, demand, text, .. }) =
        format_breaches(tool.params(), after).into_iter().find(is_new)
    else {
        return Ok(());
    };
    let place = visible(&dotted(&place));
    let text = format!("`{place}`: {text}");
    let misfit = Some(Box::new(InvalidValue::Schema { place, keyword, demand }));
    Err(Refused { misfit, ..Refused::new(Code::BadEdit, text) })
}
