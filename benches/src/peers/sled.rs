//! sled: one row an event, by stream and revision.

use std::fs::File;
use std::path::Path;

use super::grouped::Store;
use crate::load::Write;

pub struct Sled {
    events: sled::Db,
    /// The file that sled writes to: its flush asks for less than `fdatasync`.
    file: File,
}

impl Sled {
    pub fn open(folder: &Path) -> anyhow::Result<Sled> {
        // Nothing is flushed but by a write, which waits for it.
        let config = sled::Config::new().path(folder).flush_every_ms(None);
        let events = config.open()?;
        let file = File::options().write(true).open(folder.join("db"))?;
        Ok(Sled { events, file })
    }
}

impl Store for Sled {
    fn write(&mut self, group: &[Write]) -> anyhow::Result<()> {
        let mut batch = sled::Batch::default();
        for write in group {
            for (revision, payload) in (write.after + 1..).zip(&write.events) {
                batch.insert(&row_key(write, revision), payload.as_ref());
            }
        }
        self.events.apply_batch(batch)?;
        self.events.flush()?;
        self.file.sync_data()?;
        Ok(())
    }
}

/// The key of an event's row: its stream and its revision, in their order.
pub fn row_key(write: &Write, revision: u64) -> [u8; 24] {
    let mut key = [0; 24];
    let (stream, place) = key.split_at_mut(16);
    stream.copy_from_slice(write.stream.as_bytes());
    place.copy_from_slice(&revision.to_be_bytes());
    key
}
