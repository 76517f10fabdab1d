//! What must hold of every event, however odd, and of all bytes that are none.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use proptest::option;
use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use crate::codec::{BINCODE, CodecError, Event};
use crate::log::EventData;
use crate::{EventType, Timestamp};

fn id() -> impl Strategy<Value = Uuid> {
    any::<u128>().prop_map(Uuid::from_u128)
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), ".{0,40}", "\\PC{300}"]
}

fn call() -> impl Strategy<Value = ToolCall> {
    (text(), text(), text(), text()).prop_map(|(id, server, tool, arguments)| ToolCall {
        id,
        server,
        tool,
        arguments,
    })
}

fn result() -> impl Strategy<Value = ToolResult> {
    (text(), any::<bool>(), text(), option::of(text()), option::of(text())).prop_map(
        |(call_id, is_error, text, structured, meta)| ToolResult {
            call_id,
            is_error,
            text,
            structured,
            meta,
        },
    )
}

fn reference() -> impl Strategy<Value = Reference> {
    (text(), option::of(text()), option::of(text()))
        .prop_map(|(target, media_type, name)| Reference { target, media_type, name })
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        text().prop_map(|text| Part::Text { text }),
        text().prop_map(|text| Part::Reasoning { text }),
        call().prop_map(Part::ToolCall),
        result().prop_map(Part::ToolResult),
        reference().prop_map(Part::Image),
        reference().prop_map(Part::File),
        (text(), text()).prop_map(|(kind, json)| Part::Other { kind, json }),
    ]
}

fn sender() -> impl Strategy<Value = Sender> {
    prop_oneof![
        Just(Sender::User),
        text().prop_map(|id| Sender::Key { id }),
        (id(), id()).prop_map(|(chat, branch)| Sender::Branch {
            chat: ChatId(chat),
            branch: BranchId(branch),
        }),
    ]
}

fn intent() -> impl Strategy<Value = Intent> {
    use Intent::*;
    prop::sample::select(vec![Question, Answer, Decision, Status, Blocker, Done])
}

fn message() -> impl Strategy<Value = Message> {
    use {MessageStatus as S, Role as R};
    let said = (
        id(),
        prop::sample::select(vec![R::System, R::User, R::Assistant, R::Tool]),
        prop::collection::vec(part(), 0..6),
        any::<i64>(),
        option::of(sender()),
        option::of(intent()),
    );
    let made = (
        option::of(id()),
        option::of(text()),
        option::of(text()),
        option::of((any::<Option<u64>>(), any::<Option<u64>>())),
        prop::collection::vec(id(), 0..3),
        prop::collection::vec(id(), 0..3),
        prop::sample::select(vec![S::Complete, S::Stopped, S::Failed]),
    );
    (said, made).prop_map(|(said, made)| {
        let (id, role, parts, created_at, sender, intent) = said;
        let (run, connection, model, usage, refs, reviews, status) = made;
        Message {
            id: MessageId(id),
            role,
            parts,
            created_at: Timestamp(created_at),
            sender,
            intent,
            run: run.map(RunId),
            connection: connection.map(ConnectionId),
            model,
            usage: usage.map(|(input, output)| Usage { input, output }),
            refs,
            reviews,
            status,
        }
    })
}

fn meta() -> impl Strategy<Value = Meta> {
    let actor = prop_oneof![
        Just(Actor::User),
        text().prop_map(|id| Actor::Key { id }),
        id().prop_map(|run| Actor::Run { run: RunId(run) }),
        Just(Actor::System),
    ];
    (actor, option::of(id()), option::of(id())).prop_map(|(actor, correlation, causation)| Meta {
        actor,
        correlation,
        causation,
    })
}

fn decodes_to_the_same<E: Event + PartialEq + std::fmt::Debug>(event: E) {
    let encoded = event.encode().unwrap();
    assert_eq!(E::decode(&encoded), Ok(event));
}

/// Decodes as every event of a set: what comes out, if anything, is an event of that code.
fn decodes_or_says_why<E: Event + PartialEq + std::fmt::Debug>(
    types: &[(EventType, &str)],
    payload: &[u8],
) {
    for (event_type, _) in types {
        let event_type = *event_type;
        let payload = bytes::Bytes::copy_from_slice(payload);
        let encoded = EventData { event_type, version: 1, codec: BINCODE, payload };
        match E::decode(&encoded) {
            Ok(event) => {
                assert_eq!(event.event_type(), event_type);
                decodes_to_the_same(event);
            }
            Err(CodecError::Malformed { event_type: named, version: 1, .. }) => {
                assert_eq!(named, event_type);
            }
            Err(error) => panic!("{event_type}: {error}"),
        }
    }
}

