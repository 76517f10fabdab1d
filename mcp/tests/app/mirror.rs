//! What a read tells of a branch is what its decider goes by, under any order of commands, and is
//! the same after a rebuild.

use proptest::prelude::*;
use scripta_actors::{
    Branch, BranchCommand, BranchKey, BranchState, BranchStatus, CommandMeta, NewMessage,
    SubmitMode,
};
use scripta_events::domain::{MessageId, Sender};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::turns::{Hold, held};
use crate::world::World;

#[derive(Clone, Debug)]
enum Step {
    Submit {
        mode: SubmitMode,
        meant: Meant,
    },
    Update(usize),
    Remove(usize),
    MarkRead(usize),
    Other(BranchCommand),
    /// The model is let go until the branch rests.
    Finish,
}

/// The head that a message is meant for.
#[derive(Clone, Copy, Debug)]
enum Meant {
    Any,
    Present,
    Another,
}

fn step() -> impl Strategy<Value = Step> {
    use SubmitMode::{Aside, Enqueue, Interrupt, Reject};
    let mode = prop::sample::select(vec![Enqueue, Enqueue, Enqueue, Aside, Interrupt, Reject]);
    let meant = prop::sample::select(vec![Meant::Any, Meant::Any, Meant::Present, Meant::Another]);
    let other = prop::sample::select(vec![
        BranchCommand::Stop,
        BranchCommand::Stop,
        BranchCommand::Resume,
        BranchCommand::SkipFailed,
        BranchCommand::Rebase,
        BranchCommand::ClearQueue,
    ]);
    prop_oneof![
        6 => (mode, meant).prop_map(|(mode, meant)| Step::Submit { mode, meant }),
        1 => (0..3_usize).prop_map(Step::Update),
        1 => (0..3_usize).prop_map(Step::Remove),
        1 => (0..9_usize).prop_map(Step::MarkRead),
        5 => other.prop_map(Step::Other),
        1 => Just(Step::Finish),
    ]
}

struct Scene {
    world: World,
    hold: Hold,
    key: BranchKey,
}

impl Scene {
    async fn new() -> Scene {
        let (world, hold, chat) = held().await;
        let key = BranchKey { chat: chat.parse().unwrap(), branch: chat.parse().unwrap() };
        Scene { world, hold, key }
    }

    async fn state(&self) -> BranchState {
        let state = self.world.handle.state::<Branch>(self.key).await.unwrap();
        BranchState::clone(&state.unwrap())
    }

    async fn take(&self, step: Step) {
        let state = self.state().await;
        let queued = |at: usize| state.queue.get(at).map(|queued| queued.message.id);
        let nobody = MessageId(Uuid::nil());
        let command = match step {
            Step::Submit { mode, meant } => {
                let message = NewMessage::new(MessageId(Uuid::now_v7()), "text", Sender::User);
                let only_if_head = match meant {
                    Meant::Any => None,
                    Meant::Present => state.head(),
                    Meant::Another => Some(nobody),
                };
                BranchCommand::Submit { message, mode, only_if_head }
            }
            Step::Update(at) => {
                let (message, text) = (queued(at).unwrap_or(nobody), "better".to_owned());
                BranchCommand::UpdateQueued { message, text }
            }
            Step::Remove(at) => {
                BranchCommand::RemoveQueued { message: queued(at).unwrap_or(nobody) }
            }
            Step::MarkRead(at) => {
                BranchCommand::MarkRead { message: state.messages.get(at).map(|own| own.id) }
            }
            Step::Other(command) => command,
            Step::Finish => return self.finish().await,
        };
        // A refusal changes nothing, which the comparison sees too.
        drop(self.world.handle.execute::<Branch>(self.key, command, CommandMeta::system()).await);
    }

    async fn finish(&self) {
        self.hold.let_go();
        let rests = |page: &Value| {
            let branch = &page["items"][0]["branches"][0];
            let idle = branch["status"] == "Idle" && branch["queued"] == 0;
            idle || branch["status"] == "Paused"
        };
        self.world.until(self.read(), rests).await;
        self.hold.hold_back();
    }

    fn read(&self) -> Value {
        json!({ "resource": "Chat", "chatId": self.key.chat.to_string() })
    }

    /// Compares with what another process reads, as soon as nothing goes on.
    async fn compare_rebuilt(&self) {
        loop {
            let before = self.world.read(self.read()).await;
            let rebuilt = self.world.successor().await.read(self.read()).await;
            let after = self.world.read(self.read()).await;
            if before == after {
                assert_eq!(before["items"], rebuilt["items"]);
                return;
            }
        }
    }

    /// Compares at a moment when nothing goes on in the branch.
    async fn compare(&self) {
        let mut before = self.state().await;
        loop {
            let page = self.world.read(self.read()).await;
            let after = self.state().await;
            if before == after {
                return is_told(&page["items"][0]["branches"][0], &after);
            }
            before = after;
        }
    }
}

fn is_told(told: &Value, state: &BranchState) {
    let (status, paused) = match state.status() {
        BranchStatus::Idle => ("Idle", false),
        BranchStatus::Running => ("Running", false),
        BranchStatus::Paused { .. } => ("Paused", true),
    };
    assert_eq!(told["status"], status, "{told:#} of {state:#?}");
    assert_eq!(told.get("pausedBecause").is_some(), paused);
    let queue: Vec<_> = state.queue.iter().map(|queued| queued.message.id.to_string()).collect();
    assert_eq!(told["queued"], queue.len());
    assert_eq!(told.get("queue").cloned().unwrap_or(json!([])), json!(queue));
    assert_eq!(told["messages"], state.messages.len());
    let text = |id: Option<Uuid>| id.map(|id| json!(id.to_string()));
    assert_eq!(told.get("headMessageId").cloned(), text(state.head().map(|head| head.0)));
    assert_eq!(told.get("runId").cloned(), text(state.turn.map(|turn| turn.run.0)));
    if state.read.is_some() && state.read == state.head() {
        assert_eq!(told["unread"], 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn a_branch_is_told_as_it_is(steps in prop::collection::vec(step(), 1..30)) {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let scene = Scene::new().await;
            for step in steps {
                scene.take(step).await;
                scene.compare().await;
            }
            scene.finish().await;
            scene.compare().await;
            scene.compare_rebuilt().await;
        });
    }
}
