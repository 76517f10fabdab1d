//! Deleting a branch.

use scripta_events::domain::{BranchDeleted, BranchId};

use super::delete::close;
use super::{BranchInfo, ChatFacts, ChatState};
use crate::{Chat, Decision, Refusal};

/// The most forks that a refusal names (inclusive): enough to go on with.
const MAX_NAMED: usize = 10;

/// A branch that others fork from stays, unless they may keep what they share: then only what is
/// its own alone goes.
pub(super) fn decide(
    state: &ChatState,
    branch: BranchId,
    keep_forks: bool,
    facts: &mut ChatFacts,
) -> Result<Decision<Chat>, Refusal> {
    state.branch(branch)?;
    if branch == state.id.first_branch() {
        let reason = "a chat's first branch can't be deleted; delete the chat instead".to_owned();
        return Err(Refusal::Refused { reason });
    }
    let forks = state.forks_of(branch);
    if !keep_forks && !forks.is_empty() {
        return Err(Refusal::Refused { reason: in_the_way(&forks) });
    }
    let mut decision = Decision::events(vec![BranchDeleted { branch }.into()]);
    let ChatFacts { open, ids, now, .. } = facts;
    for open in open {
        close(&mut decision, (state.id, branch), open, *now, ids)?;
    }
    Ok(decision)
}

fn in_the_way(forks: &[(BranchId, &BranchInfo)]) -> String {
    let named = forks.iter().take(MAX_NAMED).map(|(id, info)| match &info.title {
        Some(title) => format!("'{title}' ({id})"),
        None => id.to_string(),
    });
    let mut names = named.collect::<Vec<_>>().join(", ");
    if forks.len() > MAX_NAMED {
        names.push_str(&format!(" and {} more", forks.len() - MAX_NAMED));
    }
    let (branches, share) = if forks.len() == 1 {
        ("branch forks", "it keeps")
    } else {
        ("branches fork", "they keep")
    };
    format!(
        "{} {branches} from this one's part of the history: {names}; with keepForks {share} what \
         is shared, or delete them first",
        forks.len()
    )
}
