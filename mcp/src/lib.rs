//! The tool surface of Scripta: the `app` MCP server, and tool sessions of runs.
//!
//! Wire types end here. A call's arguments are repaired, checked and typed, its caller is
//! known from the transport, and what comes of it is rendered: changes go through
//! [`Handle::execute`](scripta_actors::Handle::execute), reads come from the
//! [`Projections`](scripta_projections::Projections) as pages.
//!
//! * What clients show in their own menus, resources and prompts, is read by the same reads.
//! * [`AppServer`] is the server: an rmcp `ServerHandler` for a transport to mount, or
//!   [served on a stream](AppServer::serve_stream).
//! * [`Caller`] is who calls. A transport puts it into a request's extensions.
//! * [`SecretStore`] is where secrets are kept, apart from the log.
//! * [`AppToolbox`] gives runs the same tools, in process.

mod arguments;
mod caller;
mod fingerprint;
mod lists;
mod moments;
mod navigation;
mod pages;
mod prompts;
mod resources;
mod result;
mod scope;
mod secrets;
mod server;
mod stream;
mod toolbox;
mod tools;
mod view;

pub use caller::{Caller, Role, RunScope};
pub use navigation::Navigate;
pub use secrets::{MemorySecrets, Secret, SecretError, SecretName, SecretStore, apply_to};
pub use server::{AppServer, FindCaller, NewServerError, SERVER_NAME};
pub use stream::StreamError;
pub use toolbox::AppToolbox;
