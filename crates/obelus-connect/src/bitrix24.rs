//! Bitrix24: calls become requests to a portal, by its incoming webhook.
//!
//! The client has no code for single methods: a tool describes its method, and its parameters are sent unchanged. The
//! manual is `docs/bitrix24.md`.
//!
//! # Layout
//!
//! | file | subject |
//! |---|---|
//! | `webhook` | the webhook's address, which is a secret |
//! | `annotation` | the tool's annotation `x-bitrix24` |
//! | `activity` | from a call to a request, and from an answer to a result |
//! | `portal` | state of a portal that all sessions share; sending and retries |
//! | `pace` | rate limit: a leaky bucket, pure |
//! | `read_batch` | reads that are ready together, as one batch |
//! | `page` | lists of more than one page |
//! | `names` | adding names to codes |
//! | `keyed` | creations with the portal's idempotency keys |
//! | `embed_key` | reconciling calls whose answer was lost |
//! | `wire` | parameters and answers on the wire |
//! | `events` | events that the portal sends |
//! | `errors` | failures, and their messages for people |

mod activity;
mod annotation;
mod embed_key;
mod errors;
mod events;
mod keyed;
mod names;
mod pace;
mod page;
mod portal;
mod read_batch;
mod webhook;
mod wire;

pub use activity::{Bitrix24, Options};
pub use events::{EventListener, EventRejected, PortalEvent, Received, event_words, token_variable};
pub use pace::Rate;
pub use webhook::Webhook;

/// Checks the tool's annotation `x-bitrix24`; the error says what is wrong.
pub fn check_tool(tool: &obelus_kernel::Tool) -> Result<(), String> {
    annotation::Annotation::of(tool).map(drop)
}