fn all_decode_or_say_why(payload: &[u8]) {
    decodes_or_says_why::<WorkspaceEvent>(WorkspaceEvent::TYPES, payload);
    decodes_or_says_why::<ProjectEvent>(ProjectEvent::TYPES, payload);
    decodes_or_says_why::<ChatEvent>(ChatEvent::TYPES, payload);
    decodes_or_says_why::<BranchEvent>(BranchEvent::TYPES, payload);
    decodes_or_says_why::<RunEvent>(RunEvent::TYPES, payload);
    decodes_or_says_why::<MemoryEvent>(MemoryEvent::TYPES, payload);
    decodes_or_says_why::<ReviewEvent>(ReviewEvent::TYPES, payload);
}

proptest! {
    #[test]
    fn a_message_is_read_as_it_was_written(message in message()) {
        let queued = MessageQueued {
            message: message.clone(),
            only_if_head: Some(message.id),
            interactive: false,
            first: true,
        };
        decodes_to_the_same::<BranchEvent>(queued.into());
        decodes_to_the_same::<BranchEvent>(MessageAppended { message }.into());
    }

    #[test]
    fn a_run_and_its_tools_are_read_as_they_were_written(
        calls in prop::collection::vec(call(), 0..4),
        (step, submitter) in (any::<u32>(), sender()),
        (run, model, description) in (id(), option::of(text()), text()),
    ) {
        let (message, usage) = (MessageId(run), None);
        decodes_to_the_same::<RunEvent>(ModelAnswered { step, message, calls, usage }.into());
        let tool = ToolsetTool {
            server: "app".to_owned(),
            tool: "app_read".to_owned(),
            description,
            schema: String::new(),
            schema_hash: [step as u8; 32],
            read_only: step % 2 == 0,
        };
        decodes_to_the_same::<RunEvent>(ToolsetRecorded { tools: vec![tool] }.into());
        let started = RunStarted {
            run: RunId(run),
            chat: ChatId(run),
            branch: BranchId(run),
            project: ProjectId(run),
            message,
            connection: ConnectionId("c".to_owned()),
            model,
            submitter,
            interactive: true,
        };
        decodes_to_the_same::<RunEvent>(started.into());
    }

    #[test]
    fn a_project_and_its_reviews_are_read_as_they_were_written(
        (name, directories) in (option::of(text()), option::of(prop::collection::vec(text(), 0..3))),
        connection in option::of(option::of(text())),
        (line, file, said) in (option::of(any::<u32>()), text(), text()),
    ) {
        let default_connection = connection.map(|it| it.map(ConnectionId));
        let updated = ProjectUpdated { name: name.clone(), directories, default_connection };
        decodes_to_the_same::<ProjectEvent>(updated.into());
        let comments = Some(vec![ReviewComment { file: file.clone(), line, text: said }]);
        let updated = ReviewUpdated { name, files: Some(vec![file]), comments };
        decodes_to_the_same::<ReviewEvent>(updated.into());
    }

    #[test]
    fn metadata_of_any_kind_is_read_as_it_was_written(meta in meta()) {
        prop_assert_eq!(Meta::from_bytes(&meta.to_bytes().unwrap()), Ok(meta));
    }

    #[test]
    fn any_bytes_are_an_event_or_say_why_not(payload in prop::collection::vec(any::<u8>(), 0..200)) {
        all_decode_or_say_why(&payload);
        let _may_be_none = Meta::from_bytes(&payload);
    }

    /// Bytes that are nearly an event go deeper than random ones.
    #[test]
    fn a_changed_event_is_an_event_or_says_why_not(
        message in message(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
    ) {
        let encoded = BranchEvent::from(MessageAppended { message }).encode().unwrap();
        let mut payload = encoded.payload.to_vec();
        for (at, byte) in changes {
            let at = at.index(payload.len());
            payload.get_mut(at).into_iter().for_each(|place| *place = byte);
        }
        all_decode_or_say_why(&payload);
    }

    /// A length of up to 2^64 anywhere: if room were made for it, this test would be killed.
    #[test]
    fn a_length_is_never_believed(
        message in message(),
        at in any::<prop::sample::Index>(),
        length in (1u64 << 33)..u64::MAX,
    ) {
        let encoded = BranchEvent::from(MessageAppended { message }).encode().unwrap();
        let mut payload = encoded.payload.to_vec();
        let at = at.index(payload.len());
        payload.splice(at..=at, [253].into_iter().chain(length.to_le_bytes()));
        all_decode_or_say_why(&payload);
    }
}
