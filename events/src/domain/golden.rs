//! The bytes of every version of every payload, which are readable for ever.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fmt::Write as _;

use uuid::Uuid;

use super::*;
use crate::Timestamp;
use crate::codec::{CodecError, Event};
use crate::log::EventData;

/// A line each: type, version, codec, payload in hexadecimal.
const GOLDEN: &str = include_str!("../../testdata/events.txt");

fn id(n: u128) -> Uuid {
    Uuid::from_u128(n)
}

fn message() -> Message {
    let parts = vec![
        Part::Text { text: "Grüße, 世界".to_owned() },
        Part::Reasoning { text: "hm".to_owned() },
        Part::ToolCall(call()),
        Part::ToolResult(ToolResult {
            call_id: "call_1".to_owned(),
            is_error: true,
            text: "no".to_owned(),
            structured: Some("{}".to_owned()),
            meta: None,
        }),
        Part::Image(reference()),
        Part::File(reference()),
        Part::Other { kind: "odd".to_owned(), json: "[1]".to_owned() },
    ];
    Message {
        id: MessageId(id(1)),
        role: Role::Assistant,
        parts,
        created_at: Timestamp(1_700_000_000_000_000),
        sender: Some(Sender::Branch { chat: ChatId(id(2)), branch: BranchId(id(3)) }),
        intent: Some(Intent::Done),
        run: Some(RunId(id(4))),
        connection: Some(ConnectionId("builtin:demo".to_owned())),
        model: Some("demo".to_owned()),
        usage: Some(Usage { input: Some(300), output: None }),
        refs: vec![id(5)],
        reviews: vec![id(6), id(7)],
        status: MessageStatus::Stopped,
    }
}

fn call() -> ToolCall {
    ToolCall {
        id: "call_1".to_owned(),
        server: "app".to_owned(),
        tool: "app_read".to_owned(),
        arguments: "{\"resource\":\"Chats\"}".to_owned(),
    }
}

fn reference() -> Reference {
    Reference { target: "file-1".to_owned(), media_type: Some("image/png".to_owned()), name: None }
}

fn projects() -> Vec<ProjectEvent> {
    let directories = vec!["/home/a".to_owned()];
    let mut events: Vec<ProjectEvent> = vec![
        ProjectCreated { project: ProjectId(id(1)), name: "P".to_owned(), directories }.into(),
        InstructionsReplaced { text: "I".to_owned() }.into(),
        ProjectUpdated {
            name: Some("Q".to_owned()),
            directories: None,
            default_connection: Some(Some(ConnectionId("c".to_owned()))),
        }
        .into(),
        ProjectUpdated {
            name: None,
            directories: Some(vec!["/srv".to_owned()]),
            default_connection: Some(None),
        }
        .into(),
        resource(11, ResourceKind::File).into(),
        resource(12, ResourceKind::Directory).into(),
        ResourceRetired { resource: ResourceId(id(11)) }.into(),
        ProjectDeleted {}.into(),
    ];
    events.extend(of_security());
    events
}

fn resource(n: u128, kind: ResourceKind) -> ResourceCreated {
    ResourceCreated { resource: ResourceId(id(n)), path: "/srv/a".to_owned(), kind }
}

fn reviews() -> Vec<ReviewEvent> {
    let comment = |line| ReviewComment { file: "a.rs".to_owned(), line, text: "Why?".to_owned() };
    vec![
        ReviewCreated {
            review: ReviewId(id(13)),
            chat: ChatId(id(2)),
            message: MessageId(id(1)),
            name: "R".to_owned(),
            files: vec!["a.rs".to_owned()],
            comments: vec![comment(Some(7)), comment(None)],
        }
        .into(),
        ReviewUpdated { name: None, files: None, comments: Some(vec![comment(Some(300))]) }.into(),
    ]
}

fn chats() -> Vec<ChatEvent> {
    let mut events: Vec<ChatEvent> = vec![
        ChatCreated {
            chat: ChatId(id(2)),
            project: ProjectId(id(1)),
            title: "T".to_owned(),
            connection: Some(ConnectionId("c".to_owned())),
            model: Some("m".to_owned()),
            source: Some(ImportSource { format: "chatgpt".to_owned(), id: "x".to_owned() }),
        }
        .into(),
        ChatRenamed { title: "U".to_owned() }.into(),
        BranchForked {
            branch: BranchId(id(3)),
            parent: BranchId(id(2)),
            after: Some(MessageId(id(9))),
            title: Some("F".to_owned()),
        }
        .into(),
        ChatPinned { pinned: true }.into(),
        ChatEndpointSet { connection: ConnectionId("c".to_owned()), model: None }.into(),
        BranchRenamed { branch: BranchId(id(3)), title: "G".to_owned() }.into(),
        BranchDeleted { branch: BranchId(id(3)) }.into(),
        ChatDeleted {}.into(),
    ];
    events.extend(of_security());
    events
}

