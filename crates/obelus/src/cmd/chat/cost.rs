//! The cost of model requests from the session's journal: requests, tokens and, if the price is known, money.

use obelus_kernel::session::Spent;

use super::text::{PLAIN, StyledLine};
use crate::language::{Words, fill};
use crate::output::BOLD;

/// The answer to `/cost`: this turn, and the whole conversation.
pub(crate) fn lines((turn, session): (Spent, Spent), phrases: &Words) -> Vec<StyledLine> {
    let line = |title: &str, spent: Spent| {
        let mut counted = format!(
            "{}, {}",
            phrases.count(phrases.counts.requests, spent.requests),
            phrases.count(phrases.counts.tokens, spent.all_tokens())
        );
        if let Some(cost) = spent.used.cost {
            counted += &format!(", {}", fill(phrases.chat.costs, &[&cost.to_string()]));
        }
        StyledLine::of(PLAIN, format!("  {title}: ")).own(BOLD, counted)
    };
    vec![
        StyledLine::of(PLAIN, format!("{}:", phrases.chat.cost)),
        line(phrases.chat.cost_turn, turn),
        line(phrases.chat.cost_session, session),
    ]
}

#[cfg(test)]
mod tests {
    use obelus_kernel::session::{Money, Used};

    use super::*;
    use crate::language::words_of;

    #[test]
    fn the_cost_is_summed_for_the_turn_and_for_the_conversation() {
        let used = |cost: Option<f64>| Used { input: 10, output: 5, cost: cost.map(Money::from) };
        let spent = |requests, cost| Spent { requests, tokens: 15, used: used(cost) };
        let shown = |turn, session| {
            let lines = lines((turn, session), words_of(Some("en")));
            lines.iter().map(StyledLine::plain).collect::<Vec<_>>()
        };
        let lines = shown(spent(1, None), spent(9, Some(0.25)));
        assert_eq!(lines[1], "  this turn: 1 request, 15 tokens");
        assert_eq!(lines[2], "  the conversation: 9 requests, 15 tokens, cost 0.2500");
        // The tokens of a failed request are reported as used but are in no answer.
        let failed = Spent { requests: 1, tokens: 0, used: used(Some(1.5)) };
        assert_eq!(shown(failed, failed)[1], "  this turn: 1 request, 15 tokens, cost 1.50");
    }
}
