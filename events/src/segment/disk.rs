//! The trait through which the log reaches the disk, so that a simulator can stand in for it.

use std::io;

/// A folder of files. Names are plain file names without a path.
pub trait Disk: Send + Sync + 'static {
    /// An open file of this disk.
    type File: DiskFile;

    /// The names of all files in the folder, in any order.
    ///
    /// # Errors
    ///
    /// The operating system's.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Opens an existing file; for writing too if `writable`.
    ///
    /// # Errors
    ///
    /// The operating system's; [`io::ErrorKind::NotFound`] if there is none.
    fn open(&self, name: &str, writable: bool) -> io::Result<Self::File>;

    /// Creates an empty file for reading and writing, in place of one of that name.
    ///
    /// # Errors
    ///
    /// The operating system's.
    fn create(&self, name: &str) -> io::Result<Self::File>;

    /// Renames a file, in place of one of the new name.
    ///
    /// # Errors
    ///
    /// The operating system's.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    ///
    /// The operating system's.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes the folder's entries durable: what was created, renamed or removed before.
    ///
    /// # Errors
    ///
    /// The operating system's.
    fn sync_folder(&self) -> io::Result<()>;

    /// How many bytes are free for this process.
    ///
    /// # Errors
    ///
    /// The operating system's.
    fn free_bytes(&self) -> io::Result<u64>;
}

/// An open file. Reads and writes name their offset, so that readers and the writer share it.
pub trait DiskFile: Send + Sync + 'static {
    /// The file's length in bytes.
    ///
    /// # Errors
    ///
    /// The operating system's.
    fn len(&self) -> io::Result<u64>;

    /// Whether the file has no bytes.
    ///
    /// # Errors
    ///
    /// The operating system's.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Reads up to `buffer.len()` bytes from `offset` on; how many there were. 0 is the end.
    ///
    /// # Errors
    ///
    /// The operating system's.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Appends up to `count` bytes from `offset` on to `buffer`; how many there were. 0 is the
    /// end.
    ///
    /// # Errors
    ///
    /// The operating system's.
    fn read_into(&self, buffer: &mut Vec<u8>, count: usize, offset: u64) -> io::Result<usize> {
        let begin = buffer.len();
        buffer.resize(begin + count, 0);
        let read = self.read_at(buffer.get_mut(begin..).unwrap_or_default(), offset);
        buffer.truncate(begin + read.as_ref().map_or(0, |read| *read));
        read
    }

    /// Writes all of `bytes` at `offset`.
    ///
    /// # Errors
    ///
    /// The operating system's; then any part of it may have been written.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Extends the file to `len` bytes, which read as zeros and have their space on the disk, so
    /// that writing to them can't run out of it. Does nothing to a file that is longer.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::StorageFull`] and the operating system's others.
    fn allocate(&self, len: u64) -> io::Result<()>;

    /// Cuts the file to `len` bytes, or extends it with zeros.
    ///
    /// # Errors
    ///
    /// The operating system's.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Makes the file's bytes durable, and what is needed to find them again (`fdatasync`).
    ///
    /// # Errors
    ///
    /// The operating system's; then any of what was written since the last sync may be lost, and
    /// syncing again tells nothing.
    fn sync(&self) -> io::Result<()>;
}

/// Reads exactly `buffer.len()` bytes, unless the file ends before; how many there were.
pub(crate) fn read_full(file: &impl DiskFile, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, offset + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// `count` bytes from `offset` on, or fewer where the file ends before.
pub(crate) fn read_vec(file: &impl DiskFile, count: usize, offset: u64) -> io::Result<Vec<u8>> {
    let mut buffer = Vec::with_capacity(count);
    while buffer.len() < count {
        let filled = buffer.len();
        match file.read_into(&mut buffer, count - filled, offset + filled as u64) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(buffer)
}
