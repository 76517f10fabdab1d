//! What all ways of submitting a message share.

use std::time::Duration;

use scripta_actors::{BranchKey, CommandMeta, NewMessage};
use scripta_events::OperationId;
use scripta_events::domain::MessageId;
use uuid::Uuid;

use super::{RunsArguments, branch_of};
use crate::arguments::{Shape, required};
use crate::result::Rejected;
use crate::tools::Call;
use crate::view::{Id, TurnView};

/// How long a submit waits for its turn unless told.
const DEFAULT_WAIT: Duration = Duration::from_secs(60);

/// A message on its way out.
pub(super) struct Outgoing {
    /// The branch that the arguments name.
    pub(super) branch: BranchKey,
    /// Its id is the operation's, so that a repeat makes no second message.
    pub(super) message: NewMessage,
    pub(super) meta: CommandMeta,
    /// How long its turn is waited for; `None` not to wait.
    pub(super) wait: Option<Duration>,
}

impl Outgoing {
    /// Checks the arguments, and puts the branch that they mean in place of the ids that name it.
    pub(super) async fn new(
        call: &mut Call<'_>,
        shape: &Shape,
        arguments: &RunsArguments,
    ) -> Result<Outgoing, Rejected<TurnView>> {
        shape.check(&call.arguments)?;
        refuse_presets(arguments)?;
        let branch = branch_of(call, arguments.chat_id, arguments.branch_id).await?;
        name_branch(call, branch);
        let operation = arguments.operation_id.unwrap_or(Id(OperationId::random().0));
        let meta = call.command(shape, Some(operation))?;
        let message = NewMessage {
            id: MessageId(operation.0),
            text: required(arguments.text.clone(), shape.operation, "text")?,
            sender: call.caller.sender().clone(),
            intent: arguments.intent.map(Into::into),
            interactive: arguments.interactive.unwrap_or(true),
            refs: attached(&arguments.resource_ids),
            reviews: attached(&arguments.review_ids),
        };
        let longest = arguments.wait_timeout_ms.map_or(DEFAULT_WAIT, Duration::from_millis);
        let wait = arguments.wait.unwrap_or(false).then_some(longest);
        Ok(Outgoing { branch, message, meta, wait })
    }
}

fn attached(ids: &Option<Vec<Id>>) -> Vec<Uuid> {
    ids.iter().flatten().map(|id| id.0).collect()
}

/// There are no presets; an empty list names none.
fn refuse_presets(arguments: &RunsArguments) -> Result<(), Rejected<TurnView>> {
    if arguments.preset_ids.as_ref().is_some_and(|ids| !ids.is_empty()) {
        let reason = "There are no presets yet; leave `presetIds` out";
        return Err(Rejected::refused(reason));
    }
    Ok(())
}

/// The arguments with the branch that they mean in place of the ids that name it, and without what
/// goes without saying: what is said in another way is the same operation.
fn name_branch(call: &mut Call<'_>, key: BranchKey) {
    call.arguments.remove("chatId");
    call.arguments.insert("branchId".to_owned(), key.branch.to_string().into());
    if call.arguments.get("mode").is_some_and(|mode| mode == "Enqueue") {
        call.arguments.remove("mode");
    }
    if call.arguments.get("interactive").is_some_and(|interactive| interactive == true) {
        call.arguments.remove("interactive");
    }
}
