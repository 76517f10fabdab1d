//! The bytes of a segment file, format version 1.
//!
//! All integers are little-endian. A segment is a header followed by frames; a file that is open
//! for writing ends in zeros that are preallocated, one that was sealed or closed ends with the
//! last byte of its last frame.
//!
//! # Segment header, 96 bytes
//!
//! | at | bytes | what |
//! |---|---|---|
//! | 0 | 8 | magic `SCRIPTAL` |
//! | 8 | 4 | format version, 1 |
//! | 12 | 4 | zero |
//! | 16 | 16 | the log's id |
//! | 32 | 8 | position of the first event that this segment can hold |
//! | 40 | 8 | time of creation, µs since 1970 |
//! | 48 | 32 | BLAKE3 of the last frame of the segment before; zeros in the first |
//! | 80 | 12 | zeros |
//! | 92 | 4 | CRC-32C of bytes 0 to 92 |
//!
//! # Frame
//!
//! A frame is what one sync made durable: a header, a body of commits, and an end mark.
//!
//! | at | bytes | what |
//! |---|---|---|
//! | 0 | 4 | magic |
//! | 4 | 4 | length of the whole frame, header and end mark included |
//! | 8 | 16 | the log's id |
//! | 24 | 8 | the frame's own offset in the file |
//! | 32 | 8 | position of its first event (of the next one, if it has none) |
//! | 40 | 8 | time of writing, µs since 1970; never less than the frame's before |
//! | 48 | 4 | number of events |
//! | 52 | 4 | number of commits |
//! | 56 | 1 | kind: 0 commits, 1 idle mark, 2 close mark, 3 seal mark |
//! | 57 | 1 | codec of the body: 0, as it is |
//! | 58 | 2 | zeros |
//! | 60 | 4 | CRC-32C of the body |
//! | 64 | 32 | BLAKE3 of the frame before, end mark included: the chain |
//! | 96 | 4 | CRC-32C of bytes 0 to 96 |
//! | 100 | … | the body |
//! | end − 8 | 8 | end mark |
//!
//! The log's id and the frame's own offset make sure that bytes inside a payload are never
//! taken for a frame. A mark frame has an empty body and says that all before it is durable.
//!
//! # Commit, in the body
//!
//! | at | bytes | what |
//! |---|---|---|
//! | 0 | 4 | length of the head, up to the first record |
//! | 4 | 4 | CRC-32C of bytes 0 to 4 and 8 to the end of the head |
//! | 8 | 4 | length of head and records together |
//! | 12 | 4 | number of events |
//! | 16 | 16 | operation id |
//! | 32 | 32 | fingerprint |
//! | 64 | 16 | root |
//! | 80 | 8 | time, as in the frame |
//! | 88 | 8 | position of its first event (of the next one, if it has none) |
//! | 96 | 4 | number of streams |
//! | 100 | 4 | length of the metadata |
//! | 104 | 30 each | streams: category (2), id (16), revision before (8), number of events (4) |
//! | … | … | metadata |
//!
//! # Record, after the head
//!
//! | at | bytes | what |
//! |---|---|---|
//! | 0 | 4 | length of the record |
//! | 4 | 4 | CRC-32C of bytes 0 to 4 and 8 to the end |
//! | 8 | 4 | distance from the commit's first byte to this record's |
//! | 12 | 2 | which event of the commit, from 0 |
//! | 14 | 2 | which stream of the commit, from 0 |
//! | 16 | 2 | which event of that stream in the commit, from 0 |
//! | 18 | 2 | event type |
//! | 20 | 1 | schema version |
//! | 21 | 1 | codec of the payload |
//! | 22 | … | payload |

use uuid::Uuid;

use crate::{LogId, Position, Timestamp};

/// The version of this format.
pub const FORMAT_VERSION: u32 = 1;

pub(crate) const SEGMENT_HEADER: usize = 96;
pub(crate) const FRAME_HEADER: usize = 100;
pub(crate) const END_MARK: [u8; 8] = *b"\xf5frm-end";
/// A frame without a body.
pub(crate) const MARK_FRAME: usize = FRAME_HEADER + END_MARK.len();
pub(crate) const FRAME_MAGIC: [u8; 4] = *b"\xf5FRM";

const SEGMENT_MAGIC: [u8; 8] = *b"SCRIPTAL";
const CODEC_PLAIN: u8 = 0;

/// The hash of a frame, which the next one carries.
pub(crate) type Chain = [u8; 32];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub log: LogId,
    pub first: Position,
    pub created: Timestamp,
    pub chain: Chain,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    pub length: u32,
    pub log: LogId,
    pub offset: u64,
    pub first: Position,
    pub time: Timestamp,
    pub events: u32,
    pub commits: u32,
    pub kind: FrameKind,
    pub body_crc: u32,
    pub chain: Chain,
}

/// What a frame is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameKind {
    Commits,
    IdleMark,
    CloseMark,
    SealMark,
}

/// Reads fields off the front of a slice; `None` when it is too short.
pub(crate) struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub fn time(&mut self) -> Option<Timestamp> {
        self.array().map(|bytes| Timestamp(i64::from_le_bytes(bytes)))
    }

    pub fn uuid(&mut self) -> Option<Uuid> {
        self.array().map(Uuid::from_bytes)
    }
}

