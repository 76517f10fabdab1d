//! Given, when, then.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use scripta_events::Timestamp;
use scripta_events::domain::{
    Capability, Connection, CredentialOwner, GlobalSettings, PolicyDecision, Provider,
    ToolServerId, Transport, WorkspaceDocuments, WorkspaceId,
};
use uuid::Uuid;

use super::*;
use crate::{NewGrant, NewPolicy, NewSecurity};

struct Given(WorkspaceDocuments);

impl Given {
    fn new() -> Given {
        Given(WorkspaceDocuments::default())
    }

    /// How many events it comes to.
    fn when(&mut self, command: WorkspaceCommand) -> Result<usize, Refusal> {
        let mut facts = WorkspaceFacts { ids: Ids::random() };
        let decision = Workspace::decide(WorkspaceId::THE, Some(&self.0), &command, &mut facts)?;
        for event in &decision.events {
            self.0 = Workspace::evolve(Some(self.0.clone()), event, Timestamp(0)).unwrap();
        }
        Ok(decision.events.len())
    }

    fn connect(&mut self, connection: Connection, new: bool) -> Result<usize, Refusal> {
        self.when(WorkspaceCommand::SetConnection { connection, new, expected_revision: 0 })
    }

    fn serve(&mut self, server: NewToolServer, new: bool) -> Result<usize, Refusal> {
        self.when(WorkspaceCommand::SetToolServer { server, new, expected_revision: 0 })
    }

    fn secure(&mut self, command: SecurityCommand) -> Result<usize, Refusal> {
        self.when(WorkspaceCommand::Security(command))
    }
}

fn connection(name: &str) -> Connection {
    Connection {
        id: Uuid::now_v7(),
        name: name.to_owned(),
        provider: Provider::OpenAi,
        base_url: Some("http://127.0.0.1:1/v1".to_owned()),
        model: "m".to_owned(),
        options: None,
        enabled: true,
        default: false,
        for_subtasks: false,
        rating: None,
        good_for: None,
        prices: None,
    }
}

fn http_server(name: &str) -> NewToolServer {
    NewToolServer {
        id: ToolServerId::random(),
        name: name.to_owned(),
        transport: Transport::StreamableHttp,
        command: None,
        args: vec![],
        env: vec![],
        url: Some("https://h/mcp".to_owned()),
        headers: vec![],
        prefix: None,
        enabled: true,
    }
}

fn policy(tool: &str, decision: PolicyDecision) -> NewPolicy {
    NewPolicy {
        server: "app".to_owned(),
        tool: tool.to_owned(),
        decision,
        rules: vec![],
        silence_timeout_ms: None,
        max_calls_per_run: None,
    }
}

fn grant(path: &str, capabilities: &[Capability]) -> NewGrant {
    NewGrant { id: None, name: None, path: path.to_owned(), capabilities: capabilities.to_vec() }
}

#[test]
fn the_first_default_gives_way_to_the_second() {
    let mut given = Given::new();
    let one = Connection { default: true, ..connection("one") };
    let two = Connection { default: true, ..connection("two") };
    assert_eq!(given.connect(one.clone(), true), Ok(1));
    assert_eq!(given.connect(two.clone(), true), Ok(1));
    assert_eq!(given.0.default_connection().unwrap().value.id, two.id);
    // It was changed, so its revision moved.
    assert_eq!(given.0.connections[&one.id].revision, 2);
    assert_eq!(given.0.connections[&two.id].revision, 1);
    assert_eq!(given.connect(two, false), Ok(0));
}

#[test]
fn marks_of_use_go_when_a_connection_is_disabled() {
    let mut given = Given::new();
    let one = Connection { for_subtasks: true, enabled: false, ..connection("one") };
    given.connect(one.clone(), true).unwrap();
    assert!(!given.0.connections[&one.id].value.for_subtasks);
}

