//! The events of a watch.

use std::borrow::Cow;

use api::{Codec, DecodeError, wire};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Buffer, FrameError, OBJECT_BYTES_MAX, bytes_field, mended};

/// Extracts the events of a watch: `feed`, then `pop` until it returns none.
///
/// In protobuf each event is a `metav1.WatchEvent` after its length as four bytes, big end first;
/// in JSON each is a line.
pub struct WatchDecoder {
    codec: Codec,
    buffer: Buffer,
    /// How far the incomplete line was searched for its end.
    searched: usize,
    /// The line that was returned last, if its bytes had to be mended.
    mended: Vec<u8>,
}

/// The type of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The object is new, or existed when the stream began.
    Added,
    /// The object changed.
    Modified,
    /// The object was deleted; this was its last state.
    Deleted,
    /// Not an object: its metadata says which version the watch has reached.
    Bookmark,
    /// A `Status`; the watch ends.
    Error,
}

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// The type.
    pub kind: EventKind,
    /// The object, in the form that `Kind::decode` takes.
    pub object: &'a [u8],
}

/// The content of a bookmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// All events up to this version were sent.
    pub version: u64,
    /// All objects that were there when the stream began were sent.
    pub list_end: bool,
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(borrow)]
    object: &'a RawValue,
}

// === impl WatchDecoder ===

impl WatchDecoder {
    /// A decoder of a watch in `codec`.
    pub fn new(codec: Codec) -> Self {
        Self { codec, buffer: Buffer::default(), searched: 0, mended: Vec::new() }
    }

    /// Adds the next piece of the response.
    pub fn feed(&mut self, chunk: &[u8]) {
        self.buffer.feed(chunk);
    }

    /// The next event; none: feed more.
    pub fn pop(&mut self) -> Result<Option<Event<'_>>, FrameError> {
        match self.codec {
            Codec::Json => self.pop_line(),
            Codec::Protobuf => self.pop_frame(),
        }
    }

    fn pop_frame(&mut self) -> Result<Option<Event<'_>>, FrameError> {
        let Some((length, frame)) = self.buffer.rest().split_first_chunk::<4>() else {
            return Ok(None);
        };
        let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
        if length > OBJECT_BYTES_MAX {
            return Err(FrameError::TooLong(length));
        }
        if frame.len() < length {
            return Ok(None);
        }
        self.buffer.take(4);
        let range = self.buffer.take(length);
        let frame = self.buffer.at(range);
        let missing = |what: &str| FrameError::Malformed(format!("an event without {what}"));
        let kind = bytes_field(frame, 1)?.ok_or_else(|| missing("type"))?;
        let object = bytes_field(frame, 2)?.ok_or_else(|| missing("object"))?;
        let object = bytes_field(object, 1)?.ok_or_else(|| missing("object"))?;
        Ok(Some(Event { kind: EventKind::parse(kind)?, object }))
    }

    fn pop_line(&mut self) -> Result<Option<Event<'_>>, FrameError> {
        loop {
            let rest = self.buffer.rest();
            let end = rest.iter().skip(self.searched).position(|&byte| byte == b'\n');
            let Some(end) = end.map(|end| end + self.searched) else {
                self.searched = rest.len();
                if self.searched > OBJECT_BYTES_MAX {
                    return Err(FrameError::TooLong(self.searched));
                }
                return Ok(None);
            };
            self.searched = 0;
            let range = self.buffer.take(end + 1);
            if self.buffer.at(range.clone()).trim_ascii().is_empty() {
                continue;
            }
            let line = mended(self.buffer.at(range), &mut self.mended);
            let line: Line<'_> = serde_json::from_slice(line)
                .map_err(|error| FrameError::Malformed(format!("an event: {error}")))?;
            let kind = EventKind::parse(line.r#type.as_bytes())?;
            return Ok(Some(Event { kind, object: line.object.get().as_bytes() }));
        }
    }
}

// === impl EventKind ===

impl EventKind {
    fn parse(word: &[u8]) -> Result<Self, FrameError> {
        match word {
            b"ADDED" => Ok(Self::Added),
            b"MODIFIED" => Ok(Self::Modified),
            b"DELETED" => Ok(Self::Deleted),
            b"BOOKMARK" => Ok(Self::Bookmark),
            b"ERROR" => Ok(Self::Error),
            other => {
                let word = String::from_utf8_lossy(other);
                Err(FrameError::Malformed(format!("an event of type {word:?}")))
            }
        }
    }
}

// === impl Mark ===

impl Mark {
    /// Reads the object of a bookmark. An error also if it has no version.
    pub fn parse(codec: Codec, object: &[u8]) -> Result<Self, DecodeError> {
        let object = wire::decode::<wire::MetadataOnly>(codec, object)?.metadata;
        let list_end = object.annotation("k8s.io/initial-events-end");
        let list_end = list_end.is_some_and(|value| value == "true");
        match object.meta()?.resource_version {
            0 => Err(DecodeError("a bookmark without metadata.resourceVersion".to_owned())),
            version => Ok(Self { version, list_end }),
        }
    }
}
