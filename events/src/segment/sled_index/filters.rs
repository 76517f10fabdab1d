//! The filters as rows: one a segment over its commits, one over its streams, and those over all.

use xorf::{BinaryFuse8, Descriptor};

use super::bloom::Bloom;
use super::index_error;
use super::rows::Row;
use crate::log::ReadError;
use crate::segment::format::Fields;

/// A filter over hashes; `None` for nothing.
pub(super) fn filter(mut hashes: Vec<u64>) -> Result<Option<BinaryFuse8>, ReadError> {
    hashes.sort_unstable();
    hashes.dedup();
    if hashes.is_empty() {
        return Ok(None);
    }
    BinaryFuse8::try_from(&hashes).map(Some).map_err(index_error)
}

/// A filter as an `x` or a `y` row: its descriptor, then a byte for each fingerprint.
pub(super) fn filter_row(filter: &BinaryFuse8) -> Vec<u8> {
    let Descriptor { seed, segment_length, segment_length_mask, segment_count_length } =
        filter.descriptor;
    let mut row = Vec::with_capacity(20 + filter.fingerprints.len());
    row.extend_from_slice(&seed.to_le_bytes());
    for length in [segment_length, segment_length_mask, segment_count_length] {
        row.extend_from_slice(&length.to_le_bytes());
    }
    row.extend_from_slice(&filter.fingerprints);
    row
}

pub(super) fn filter_of(row: &[u8]) -> Option<BinaryFuse8> {
    let mut fields = Fields(row);
    let descriptor = Descriptor {
        seed: fields.u64()?,
        segment_length: fields.u32()?,
        segment_length_mask: fields.u32()?,
        segment_count_length: fields.u32()?,
    };
    Some(BinaryFuse8 { descriptor, fingerprints: fields.0.into() })
}

/// Adds hashes to a filter over all, and the parts that changed to `rows`.
pub(super) fn add_to_bloom(
    kind: u8,
    bloom: &mut Bloom,
    hashes: impl Iterator<Item = u64>,
    rows: &mut Vec<Row>,
) {
    let before = bloom.parts().len().saturating_sub(1);
    bloom.extend(hashes);
    for (number, part) in bloom.parts().iter().enumerate().skip(before) {
        let mut key = vec![kind];
        key.extend_from_slice(&(number as u32).to_be_bytes());
        let mut row = part.to_row();
        row.extend_from_slice(&crc32c::crc32c(&row).to_le_bytes());
        rows.push((key, row));
    }
}
