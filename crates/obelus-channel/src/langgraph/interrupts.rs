//! Questions as interrupts, and decisions as answers.

use obelus_kernel::CallJson;
use obelus_kernel::session::About;
use obelus_kernel::session::Refused;
use obelus_kernel::session::refusals::RefusalCode;
use obelus_runtime::people::{EditForm, typed_value};
use serde_json::{Map, Value, json};

use super::fold::args_of;
use super::ids::{interrupt_id, is_interrupt_id, question_half};
use crate::ChannelError;
use crate::types::{AnswerBody, QuestionRow};

/// A question as an interrupt: `{id, value}`.
pub(super) fn interrupt(question: &QuestionRow) -> Value {
    let allowed = allowed(question);
    let (mut requests, mut configs) = (Vec::new(), Vec::new());
    if question.about == About::Input {
        requests.push(json!({"name": "input", "args": {}, "description": question.text}));
        configs.push(json!({"action_name": "input", "allowed_decisions": allowed}));
    } else {
        let open = open_calls(question);
        for &index in &open {
            let call = &question.calls[index];
            let name = CallJson::tool_of(call).unwrap_or_default();
            let title = question.view.calls.get(index).map_or(name, |call| call.title.as_str());
            let description = if open.len() == 1 { question.text.as_str() } else { title };
            requests.push(json!({"name": name, "args": args_of(call), "description": description}));
            configs.push(json!({"action_name": name, "allowed_decisions": allowed}));
        }
    }
    let mut value = json!({"action_requests": requests, "review_configs": configs});
    value["question"] = json!({
        "id": question.id, "about": question.about, "text": question.text, "expires_at": question.expires_at,
    });
    let mut interrupt = json!({"id": interrupt_id(question), "value": value});
    if let Some(schema) = &question.schema {
        interrupt["response_schema"] = schema.clone();
    }
    interrupt
}

/// The answers in a `resume`, each with its question and the digest that was shown. If one is invalid, none is given.
/// Without an interrupt id only a denial may answer a question that the client was not shown.
pub(super) fn answers(
    open: &[QuestionRow],
    resume: &Value,
    was_shown: impl Fn(&QuestionRow) -> bool,
) -> Result<Vec<QuestionAnswer>, ChannelError> {
    let keyed = resume.as_object().filter(|map| !map.is_empty() && map.keys().all(|key| is_interrupt_id(key)));
    let Some(keyed) = keyed else {
        return match open {
            [] => Err(conflict("no question is open: it was answered or withdrawn")),
            [only] => {
                let given = of_question(only, resume)?;
                if given.iter().all(|answer| matches!(answer.body, AnswerBody::Deny { .. })) || was_shown(only) {
                    Ok(given)
                } else {
                    Err(bad(NOT_SHOWN))
                }
            }
            _ => Err(bad("several questions are open: send {INTERRUPT_ID: {decisions: [...]}}")),
        };
    };
    let mut all = Vec::new();
    for (id, value) in keyed {
        let question = open.iter().find(|question| id.starts_with(&question_half(&question.id)));
        let question = question.ok_or_else(|| conflict("this interrupt is no longer open"))?;
        if interrupt_id(question) != *id {
            return Err(ChannelError::Changed(question.id.clone()));
        }
        all.extend(of_question(question, value)?);
    }
    Ok(all)
}

const NOT_SHOWN: &str = "the open question is not the one that this client was last shown: read the state of the thread, or send \
    {INTERRUPT_ID: {decisions: [...]}}";

/// One answer to a question.
pub(super) struct QuestionAnswer {
    pub(super) question: String,
    pub(super) digest: String,
    pub(super) body: AnswerBody,
}

