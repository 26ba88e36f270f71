//! The cost of model requests, in words.

use obelus_kernel::session::{Spent, Used};

/// Requests, tokens and money.
pub(super) fn in_words(spent: &Spent) -> String {
    let requests = if spent.requests == 1 { "1 request".to_owned() } else { format!("{} requests", spent.requests) };
    let apart = match spent.used {
        Used { input: 0, output: 0, .. } => String::new(),
        Used { input, output, .. } => format!(" ({input} in, {output} out)"),
    };
    let cost = spent.used.cost.map(|cost| format!(", cost {cost}")).unwrap_or_default();
    format!("{requests}, {} tokens{apart}{cost}", spent.all_tokens())
}
