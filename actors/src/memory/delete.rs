//! Deleting an entry.

use scripta_events::domain::MemoryDeleted;

use super::MemoryState;
use crate::{Decision, Memory};

pub(super) fn decide(_state: &MemoryState) -> Decision<Memory> {
    Decision::events(vec![MemoryDeleted {}.into()])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::testing::{create, key, when};
    use super::super::{Memory, MemoryChanges, MemoryCommand};
    use crate::{Aggregate, Refusal};

    #[test]
    fn what_was_deleted_is_gone() {
        let (mut state, key) = (None, key());
        when(&mut state, key, create("Tea", "Green.", &[])).unwrap();
        let delete = MemoryCommand::Delete { expected_revision: 1 };
        assert_eq!(when(&mut state, key, delete.clone()), Ok(1));
        let gone = Err(Refusal::Gone { what: "memory entry", id: key.memory.0 });
        assert_eq!(when(&mut state, key, delete.clone()), gone);
        let changes = MemoryChanges::default();
        let update = MemoryCommand::Update { changes, expected_revision: 2 };
        assert_eq!(when(&mut state, key, update), gone);
        // There is no document any more that a revision could be of.
        assert_eq!(Memory::document_revision(state.as_ref().unwrap(), &delete), None);
    }
}