fn branches() -> Vec<BranchEvent> {
    let (branch, chat, project) = (BranchId(id(3)), ChatId(id(2)), ProjectId(id(1)));
    let after = Some(MessageId(id(9)));
    let fork = Some(ForkPoint { parent: BranchId(id(2)), own_messages: 300, after });
    let failed = TurnOutcome::Failed { reason: "r".to_owned() };
    vec![
        BranchOpened { branch, chat, project, fork, title: Some("F".to_owned()) }.into(),
        MessageQueued { message: message(), only_if_head: after, interactive: true, first: false }
            .into(),
        MessageAppended { message: message() }.into(),
        TurnStarted { run: RunId(id(4)), message: MessageId(id(1)) }.into(),
        TurnEnded { run: RunId(id(4)), outcome: TurnOutcome::Completed }.into(),
        TurnEnded { run: RunId(id(4)), outcome: TurnOutcome::Stopped }.into(),
        TurnEnded { run: RunId(id(4)), outcome: failed }.into(),
        QueuedMessageChanged { message: MessageId(id(1)), text: "b".to_owned() }.into(),
        QueuedMessageRemoved { message: MessageId(id(1)) }.into(),
        QueueCleared {}.into(),
        RebaseNeeded { message: MessageId(id(1)), head: after }.into(),
        MessageRebased { message: MessageId(id(1)), head: None }.into(),
        AsideReceived { message: message() }.into(),
        TurnResumed { run: RunId(id(4)), message: MessageId(id(1)) }.into(),
        MessagesRead { message: MessageId(id(1)) }.into(),
    ]
}

fn runs() -> Vec<RunEvent> {
    let tool = ToolsetTool {
        server: "app".to_owned(),
        tool: "app_read".to_owned(),
        description: "reads".to_owned(),
        schema: "{}".to_owned(),
        schema_hash: [7; 32],
        read_only: true,
    };
    let message = MessageId(id(9));
    vec![
        RunStarted {
            run: RunId(id(4)),
            chat: ChatId(id(2)),
            branch: BranchId(id(3)),
            project: ProjectId(id(1)),
            message: MessageId(id(1)),
            connection: ConnectionId("builtin:demo".to_owned()),
            model: None,
            submitter: Sender::Key { id: "k1".to_owned() },
            interactive: true,
        }
        .into(),
        ToolsetRecorded { tools: vec![tool] }.into(),
        ModelStepStarted { step: 1 }.into(),
        ModelAnswered { step: 1, message, calls: vec![call()], usage: Some(Usage::default()) }
            .into(),
        ToolCallStarted { step: 1, index: 0 }.into(),
        ToolCallFinished { step: 1, index: 0, message, is_error: false }.into(),
        RunCompleted {}.into(),
        RunStopped {}.into(),
        RunFailed { reason: "r".to_owned() }.into(),
        RunResumed { connection: ConnectionId("c".to_owned()), model: Some("m".to_owned()) }.into(),
        RunPickedUp {}.into(),
    ]
}

fn security() -> Security {
    let server = ToolServerId(id(20));
    let rules = vec![
        PolicyRule {
            argument: "operation".to_owned(),
            matches: RuleMatch::OneOf(vec!["Rename".to_owned()]),
            decision: PolicyDecision::Allow,
        },
        PolicyRule {
            argument: "path".to_owned(),
            matches: RuleMatch::Under("/srv".to_owned()),
            decision: PolicyDecision::Deny,
        },
    ];
    let policy = ToolPolicy {
        server,
        tool: "write".to_owned(),
        decision: PolicyDecision::Ask,
        rules,
        silence_timeout_ms: Some(60_000),
        max_calls_per_run: Some(7),
    };
    Security {
        servers: vec![ServerBinding { server, enabled: false, transport: Transport::Stdio }],
        policies: vec![policy],
        grants: vec![grant()],
    }
}

