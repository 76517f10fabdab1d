//! A log, a scripted model and a scripted toolbox.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use scripta_actors::{
    Branch, BranchCommand, BranchKey, BranchState, Chat, ChatCommand, ChatState, CommandMeta, Done,
    ExecuteError, Handle, ModelError, ModelEvent, ModelRequest, Models, NewMessage, Options,
    Project, ProjectCommand, RunContext, ToolOutcome, ToolRequest, ToolSession, Toolbox,
    ToolboxError, TurnStatus,
};
use scripta_events::codec::decode;
use scripta_events::domain::{
    Actor, BranchEvent, ChatId, ConnectionId, Message, MessageId, ProjectId, Sender, ToolsetTool,
};
use scripta_events::log::memory::MemoryLog;
use scripta_events::log::{EventLog, Filter};
use scripta_events::{Fingerprint, OperationId};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Long enough that only a fault reaches it.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// One part of a scripted answer.
pub enum Line {
    Say(&'static str),
    Call(&'static str, &'static str),
    Break,
    Fail(ModelError),
    /// Tells [`Script::reached`], then says nothing more.
    Hang,
    /// The provider's code panics.
    Panic,
}

/// Answers that a model gives one after the other; then it echoes the last message.
#[derive(Default)]
pub struct Script {
    answers: Mutex<VecDeque<Vec<Line>>>,
    pub asked: Mutex<Vec<ModelRequest>>,
    pub called: Mutex<Vec<ToolRequest>>,
    pub reached: Notify,
    /// Whether tool calls have no end.
    pub tool_hangs: AtomicBool,
    /// Whether the connection 'leaves' has left.
    pub left: AtomicBool,
    /// While a test holds it, turns that want a connection wait.
    pub gate: Mutex<()>,
}

pub struct World {
    pub log: MemoryLog,
    pub handle: Handle,
    pub script: Arc<Script>,
    pub project: ProjectId,
    pub chat: ChatId,
}

impl World {
    pub async fn new(answers: Vec<Vec<Line>>) -> World {
        World::with(answers, Options::default(), false).await
    }

    pub async fn with(answers: Vec<Vec<Line>>, options: Options, tool_hangs: bool) -> World {
        let script = Script {
            answers: Mutex::new(answers.into()),
            tool_hangs: AtomicBool::new(tool_hangs),
            ..Script::default()
        };
        let (log, script) = (MemoryLog::new(), Arc::new(script));
        let handle = start(&log, &script, options);
        let (project, chat) = (ProjectId::random(), ChatId::random());
        let create = ProjectCommand::Create { name: "Notes".to_owned(), directories: vec![] };
        handle.execute::<Project>(project, create, meta(None)).await.unwrap();
        let create = create_chat(project, "First");
        handle.execute::<Chat>(chat, create, meta(None)).await.unwrap();
        World { log, handle, script, project, chat }
    }

    /// Another process on the same log.
    pub fn another(&self) -> Handle {
        start(&self.log, &self.script, Options::default())
    }

    pub fn branch(&self) -> BranchKey {
        BranchKey { chat: self.chat, branch: self.chat.first_branch() }
    }

    pub async fn submit(&self, text: &str) -> (MessageId, Done<Branch>) {
        let id = MessageId::random();
        (id, self.submit_as(id, text).await.unwrap())
    }

    pub async fn submit_as(
        &self,
        id: MessageId,
        text: &str,
    ) -> Result<Done<Branch>, ExecuteError<Branch>> {
        let command = BranchCommand::enqueue(message(id, text));
        self.handle.execute::<Branch>(self.branch(), command, meta(Some(OperationId(id.0)))).await
    }

    pub async fn finish(&self, message: MessageId) -> TurnStatus {
        self.handle.wait_for_turn(self.branch(), message, PATIENCE).await.unwrap()
    }

    pub async fn branch_state(&self) -> Arc<BranchState> {
        self.handle.state::<Branch>(self.branch()).await.unwrap().unwrap()
    }

    pub async fn chat_state(&self) -> Arc<ChatState> {
        self.handle.state::<Chat>(self.chat).await.unwrap().unwrap()
    }

    /// The messages of a branch's own stream.
    pub async fn messages(&self, branch: BranchKey) -> Vec<Message> {
        let events = self.branch_events(branch).await;
        let appended = events.into_iter().filter_map(|event| match event {
            BranchEvent::MessageAppended(appended) => Some(appended.message),
            _ => None,
        });
        appended.collect()
    }

    pub async fn branch_events(&self, branch: BranchKey) -> Vec<BranchEvent> {
        let stream = branch.branch.stream(branch.chat);
        let events = self.log.read_stream(stream, Default::default());
        events.map(|event| decode(&event.unwrap()).unwrap()).collect().await
    }

