//! The real disk: a folder of the file system.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, FlockOperation, OFlags};

use super::ahead::Ahead;
use super::disk::{Disk, DiskFile};

/// The file that a process locks while it has the folder open; it holds the process id.
const LOCK_FILE: &str = "LOCK";

/// A folder of the file system.
#[derive(Debug)]
pub struct FileDisk {
    folder: PathBuf,
}

/// A file of such a folder.
pub struct LogFile {
    file: File,
    /// If it is open for writing.
    ahead: Option<Ahead>,
}

/// A process has the folder to itself until this is dropped.
#[derive(Debug)]
pub struct FolderLock {
    _file: File,
}

/// Why a folder could not be locked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process has it.
    #[error("the folder is in use by {}", holder(.pid))]
    Held {
        /// The holder's process id, if it could be read.
        pid: Option<u32>,
    },
    /// The operating system refused.
    #[error("the folder can't be locked")]
    Io(#[from] io::Error),
}

impl FileDisk {
    /// The folder at `folder`, which is created if it doesn't exist.
    ///
    /// # Errors
    ///
    /// The operating system's.
    pub fn create(folder: &Path) -> io::Result<FileDisk> {
        std::fs::create_dir_all(folder)?;
        if let Some(parent) = folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            File::open(parent)?.sync_all()?;
        }
        Ok(FileDisk::existing(folder))
    }

    /// The folder at `folder`, which must exist.
    pub fn existing(folder: &Path) -> FileDisk {
        FileDisk { folder: folder.to_owned() }
    }

    /// Locks the folder against other processes.
    ///
    /// # Errors
    ///
    /// [`LockError::Held`] if another process has it.
    pub fn lock(&self) -> Result<FolderLock, LockError> {
        let path = self.folder.join(LOCK_FILE);
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let mut text = String::new();
                file.read_to_string(&mut text)?;
                return Err(LockError::Held { pid: text.trim().parse().ok() });
            }
            Err(error) => return Err(LockError::Io(error.into())),
        }
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(std::process::id().to_string().as_bytes())?;
        Ok(FolderLock { _file: file })
    }
}

fn holder(pid: &Option<u32>) -> String {
    match pid {
        Some(pid) => format!("process {pid}; stop it, or use another folder"),
        None => "another process; stop it, or use another folder".to_owned(),
    }
}

impl Disk for FileDisk {
    type File = LogFile;

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.folder)? {
            // A name that is not UTF-8 is none of ours.
            names.extend(entry?.file_name().into_string());
        }
        Ok(names)
    }

    fn open(&self, name: &str, writable: bool) -> io::Result<LogFile> {
        let path = self.folder.join(name);
        let file = OpenOptions::new().read(true).write(writable).open(&path)?;
        let ahead = if writable { Some(ahead(&path)?) } else { None };
        Ok(LogFile { file, ahead })
    }

    fn create(&self, name: &str) -> io::Result<LogFile> {
        let path = self.folder.join(name);
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(true).open(&path)?;
        Ok(LogFile { file, ahead: Some(ahead(&path)?) })
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        std::fs::rename(self.folder.join(from), self.folder.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        std::fs::remove_file(self.folder.join(name))
    }

    fn sync_folder(&self) -> io::Result<()> {
        File::open(&self.folder)?.sync_all()
    }

    fn free_bytes(&self) -> io::Result<u64> {
        let stat = rustix::fs::statvfs(&self.folder)?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
    }
}

/// Zeros ahead of the writer of a file.
fn ahead(path: &Path) -> io::Result<Ahead> {
    let flags = OFlags::DSYNC.bits().cast_signed();
    Ok(Ahead::new(OpenOptions::new().write(true).custom_flags(flags).open(path)?))
}

impl DiskFile for LogFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }

    /// Without filling the buffer with zeros before, which takes a tenth of a sequential read.
    fn read_into(&self, buffer: &mut Vec<u8>, count: usize, offset: u64) -> io::Result<usize> {
        let begin = buffer.len();
        buffer.reserve(count);
        let read = rustix::io::pread(&self.file, rustix::buffer::spare_capacity(buffer), offset)?;
        // There may be more room than was asked for.
        buffer.truncate(begin + count);
        Ok(read.min(count))
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        if let Some(ahead) = &self.ahead {
            ahead.claim(offset..offset + bytes.len() as u64);
        }
        self.file.write_all_at(bytes, offset)
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        let present = self.len()?;
        if len <= present {
            return Ok(());
        }
        match rustix::fs::fallocate(&self.file, FallocateFlags::empty(), present, len - present) {
            // Some file systems can't: then the free-space reserve is what keeps writes whole.
            Err(rustix::io::Errno::OPNOTSUPP) => return self.file.set_len(len),
            result => result?,
        }
        if let Some(ahead) = &self.ahead {
            ahead.allocated(present..len);
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        if let Some(ahead) = &self.ahead {
            // What they would write beyond the new end would make the file longer again.
            ahead.end();
        }
        self.file.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}
