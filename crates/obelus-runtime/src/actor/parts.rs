//! Parts of answers, while the model still writes them.

use tokio::sync::mpsc;

use crate::model::{Part, Parts};
use obelus_kernel::session::RequestId;

/// A part, and the request that it answers.
pub(super) type PartOf = (RequestId, Part);

/// Where models tell parts of their answers. It is there from the first request on: where no model is asked, as in
/// the run of a plan, there is nothing to look at after every call.
#[derive(Default)]
pub(super) struct PartsInlet(Option<Ends>);

struct Ends {
    sender: mpsc::UnboundedSender<PartOf>,
    receiver: mpsc::UnboundedReceiver<PartOf>,
}

impl PartsInlet {
    /// For the answer to a request.
    pub(super) fn of(&mut self, id: &RequestId) -> Parts {
        let ends = self.0.get_or_insert_with(|| {
            let (sender, receiver) = mpsc::unbounded_channel();
            Ends { sender, receiver }
        });
        Parts::to(id.clone(), ends.sender.clone())
    }

    /// The next part, if there is one by now.
    pub(super) fn ready(&mut self) -> Option<PartOf> {
        self.0.as_mut()?.receiver.try_recv().ok()
    }

    /// The next part. After the first request there is always somebody who may tell one.
    pub(super) async fn next(&mut self) -> PartOf {
        if let Some(ends) = &mut self.0
            && let Some(part) = ends.receiver.recv().await
        {
            return part;
        }
        std::future::pending().await
    }
}
