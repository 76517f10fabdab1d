//! A long history over nested forks: each branch is exactly its chain, and a fork copies nothing.

use std::sync::{Arc, Mutex};

use futures::StreamExt;
use futures::stream::BoxStream;
use scripta_actors::{
    Branch, BranchCommand, BranchKey, CommandMeta, ModelError, ModelEvent, ModelRequest, Models,
    demo,
};
use scripta_events::Timestamp;
use scripta_events::domain::{ConnectionId, Message, MessageId, Part, Role};
use scripta_events::log::Filter;
use serde_json::json;
use uuid::Uuid;

use crate::queue::{of, with};
use crate::world::{World, call, id, ids, world_with};

/// The messages of all branches together.
const MESSAGES: usize = ROOT + FORKS * (2 + OWN + LATER);

const FORKS: usize = 6;
const ROOT: usize = 260;
/// What a fork has beside the two messages of its first turn.
const OWN: usize = 278;
/// What its parent has after the fork.
const LATER: usize = 10;

/// No divisor of any history here.
const PAGE: usize = 137;

/// The demo model, and what it was last asked with.
#[derive(Default)]
struct Listener(Mutex<Vec<MessageId>>);

impl Models for Listener {
    fn resolve(
        &self,
        wanted: Option<&ConnectionId>,
        model: Option<&str>,
    ) -> Result<(ConnectionId, Option<String>), ModelError> {
        demo::Demo.resolve(wanted, model)
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        *self.0.lock().unwrap() = request.messages.iter().map(|message| message.id).collect();
        demo::Demo.stream(request)
    }
}

/// A branch and its whole chain, told by what was written.
#[derive(Clone)]
struct Told {
    branch: String,
    chain: Vec<String>,
}

fn message(number: usize) -> Message {
    let role = if number.is_multiple_of(2) { Role::User } else { Role::Assistant };
    let parts = vec![Part::Text { text: format!("Message {number}") }];
    Message::new(MessageId(Uuid::now_v7()), role, parts, Timestamp::now())
}

impl Told {
    /// Appends imported messages.
    async fn goes_on(&mut self, world: &World, chat: &str, count: usize) {
        let messages: Vec<_> = (0..count).map(message).collect();
        self.chain.extend(messages.iter().map(|message| message.id.to_string()));
        let key = BranchKey { chat: chat.parse().unwrap(), branch: self.branch.parse().unwrap() };
        let append = BranchCommand::AppendImported { messages };
        world.handle.execute::<Branch>(key, append, CommandMeta::system()).await.unwrap();
    }

    /// Opens a branch after the message at this place, with a turn of its own.
    async fn fork(&self, world: &World, at: usize) -> Told {
        let chain = &self.chain[..=at];
        let fork = with(of("Submit", &self.branch), "mode", "Fork");
        let fork = with(with(fork, "fromMessageId", chain[at].clone()), "text", "Another way");
        let forked = world.ok("app_runs", with(fork, "wait", true)).await;
        let branch = id(&forked["document"]["branchId"]);
        let newest = json!({ "resource": "Messages", "branchId": branch, "limit": 2 });
        let turn = ids(&world.read(newest).await);
        assert_eq!(turn[0], id(&forked["document"]["messageId"]));
        Told { branch, chain: [chain, &turn].concat() }
    }

    /// What its pages have, in the order of the history.
    async fn check(&self, world: &World, order: &str) {
        let mut query = json!({
            "resource": "Messages", "branchId": self.branch, "limit": PAGE, "order": order,
        });
        let mut pages: Vec<Vec<String>> = vec![];
        loop {
            let page = call(&world.client, "app_read", query.clone()).await;
            let page = page.structured_content.unwrap();
            pages.push(ids(&page));
            for pair in page["items"].as_array().unwrap().windows(2) {
                assert_eq!(pair[1]["parentId"], pair[0]["id"]);
            }
            match page.get("nextCursor") {
                Some(cursor) => query["cursor"] = cursor.clone(),
                None => break,
            }
        }
        assert_eq!(pages.len(), self.chain.len().div_ceil(PAGE));
        if order == "NewestFirst" {
            pages.reverse();
        }
        assert!(pages.concat() == self.chain, "{order} of {}", self.branch);
    }
}

/// How many events, and how many bytes in them, a fork with its turn adds to the log.
async fn growth(world: &World, told: &Told, at: usize) -> (u64, usize) {
    let before = *world.log.head().borrow();
    told.fork(world, at).await;
    let until = *world.log.head().borrow();
    let events = world.log.read_all(before, Filter::until(until));
    let bytes =
        events.map(|event| event.unwrap()).map(|event| event.payload.len() + event.meta.len());
    (until.0 - before.0, bytes.collect::<Vec<_>>().await.iter().sum())
}

#[tokio::test]
async fn each_of_six_nested_forks_is_exactly_its_chain_and_none_copies_anything() {
    let listener = Arc::new(Listener::default());
    let world = world_with(listener.clone()).await;
    let project = world.project("Work").await;
    let chat = world.chat(&project, "Long").await;
    let mut told = vec![Told { branch: chat.clone(), chain: vec![] }];
    told[0].goes_on(&world, &chat, ROOT).await;
    for number in 0..FORKS {
        let parent = &told[number];
        // Somewhere in what the parent wrote itself, so that the forks nest.
        let mut fork = parent.fork(&world, parent.chain.len() - 1 - 17 * number).await;
        fork.goes_on(&world, &chat, OWN).await;
        told[number].goes_on(&world, &chat, LATER).await;
        told.push(fork);
    }
    let read = world.read(json!({ "resource": "Chat", "chatId": chat })).await;
    assert_eq!(read["items"][0]["messages"], json!(MESSAGES));
    assert_eq!(MESSAGES, 2_000);
    let branches = read["items"][0]["branches"].as_array().unwrap();
    for (told, branch) in told.iter().zip(branches) {
        assert_eq!(
            (&branch["id"], &branch["messages"]),
            (&json!(told.branch), &json!(told.chain.len()))
        );
        told.check(&world, "OldestFirst").await;
        told.check(&world, "NewestFirst").await;
    }
    // A fork of the deepest that shares a part of the root alone.
    let deepest = &told[FORKS];
    let shallow = deepest.fork(&world, 5).await;
    shallow.check(&world, "OldestFirst").await;
    assert_eq!(shallow.chain.len(), 8);

    // The history is exactly what the model sees.
    let said = world.submit_to(&deepest.branch, "And now?").await;
    let seen: Vec<_> = listener.0.lock().unwrap().iter().map(MessageId::to_string).collect();
    assert_eq!(seen.last(), Some(&id(&said["document"]["messageId"])));
    assert!(seen[..seen.len() - 1] == deepest.chain);

    let other = world.chat(&project, "Short").await;
    let mut short = Told { branch: other.clone(), chain: vec![] };
    short.goes_on(&world, &other, 2).await;
    let (few, little) = growth(&world, &short, 1).await;
    let (many, much) = growth(&world, deepest, deepest.chain.len() - 1).await;
    assert_eq!(many, few);
    // Numbers take a few bytes more where they are larger.
    assert!(much.abs_diff(little) <= 8, "{little} and {much} bytes");
}
