//! Cuts responses, which arrive in pieces, into objects.
//!
//! Neither a list nor a watch is ever held whole: a decoder keeps one incomplete object and the
//! rest of the piece behind it. The sizes of the pieces do not change the result.
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

/// The longest object: the limit of upstream's streaming decoder (`maxBytes` in apimachinery's
/// streaming.go). The API server accepts requests of up to 3 MiB, so a longer object means a broken
/// stream, and trusting its length could exhaust the memory.
pub const OBJECT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Why a response cannot be decoded.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum FrameError {
    /// An object is longer than [`OBJECT_BYTES_MAX`].
    #[error("an object of {0} bytes or more; the limit is {OBJECT_BYTES_MAX}")]
    TooLong(usize),
    /// The response is malformed.
    #[error("malformed response: {0}")]
    Malformed(String),
    /// The response ended early.
    #[error("the response ended early")]
    Truncated,
}

/// Extracts the items of a list: `feed`, then `pop` until it returns none; `finish` at the end.
pub struct ListDecoder(List);

enum List {
    Json(JsonList),
    Protobuf(ProtobufList),
}

/// Bytes that arrived and are not consumed yet.
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

    /// Adds the next piece of the response.
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

    /// The list's metadata, once the response has ended.
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

    /// The bytes that are left.
    fn rest(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }

    /// Consumes `count` bytes and returns their range, which holds until the next `feed`.
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

/// JSON with all texts as valid UTF-8. A server that copies what a client sent may write invalid
/// ones.
fn mended<'a>(json: &'a [u8], space: &'a mut Vec<u8>) -> &'a [u8] {
    if std::str::from_utf8(json).is_ok() || mutant::is(Mutant::OddTextHides) {
        return json;
    }
    space.clear();
    space.extend_from_slice(String::from_utf8_lossy(json).as_bytes());
    space
}

// === Protobuf ===

/// The header of a field, and its length.
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
                let value = usize::try_from(value).map_err(|_| {
                    FrameError::Malformed("a length that exceeds the address space".to_owned())
                })?;
                (length, value)
            }
            None => return Ok(None),
        },
        5 => (0, 4),
        other => return Err(FrameError::Malformed(format!("wire type {other}"))),
    };
    Ok(Some(Header { field: tag >> 3, is_bytes: tag & 7 == 2, size: size + extra, value }))
}

/// A number and its length in bytes; none: more bytes are needed.
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

/// The value of a bytes field of a complete message; the last one, if it occurs more than once.
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