fn of_question(question: &QuestionRow, resume: &Value) -> Result<Vec<QuestionAnswer>, ChannelError> {
    let bodies = match resume.get("decisions") {
        Some(Value::Array(decisions)) => of_decisions(question, decisions)?,
        Some(_) => return Err(bad("`decisions` is a list")),
        None if question.about == About::Input => vec![AnswerBody::Value { value: resume.clone() }],
        None => return Err(bad("send {decisions: [{type: approve | edit | reject | respond, ...}]}")),
    };
    // The digest changes after the first answer; what was shown has been checked by then.
    let digest = |place: usize| if place == 0 { question.digest.clone() } else { String::new() };
    let answer = |(place, body)| QuestionAnswer { question: question.id.clone(), digest: digest(place), body };
    Ok(bodies.into_iter().enumerate().map(answer).collect())
}

fn of_decisions(question: &QuestionRow, decisions: &[Value]) -> Result<Vec<AnswerBody>, ChannelError> {
    let open = open_calls(question);
    let wanted = if question.about == About::Input { 1 } else { open.len() };
    if decisions.len() != wanted {
        return Err(bad(&format!("there are {wanted} actions to decide about, and {} decisions", decisions.len())));
    }
    let allowed = allowed(question);
    let kind = |decision: &Value| decision["type"].as_str().unwrap_or_default().to_owned();
    if let Some(wrong) = decisions.iter().map(kind).find(|kind| !allowed.contains(&kind.as_str())) {
        let wrong: String = wrong.chars().take(32).collect();
        return Err(bad(&format!("`{wrong}` is not allowed here: {}", allowed.join(", "))));
    }
    if let [decision] = decisions {
        let index = open.first().copied().unwrap_or_default();
        return Ok(vec![of_one(question, index, decision)?]);
    }
    let (mut approved, mut denied) = (Vec::new(), Vec::<(String, Vec<usize>)>::new());
    for (&index, decision) in open.iter().zip(decisions) {
        let reason = message_of(decision);
        match kind(decision).as_str() {
            "approve" => approved.push(index),
            _ => match denied.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, only)) => only.push(index),
                None => denied.push((reason, vec![index])),
            },
        }
    }
    if question.about == About::Plan {
        // Rejected calls are left out of the plan.
        return Ok(vec![match denied.into_iter().next() {
            Some((reason, _)) if approved.is_empty() => AnswerBody::Deny { reason, only: None },
            Some(_) => AnswerBody::Approve { only: Some(approved) },
            None => AnswerBody::Approve { only: None },
        }]);
    }
    // Denials come first, before anything starts.
    let mut bodies: Vec<AnswerBody> =
        denied.into_iter().map(|(reason, only)| AnswerBody::Deny { reason, only: Some(only) }).collect();
    bodies.extend((!approved.is_empty()).then_some(AnswerBody::Approve { only: Some(approved) }));
    Ok(bodies)
}

fn of_one(question: &QuestionRow, index: usize, decision: &Value) -> Result<AnswerBody, ChannelError> {
    let text = message_of(decision);
    Ok(match (decision["type"].as_str().unwrap_or_default(), question.about) {
        ("respond", About::Input) => AnswerBody::Value { value: typed_value(&text, question.schema.as_ref()) },
        ("respond", About::InDoubt) => match text.as_str() {
            "happened" => AnswerBody::Happened { result: Value::Null },
            "did_not" => AnswerBody::DidNot,
            _ => return Err(bad("say `happened` or `did_not`")),
        },
        ("approve", _) => AnswerBody::Approve { only: None },
        ("edit", _) => edit(&question.calls[index], &decision["edited_action"])?,
        _ => AnswerBody::Deny { reason: text, only: None },
    })
}

