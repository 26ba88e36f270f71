//! A counter at which others can tell a session something while it is at work, and hear when that is durable.

use obelus_kernel::session::{Input, Refused, Reply};
use tokio::sync::{mpsc, oneshot};

use super::Driver;

/// Where a session can be told something from outside.
#[derive(Clone, Debug)]
pub struct Counter {
    sender: mpsc::UnboundedSender<Command>,
}

/// Something that was told at a counter. Whoever told it waits to hear that it is durable, or refused.
#[derive(Debug)]
pub struct Command {
    input: Input,
    answer: oneshot::Sender<Result<(), Refused>>,
}

impl Counter {
    /// Tells the session something. It is durable, and taken, when this says so.
    pub async fn tell(&self, input: Input) -> Result<(), Refused> {
        let gone = || Refused { code: "gone", text: "the session has ended its work meanwhile".to_owned() };
        let (answer, answered) = oneshot::channel();
        self.sender.send(Command { input, answer }).map_err(|_| gone())?;
        answered.await.unwrap_or_else(|_| Err(gone()))
    }
}

/// Both ends of a counter.
pub(super) struct Ends {
    sender: mpsc::UnboundedSender<Command>,
    receiver: mpsc::UnboundedReceiver<Command>,
}

impl Ends {
    pub(super) fn take_now(&mut self) -> Option<Command> {
        self.receiver.try_recv().ok()
    }

    pub(super) async fn take(&mut self) -> Command {
        match self.receiver.recv().await {
            Some(told) => told,
            // It never closes while its sender is kept beside it.
            None => std::future::pending().await,
        }
    }
}

impl Driver {
    /// A counter for this session. It is open as long as the driver is there.
    pub fn counter(&mut self) -> Counter {
        let ends = self.counter.get_or_insert_with(|| {
            let (sender, receiver) = mpsc::unbounded_channel();
            Ends { sender, receiver }
        });
        Counter { sender: ends.sender.clone() }
    }

    /// Closes the counter: whoever still waits there is told that the session has gone.
    pub fn close_counter(&mut self) {
        self.counter = None;
    }

    /// Waits for something that is told at the counter while no turn is at work. Nothing is lost if the waiting
    /// is given up.
    pub async fn heard(&mut self) -> Command {
        match &mut self.counter {
            Some(ends) => ends.take().await,
            None => std::future::pending().await,
        }
    }

    /// Has the session take something in, and starts nothing yet: [`Driver::go_on`] does.
    pub async fn accept(&mut self, input: Input) -> Result<(), Refused> {
        self.feed(vec![input]).await
    }

    /// Works until everything has come to rest, what was under way when the session was taken up included.
    pub async fn go_on(&mut self) -> Result<Option<Reply>, Refused> {
        self.forget().await?;
        let doubts = std::mem::take(&mut self.unsettled);
        self.feed(doubts).await?;
        let mut reply = self.hand_out();
        // A paused session is at work as long as somebody may let it go on; here nobody waits for that.
        while reply.is_none() && !self.session.is_at_rest() && (self.session.paused().is_none() || self.is_at_work()) {
            self.take_some().await?;
            reply = self.hand_out();
        }
        Ok(self.finish().await.or(reply))
    }

    /// Takes what was told, and works until the turn has come to rest, if there is one.
    pub async fn turn_told(&mut self, told: Command) -> Result<Option<Reply>, Refused> {
        if matches!(told.input, Input::User { .. } | Input::Decide { .. }) {
            self.take_up_edits().await?;
        }
        self.take_told(told).await?;
        match self.hand_out() {
            None if !self.session.is_at_rest() => self.until_rest().await.map(Some),
            reply => Ok(reply),
        }
    }

    /// Tells the session, and whoever waits.
    pub(super) async fn take_told(&mut self, told: Command) -> Result<(), Refused> {
        let is_stop = matches!(told.input, Input::Stop);
        let taken = self.feed(vec![told.input]).await;
        // Whoever told it may have left.
        let _ = told.answer.send(taken.clone());
        if is_stop {
            self.stop.notify_waiters();
        }
        taken
    }
}
