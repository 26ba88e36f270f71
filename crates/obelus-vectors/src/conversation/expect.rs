//! Compares a turn with its expectation.

use obelus_connect::model::SentChars;
use obelus_kernel::session::Session;
use serde_json::Value;

use super::Conversation;
use super::peers::Peers;

/// The differences from the expectation.
pub(super) fn differences<P: Peers>(conversation: &Conversation<P>, expect: &Value) -> Vec<String> {
    let mut why = Vec::new();
    for (name, expected) in expect.as_object().into_iter().flatten() {
        let difference = match name.as_str() {
            "state" => differs("state", &conversation.session.inspect(Session::state), expected),
            "calls" => calls(conversation, expected),
            "reply" => parts("reply", &conversation.observed.words.join("\n"), expected),
            "prompt" => match &conversation.observed.prompt {
                Some(prompt) => parts("prompt", prompt, expected),
                None => Some("the model was not asked".to_owned()),
            },
            "sent" => sent(conversation.sent(), expected),
            "ends" => {
                let found = conversation.ends();
                (expected != found).then(|| format!("it ends with {found} instead of {expected}"))
            }
            other => Some(format!("unknown expectation `{other}`")),
        };
        why.extend(difference);
    }
    why
}

/// Compares the requests so far with limits: at most `most_chars` characters, and at least `least_percent` of them a
/// prefix of the previous request.
fn sent(found: SentChars, expected: &Value) -> Option<String> {
    let most = expected["most_chars"].as_u64().is_none_or(|most| found.chars <= most);
    let least = expected["least_percent"].as_u64().is_none_or(|least| found.percent() >= least);
    let SentChars { requests, chars, prefix } = found;
    let percent = found.percent();
    (!(most && least)).then(|| {
        format!("{requests} requests sent {chars} characters, {prefix} of them ({percent} %) a prefix; {expected} was expected")
    })
}

fn calls<P: Peers>(conversation: &Conversation<P>, expected: &Value) -> Option<String> {
    let expected: Vec<&str> = expected.as_array()?.iter().filter_map(Value::as_str).collect();
    conversation.peers.calls_differ(&conversation.observed.calls, &expected)
}

/// Checks the parts that a text must have and lack, ignoring case.
fn parts(what: &str, text: &str, expected: &Value) -> Option<String> {
    let lower = text.to_lowercase();
    let has = |part: &&str| lower.contains(&part.to_lowercase());
    let all = |name: &str| expected[name].as_array().into_iter().flatten().filter_map(Value::as_str);
    let missing = all("has").find(|part| !has(part)).map(|part| format!("{what} lacks {part:?}: {text}"));
    missing.or_else(|| all("lacks").find(|part| has(part)).map(|part| format!("{what} has {part:?}: {text}")))
}

/// The first difference from an expected value. Objects may have more members, arrays are compared element by
/// element, `"*"` matches any value.
fn differs(place: &str, found: &Value, expected: &Value) -> Option<String> {
    match (found, expected) {
        (_, Value::String(any)) if any == "*" => None,
        (Value::Object(own), Value::Object(expected)) => expected.iter().find_map(|(name, expected)| {
            let below = format!("{place}.{name}");
            match own.get(name) {
                Some(value) => differs(&below, value, expected),
                None => Some(format!("{below} is missing in {found}")),
            }
        }),
        (Value::Array(own), Value::Array(expected)) if own.len() == expected.len() => {
            let pairs = own.iter().zip(expected).enumerate();
            pairs.filter_map(|(index, (own, expected))| differs(&format!("{place}[{index}]"), own, expected)).next()
        }
        (found, expected) if found == expected => None,
        (found, expected) => Some(format!("{place}: {found} instead of {expected}")),
    }
}

/// Whether a value matches an expected value.
pub(super) fn fits(found: &Value, expected: &Value) -> bool {
    differs("", found, expected).is_none()
}

/// Whether two names mean the same method: the agent's tools and the portal use different names for some.
pub(crate) fn same_method(a: &str, b: &str) -> bool {
    wire(a) == wire(b)
}

fn wire(method: &str) -> String {
    let lower = method.to_lowercase();
    match lower.as_str() {
        "crm.deal.category.list" | "crm.dealcategory.list" => "crm.category.list".to_owned(),
        "crm.deal.category.stage.list" => "crm.dealcategory.stage.list".to_owned(),
        "sonet.group.get" => "sonet_group.get".to_owned(),
        "sonet.group.user.get" => "sonet_group.user.get".to_owned(),
        _ => lower,
    }
}