/// The parameters that a person changed. Removing one is not possible and an error.
fn edit(call: &Value, edited: &Value) -> Result<AnswerBody, ChannelError> {
    let name = CallJson::tool_of(call).unwrap_or_default();
    let args = edited["args"].as_object().ok_or_else(|| bad("`edited_action` is {name, args}"))?;
    if edited["name"].as_str().is_some_and(|other| other != name) {
        return Err(bad(&format!("the action is `{name}`: it cannot be replaced by another one")));
    }
    let before = args_of(call);
    if let Some(missing) = before.keys().find(|key| !args.contains_key(*key)) {
        return Err(bad(&format!("`args` lacks `{missing}`: send all parameters, changed or not")));
    }
    if let Some(wrong) = args.keys().find(|key| key.starts_with('_')) {
        return Err(bad(&format!("`{}` is no parameter", wrong.chars().take(64).collect::<String>())));
    }
    let is_changed = |(name, value): &(&String, &Value)| before.get(*name) != Some(*value);
    let change = |(name, value): (&String, &Value)| (name.clone(), EditForm::difference(before.get(name), value));
    let params: Map<String, Value> = args.iter().filter(is_changed).map(change).collect();
    Ok(if params.is_empty() { AnswerBody::Approve { only: None } } else { AnswerBody::Edit { params } })
}

fn message_of(decision: &Value) -> String {
    let of = |name: &str| decision[name].as_str().map(str::to_owned);
    of("message").or_else(|| of("reason")).unwrap_or_default()
}

fn allowed(question: &QuestionRow) -> Vec<&'static str> {
    match question.about {
        About::Input => vec!["respond", "reject"],
        About::InDoubt => vec!["respond"],
        About::Call if open_calls(question).len() == 1 && question.calls.len() == 1 => {
            vec!["approve", "edit", "reject", "respond"]
        }
        About::Call => vec!["approve", "reject", "respond"],
        About::Plan => vec!["approve", "reject"],
    }
}

/// The calls that wait for a decision.
fn open_calls(question: &QuestionRow) -> Vec<usize> {
    let is_open = |index: &usize| question.view.calls.get(*index).is_none_or(|call| call.is_open);
    (0..question.calls.len()).filter(is_open).collect()
}

fn bad(text: &str) -> ChannelError {
    ChannelError::Unsupported(text.to_owned())
}

