//! Bitrix24: calls become requests to a portal, by its incoming webhook.
//!
//! The client knows no method: a tool says all there is to know of one, and its parameters are sent as they are.
//! `docs/bitrix24.md` tells users about it.
//!
//! # Layout
//!
//! | module | subject |
//! |---|---|
//! | `webhook` | the address, which is a secret |
//! | `annotation` | what a tool says under `x-bitrix24` |
//! | `activity` | from a call to a request, and from an answer to a result |
//! | `portal` | what all sessions share of a portal; sending, and trying again |
//! | `pace` | the leaky bucket, pure |
//! | `gather` | reads that are ready together, as one batch |
//! | `page` | lists of more than one page |
//! | `names` | names beside codes |
//! | `keyed` | creations with the portal's own idempotency keys |
//! | `plant` | telling whether something happened whose answer was lost |
//! | `wire` | parameters and answers on the wire |
//! | `events` | what the portal tells of its own accord |
//! | `errors` | what can go wrong, and how a person is told |

mod activity;
mod annotation;
mod errors;
mod events;
mod gather;
mod keyed;
mod names;
mod pace;
mod page;
mod plant;
mod portal;
mod webhook;
mod wire;

pub use activity::{Bitrix24, Options};
pub use events::{EventDoor, NotTaken, PortalEvent, Received, event_words, token_variable};
pub use pace::Rate;
pub use webhook::Webhook;

/// Whether what a tool says under `x-bitrix24` can be used; the error says what is wrong with it.
pub fn check_tool(tool: &obelus_kernel::Tool) -> Result<(), String> {
    annotation::Annotation::of(tool).map(drop)
}
