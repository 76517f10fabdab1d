//! The App tools: what is advertised, and who answers a call.
//!
//! A tool has a folder, and each of its operations (or resources) a file with the arguments that
//! it takes, what it does, and what it answers.

mod chats;
mod instructions;
mod memory;
mod navigate;
mod projects;
mod read;
mod resources;
mod runs;
mod security;

use std::sync::LazyLock;

use rmcp::model::{CallToolResult, JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use scripta_actors::CommandMeta;
use scripta_events::OperationId;
use scripta_projections::{ProjectionName, Projections, Thing};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::arguments::{ArgumentError, InputSchema, Shape, input_schema, output_schema, repair};
use crate::fingerprint::fingerprint;
use crate::result::{self, ChangeResult, PageResult};
use crate::scope::{self, ScopeError};
use crate::server::App;
use crate::tools::security::SecurityDocumentView;
use crate::view::{ChatView, EffectView, Id, InstructionsView, MemoryView, ProjectView, TurnView};
use crate::{Caller, Role};

pub(crate) use read::ReadError;

/// Arguments that every operation of a changing tool takes.
macro_rules! operation {
    ($operation:literal, required: [$($required:literal),*], one_of: [$($one:literal),*],
     optional: [$($optional:literal),*]) => {
        $crate::arguments::Shape {
            operation: $operation,
            required: &[$($required),*],
            one_of: &[$($one),*],
            optional: &[$($optional,)* "operationId", "dryRun"],
        }
    };
}
pub(crate) use operation;

/// One tool.
pub(crate) struct Definition {
    /// What is advertised.
    pub(crate) tool: Tool,
    /// What the caller must be allowed.
    pub(crate) needs: Role,
    input: InputSchema,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    Read,
    Chats,
    Runs,
    Projects,
    Security,
    Resources,
    Memory,
    Instructions,
    Navigate,
}

/// One call of a tool, with arguments that the schema allows.
pub(crate) struct Call<'a> {
    pub(crate) app: &'a App,
    pub(crate) caller: &'a Caller,
    pub(crate) tool: &'a str,
    pub(crate) arguments: JsonObject,
    /// Cancelled when the caller no longer wants the answer.
    pub(crate) cancel: &'a CancellationToken,
}

/// All tools, in the order that they are listed.
pub(crate) static TOOLS: LazyLock<Vec<Definition>> = LazyLock::new(|| {
    vec![
        Definition::new::<read::ReadArguments, PageResult>(
            Kind::Read,
            ("app_read", "Read projects, chats, messages and runs", read::DESCRIPTION),
            annotations(true, false, true, false),
        ),
        Definition::new::<chats::ChatsArguments, ChangeResult<ChatView>>(
            Kind::Chats,
            ("app_chats", "Make, change and delete chats", chats::DESCRIPTION),
            // A new title takes the place of the old one.
            annotations(false, true, false, false),
        ),
        Definition::new::<runs::RunsArguments, ChangeResult<TurnView>>(
            Kind::Runs,
            ("app_runs", "Submit messages and stop turns", runs::DESCRIPTION),
            annotations(false, false, false, true),
        ),
        Definition::new::<projects::ProjectsArguments, ChangeResult<ProjectView>>(
            Kind::Projects,
            ("app_projects", "Make, change and delete projects", projects::DESCRIPTION),
            annotations(false, true, false, false),
        ),
        Definition::new::<security::SecurityArguments, ChangeResult<SecurityDocumentView>>(
            Kind::Security,
            ("app_security", "Change settings and who may do what", security::DESCRIPTION),
            annotations(false, true, false, false),
        ),
        Definition::new::<resources::ResourcesArguments, ChangeResult<resources::Document>>(
            Kind::Resources,
            ("app_resources", "Refer to files, review changes", resources::DESCRIPTION),
            annotations(false, false, false, false),
        ),
        Definition::new::<memory::MemoryArguments, ChangeResult<MemoryView>>(
            Kind::Memory,
            ("app_memory", "Write long-term memory", memory::DESCRIPTION),
            annotations(false, true, false, false),
        ),
        Definition::new::<instructions::InstructionsArguments, ChangeResult<InstructionsView>>(
            Kind::Instructions,
            ("app_instructions", "Write a project's instructions", instructions::DESCRIPTION),
            annotations(false, false, true, false),
        ),
        Definition::new::<navigate::NavigateArguments, ChangeResult<navigate::NavigationView>>(
            Kind::Navigate,
            ("app_navigate", "Show something in the person's window", navigate::DESCRIPTION),
            annotations(false, false, true, false),
        ),
    ]
});

/// The tool of this name, whoever may see it.
pub(crate) fn find(name: &str) -> Option<&'static Definition> {
    TOOLS.iter().find(|definition| definition.tool.name == name)
}

