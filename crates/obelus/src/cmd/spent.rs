//! The cost of model requests, as text.

use obelus_kernel::session::{Spent, Used};

use crate::language::{Words, fill};

/// Requests, tokens and money.
pub(super) fn in_words(spent: &Spent, phrases: &Words) -> String {
    let requests = phrases.count(phrases.counts.requests, spent.requests);
    let tokens = phrases.count(phrases.counts.tokens, spent.all_tokens());
    let apart = match spent.used {
        Used { input: 0, output: 0, .. } => String::new(),
        Used { input, output, .. } => fill(phrases.sessions.in_and_out, &[&input.to_string(), &output.to_string()]),
    };
    let cost = spent.used.cost.map(|cost| format!(", {}", fill(phrases.chat.costs, &[&cost.to_string()])));
    format!("{requests}, {tokens}{apart}{}", cost.unwrap_or_default())
}