fn grant() -> DirectoryGrant {
    use Capability::{Delete, Read, Write};
    DirectoryGrant {
        id: GrantId(id(21)),
        name: "work".to_owned(),
        path: "/srv/work".to_owned(),
        capabilities: vec![Read, Write, Delete],
    }
}

/// The four facts about a security document, of any set that has them.
fn of_security<E>() -> Vec<E>
where
    E: From<SecuritySet> + From<ToolPolicySet> + From<DirectoryGrantAdded>,
    E: From<DirectoryGrantRemoved>,
{
    let policy = security().policies.remove(0);
    vec![
        SecuritySet { security: security() }.into(),
        ToolPolicySet { policy, binds: Some(Transport::InProcess) }.into(),
        DirectoryGrantAdded { grant: grant() }.into(),
        DirectoryGrantRemoved { grant: grant().id }.into(),
    ]
}

fn connection(provider: Provider) -> Connection {
    Connection {
        id: id(22),
        name: "C".to_owned(),
        provider,
        base_url: Some("http://h/v1".to_owned()),
        model: "m".to_owned(),
        options: Some("{}".to_owned()),
        enabled: true,
        default: true,
        for_subtasks: false,
        rating: Some(5),
        good_for: Some("code".to_owned()),
        prices: None,
    }
}

fn workspace() -> Vec<WorkspaceEvent> {
    let secret = |digest| SecretValue { name: "TOKEN".to_owned(), digest };
    let server = ToolServer {
        id: ToolServerId(id(20)),
        name: "s".to_owned(),
        transport: Transport::StreamableHttp,
        command: Some("c".to_owned()),
        args: vec!["a".to_owned()],
        env: vec![secret(Some([9; 32]))],
        url: Some("http://h".to_owned()),
        headers: vec![secret(None)],
        prefix: Some("p".to_owned()),
        enabled: true,
    };
    let settings = GlobalSettings {
        name: Some("W".to_owned()),
        silence_timeout_ms: Some(60_000),
        max_calls_per_run: Some(9),
        memory_budget_chars: None,
    };
    let header =
        CredentialOwner::Header { server: ToolServerId(id(20)), name: "Authorization".to_owned() };
    let mut events = vec![GlobalSettingsSet { settings }.into()];
    use Provider::{Anthropic, Gemini, Ollama, OpenAi, OpenAiResponses};
    let providers = [OpenAi, OpenAiResponses, Anthropic, Gemini, Ollama];
    events.extend(providers.map(|it| ConnectionSet { connection: connection(it) }.into()));
    events.extend([
        ConnectionDeleted { connection: id(22) }.into(),
        ToolServerSet { server }.into(),
        ToolServerDeleted { server: ToolServerId(id(20)) }.into(),
        CredentialSet { owner: CredentialOwner::Connection { connection: id(22) } }.into(),
        CredentialCleared { owner: header }.into(),
    ]);
    events.extend(of_security());
    events
}

fn memory() -> Vec<MemoryEvent> {
    let (title, text, tags) = ("T".to_owned(), "X".to_owned(), vec!["a".to_owned()]);
    let memory = MemoryId(id(10));
    let project = Some(ProjectId(id(1)));
    let updated =
        MemoryUpdated { title: Some("U".to_owned()), text: None, tags: None, pinned: Some(false) };
    vec![
        MemoryCreated { memory, project, title, text, tags, pinned: true }.into(),
        updated.into(),
        MemoryDeleted {}.into(),
    ]
}

fn line(encoded: &EventData) -> String {
    let mut line = format!("{} {} {} ", encoded.event_type, encoded.version, encoded.codec);
    encoded.payload.iter().for_each(|byte| write!(line, "{byte:02x}").unwrap());
    line
}

fn parse(line: &str) -> EventData {
    let mut words = line.split(' ');
    let code = words.next().unwrap().strip_prefix("0x").unwrap();
    let event_type = crate::EventType(u16::from_str_radix(code, 16).unwrap());
    let version = words.next().unwrap().parse().unwrap();
    let codec = words.next().unwrap().parse().unwrap();
    let digits = words.next().unwrap_or_default();
    let byte = |at| u8::from_str_radix(digits.get(at..at + 2).unwrap(), 16).unwrap();
    let payload: Vec<u8> = (0..digits.len()).step_by(2).map(byte).collect();
    EventData { event_type, version, codec, payload: payload.into() }
}

