//! What tells quickly that an id is in no sealed segment at all: blocked Bloom filters.
//!
//! A filter is a list of parts of growing capacity; the last one takes what is new. So a lookup
//! costs one cache line a part, and their number hardly grows with the log. Each part is a row
//! apart, and only the last one is written again when a segment is stored.
//!
//! After F. Putze, P. Sanders, J. Singler, "Cache-, hash- and space-efficient Bloom filters"
//! (2007): every id has all its bits in one block of a cache line.

use std::sync::Arc;

/// The words of a block: a cache line of 64 bytes.
const BLOCK_WORDS: usize = 8;

/// The bits that an id sets in its block, each chosen by nine bits of its hash.
const BITS_AN_ID: u32 = 7;

/// The words of a part for each thousand ids of its capacity: 12 bits an id, at which about one
/// lookup in two hundred is wrongly told "perhaps".
const WORDS_A_THOUSAND: usize = 12 * 1000 / 64;

/// The capacity of the first part; each next has four times as many, up to the largest.
const FIRST_CAPACITY: usize = 16_000;

/// The largest capacity of a part: six megabytes, which are copied when a segment is stored.
const LARGEST_CAPACITY: usize = 4_096_000;

/// A set of hashes that may wrongly contain some, and never misses one.
#[derive(Clone, Default)]
pub(super) struct Bloom {
    parts: Vec<Arc<Part>>,
}

#[derive(Clone)]
pub(super) struct Part {
    ids: usize,
    words: Vec<u64>,
}

impl Bloom {
    pub fn contains(&self, hash: u64) -> bool {
        self.parts.iter().any(|part| part.contains(hash))
    }

    /// Adds hashes; the numbers of the parts that changed follow from the count before.
    pub fn extend(&mut self, hashes: impl IntoIterator<Item = u64>) {
        for hash in hashes {
            // One that is there, or seems to be, is found as it is.
            if self.contains(hash) {
                continue;
            }
            let capacity = capacity(self.parts.len().saturating_sub(1));
            if self.parts.last().is_none_or(|part| part.ids >= capacity) {
                self.parts.push(Arc::new(Part::empty(self.parts.len())));
            }
            if let Some(part) = self.parts.last_mut() {
                Arc::make_mut(part).insert(hash);
            }
        }
    }

    pub fn parts(&self) -> &[Arc<Part>] {
        &self.parts
    }

    /// The filter of parts that were stored, in order.
    pub fn of(parts: Vec<Part>) -> Bloom {
        Bloom { parts: parts.into_iter().map(Arc::new).collect() }
    }
}

fn capacity(part: usize) -> usize {
    let doublings = u32::try_from(part).unwrap_or(u32::MAX).saturating_mul(2);
    FIRST_CAPACITY
        .saturating_mul(1usize.checked_shl(doublings).unwrap_or(usize::MAX))
        .min(LARGEST_CAPACITY)
}

impl Part {
    fn empty(number: usize) -> Part {
        let words = (capacity(number) / 1_000 * WORDS_A_THOUSAND).next_multiple_of(BLOCK_WORDS);
        Part { ids: 0, words: vec![0; words] }
    }

    fn contains(&self, hash: u64) -> bool {
        let block = self.words.get(self.block(hash)).unwrap_or_default();
        bits(hash).all(|(word, bit)| block.get(word).is_some_and(|word| word & bit != 0))
    }

    fn insert(&mut self, hash: u64) {
        let block = self.block(hash);
        let block = self.words.get_mut(block).unwrap_or_default();
        for (word, bit) in bits(hash) {
            if let Some(word) = block.get_mut(word) {
                *word |= bit;
            }
        }
        self.ids += 1;
    }

    fn block(&self, hash: u64) -> std::ops::Range<usize> {
        let blocks = (self.words.len() / BLOCK_WORDS) as u128;
        let start = ((u128::from(hash) * blocks) >> 64) as usize * BLOCK_WORDS;
        start..start + BLOCK_WORDS
    }

    /// The part as a row: the count of its ids, then its words.
    pub fn to_row(&self) -> Vec<u8> {
        let mut row = Vec::with_capacity(8 + 8 * self.words.len());
        row.extend_from_slice(&(self.ids as u64).to_le_bytes());
        self.words.iter().for_each(|word| row.extend_from_slice(&word.to_le_bytes()));
        row
    }

    /// The part that a row holds; `None` if the row is no part of this number.
    pub fn from_row(number: usize, row: &[u8]) -> Option<Part> {
        let (ids, words) = row.split_first_chunk()?;
        let words = words.chunks_exact(8).map(|word| word.try_into().map(u64::from_le_bytes));
        let words: Vec<u64> = words.collect::<Result<_, _>>().ok()?;
        let whole = words.len() == Part::empty(number).words.len();
        whole.then_some(Part { ids: usize::try_from(u64::from_le_bytes(*ids)).ok()?, words })
    }
}

/// The bits of an id in its block. The block was chosen by the upper bits of the hash, so these
/// come from a mix of all.
fn bits(hash: u64) -> impl Iterator<Item = (usize, u64)> {
    let mixed = (hash ^ (hash >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (0..BITS_AN_ID).map(move |nth| {
        let bit = (mixed >> (nth * 9)) as usize % (BLOCK_WORDS * 64);
        (bit / 64, 1 << (bit % 64))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

    use super::*;

    fn hashes(from: u64, count: u64) -> impl Iterator<Item = u64> {
        (from..from + count).map(|n| {
            let hash = blake3::hash(&n.to_le_bytes());
            u64::from_le_bytes(*hash.as_bytes().first_chunk().unwrap())
        })
    }

    #[test]
    fn it_never_misses_and_rarely_errs() {
        let mut bloom = Bloom::default();
        bloom.extend(hashes(0, 100_000));
        assert_eq!(bloom.parts().len(), 3);
        assert!(hashes(0, 100_000).all(|hash| bloom.contains(hash)));
        let wrong = hashes(1_000_000, 100_000).filter(|hash| bloom.contains(*hash)).count();
        assert!(wrong < 2_000, "{wrong} of 100,000 were told \"perhaps\"");
    }

    #[test]
    fn its_rows_are_the_same_filter() {
        let mut bloom = Bloom::default();
        bloom.extend(hashes(0, 20_000));
        let rows = bloom.parts().iter().map(|part| part.to_row()).enumerate();
        let parts = rows.map(|(number, row)| Part::from_row(number, &row).unwrap()).collect();
        let again = Bloom::of(parts);
        assert!(hashes(0, 20_000).all(|hash| again.contains(hash)));
        assert!(Part::from_row(0, &bloom.parts()[1].to_row()).is_none());
    }
}
