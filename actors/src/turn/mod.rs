//! Carrying a run out: the model is asked, tools are called, and what they answer goes back to
//! the run as commands. Nothing is decided here.

mod ask;
mod briefing;
mod call;
mod history;
mod live;
mod watch;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use scripta_events::Fingerprint;
use scripta_events::domain::Actor;
use scripta_events::log::AppendError;

use self::history::History;
use self::live::LiveTurn;
pub(crate) use self::live::LiveTurns;
pub(crate) use self::watch::Watchers;
use crate::engine::Engine;
use crate::run::Next;
use crate::{
    BranchKey, CommandMeta, ExecuteError, LoadError, Partial, Run, RunCommand, RunContext, RunKey,
    RunState, ToolSession,
};

/// How often an answer is offered to a log that fails for the moment (inclusive), with
/// [`LOG_PAUSE`] between.
const MAX_TELLS: u32 = 10;

/// The pause before an answer is offered to the log again.
const LOG_PAUSE: Duration = Duration::from_secs(1);

/// Carries a run out, one after the other: a run that resumes may still be leaving. Returns at
/// once.
pub(crate) fn start(engine: &Arc<Engine>, run: RunKey) {
    if engine.closing.is_cancelled() {
        return;
    }
    let turn = Turn::of(engine.clone(), run);
    engine.tasks.spawn_on(turn, &engine.runtime);
}

/// Why a turn goes no further.
enum Halt {
    /// It is over, or it was cancelled, or the server shuts down: nothing to record.
    Rest,
    /// It failed.
    Failed { reason: String, partial: Option<Partial> },
    /// The log takes nothing: what is in it stays as it is.
    Unwritten { error: ExecuteError<Run> },
}

struct Turn {
    engine: Arc<Engine>,
    run: RunKey,
    live: LiveTurn,
    history: Option<History>,
    session: Option<Arc<dyn ToolSession>>,
    /// What the model is told before the conversation: the same at each step of the turn.
    briefing: Option<String>,
}

impl Turn {
    async fn of(engine: Arc<Engine>, run: RunKey) {
        loop {
            match engine.live.enter(run) {
                Ok(live) => {
                    let (history, session, briefing) = (None, None, None);
                    let turn = Turn { engine, run, live, history, session, briefing };
                    return turn.carry_out().await;
                }
                Err(leaving) => leaving.cancelled().await,
            }
        }
    }

    async fn carry_out(mut self) {
        let stopped = self.live.aborted();
        let steps = AssertUnwindSafe(self.steps()).catch_unwind();
        let halt = tokio::select! {
            biased;
            () = stopped.cancelled_owned() => return,
            halt = steps => halt,
        };
        let failed = match halt {
            Ok(Halt::Rest) => return,
            Ok(Halt::Failed { reason, partial }) => RunCommand::Failed { reason, partial },
            Ok(Halt::Unwritten { error }) => {
                tracing::error!(run = %self.run, ?error, "a turn's result could not be written");
                return;
            }
            Err(_) => {
                let reason = "an internal error ended this turn; the server's log has it";
                RunCommand::Failed { reason: reason.to_owned(), partial: None }
            }
        };
        if let Err(Halt::Unwritten { error }) = self.tell(failed).await {
            tracing::error!(run = %self.run, ?error, "a turn's failure could not be written");
        }
    }

    /// What the run wants next, one thing after the other. What it is to do is always read from
    /// its state, so that it can be picked up anywhere.
    async fn steps(&mut self) -> Halt {
        let mut state = match self.engine.state::<Run>(self.run).await {
            Ok(Some(state)) => state,
            Ok(None) => return Halt::Rest,
            Err(error) => return Halt::Unwritten { error: error.into() },
        };
        loop {
            if self.engine.closing.is_cancelled() || self.live.is_cancelled() {
                return Halt::Rest;
            }
            let next = match state.next() {
                Next::Rest => return Halt::Rest,
                Next::Prepare => self.prepare(&state).await,
                Next::AskModel { step } => self.ask(&state, step).await,
                Next::Call { step, index, call, again } => {
                    self.call(&state, (step, index), call, again).await
                }
            };
            state = match next {
                Ok(state) => state,
                Err(halt) => return halt,
            };
        }
    }

    async fn prepare(&mut self, state: &RunState) -> Result<Arc<RunState>, Halt> {
        let tools = self.session(state).await?.tools();
        self.tell(RunCommand::Prepared { tools }).await
    }

    async fn session(&mut self, state: &RunState) -> Result<Arc<dyn ToolSession>, Halt> {
        if let Some(session) = &self.session {
            return Ok(session.clone());
        }
        let context = RunContext {
            project: state.project,
            chat: state.chat,
            branch: state.branch,
            run: state.id,
            submitter: state.submitter.clone(),
            interactive: state.interactive,
        };
        let opened = tokio::select! {
            biased;
            () = self.live.cancelled() => return Err(Halt::Rest),
            opened = self.engine.tools.open(context) => opened,
        };
        let failed = |error: crate::ToolboxError| Halt::failed(error.to_string());
        let session = opened.map_err(failed)?;
        self.session = Some(session.clone());
        Ok(session)
    }

    /// What the model is told before the conversation, put together when it is first asked.
    async fn briefing(&mut self, state: &RunState) -> Result<String, Halt> {
        if let Some(text) = &self.briefing {
            return Ok(text.clone());
        }
        let project = self.engine.project(state.project).await?;
        let instructions = project.as_ref().map_or("", |it| it.instructions.text.as_str());
        let told = tokio::select! {
            biased;
            () = self.live.cancelled() => return Err(Halt::Rest),
            told = self.engine.tools.memory(state.project) => told,
        };
        let notes = told.map_err(|error| Halt::failed(error.to_string()))?;
        let text = briefing::text(state, instructions, &notes);
        self.briefing = Some(text.clone());
        Ok(text)
    }

    /// Gives the run an answer from the world, and returns the state that it leads to.
    async fn tell(&self, command: RunCommand) -> Result<Arc<RunState>, Halt> {
        let meta = CommandMeta {
            operation: None,
            fingerprint: Fingerprint([0; 32]),
            actor: Actor::Run { run: self.run.run },
            correlation: None,
        };
        let mut tries = 0;
        loop {
            tries += 1;
            match self.engine.send::<Run>(self.run, command.clone(), meta.clone()).await {
                Ok(done) => return Ok(done.state),
                Err(ExecuteError::Log(error)) if !error.is_retryable() => {
                    return Err(Halt::failed(too_large(&error)));
                }
                Err(ExecuteError::Log(error))
                    if tries < MAX_TELLS && !matches!(error, AppendError::Closed) =>
                {
                    tracing::warn!(run = %self.run, %error, "the log takes nothing; trying again");
                    tokio::time::sleep(LOG_PAUSE).await;
                }
                Err(error) => return Err(Halt::Unwritten { error }),
            }
        }
    }

    fn branch(&self, state: &RunState) -> BranchKey {
        BranchKey { chat: state.chat, branch: state.branch }
    }
}

impl Halt {
    fn failed(reason: impl Into<String>) -> Halt {
        Halt::Failed { reason: reason.into(), partial: None }
    }
}

impl From<LoadError> for Halt {
    fn from(error: LoadError) -> Halt {
        Halt::Unwritten { error: error.into() }
    }
}

fn too_large(error: &AppendError) -> String {
    format!("what came back could not be recorded: {error}")
}
