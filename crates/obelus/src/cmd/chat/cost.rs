//! What the model took: requests and tokens as the session counts them, and money where there is a price.

use std::sync::{Arc, Mutex, PoisonError};

use obelus_kernel::session::Spent;
use obelus_runtime::{Event, Used};

use super::phrases::{Phrases, fill};
use super::text::{Line, PLAIN};
use crate::cmd::eval::money;
use crate::output::BOLD;

/// Sums of what was told of each request. A journal keeps tokens and no prices, so these begin with the process.
#[derive(Clone, Default)]
pub(crate) struct Costs(Arc<Mutex<Sums>>);

#[derive(Default)]
struct Sums {
    turn: Used,
    all: Used,
    /// Requests of the turn when it was last looked at: fewer of them is another turn.
    requests: u64,
}

impl Costs {
    /// Counts what an event tells.
    pub(crate) fn see(&self, event: &Event<'_>) {
        match event {
            Event::Used(used) => self.used(*used),
            Event::Moved(session) => self.moved(session.spent().0.requests),
            _ => {}
        }
    }

    fn used(&self, used: Used) {
        let mut sums = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sums.turn.add(used);
        sums.all.add(used);
    }

    fn moved(&self, requests: u64) {
        let mut sums = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if requests < sums.requests {
            sums.turn = Used::default();
        }
        sums.requests = requests;
    }

    /// The answer to `/cost`.
    pub(crate) fn lines(&self, (turn, session): (Spent, Spent), phrases: &Phrases) -> Vec<Line> {
        let sums = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let line = |title: &str, spent: Spent, used: Used| {
            let counted = format!("{}, {}", (phrases.requests)(spent.requests), (phrases.tokens)(spent.tokens));
            let cost = used.cost.map(|cost| {
                // What was asked before this process began has no price.
                let phrase = if spent.tokens > used.input + used.output { phrases.costs_here } else { phrases.costs };
                format!(", {}", fill(phrase, &[&money(cost)]))
            });
            Line::of(PLAIN, format!("  {title}: ")).own(BOLD, counted + &cost.unwrap_or_default())
        };
        vec![
            Line::of(PLAIN, format!("{}:", phrases.cost)),
            line(phrases.cost_turn, turn, sums.turn),
            line(phrases.cost_session, session, sums.all),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_has_its_own_sum_and_the_conversation_has_all() {
        let costs = Costs::default();
        let used = |cost| Used { input: 10, output: 5, cost };
        let spent = |requests, tokens| Spent { requests, tokens };
        let shown = |turn, session| {
            let lines = costs.lines((turn, session), Phrases::of(Some("en")));
            lines.iter().map(Line::plain).collect::<Vec<_>>()
        };
        costs.used(used(None));
        assert_eq!(shown(spent(1, 15), spent(1, 15))[1], "  this turn: 1 request, 15 tokens");
        costs.used(used(Some(0.25)));
        costs.moved(2);
        assert_eq!(shown(spent(2, 30), spent(2, 30))[1], "  this turn: 2 requests, 30 tokens, cost 0.2500");
        costs.moved(0);
        costs.used(used(Some(1.5)));
        costs.moved(1);
        let lines = shown(spent(1, 15), spent(9, 300));
        assert_eq!(lines[1], "  this turn: 1 request, 15 tokens, cost 1.50");
        assert_eq!(lines[2], "  the conversation: 9 requests, 300 tokens, cost 1.75 since it was opened here");
    }
}
