//! Where the files to measure are, and what the machine does meanwhile.

use std::path::Path;

use anyhow::Context as _;
use tempfile::TempDir;

/// What `statfs` says of a file system that is in memory (`TMPFS_MAGIC` of Linux).
const TMPFS_MAGIC: u64 = 0x0102_1994;

/// A folder that is gone when it is dropped: in `dir`, or beside this program, which is on a real
/// disk where the system's folder for temporary files may be in memory.
pub fn create(dir: Option<&Path>) -> anyhow::Result<TempDir> {
    let program = std::env::current_exe().context("finding this program")?;
    let beside = program.parent().unwrap_or(Path::new("."));
    let dir = dir.unwrap_or(beside);
    let folder = tempfile::Builder::new().prefix("measured-").tempdir_in(dir)?;
    if rustix::fs::statfs(folder.path())?.f_type as u64 == TMPFS_MAGIC {
        eprintln!("{} is in memory: what is durable there costs nothing", dir.display());
    }
    Ok(folder)
}

/// The bytes that the files below a folder take on the disk.
pub fn bytes_on_disk(folder: &Path) -> anyhow::Result<u64> {
    use std::os::unix::fs::MetadataExt as _;
    /// In this unit `stat` counts, whatever the file system's own blocks are.
    const BLOCK: u64 = 512;
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += match metadata.is_dir() {
            true => bytes_on_disk(&entry.path())?,
            false => metadata.blocks() * BLOCK,
        };
    }
    Ok(bytes)
}

/// Keeps the cores from halting while what comes back is held.
pub fn keep_awake() -> anyhow::Result<std::fs::File> {
    use std::io::Write as _;
    const LATENCY: &str = "/dev/cpu_dma_latency";
    let file = std::fs::OpenOptions::new().write(true).open(LATENCY);
    let mut file = file.with_context(|| format!("opening {LATENCY}, as --awake needs"))?;
    // The longest latency that is asked for, in microseconds.
    file.write_all(&0_i32.to_ne_bytes())?;
    Ok(file)
}

/// How many processes wanted to run, averaged over the last minute. This program is one or two
/// of them while it measures.
pub fn machine_load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("unknown").to_owned()
}