    pub async fn count(&self) -> usize {
        let head = *self.log.head().borrow();
        self.log.read_all(Default::default(), Filter::until(head)).count().await
    }
}

fn start(log: &MemoryLog, script: &Arc<Script>, options: Options) -> Handle {
    let (models, tools) = (Arc::new(Player(script.clone())), Arc::new(Player(script.clone())));
    Handle::start(Arc::new(log.clone()), models, tools, options).unwrap()
}

pub fn create_chat(project: ProjectId, title: &str) -> ChatCommand {
    ChatCommand::Create { project, title: title.to_owned(), connection: None, model: None }
}

pub fn create_chat_with(project: ProjectId, connection: &str) -> ChatCommand {
    let connection = Some(ConnectionId(connection.to_owned()));
    ChatCommand::Create { project, title: "x".to_owned(), connection, model: None }
}

pub fn message(id: MessageId, text: &str) -> NewMessage {
    NewMessage::new(id, text, Sender::User)
}

pub fn meta(operation: Option<OperationId>) -> CommandMeta {
    let fingerprint = Fingerprint::of(b"the same");
    CommandMeta { operation, fingerprint, actor: Actor::User, correlation: None }
}

/// The texts of the messages, one each.
pub fn texts(messages: &[Message]) -> Vec<String> {
    let text = |message: &Message| {
        let results = message.parts.iter().filter_map(|part| match part {
            scripta_events::domain::Part::ToolResult(result) => Some(result.text.as_str()),
            _ => None,
        });
        message.texts().chain(results).collect::<String>()
    };
    messages.iter().map(text).collect()
}

struct Player(Arc<Script>);

impl Models for Player {
    fn resolve(
        &self,
        wanted: Option<&ConnectionId>,
        model: Option<&str>,
    ) -> Result<(ConnectionId, Option<String>), ModelError> {
        drop(self.0.gate.lock().unwrap());
        match wanted {
            Some(wanted) if wanted.0 == "panics" => panic!("a scripted panic"),
            Some(wanted)
                if wanted.0 == "gone"
                    || (wanted.0 == "leaves" && self.0.left.load(Ordering::Relaxed)) =>
            {
                Err(ModelError::permanent(format!("no connection '{wanted}'")))
            }
            _ => Ok((ConnectionId("script".to_owned()), model.map(str::to_owned))),
        }
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let echo = request.messages.last().map(|last| texts(std::slice::from_ref(last)).concat());
        self.0.asked.lock().unwrap().push(request);
        let Some(lines) = self.0.answers.lock().unwrap().pop_front() else {
            let echo = format!("echo {}", echo.unwrap_or_default());
            let done = ModelEvent::Done { usage: None };
            return stream::iter([Ok(ModelEvent::Text(echo)), Ok(done)]).boxed();
        };
        let script = self.0.clone();
        let ends = lines.iter().any(|line| !matches!(line, Line::Say(_) | Line::Call(..)));
        let places = stream::iter(lines.into_iter().enumerate());
        let parts = places.filter_map(move |(place, line)| play(line, place, script.clone()));
        let done = stream::iter((!ends).then_some(Ok(ModelEvent::Done { usage: None })));
        parts.chain(done).boxed()
    }
}

async fn play(
    line: Line,
    place: usize,
    script: Arc<Script>,
) -> Option<Result<ModelEvent, ModelError>> {
    match line {
        Line::Say(text) => Some(Ok(ModelEvent::Text(text.to_owned()))),
        Line::Call(name, arguments) => Some(Ok(ModelEvent::ToolCall {
            id: format!("call {place}"),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        })),
        Line::Break => None,
        Line::Fail(error) => Some(Err(error)),
        Line::Hang => {
            script.reached.notify_one();
            futures::future::pending().await
        }
        Line::Panic => panic!("a scripted panic"),
    }
}

impl Toolbox for Player {
    fn open(
        &self,
        _: RunContext,
    ) -> BoxFuture<'static, Result<Arc<dyn ToolSession>, ToolboxError>> {
        let session: Arc<dyn ToolSession> = Arc::new(Player(self.0.clone()));
        async { Ok(session) }.boxed()
    }
}

impl ToolSession for Player {
    fn tools(&self) -> Vec<ToolsetTool> {
        let tool = |server: &str, tool: &str, read_only| ToolsetTool {
            server: server.to_owned(),
            tool: tool.to_owned(),
            description: "Does what it is called.".to_owned(),
            schema: "{}".to_owned(),
            schema_hash: [0; 32],
            read_only,
        };
        vec![
            tool("app", "app_read", true),
            tool("app", "app_memory", false),
            tool("bank", "balance", true),
            tool("bank", "pay", false),
        ]
    }

    fn call(
        &self,
        request: ToolRequest,
        _cancel: CancellationToken,
    ) -> BoxFuture<'static, ToolOutcome> {
        let script = self.0.clone();
        async move {
            let text = format!("read {}", request.arguments);
            script.called.lock().unwrap().push(request);
            if script.tool_hangs.load(Ordering::Relaxed) {
                script.reached.notify_one();
                futures::future::pending::<()>().await;
            }
            ToolOutcome { is_error: false, text, structured: None }
        }
        .boxed()
    }
}
