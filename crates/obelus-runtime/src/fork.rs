//! DUR-6: a session that begins as another one was after some record, and goes its own way from there.

use obelus_kernel::Time;
use obelus_kernel::session::{Input, Outcome, Session};

use crate::restore::{RestoreError, advance, replay};
use crate::store::{Journaled, Record};

/// The journal of a fork: the records up to its point, and how everything ended that was under way there.
///
/// Nothing that had begun is begun again. A call whose end the original knows has that end in the fork too; one without
/// an end is in doubt, and a person is asked. A fork in the middle of work is paused, so that what the original did
/// later is not done a second time before a person says so.
pub fn fork(
    mut session: Session,
    id: &str,
    mut before: Vec<Record>,
    after: &[Record],
    by: &str,
) -> Result<Vec<Record>, RestoreError> {
    let now = before.last().map_or(Time::default(), |record| record.at);
    // Ids of inputs are those of the original: whoever sent one did not send it to the fork.
    before.iter_mut().for_each(|record| record.id = None);
    let journaled = Journaled { after: 0, records: before.clone(), cut: None };
    let mut under_way = replay(&mut session, id, journaled, |_, _, _| {})?.under_way;
    let open: Vec<_> = under_way.calls().map(|start| (start.id.clone(), start.tool.idempotent)).collect();
    if open.is_empty() && session.is_at_rest() {
        return Ok(before);
    }
    let mut add = |input: Input| {
        under_way.hear(&input);
        let record = Record::new(now, input.clone());
        // What is refused changes nothing, and is not kept.
        if let Ok(advanced) = advance(&mut session, now, input) {
            under_way.hand_out(advanced.tasks);
            before.push(Record { digest: Some(advanced.digest), ..record });
        }
    };
    // First of all, so that what the following inputs would set to work stays where it is.
    add(Input::Pause { by: by.to_owned() });
    for (id, is_harmless) in open {
        let ended = after.iter().map(|record| &*record.input).find(|input| match input {
            Input::Ended { id: of, outcome } => *of == id && !matches!(outcome, Outcome::Lost { .. }),
            _ => false,
        });
        match ended {
            Some(input) => add(input.clone()),
            // A read can be done again by whoever lets the fork go on.
            None if is_harmless => {}
            None => add(Input::InDoubt { id }),
        }
    }
    Ok(before)
}
