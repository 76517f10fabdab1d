//! Other embedded stores under the same load, each at its best.
//!
//! All of them are called from the same asynchronous tasks as Scripta's log, and answer when what
//! was written is durable. None of them keeps operation ids, a hash chain or checksums of each
//! event, as Scripta does in the same time.

mod fjall;
mod grouped;
mod sled;
mod sqlite;
mod umadb;

use std::path::Path;

use self::grouped::Grouped;
use crate::load::Load;

/// A store to compare with.
#[derive(Clone, Copy)]
pub enum Peer {
    Sqlite,
    UmaDb,
    Sled,
    Fjall,
}

impl Peer {
    pub const ALL: [Peer; 4] = [Peer::Sqlite, Peer::UmaDb, Peer::Sled, Peer::Fjall];

    pub fn name(self) -> &'static str {
        match self {
            Peer::Sqlite => "SQLite, WAL, synchronous=FULL, a transaction a group",
            Peer::UmaDb => "UmaDB, its own writer",
            Peer::Sled => "sled, a batch a group, flush + fdatasync",
            Peer::Fjall => "fjall, a batch a group, SyncData",
        }
    }
}

/// Events a second of a peer under a load, in a new store in this folder.
pub async fn append(peer: Peer, folder: &Path, load: Load) -> anyhow::Result<f64> {
    match peer {
        Peer::Sqlite => grouped(sqlite::Sqlite::open(folder)?, load).await,
        Peer::UmaDb => umadb::append(folder, load).await,
        Peer::Sled => grouped(sled::Sled::open(folder)?, load).await,
        Peer::Fjall => grouped(fjall::Fjall::open(folder)?, load).await,
    }
}

async fn grouped(store: impl grouped::Store, load: Load) -> anyhow::Result<f64> {
    let writer = Grouped::start(store)?;
    let appender = writer.appender();
    let rate = load.drive(move |write| appender.append(write)).await?;
    writer.finish()?;
    Ok(rate)
}
