//! What waits in a branch, and what was read of it.

use scripta_events::domain::{BranchEvent, Message, MessageId, Part};

use super::{Change, Place, message_key, place_key, queued_key};
use crate::MessageRow;
use crate::follower::ApplyError;
use crate::models::inconsistent;
use crate::store::Batch;

impl Change<'_> {
    /// Applies an event that changes neither the history nor the turn.
    pub(super) fn wait(
        mut self,
        batch: &mut Batch<'_>,
        event: BranchEvent,
    ) -> Result<(), ApplyError> {
        let row = &mut self.row;
        match event {
            BranchEvent::QueuedMessageChanged(changed) => {
                let key = queued_key(row.id, changed.message);
                if let Some(message) = batch.get::<Message>(&key)? {
                    let parts = vec![Part::Text { text: changed.text }];
                    batch.put(key, Message { parts, ..message });
                }
            }
            BranchEvent::QueuedMessageRemoved(removed) => {
                row.queue.retain(|queued| *queued != removed.message);
                batch.remove(queued_key(row.id, removed.message));
            }
            BranchEvent::QueueCleared(_) => {
                for queued in std::mem::take(&mut row.queue) {
                    batch.remove(queued_key(row.id, queued));
                }
            }
            BranchEvent::RebaseNeeded(needed) => {
                row.needs_rebase = Some(needed.message);
                row.skipped = true;
            }
            BranchEvent::MessageRebased(_) => row.needs_rebase = None,
            BranchEvent::AsideReceived(received) => row.asides.push(received.message.id),
            BranchEvent::MessagesRead(read) => self.row.read = self.place(batch, read.message)?,
            // What changes the history or the turn is applied elsewhere.
            BranchEvent::BranchOpened(_)
            | BranchEvent::MessageQueued(_)
            | BranchEvent::MessageAppended(_)
            | BranchEvent::TurnStarted(_)
            | BranchEvent::TurnResumed(_)
            | BranchEvent::TurnEnded(_) => {}
        }
        self.finish(batch, |_| {})
    }

    /// The place of a message in the chain, whichever branch wrote it.
    fn place(&self, batch: &Batch<'_>, message: MessageId) -> Result<u64, ApplyError> {
        let place = batch.get::<Place>(&place_key(message))?;
        let row = match place {
            Some(Place { branch, number }) => {
                batch.get::<MessageRow>(&message_key(branch, number))?
            }
            None => None,
        };
        let unknown = || inconsistent(self.event, format!("message {message} was never appended"));
        Ok(row.ok_or_else(unknown)?.place)
    }
}
