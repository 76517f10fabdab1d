//! fjall: one row an event, by stream and revision; a batch a group, durable by `SyncData`.

use std::path::Path;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};

use super::grouped::Store;
use super::sled::row_key;
use crate::load::Write;

pub struct Fjall {
    database: Database,
    events: Keyspace,
}

impl Fjall {
    pub fn open(folder: &Path) -> anyhow::Result<Fjall> {
        let database = Database::builder(folder).open()?;
        let events = database.keyspace("events", KeyspaceCreateOptions::default)?;
        Ok(Fjall { database, events })
    }
}

impl Store for Fjall {
    fn write(&mut self, group: &[Write]) -> anyhow::Result<()> {
        let mut batch = self.database.batch().durability(Some(PersistMode::SyncData));
        for write in group {
            for (revision, payload) in (write.after + 1..).zip(&write.events) {
                batch.insert(&self.events, row_key(write, revision), payload.as_ref());
            }
        }
        batch.commit()?;
        Ok(())
    }
}