impl SegmentHeader {
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(SEGMENT_HEADER);
        bytes.extend_from_slice(&SEGMENT_MAGIC);
        bytes.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(self.log.0.as_bytes());
        bytes.extend_from_slice(&self.first.0.to_le_bytes());
        bytes.extend_from_slice(&self.created.0.to_le_bytes());
        bytes.extend_from_slice(&self.chain);
        bytes.extend_from_slice(&[0; 12]);
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        bytes
    }

    /// The header in the first bytes of a file, or what is wrong with them.
    pub fn decode(bytes: &[u8]) -> Result<SegmentHeader, String> {
        let Some((covered, crc)) = bytes
            .get(..SEGMENT_HEADER)
            .and_then(|header| header.split_at_checked(SEGMENT_HEADER - 4))
        else {
            return Err(format!("the file has {} bytes, less than a header", bytes.len()));
        };
        let mut fields = Fields(covered);
        if fields.array() != Some(SEGMENT_MAGIC) {
            return Err("it does not begin like a segment".to_owned());
        }
        if crc != crc32c::crc32c(covered).to_le_bytes() {
            return Err("the checksum of the segment's header is wrong".to_owned());
        }
        match fields.u32() {
            Some(FORMAT_VERSION) => {}
            version => {
                return Err(format!(
                    "its format version is {}, and this program knows {FORMAT_VERSION}; \
                     use a newer program",
                    version.unwrap_or_default()
                ));
            }
        }
        let header = (|| {
            fields.u32()?;
            Some(SegmentHeader {
                log: LogId(fields.uuid()?),
                first: Position(fields.u64()?),
                created: fields.time()?,
                chain: fields.array()?,
            })
        })();
        header.ok_or_else(|| "the segment's header is too short".to_owned())
    }
}

impl FrameHeader {
    /// The offset behind the frame.
    pub fn end(&self) -> u64 {
        self.offset + u64::from(self.length)
    }

    /// The position after the frame's last event.
    pub fn next(&self) -> Position {
        Position(self.first.0 + u64::from(self.events))
    }

    /// Writes the header over the first bytes of a frame.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(FRAME_HEADER);
        bytes.extend_from_slice(&FRAME_MAGIC);
        bytes.extend_from_slice(&self.length.to_le_bytes());
        bytes.extend_from_slice(self.log.0.as_bytes());
        bytes.extend_from_slice(&self.offset.to_le_bytes());
        bytes.extend_from_slice(&self.first.0.to_le_bytes());
        bytes.extend_from_slice(&self.time.0.to_le_bytes());
        bytes.extend_from_slice(&self.events.to_le_bytes());
        bytes.extend_from_slice(&self.commits.to_le_bytes());
        bytes.push(self.kind.code());
        bytes.push(CODEC_PLAIN);
        bytes.extend_from_slice(&[0; 2]);
        bytes.extend_from_slice(&self.body_crc.to_le_bytes());
        bytes.extend_from_slice(&self.chain);
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        bytes
    }

    /// The header in the first bytes of a frame of `log` at `offset`, or what is wrong with them.
    pub fn decode(bytes: &[u8], log: LogId, offset: u64) -> Result<FrameHeader, String> {
        let header = bytes.get(..FRAME_HEADER);
        let Some((covered, crc)) = header.and_then(|all| all.split_at_checked(FRAME_HEADER - 4))
        else {
            return Err("the file ends inside a frame's header".to_owned());
        };
        if covered.first_chunk() != Some(&FRAME_MAGIC) {
            return Err("no frame begins here".to_owned());
        }
        if crc != crc32c::crc32c(covered).to_le_bytes() {
            return Err("the checksum of the frame's header is wrong".to_owned());
        }
        let header = FrameHeader::fields(covered)
            .ok_or_else(|| "the frame's header has an unknown kind or codec".to_owned())?;
        if header.log != log {
            return Err(format!("the frame belongs to another log, {}", header.log));
        }
        if header.offset != offset {
            return Err(format!("the frame was written for offset {}", header.offset));
        }
        if (header.length as usize) < MARK_FRAME {
            return Err(format!("the frame's length of {} is impossible", header.length));
        }
        if header.first.0.checked_add(u64::from(header.events)).is_none() {
            return Err(format!("the frame's first position of {} is impossible", header.first));
        }
        Ok(header)
    }

    fn fields(covered: &[u8]) -> Option<FrameHeader> {
        let mut fields = Fields(covered);
        fields.take(FRAME_MAGIC.len())?;
        let length = fields.u32()?;
        let log = LogId(fields.uuid()?);
        let offset = fields.u64()?;
        let first = Position(fields.u64()?);
        let time = fields.time()?;
        let events = fields.u32()?;
        let commits = fields.u32()?;
        let kind = FrameKind::of(fields.u8()?)?;
        if fields.u8()? != CODEC_PLAIN {
            return None;
        }
        fields.u16()?;
        let body_crc = fields.u32()?;
        let chain = fields.array()?;
        Some(FrameHeader {
            length,
            log,
            offset,
            first,
            time,
            events,
            commits,
            kind,
            body_crc,
            chain,
        })
    }
}

impl FrameKind {
    fn code(self) -> u8 {
        match self {
            FrameKind::Commits => 0,
            FrameKind::IdleMark => 1,
            FrameKind::CloseMark => 2,
            FrameKind::SealMark => 3,
        }
    }

    fn of(code: u8) -> Option<FrameKind> {
        match code {
            0 => Some(FrameKind::Commits),
            1 => Some(FrameKind::IdleMark),
            2 => Some(FrameKind::CloseMark),
            3 => Some(FrameKind::SealMark),
            _ => None,
        }
    }

    pub fn is_mark(self) -> bool {
        self != FrameKind::Commits
    }
}

/// The name of the segment whose first event has this position.
pub(crate) fn segment_name(first: Position) -> String {
    format!("{:020}.segment", first.0)
}

/// The first position of the segment of this name; `None` for any other file.
pub(crate) fn segment_first(name: &str) -> Option<Position> {
    let digits = name.strip_suffix(".segment")?;
    let plain = digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok().map(Position)).flatten()
}
