//! The usage of model requests: of each request, of each turn, and of all.

use std::collections::BTreeMap;
use std::sync::Arc;

use obelus_kernel::session::Used;
use obelus_runtime::people::Titles;
use obelus_runtime::{EventBody, EventNumber, Language, SessionEvent};

use super::{Service, check_id};
use crate::ChannelError;
use crate::types::{RequestUsage, TurnUsage, UsageSum, UsageView};

/// The limit of characters of a message.
const MOST_OF_WORDS: usize = 200;

impl Service {
    /// The usage of each model request and of each turn.
    pub async fn usage(&self, id: &str, wanted: Option<Language>) -> Result<UsageView, ChannelError> {
        check_id(id)?;
        let name = id.to_owned();
        let events = self.blocking(move |host| Ok(host.history_after(&name, EventNumber::START)?)).await?;
        let service = self.clone();
        self.read(id, move |session| {
            let language = service.language_of(session, wanted);
            usage_of(&events, &Titles::of(session.context(), language.code()))
        })
        .await
    }
}

/// The usage in these events. A turn begins with a message of the user.
fn usage_of(events: &[Arc<SessionEvent>], titles: &Titles) -> UsageView {
    let mut view = UsageView::default();
    let (mut number, mut words) = (0, None);
    let (mut of_turn, mut of_all) = (Used::default(), Used::default());
    // The event with the usage of a request follows the first consequences of its answer.
    let (mut asked, mut led_to) = (None, BTreeMap::<String, Vec<String>>::new());
    for event in events {
        match &event.body {
            EventBody::UserSaid { text, .. } => {
                (number, words, of_turn) = (number + 1, Some(short(text)), Used::default());
            }
            EventBody::Used { request, used } => {
                of_turn.add(*used);
                of_all.add(*used);
                if view.turns.last().is_none_or(|turn| turn.number != number) {
                    view.turns.push(TurnUsage { number, words: words.clone(), sum: UsageSum::default() });
                }
                if let Some(turn) = view.turns.last_mut() {
                    turn.sum = UsageSum::of(turn.sum.requests + 1, of_turn);
                }
                view.requests.push(RequestUsage {
                    request: request.to_string(),
                    record: event.number.record,
                    at: event.at.to_string(),
                    turn: words.clone(),
                    turn_number: number,
                    led_to: Vec::new(),
                    input: used.input,
                    output: used.output,
                    cost: used.cost.map(f64::from),
                });
            }
            EventBody::ModelAsked { request } => asked = Some(request.to_string()),
            body => {
                if let (Some(request), Some(words)) = (&asked, consequence(body, titles)) {
                    led_to.entry(request.clone()).or_default().push(words);
                }
            }
        }
    }
    // A request may have several attempts: the last one was answered.
    for request in view.requests.iter_mut().rev() {
        request.led_to = led_to.remove(&request.request).unwrap_or_default();
    }
    view.sum = UsageSum::of(view.requests.len(), of_all);
    view
}

/// A step or a message that an answer led to. Lookups for questions are no steps of the agent.
fn consequence(body: &EventBody, titles: &Titles) -> Option<String> {
    match body {
        EventBody::CallBegan { id, call, .. } if !id.is_preview_read() => call.tool().map(|name| titles.tool(name)),
        EventBody::AgentSaid { text } => Some(short(text)),
        EventBody::Rested { reply } => {
            let output = reply.output.as_str().filter(|output| !reply.said.iter().any(|said| said == output));
            output.map(short)
        }
        _ => None,
    }
}

fn short(text: &str) -> String {
    let line: String = text.chars().take(MOST_OF_WORDS).collect();
    obelus_kernel::visible(&line)
}

#[cfg(test)]
mod tests {
    use obelus_kernel::{CallJson, Context, Time};
    use serde_json::json;

    use super::*;

    fn used(request: &str, input: u64, output: u64, cost: Option<f64>) -> EventBody {
        EventBody::Used { request: request.parse().unwrap(), used: Used { input, output, cost: cost.map(Into::into) } }
    }

    #[test]
    fn usage_is_summed_for_each_turn_and_for_all_of_them() {
        let said = |text: &str| EventBody::UserSaid { text: text.to_owned(), by: None };
        let began = |id: &str, tool: &str| EventBody::CallBegan {
            id: id.parse().unwrap(),
            call: CallJson::of_tool(tool),
            attempt: 1,
            consent: None,
            edited_by: None,
        };
        let asked = |request: &str| EventBody::ModelAsked { request: request.parse().unwrap() };
        let bodies = [
            said("the same"),
            asked("1"),
            began("0.0", "look"),
            used("1", 100, 10, Some(0.1)),
            asked("2"),
            EventBody::AgentSaid { text: "Found.".to_owned() },
            used("2", 200, 20, Some(0.2)),
            said("a playbook answers this"),
            said("the same"),
            asked("3"),
            used("3", 4, 0, None),
            used("3", 5, 5, None),
            EventBody::AgentSaid { text: "Again.".to_owned() },
        ];
        let event = |(record, body): (u64, EventBody)| {
            let number = EventNumber { record, part: 0 };
            Arc::new(SessionEvent { is_transient: false, number, at: Time(0), body })
        };
        let tools = json!([{"type": "tool", "tool": {"look": {"x-title": "Look around", "x-effect": "read"}}}]);
        let titles = Titles::of(&Context::from_value(tools).unwrap(), "en");
        let events: Vec<Arc<SessionEvent>> = (1..).zip(bodies).map(event).collect();
        let view = serde_json::to_value(usage_of(&events, &titles)).unwrap();
        assert_eq!(
            view["turns"],
            json!([
                {"number": 1, "words": "the same", "sum": {"requests": 2, "input": 300, "output": 30, "cost": 0.3}},
                {"number": 3, "words": "the same", "sum": {"requests": 2, "input": 9, "output": 5, "cost": null}},
            ])
        );
        assert_eq!(view["sum"], json!({"requests": 4, "input": 309, "output": 35, "cost": 0.3}));
        let led_to: Vec<&serde_json::Value> =
            view["requests"].as_array().unwrap().iter().map(|request| &request["led_to"]).collect();
        assert_eq!(led_to, [&json!(["Look around"]), &json!(["Found."]), &json!([]), &json!(["Again."])]);
    }
}
