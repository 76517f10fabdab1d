//! SQLite: a table of events, unique by stream and revision; a transaction a group.

use std::path::Path;

use rusqlite::{Connection, params};

use super::grouped::Store;
use crate::load::Write;

pub struct Sqlite {
    connection: Connection,
}

impl Sqlite {
    pub fn open(folder: &Path) -> anyhow::Result<Sqlite> {
        let connection = Connection::open(folder.join("events.sqlite"))?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "full")?;
        // Larger than the defaults, which are for small machines: 64 MiB of pages, and a
        // checkpoint every 16 MiB.
        connection.pragma_update(None, "cache_size", -64 * 1024)?;
        connection.pragma_update(None, "wal_autocheckpoint", 4096)?;
        connection.execute_batch(
            "CREATE TABLE events (
                position INTEGER PRIMARY KEY,
                stream BLOB NOT NULL,
                revision INTEGER NOT NULL,
                type INTEGER NOT NULL,
                payload BLOB NOT NULL,
                UNIQUE (stream, revision)
            )",
        )?;
        Ok(Sqlite { connection })
    }
}

impl Store for Sqlite {
    fn write(&mut self, group: &[Write]) -> anyhow::Result<()> {
        let transaction = self.connection.transaction()?;
        let mut insert = transaction.prepare_cached(
            "INSERT INTO events (stream, revision, type, payload) VALUES (?1, ?2, 1, ?3)",
        )?;
        for write in group {
            let mut revision = i64::try_from(write.after)?;
            for payload in &write.events {
                revision += 1;
                insert.execute(params![write.stream.as_bytes(), revision, payload.as_ref()])?;
            }
        }
        drop(insert);
        transaction.commit()?;
        Ok(())
    }
}
