//! Measures how much of the requests a provider can serve from its cache: the common prefix with the previous
//! request.

use serde::Serialize;

use super::ChatMessage;

/// Characters of requests to a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SentChars {
    /// The number of requests.
    pub requests: u64,
    /// The characters of their messages.
    pub chars: u64,
    /// The characters in the common prefix of each request with the previous one.
    pub prefix: u64,
}

impl SentChars {
    /// Adds another sum.
    pub fn add(&mut self, other: Self) {
        self.requests += other.requests;
        self.chars += other.chars;
        self.prefix += other.prefix;
    }

    /// The share of the common prefix, in percent.
    pub fn percent(&self) -> u64 {
        (self.prefix * 100).checked_div(self.chars).unwrap_or_default()
    }
}

/// Measures the requests of one conversation.
#[derive(Clone, Debug, Default)]
pub struct PromptMeter {
    latest: Vec<ChatMessage>,
    sum: SentChars,
}

impl PromptMeter {
    /// Counts a request, and returns what it adds.
    pub fn count(&mut self, messages: &[ChatMessage]) -> SentChars {
        let chars = messages.iter().map(|message| length(&message.content)).sum();
        let sent = SentChars { requests: 1, chars, prefix: common(&self.latest, messages) };
        self.sum.add(sent);
        self.latest = messages.to_vec();
        sent
    }

    /// The sum so far.
    pub fn sum(&self) -> SentChars {
        self.sum
    }
}

fn length(text: &str) -> u64 {
    text.chars().count() as u64
}

/// The number of characters in the common prefix of two requests.
fn common(before: &[ChatMessage], now: &[ChatMessage]) -> u64 {
    let mut sum = 0;
    for (before, now) in before.iter().zip(now) {
        if before == now {
            sum += length(&now.content);
            continue;
        }
        if before.role == now.role {
            sum += before.content.chars().zip(now.content.chars()).take_while(|(a, b)| a == b).count() as u64;
        }
        break;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ChatRole;

    #[test]
    fn the_common_prefix_with_the_previous_request_is_counted() {
        let message = |role, text: &str| ChatMessage { role, content: text.to_owned(), images: Vec::new() };
        let (system, hello) = (message(ChatRole::System, "я"), message(ChatRole::User, "hello"));
        let mut meter = PromptMeter::default();
        assert_eq!(meter.count(&[system.clone(), hello.clone()]), SentChars { requests: 1, chars: 6, prefix: 0 });
        let help = message(ChatRole::User, "help");
        assert_eq!(meter.count(&[system.clone(), help]), SentChars { requests: 1, chars: 5, prefix: 4 });
        let helper = message(ChatRole::Assistant, "help");
        assert_eq!(meter.count(&[system, helper, hello]), SentChars { requests: 1, chars: 10, prefix: 1 });
        assert_eq!((meter.sum(), meter.sum().percent()), (SentChars { requests: 3, chars: 21, prefix: 5 }, 23));
    }
}
