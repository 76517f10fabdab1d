//! The raw disk: what the log's figures are compared with.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::FallocateFlags;

/// How much a preallocated file gets ahead at once, in bytes: as much as a segment of the log.
const AHEAD: u64 = 4 * 1024 * 1024;

/// How a file gets its space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// With each write.
    Growing,
    /// A piece ahead of the writes, by `fallocate`, which is synced too.
    Preallocated,
}

impl Space {
    pub const ALL: [Space; 2] = [Space::Growing, Space::Preallocated];

    pub fn name(self) -> &'static str {
        match self {
            Space::Growing => "growing file",
            Space::Preallocated => "preallocated file",
        }
    }
}

/// Events a second of a loop that writes perfect groups of `group` events of `size` bytes, each
/// group with one write and one `fdatasync`.
pub fn append(
    folder: &Path,
    space: Space,
    group: usize,
    size: usize,
    time: Duration,
) -> anyhow::Result<f64> {
    let path = folder.join("raw");
    let file = File::create(&path)?;
    let bytes = vec![0x5A; group * size];
    let (mut end, mut allocated, mut events) = (0, 0, 0);
    let begin = Instant::now();
    while begin.elapsed() < time {
        let next = end + bytes.len() as u64;
        if space == Space::Preallocated && next > allocated {
            let length = next.next_multiple_of(AHEAD) - allocated;
            rustix::fs::fallocate(&file, FallocateFlags::empty(), allocated, length)?;
            file.sync_data()?;
            allocated += length;
        }
        file.write_all_at(&bytes, end)?;
        file.sync_data()?;
        end = next;
        events += group;
    }
    let rate = events as f64 / begin.elapsed().as_secs_f64();
    std::fs::remove_file(&path)?;
    Ok(rate)
}

/// Bytes a second of reading these files with `read` and a CRC-32C over them, and how many bytes
/// they have.
pub fn read(files: &[std::path::PathBuf]) -> anyhow::Result<(f64, u64)> {
    let mut buffer = vec![0; 256 * 1024];
    let begin = Instant::now();
    let (mut total, mut crc) = (0, 0);
    for path in files {
        let mut file = File::open(path)?;
        loop {
            let count = file.read(&mut buffer)?;
            if count == 0 {
                break;
            }
            crc = crc32c::crc32c_append(crc, buffer.get(..count).unwrap_or_default());
            total += count as u64;
        }
    }
    let rate = total as f64 / begin.elapsed().as_secs_f64();
    std::hint::black_box(crc);
    Ok((rate, total))
}