fn conflict(text: &str) -> ChannelError {
    ChannelError::Refused(Refused::new(RefusalCode::AlreadyDecided, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use obelus_kernel::Context;
    use obelus_kernel::session::Question;
    use obelus_runtime::Language;
    use obelus_runtime::people::{QuestionView, Titles};

    /// A question about calls with these names, some of which were already decided.
    fn question(calls: &[(&str, Option<bool>)]) -> QuestionRow {
        let call = |(who, decided): &(&str, Option<bool>)| json!({"call": {"_tool": "add_task", "who": who}, "hash": "", "decided": decided, "jobs": []});
        let question: Question = serde_json::from_value(json!({
            "id": "q1", "about": "call", "calls": calls.iter().map(call).collect::<Vec<_>>(), "description": "",
            "reasons": [], "schema": null, "requested_at": 0, "expires_at": 0, "status": "requested",
            "decided_at": null, "by": null, "reason": null, "manner": {"sequential": false, "keeps_results": false}, "before_reading": false,
            "asked_after": 0,
        }))
        .unwrap();
        let titles = Titles::of(&Context::from_value(json!([])).unwrap(), "en");
        QuestionRow {
            id: "s:q1".to_owned(),
            session: "s".to_owned(),
            agent: String::new(),
            headline: String::new(),
            about: question.about,
            status: question.status,
            requested_at: String::new(),
            expires_at: String::new(),
            answers: Vec::new(),
            digest: "0123456789abcdef0123456789abcdef".to_owned(),
            calls: question.calls.iter().map(|asked| (*asked.call).clone()).collect(),
            schema: None,
            view: QuestionView::by_titles(&question, &titles, Language::English).under("s:q1"),
            text: String::new(),
            consents: Vec::new(),
            description: question.description.clone(),
            reasons: Vec::new(),
            has_picture: false,
            by: None,
            by_words: None,
            decided_at: None,
            reason: None,
            decision: None,
        }
    }

    fn bodies(question: QuestionRow, decisions: Value) -> Option<Vec<AnswerBody>> {
        let answers = answers(&[question], &json!({"decisions": decisions}), |_| true).ok()?;
        Some(answers.into_iter().map(|answer| answer.body).collect())
    }

    #[test]
    fn decisions_apply_to_waiting_calls_in_order_and_denials_are_sent_first() {
        let three = || question(&[("Anna", Some(true)), ("Boris", None), ("Clara", None)]);
        let requests = interrupt(&three())["value"]["action_requests"].clone();
        let names: Vec<_> = requests.as_array().unwrap().iter().map(|one| one["args"]["who"].clone()).collect();
        assert_eq!(names, ["Boris", "Clara"], "what was decided before is not asked again");
        let mixed = bodies(three(), json!([{"type": "approve"}, {"type": "reject", "message": "no"}]));
        let wanted = vec![
            AnswerBody::Deny { reason: "no".to_owned(), only: Some(vec![2]) },
            AnswerBody::Approve { only: Some(vec![1]) },
        ];
        assert_eq!(mixed, Some(wanted));
        for wrong in [
            json!([{"type": "approve"}]),
            json!([{"type": "approve"}, {"type": "approve"}, {"type": "approve"}]),
            json!([{"type": "approve"}, {"type": "edit", "edited_action": {"name": "add_task", "args": {"who": "x"}}}]),
            json!([{"type": "approve"}, {}]),
        ] {
            assert_eq!(bodies(three(), wrong.clone()), None, "{wrong}");
        }
    }

    #[test]
    fn rejected_calls_are_left_out_of_a_plan_and_a_plan_without_calls_is_denied() {
        let plan = || QuestionRow { about: About::Plan, ..question(&[("Anna", None), ("Boris", None)]) };
        let (yes, no) = (json!({"type": "approve"}), json!({"type": "reject", "message": "no"}));
        let one = |decisions| bodies(plan(), decisions).and_then(|bodies| <[AnswerBody; 1]>::try_from(bodies).ok());
        assert_eq!(one(json!([no, yes])), Some([AnswerBody::Approve { only: Some(vec![1]) }]));
        assert_eq!(one(json!([yes, yes])), Some([AnswerBody::Approve { only: None }]));
        assert_eq!(one(json!([no, no])), Some([AnswerBody::Deny { reason: "no".to_owned(), only: None }]));
    }

    #[test]
    fn an_edit_contains_only_changed_parameters_and_without_changes_it_approves() {
        let edit = |args: Value| {
            let decision = json!({"type": "edit", "edited_action": {"name": "add_task", "args": args}});
            bodies(question(&[("Anna", None)]), json!([decision])).map(|mut bodies| bodies.remove(0))
        };
        assert_eq!(edit(json!({"who": "Anna"})), Some(AnswerBody::Approve { only: None }));
        let params = Map::from_iter([("who".to_owned(), json!("Boris"))]);
        assert_eq!(edit(json!({"who": "Boris"})), Some(AnswerBody::Edit { params }));
        assert_eq!(edit(json!({})), None);
        assert_eq!(edit(json!({"who": "Anna", "_activity": "x"})), None);
    }

    #[test]
    fn an_interrupt_id_answers_only_the_question_as_it_was_shown() {
        let question = question(&[("Anna", None)]);
        let yes = json!({"decisions": [{"type": "approve"}]});
        let keyed = |id: String| {
            answers(std::slice::from_ref(&question), &json!({id: yes}), |_| false).map_err(|error| error.code())
        };
        assert_eq!(keyed(interrupt_id(&question)).map(|answers| answers.len()), Ok(1));
        let changed = format!("{}{}", question_half(&question.id), "0".repeat(16));
        assert_eq!(keyed(changed).err(), Some("changed"));
        assert_eq!(keyed("0".repeat(32)).err(), Some("already_decided"));
        assert!(answers(&[], &yes, |_| true).is_err());
    }
}
