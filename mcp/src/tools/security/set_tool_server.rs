//! Making or replacing a tool server, with the secrets in its environment and headers.

use std::collections::BTreeMap;

use scripta_actors::{GivenSecret, NewToolServer, WorkspaceCommand};
use scripta_events::domain::{SecretValue, ToolServerId, WorkspaceDocuments};

use super::SecurityArguments;
use super::credential::{check_length, check_secret, header_name, stale};
use super::document::{SecurityDocumentView, Which, applied, execute, workspace};
use super::server_argument::{ServerArgument, ToolServerArgument};
use crate::arguments::{Shape, required};
use crate::result::{Outcome, Rejected, sentence_of};
use crate::secrets::{Secret, SecretName, SecretStore};
use crate::tools::{Call, operation};

const SHAPE: Shape =
    operation!("SetToolServer", required: ["server", "expectedRevision"], one_of: [], optional: []);

/// The fact comes first, and the secrets after it: a call that broke off in between is made whole
/// by its repeat, since a value is stored wherever the present document has its digest.
pub(super) async fn run(
    call: &Call<'_>,
    arguments: SecurityArguments,
) -> Outcome<SecurityDocumentView> {
    let meta = call.command(&SHAPE, arguments.operation_id)?;
    let server = required(arguments.server, SHAPE.operation, "server")?;
    let ServerArgument::Server(mut server) = server else {
        return Err(Rejected::refused("`server` must be the whole tool server, not its name"));
    };
    check_values(&mut server)?;
    let expected_revision =
        required(arguments.expected_revision, SHAPE.operation, "expectedRevision")?;
    let _gate = call.app.secrets.gate.lock().await;
    let known = server.id.map(|id| ToolServerId(id.0));
    let id = known.unwrap_or_else(ToolServerId::random);
    let (variables, headers) = (secrets(&server.env), secrets(&server.headers));
    let store = &*call.app.secrets.store;
    let server = new_server(*server, id, store);
    let command =
        WorkspaceCommand::SetToolServer { server, new: known.is_none(), expected_revision };
    let done = execute(call, meta, command, Which::Server(id)).await?;
    // A repeated creation is about the server that the first one made.
    let id = known.or(done.state.last.map(ToolServerId)).unwrap_or(id);
    let now = workspace(call).await?;
    let mut changes = changes(&now, id, (&variables, &headers), store);
    changes.extend(stale(&now, id, store));
    let changed = call.app.secrets.change(changes).await;
    changed.map_err(|error| {
        let why = sentence_of(&error);
        Rejected::refused(format!("The server was set, but a secret of it was not: {why}"))
    })?;
    let name = done.state.servers.get(&id).map(|it| it.value.name.as_str()).unwrap_or_default();
    let phrase = match (done.receipt.events, known) {
        (0, _) => format!("The tool server '{name}' was like that already"),
        (_, None) => format!("Made the tool server '{name}'"),
        (_, Some(_)) => format!("Changed the tool server '{name}'"),
    };
    applied(&done, Which::Server(id), phrase)
}

/// That the values are ones that can be sent; and one spelling for each header, whose case says
/// nothing.
fn check_values(server: &mut ToolServerArgument) -> Result<(), Rejected<SecurityDocumentView>> {
    for (name, value) in server.env.iter().flatten() {
        check_length(&format!("server.env.{name}"), value)?;
        if value.contains('\0') {
            let text = format!("`server.env.{name}` has a NUL, which no variable can have");
            return Err(Rejected::refused(text));
        }
    }
    let Some(given) = server.headers.take() else { return Ok(()) };
    let mut headers = BTreeMap::new();
    for (name, value) in given {
        check_secret(&format!("server.headers.{name}"), &value)?;
        let name = header_name(&name);
        if headers.contains_key(&name) {
            let text =
                format!("`server.headers` has '{name}' twice; upper case makes no difference");
            return Err(Rejected::refused(text));
        }
        headers.insert(name, value);
    }
    server.headers = Some(headers);
    Ok(())
}

/// The values that were given; a blank one keeps what is stored.
fn secrets(values: &Option<BTreeMap<String, String>>) -> BTreeMap<String, Secret> {
    let given = values.iter().flatten().filter(|(_, value)| !value.is_empty());
    given.map(|(name, value)| (name.clone(), Secret::new(value.clone()))).collect()
}

fn new_server(
    server: ToolServerArgument,
    id: ToolServerId,
    store: &dyn SecretStore,
) -> NewToolServer {
    let given = |values: Option<BTreeMap<String, String>>| {
        let values = values.unwrap_or_default().into_iter().map(|(name, value)| GivenSecret {
            name,
            digest: (!value.is_empty()).then(|| store.digest(&Secret::new(value))),
        });
        values.collect()
    };
    NewToolServer {
        id,
        name: server.name,
        transport: server.transport.into(),
        command: server.command,
        args: server.args.unwrap_or_default(),
        env: given(server.env),
        url: server.url,
        headers: given(server.headers),
        prefix: server.prefix,
        enabled: server.enabled,
    }
}

/// What to store: the given values that are those of the present document.
fn changes(
    now: &WorkspaceDocuments,
    id: ToolServerId,
    (variables, headers): (&BTreeMap<String, Secret>, &BTreeMap<String, Secret>),
    store: &dyn SecretStore,
) -> Vec<(SecretName, Option<Secret>)> {
    let Some(document) = now.servers.get(&id) else { return Vec::new() };
    let holds = |values: &[SecretValue], name: &str, secret: &Secret| {
        let digest = Some(store.digest(secret));
        values.iter().any(|value| value.name == name && value.digest == digest)
    };
    let mut changes = Vec::new();
    for (name, secret) in variables {
        if holds(&document.value.env, name, secret) {
            changes.push((SecretName::Variable(id, name.clone()), Some(secret.clone())));
        }
    }
    for (name, secret) in headers {
        if holds(&document.value.headers, name, secret) {
            changes.push((SecretName::Header(id, name.clone()), Some(secret.clone())));
        }
    }
    changes
}