impl Definition {
    fn new<A: JsonSchema, R: JsonSchema>(
        kind: Kind,
        (name, title, description): (&'static str, &'static str, &'static str),
        annotations: ToolAnnotations,
    ) -> Definition {
        let input = input_schema::<A>();
        let needs = match kind {
            Kind::Read => Role::Reader,
            Kind::Security => Role::Admin,
            _ => Role::User,
        };
        let mut annotations = annotations;
        annotations.title = Some(title.to_owned());
        let tool = Tool::new(name, description, input.object.clone())
            .with_title(title)
            .with_raw_output_schema(output_schema::<R>())
            .with_annotations(annotations);
        Definition { tool, needs, input, kind }
    }

    /// Whether the tool takes an argument of this name.
    pub(crate) fn takes(&self, argument: &str) -> bool {
        let properties = self.input.object.get("properties").and_then(Value::as_object);
        properties.is_some_and(|properties| properties.contains_key(argument))
    }

    /// Whether the tool only reads.
    pub(crate) fn is_read_only(&self) -> bool {
        matches!(self.kind, Kind::Read)
    }

    /// Puts the slips right that models often make.
    pub(crate) fn repair(&self, arguments: &mut JsonObject) {
        repair(&self.input.object, arguments);
    }

    /// Answers a call: repairs the arguments, checks them, and does what they ask.
    pub(crate) async fn call(
        &self,
        app: &App,
        caller: &Caller,
        mut arguments: JsonObject,
        cancel: &CancellationToken,
    ) -> CallToolResult {
        self.repair(&mut arguments);
        let tool = &*self.tool.name;
        let arguments = match self.input.check(tool, arguments) {
            Ok(arguments) => arguments,
            Err(error) if self.is_read_only() => return result::read(Err(error)),
            Err(error) => return result::change::<()>(Err(error.into())),
        };
        let call = Call { app, caller, tool, arguments, cancel };
        match self.kind {
            Kind::Read => result::read(read::call(call).await),
            Kind::Chats => result::change(chats::call(call).await),
            Kind::Runs => result::change(runs::call(call).await),
            Kind::Projects => result::change(projects::call(call).await),
            Kind::Security => result::change(security::call(call).await),
            Kind::Resources => result::change(resources::call(call).await),
            Kind::Memory => result::change(memory::call(call).await),
            Kind::Instructions => result::change(instructions::call(call).await),
            Kind::Navigate => result::change(navigate::call(call).await),
        }
    }
}

/// A page of `app_read`, for arguments that are known to be well formed.
pub(crate) async fn read_page(
    app: &App,
    caller: &Caller,
    arguments: JsonObject,
    cancel: &CancellationToken,
) -> Result<PageResult, ReadError> {
    read::call(Call { app, caller, tool: "app_read", arguments, cancel }).await
}

impl Call<'_> {
    /// The checks that all changes share, and what goes with the command: who asks, under which
    /// operation, for what.
    pub(crate) fn command(
        &self,
        shape: &Shape,
        operation: Option<Id>,
    ) -> Result<CommandMeta, ArgumentError> {
        shape.check(&self.arguments)?;
        if self.arguments.get("dryRun") == Some(&Value::Bool(true)) {
            return Err(ArgumentError::NoDryRun { operation: shape.operation });
        }
        Ok(self.meta(operation))
    }

    /// The same for an operation that destroys: it is rehearsed unless the caller says that it is
    /// not. `None` for a rehearsal.
    pub(crate) fn deletion(
        &self,
        shape: &Shape,
        operation: Option<Id>,
    ) -> Result<Option<CommandMeta>, ArgumentError> {
        shape.check(&self.arguments)?;
        let for_real = self.arguments.get("dryRun") == Some(&Value::Bool(false));
        Ok(for_real.then(|| self.meta(operation)))
    }

    fn meta(&self, operation: Option<Id>) -> CommandMeta {
        let operation = operation.map(|id| OperationId(id.0));
        CommandMeta {
            operation,
            fingerprint: fingerprint(self.caller.id(), self.tool, &self.arguments),
            actor: self.caller.actor().clone(),
            correlation: operation.map(|operation| operation.0),
        }
    }

    /// What a deletion would take, as of a position that is told.
    pub(crate) async fn effect(&self, thing: Thing) -> Result<(EffectView, u64), ScopeError> {
        let position = self.app.reached(&[ProjectionName::Chats]).await?;
        let look = move |projections: &Projections| Ok(projections.losses(thing)?);
        let losses = scope::look_up::<_, ScopeError>(self.app, look).await?;
        Ok((losses.into(), position.0))
    }
}

fn annotations(reads: bool, destroys: bool, idempotent: bool, open: bool) -> ToolAnnotations {
    ToolAnnotations::new()
        .read_only(reads)
        .destructive(destroys)
        .idempotent(idempotent)
        .open_world(open)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_can_be_checked_against() {
        for definition in TOOLS.iter() {
            let told = definition.input.check(&definition.tool.name, JsonObject::new());
            assert!(matches!(told, Err(ArgumentError::MissingChoice { .. })), "{told:?}");
        }
    }
}
