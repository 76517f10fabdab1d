//! The raw disk: what the log's figures are compared with.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

/// Events a second of a loop that writes perfect groups of `group` events of `size` bytes, each
/// group with one write and one `fdatasync`.
pub fn append(folder: &Path, group: usize, size: usize, time: Duration) -> anyhow::Result<f64> {
    let path = folder.join("raw");
    let mut file = File::create(&path)?;
    let bytes = vec![0x5A; group * size];
    let begin = Instant::now();
    let mut events = 0;
    while begin.elapsed() < time {
        file.write_all(&bytes)?;
        file.sync_data()?;
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