#[test]
fn connections_have_bounds_names_and_no_secrets() {
    let mut given = Given::new();
    given.connect(connection("one"), true).unwrap();
    let wrong = [
        connection("one"),
        connection(""),
        connection("builtin:x"),
        Connection { rating: Some(6), ..connection("a") },
        Connection { base_url: Some("ftp://h".to_owned()), ..connection("a") },
        Connection { base_url: Some("http://u:p@h/v1".to_owned()), ..connection("a") },
        Connection { options: Some("[]".to_owned()), ..connection("a") },
        Connection { options: Some(r#"{"x":{"api_key":"s"}}"#.to_owned()), ..connection("a") },
    ];
    for wrong in wrong {
        let refused = given.connect(wrong.clone(), true);
        assert!(matches!(refused, Err(Refusal::Invalid { .. })), "{wrong:?}: {refused:?}");
    }
    let options = Some(r#"{"max_tokens":5}"#.to_owned());
    given.connect(Connection { options, ..connection("a") }, true).unwrap();
}

#[test]
fn what_was_deleted_is_gone_and_what_never_was_is_not_found() {
    let mut given = Given::new();
    let one = connection("one");
    let id = one.id;
    let delete = || WorkspaceCommand::DeleteConnection { connection: id, expected_revision: 1 };
    assert_eq!(given.when(delete()), Err(Refusal::NotFound { what: "connection", id }));
    given.connect(one.clone(), true).unwrap();
    assert_eq!(given.when(delete()), Ok(1));
    let gone = Err(Refusal::Gone { what: "connection", id });
    assert_eq!(given.when(delete()), gone);
    assert_eq!(given.connect(one, false), gone);
}

#[test]
fn documents_have_revisions_of_their_own() {
    let mut given = Given::new();
    let one = connection("one");
    given.connect(one.clone(), true).unwrap();
    let settings = GlobalSettings { name: Some("W".to_owned()), ..GlobalSettings::default() };
    let set = WorkspaceCommand::SetSettings { settings, expected_revision: 0 };
    assert_eq!(Workspace::document_revision(&given.0, &set), Some(0));
    assert_eq!(given.when(set.clone()), Ok(1));
    assert_eq!(given.when(set.clone()), Ok(0));
    assert_eq!(Workspace::document_revision(&given.0, &set), Some(1));
    let again =
        WorkspaceCommand::SetConnection { connection: one, new: false, expected_revision: 1 };
    assert_eq!(Workspace::document_revision(&given.0, &again), Some(1));
}

#[test]
fn bundled_servers_can_be_disabled_and_nothing_else() {
    let mut given = Given::new();
    let app = NewToolServer {
        id: ToolServerId::APP,
        transport: Transport::InProcess,
        url: None,
        ..http_server("app")
    };
    assert_eq!(given.serve(app.clone(), false), Ok(0));
    assert_eq!(given.serve(NewToolServer { enabled: false, ..app.clone() }, false), Ok(1));
    assert!(given.serve(NewToolServer { name: "mine".to_owned(), ..app.clone() }, false).is_err());
    assert!(given.serve(NewToolServer { transport: Transport::Stdio, ..app }, false).is_err());
    let delete =
        WorkspaceCommand::DeleteToolServer { server: ToolServerId::FILES, expected_revision: 0 };
    assert!(matches!(given.when(delete), Err(Refusal::Refused { .. })));
}

#[test]
fn a_blank_secret_keeps_the_stored_one() {
    let mut given = Given::new();
    let header = |digest| vec![GivenSecret { name: "Authorization".to_owned(), digest }];
    let server = NewToolServer { headers: header(Some([1; 32])), ..http_server("ext") };
    let blank = NewToolServer { headers: header(None), ..server.clone() };
    assert!(given.serve(blank.clone(), true).is_err());
    assert_eq!(given.serve(server.clone(), true), Ok(1));
    assert_eq!(given.serve(blank, false), Ok(0));
    assert_eq!(given.0.servers[&server.id].value.headers[0].digest, Some([1; 32]));
    assert_eq!(given.serve(NewToolServer { headers: vec![], ..server }, false), Ok(1));
}

#[test]
fn secrets_are_recorded_by_owner() {
    let mut given = Given::new();
    let one = connection("one");
    let owner = CredentialOwner::Connection { connection: one.id };
    let set = WorkspaceCommand::SetCredential { owner: owner.clone() };
    let clear = WorkspaceCommand::ClearCredential { owner };
    assert!(matches!(given.when(set.clone()), Err(Refusal::NotFound { .. })));
    given.connect(one.clone(), true).unwrap();
    assert_eq!(given.when(clear.clone()), Ok(0));
    assert_eq!(given.when(set), Ok(1));
    assert!(given.0.connections[&one.id].credential);
    assert_eq!(given.0.connections[&one.id].revision, 1);
    assert_eq!(given.when(clear), Ok(1));
    let name = "Authorization".to_owned();
    let owner = CredentialOwner::Header { server: ToolServerId::APP, name };
    assert!(given.when(WorkspaceCommand::SetCredential { owner }).is_err());
}

#[test]
fn policies_and_grants_change_the_security_document() {
    use {Capability as C, PolicyDecision as D};
    let mut given = Given::new();
    let set = |it| SecurityCommand::SetPolicy { policy: it };
    assert_eq!(given.secure(set(policy("app_chats", D::Allow))), Ok(1));
    assert_eq!(given.secure(set(policy("app_chats", D::Allow))), Ok(0));
    assert_eq!(given.secure(set(policy("app_chats", D::Deny))), Ok(1));
    assert_eq!(given.0.security.security.policies.len(), 1);
    // A global policy binds nothing.
    assert!(given.0.security.security.servers.is_empty());
    let unknown = NewPolicy { server: "nobody".to_owned(), ..policy("t", D::Ask) };
    assert!(matches!(given.secure(set(unknown)), Err(Refusal::Invalid { .. })));

    let add = |path: &str, may: &[C]| SecurityCommand::AddGrant {
        grant: grant(path, may),
        expected_revision: 2,
    };
    assert_eq!(given.secure(add("/", &[C::Write, C::Read])), Ok(1));
    assert_eq!(given.secure(add("/", &[C::Read])), Ok(0));
    assert_eq!(given.secure(add("/", &[C::Delete])), Ok(1));
    let held = given.0.security.security.grants[0].clone();
    assert_eq!(held.capabilities, [C::Read, C::Write, C::Delete]);
    assert!(given.secure(add("srv", &[C::Read])).is_err());
    assert!(given.secure(add("/srv", &[])).is_err());
    let remove = || SecurityCommand::RemoveGrant { grant: held.id, expected_revision: 4 };
    assert_eq!(given.secure(remove()), Ok(1));
    assert!(matches!(given.secure(remove()), Err(Refusal::NotFound { .. })));
    assert_eq!(given.0.security.revision, 5);
}

#[test]
fn a_document_is_replaced_whole() {
    use PolicyDecision as D;
    let mut given = Given::new();
    let set = |security| SecurityCommand::Set { security, expected_revision: 0 };
    let one = NewSecurity {
        policies: vec![policy("a", D::Allow)],
        grants: vec![grant("/srv", &[Capability::Read])],
        ..NewSecurity::default()
    };
    assert_eq!(given.secure(set(one.clone())), Ok(1));
    // Without its id, a grant of the same path is the same grant.
    assert_eq!(given.secure(set(one)), Ok(0));
    let twice = vec![policy("a", D::Allow), policy("a", D::Deny)];
    let twice = NewSecurity { policies: twice, ..NewSecurity::default() };
    assert!(given.secure(set(twice)).is_err());
    assert_eq!(given.secure(set(NewSecurity::default())), Ok(1));
    assert_eq!(given.0.security.revision, 2);
}
