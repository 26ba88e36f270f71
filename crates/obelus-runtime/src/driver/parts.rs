//! Parts of answers, while the model still writes them: words for whoever watches, and calls that may start early.

use obelus_kernel::dialect::stream::Piece;
use obelus_kernel::session::{Input, RequestId};
use tokio::sync::mpsc;

use super::{Driver, Event};
use crate::model::{Part, Parts};

type PartOf = (RequestId, Part);

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

impl Driver {
    /// Shows a part to whoever watches. A call that may start early is something for the session, and its journal, and
    /// so is what a request took; nothing else of an answer is, before the answer is whole.
    pub(super) fn take_part(&mut self, (id, part): PartOf) -> Option<Input> {
        match part {
            // Words of a delegate, or of a thought, are for whoever gave the task.
            Part::Piece(Piece::Words(words)) => {
                if self.session.is_solving(&id) {
                    (self.watch)(Event::Writing(&words));
                }
                None
            }
            Part::Piece(Piece::Call { index, call }) => {
                let index = u32::try_from(index).ok()?;
                self.session.may_start_early(&id, index, &call).then(|| Input::Partial { id, index, call })
            }
            Part::Used(used) => {
                (self.watch)(Event::Used(used));
                Some(Input::Used { id, used })
            }
        }
    }
}
