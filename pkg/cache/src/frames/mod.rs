//! Objects out of the pieces in which answers arrive, one at a time.
//!
//! Neither a list nor a watch is ever held whole: a decoder keeps one incomplete object and what
//! came behind it in the same piece. How the bytes are cut does not change what comes out.
//!
//! # Parts
//! - `watch`: the events of a watch, in both codecs.
//! - `json_list`, `protobuf_list`: the items of a list.
//! - `status`: what an ERROR event says.

mod json_list;
mod protobuf_list;
mod status;
mod watch;

use std::ops::Range;

use api::{Codec, wire};
use mutant::Mutant;

use json_list::JsonList;
use protobuf_list::ProtobufList;

pub use status::error_of;
pub use watch::{Event, EventKind, Mark, WatchDecoder};

/// Longest object: the limit of upstream's streaming decoder (`maxBytes` in apimachinery's
/// streaming.go). The API server takes requests of up to 3 MiB, so a longer one is a broken stream,
/// and believing its length would let it take all memory.
pub const OBJECT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Why an answer is not what it should be.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum FrameError {
    /// An object is longer than [`OBJECT_BYTES_MAX`].
    #[error("an object of {0} bytes or more; the limit is {OBJECT_BYTES_MAX}")]
    TooLong(usize),
    /// The answer is not of the expected form.
    #[error("malformed answer: {0}")]
    Malformed(String),
    /// The answer ended early.
    #[error("the answer broke off")]
    Truncated,
}

/// Takes the items out of a list. `feed`, then `pop` until there is no more; `finish` at the end.
pub struct ListDecoder(List);

enum List {
    Json(JsonList),
    Protobuf(ProtobufList),
}

/// Bytes that have arrived and were not used yet.
#[derive(Default)]
struct Buffer {
    bytes: Vec<u8>,
    start: usize,
}

// === impl ListDecoder ===

impl ListDecoder {
    /// A decoder of a list in `codec`.
    pub fn new(codec: Codec) -> Self {
        Self(match codec {
            Codec::Json => List::Json(JsonList::default()),
            Codec::Protobuf => List::Protobuf(ProtobufList::default()),
        })
    }

    /// The next piece of the answer.
    pub fn feed(&mut self, chunk: &[u8]) {
        match &mut self.0 {
            List::Json(list) => list.buffer.feed(chunk),
            List::Protobuf(list) => list.buffer.feed(chunk),
        }
    }

    /// The next item, in the form that `Kind::decode` takes; none: feed more.
    pub fn pop(&mut self) -> Result<Option<&[u8]>, FrameError> {
        match &mut self.0 {
            List::Json(list) => list.pop(),
            List::Protobuf(list) => list.pop(),
        }
    }

    /// The list's metadata, once the answer has ended.
    pub fn finish(self) -> Result<wire::ListMeta, FrameError> {
        match self.0 {
            List::Json(list) => list.finish(),
            List::Protobuf(list) => list.finish(),
        }
    }
}

// === impl Buffer ===

impl Buffer {
    fn feed(&mut self, chunk: &[u8]) {
        self.bytes.drain(..self.start);
        self.start = 0;
        self.bytes.extend_from_slice(chunk);
    }

    /// What is there.
    fn rest(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }

    /// Uses up `count` bytes and says where they are until the next `feed`.
    fn take(&mut self, count: usize) -> Range<usize> {
        let end = self.bytes.len().min(self.start.saturating_add(count));
        let range = self.start..end;
        self.start = end;
        range
    }

    fn at(&self, range: Range<usize>) -> &[u8] {
        self.bytes.get(range).unwrap_or_default()
    }
}

/// JSON whose texts are UTF-8. A server that copies what it was sent need not write such.
fn mended<'a>(json: &'a [u8], space: &'a mut Vec<u8>) -> &'a [u8] {
    if std::str::from_utf8(json).is_ok() || mutant::is(Mutant::OddTextHides) {
        return json;
    }
    space.clear();
    space.extend_from_slice(String::from_utf8_lossy(json).as_bytes());
    space
}

// === Protobuf ===

/// What stands before a field's value, and how long that is.
struct Header {
    field: u64,
    /// Whether the value is bytes: a text, a message.
    is_bytes: bool,
    size: usize,
    value: usize,
}

/// The header of the field at the start of `bytes`; none: more bytes are needed.
fn header(bytes: &[u8]) -> Result<Option<Header>, FrameError> {
    let Some((tag, size)) = varint(bytes)? else { return Ok(None) };
    let after = bytes.get(size..).unwrap_or_default();
    let (extra, value) = match tag & 7 {
        0 => match varint(after)? {
            Some((_, length)) => (0, length),
            None => return Ok(None),
        },
        1 => (0, 8),
        2 => match varint(after)? {
            Some((value, length)) => {
                let value = usize::try_from(value)
                    .map_err(|_| FrameError::Malformed("a length beyond all memory".to_owned()))?;
                (length, value)
            }
            None => return Ok(None),
        },
        5 => (0, 4),
        other => return Err(FrameError::Malformed(format!("wire type {other}"))),
    };
    Ok(Some(Header { field: tag >> 3, is_bytes: tag & 7 == 2, size: size + extra, value }))
}

/// A number and how many bytes it takes; none: more bytes are needed.
fn varint(bytes: &[u8]) -> Result<Option<(u64, usize)>, FrameError> {
    let mut value = 0u64;
    for (at, byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Ok(Some((value, at + 1)));
        }
    }
    if bytes.len() < 10 {
        Ok(None)
    } else {
        Err(FrameError::Malformed("a number without end".into()))
    }
}

/// The value of a bytes field of a complete message; the last one, if it is there more than once.
fn bytes_field(message: &[u8], field: u64) -> Result<Option<&[u8]>, FrameError> {
    let (mut rest, mut found) = (message, None);
    while !rest.is_empty() {
        let header = header(rest)?.ok_or(FrameError::Truncated)?;
        let end = header.size.saturating_add(header.value);
        let value = rest.get(header.size..end).ok_or(FrameError::Truncated)?;
        if header.field == field && header.is_bytes {
            found = Some(value);
        }
        rest = rest.get(end..).unwrap_or_default();
    }
    Ok(found)
}
