//! DUR-6: a session that begins as another one was after some record, and goes its own way from there.

use std::collections::BTreeMap;

use obelus_kernel::Time;
use obelus_kernel::session::{CallId, Input, Outcome, Session, Task};

/// The journal of a fork: what led to its point, and what became of everything that was under way there.
///
/// Nothing that had begun is begun again. A call of which the original knows the end has ended in the fork too; one
/// that had no end is in doubt, and a person is asked. While anything else would go on by itself the fork is paused,
/// so that what the original did later is not done a second time before a person says so.
pub fn fork(session: Session, mut before: Vec<(Time, Input)>, after: &[(Time, Input)], by: &str) -> Vec<(Time, Input)> {
    let mut way = Way { session, open: BTreeMap::new() };
    let mut now = Time::default();
    for (at, input) in &before {
        now = *at;
        way.tell(now, input.clone());
    }
    if way.open.is_empty() && way.session.is_at_rest() {
        return before;
    }
    let mut add = |way: &mut Way, input: Input| {
        way.tell(now, input.clone());
        before.push((now, input));
    };
    // First of all, so that what the following inputs would set to work stays where it is.
    add(&mut way, Input::Pause { by: by.to_owned() });
    for id in way.open.keys().cloned().collect::<Vec<_>>() {
        let Some(harmless) = way.open.get(&id).copied() else { continue };
        let ended = after.iter().find_map(|(_, input)| match input {
            Input::Ended { id: of, outcome } if *of == id && !matches!(outcome, Outcome::Lost { .. }) => Some(input),
            _ => None,
        });
        match ended {
            Some(input) => add(&mut way, input.clone()),
            // A read can be done again by whoever lets the fork go on.
            None if harmless => {}
            None => add(&mut way, Input::InDoubt { id }),
        }
    }
    before
}

/// A session on its way, and the calls that were handed out and have not ended: whether doing them again is harmless.
struct Way {
    session: Session,
    open: BTreeMap<CallId, bool>,
}

impl Way {
    fn tell(&mut self, at: Time, input: Input) {
        if let Input::Ended { id, .. } | Input::InDoubt { id } | Input::DidNot { id, .. } = &input {
            self.open.remove(id);
        }
        let _ = self.session.handle(at, input);
        while let Some(task) = self.session.poll() {
            if let Task::Call(start) = task {
                self.open.insert(start.id, start.tool.idempotent);
            }
        }
    }
}
