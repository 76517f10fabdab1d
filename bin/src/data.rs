//! The data folder: what lies where, and the files that only its owner may read.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use scripta_events::segment;

use crate::config::Config;
use crate::failure::{Failure, Outcome};
use crate::secrets::SecretKey;

/// Read and write for the owner, nothing for anybody else.
const OWNER_ONLY_FILE: u32 = 0o600;

/// The same for a folder.
const OWNER_ONLY_FOLDER: u32 = 0o700;

/// A data folder.
#[derive(Clone, Debug)]
pub struct DataFolder {
    root: PathBuf,
    segments: segment::Options,
    secret_key: Option<SecretKey>,
}

impl DataFolder {
    /// The folder at this path, whether it is there or not, with a log as it is by default.
    #[cfg(test)]
    pub fn at(root: impl Into<PathBuf>) -> DataFolder {
        DataFolder { root: root.into(), segments: segment::Options::default(), secret_key: None }
    }

    /// The folder that the configuration names, with a log as it says.
    pub fn of(config: &Config) -> DataFolder {
        DataFolder {
            root: config.data.clone(),
            segments: config.segments,
            secret_key: config.secret_key.clone(),
        }
    }

    /// The same folder, whose secrets another key opens.
    #[cfg(test)]
    pub fn with_secret_key(self, key: SecretKey) -> DataFolder {
        DataFolder { secret_key: Some(key), ..self }
    }

    /// The key of its secrets, where the configuration has it.
    pub fn secret_key(&self) -> Option<&SecretKey> {
        self.secret_key.as_ref()
    }

    /// How the log in it keeps its files.
    pub fn segments(&self) -> segment::Options {
        self.segments
    }

    /// Makes the folder, if it is not there, for its owner only.
    pub fn create(&self) -> Outcome {
        make_folder(&self.root)
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The event log: the only truth.
    pub fn log(&self) -> PathBuf {
        self.root.join("log")
    }

    /// The read models and the message index: all derived from the log.
    pub fn projections(&self) -> PathBuf {
        self.root.join("projections")
    }

    /// The key of the person at this machine.
    pub fn admin_key(&self) -> PathBuf {
        self.root.join("admin.key")
    }

    /// The secrets and, unless the configuration has it, their key.
    pub fn secrets(&self) -> PathBuf {
        self.root.join("secrets")
    }

    /// Who serves this folder.
    pub fn server_file(&self) -> PathBuf {
        self.root.join("server.json")
    }

    /// Where uploads are kept while they are read.
    pub fn uploads(&self) -> PathBuf {
        self.root.join("uploads")
    }

    /// Where local clients attach, where the path is short enough for a socket.
    pub fn socket(&self) -> PathBuf {
        self.root.join("scripta.sock")
    }
}

/// Makes a folder and what is missing above it, for the owner only.
pub fn make_folder(path: &Path) -> Outcome {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(OWNER_ONLY_FOLDER);
    builder.create(path).map_err(|error| {
        Failure::failed(format!(
            "the folder {} can't be made ({error}); choose another with --data",
            path.display()
        ))
    })
}

/// Writes a file that only its owner may read, whole or not at all: under another name, synced,
/// then renamed.
pub fn write_private(path: &Path, contents: &[u8]) -> std::io::Result<()> {
    replace_private(path, contents)?;
    sync_folder_of(path)
}

/// The same, without the last step: until [`sync_folder_of`] a power cut may bring the former file
/// back. Where it fails, the former file is there.
pub fn replace_private(path: &Path, contents: &[u8]) -> std::io::Result<()> {
    let mut draft = path.as_os_str().to_owned();
    draft.push(".draft");
    let draft = PathBuf::from(draft);
    let mut file = create_private(&draft)?;
    file.write_all(contents)?;
    file.sync_all()?;
    std::fs::rename(&draft, path)
}

/// Makes durable which files are in the folder of this one.
pub fn sync_folder_of(path: &Path) -> std::io::Result<()> {
    match path.parent() {
        Some(parent) => File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}

/// Creates (or empties) a file that only its owner may read.
pub fn create_private(path: &Path) -> std::io::Result<File> {
    // What an earlier crash left may have other permissions, which `mode` would not change.
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new().write(true).create_new(true).mode(OWNER_ONLY_FILE).open(path)
}