fn compare<E: Event + PartialEq + std::fmt::Debug>(
    events: Vec<E>,
    golden: &mut std::str::Lines<'_>,
) {
    for event in events {
        let held = golden.next().expect("the golden file has a line for each event");
        assert_eq!(line(&event.encode().unwrap()), held, "{event:?} is written otherwise now");
        assert_eq!(E::decode(&parse(held)).unwrap(), event);
    }
}

#[test]
fn every_payload_is_written_and_read_as_its_golden_bytes() {
    if let Some(path) = std::env::var_os("SCRIPTA_WRITE_GOLDEN_EVENTS") {
        let mut lines: Vec<String> = Vec::new();
        lines.extend(projects().iter().map(|event| line(&event.encode().unwrap())));
        lines.extend(chats().iter().map(|event| line(&event.encode().unwrap())));
        lines.extend(branches().iter().map(|event| line(&event.encode().unwrap())));
        lines.extend(runs().iter().map(|event| line(&event.encode().unwrap())));
        lines.extend(workspace().iter().map(|event| line(&event.encode().unwrap())));
        lines.extend(memory().iter().map(|event| line(&event.encode().unwrap())));
        lines.extend(reviews().iter().map(|event| line(&event.encode().unwrap())));
        std::fs::write(path, lines.join("\n") + "\n").unwrap();
    }
    let mut golden = GOLDEN.lines();
    compare(projects(), &mut golden);
    compare(chats(), &mut golden);
    compare(branches(), &mut golden);
    compare(runs(), &mut golden);
    compare(workspace(), &mut golden);
    compare(memory(), &mut golden);
    compare(reviews(), &mut golden);
    assert_eq!(golden.next(), None);
}

#[test]
fn every_type_of_event_has_golden_bytes() {
    let golden: Vec<_> = GOLDEN.lines().map(|line| parse(line).event_type).collect();
    let sets = [
        WorkspaceEvent::TYPES,
        ProjectEvent::TYPES,
        ChatEvent::TYPES,
        BranchEvent::TYPES,
        RunEvent::TYPES,
        MemoryEvent::TYPES,
        ReviewEvent::TYPES,
    ];
    for (event_type, name) in sets.into_iter().flatten() {
        assert!(golden.contains(event_type), "{name} has none");
    }
}

#[test]
fn what_is_not_an_event_of_the_set_is_named() {
    let good = chats().remove(1).encode().unwrap();
    let event_type = good.event_type;
    let unknown_type = EventData { event_type: crate::EventType(0x3FF), ..good.clone() };
    let unknown_version = EventData { version: 9, ..good.clone() };
    let unknown_codec = EventData { codec: 9, ..good.clone() };
    let longer = EventData { payload: [&good.payload[..], b"x"].concat().into(), ..good.clone() };
    let shorter = EventData { payload: good.payload.slice(1..), ..good.clone() };
    assert_eq!(
        ChatEvent::decode(&unknown_type),
        Err(CodecError::UnknownType { event_type: crate::EventType(0x3FF) })
    );
    assert_eq!(
        ChatEvent::decode(&unknown_version),
        Err(CodecError::UnknownVersion { event_type, version: 9, newest: 1 })
    );
    assert_eq!(
        ChatEvent::decode(&unknown_codec),
        Err(CodecError::UnknownCodec { event_type, codec: 9 })
    );
    for malformed in [longer, shorter] {
        let error = ChatEvent::decode(&malformed).unwrap_err();
        assert!(matches!(error, CodecError::Malformed { .. }), "{error}");
    }
}

#[test]
fn a_length_that_promises_too_much_is_refused_without_the_memory() {
    // A string of 2^60 bytes, says its length.
    let payload = [&[253][..], &(1u64 << 60).to_le_bytes()].concat();
    let good = chats().remove(1).encode().unwrap();
    let error = ChatEvent::decode(&EventData { payload: payload.into(), ..good }).unwrap_err();
    assert!(matches!(error, CodecError::Malformed { .. }), "{error}");
}

#[test]
fn metadata_is_read_as_it_was_written() {
    let meta =
        Meta { actor: Actor::Run { run: RunId(id(4)) }, correlation: Some(id(1)), causation: None };
    let bytes = meta.to_bytes().unwrap();
    assert_eq!(Meta::from_bytes(&bytes), Ok(meta));
    assert!(Meta::from_bytes(&[]).is_err());
    assert!(Meta::from_bytes(&[2]).unwrap_err().contains("version 2"));
}
