//! Partial answers, while the model still writes.

use tokio::sync::mpsc;

use crate::model::{Part, Parts};
use crate::secret::{mask_text, take_shown};
use obelus_kernel::session::RequestId;

/// A part, and its request.
pub(super) type PartOf = (RequestId, Part);

/// The channel for partial answers. It is created by the first request, so that runs without a model do not check it.
#[derive(Default)]
pub(super) struct PartsChannel(Option<ChannelEnds>);

struct ChannelEnds {
    sender: mpsc::UnboundedSender<PartOf>,
    receiver: mpsc::UnboundedReceiver<PartOf>,
}

impl PartsChannel {
    /// The sender for a request.
    pub(super) fn of(&mut self, id: &RequestId) -> Parts {
        let ends = self.0.get_or_insert_with(|| {
            let (sender, receiver) = mpsc::unbounded_channel();
            ChannelEnds { sender, receiver }
        });
        Parts::to(id.clone(), ends.sender.clone())
    }

    /// The next part, if one is ready.
    pub(super) fn ready(&mut self) -> Option<PartOf> {
        self.0.as_mut()?.receiver.try_recv().ok()
    }

    /// Waits for the next part. After the first request a sender always exists.
    pub(super) async fn next(&mut self) -> PartOf {
        if let Some(ends) = &mut self.0
            && let Some(part) = ends.receiver.recv().await
        {
            return part;
        }
        std::future::pending().await
    }
}

/// The text of the answer that the model writes now. Pieces are shown as they come, except for an end that may be the
/// beginning of a secret.
#[derive(Default)]
pub(super) struct StreamedText {
    request: Option<RequestId>,
    held: String,
}

impl StreamedText {
    /// Adds a piece; returns what can be shown.
    pub(super) fn add(&mut self, request: &RequestId, piece: &str) -> String {
        if self.request.as_ref() != Some(request) {
            *self = Self { request: Some(request.clone()), held: String::new() };
        }
        self.held.push_str(piece);
        take_shown(&mut self.held)
    }

    /// The rest, when the answer is complete.
    pub(super) fn end(&mut self, request: &RequestId) -> String {
        if self.request.as_ref() == Some(request) { mask_text(&std::mem::take(&mut self.held)) } else { String::new() }
    }
}
