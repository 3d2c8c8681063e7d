//! The items of a list in protobuf.

use api::wire;
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint};

use super::{Buffer, FrameError, OBJECT_BYTES_MAX, header};

/// Parses `k8s\0`, `runtime.Unknown` and the list inside incrementally.
#[derive(Default)]
pub(super) struct ProtobufList {
    pub(super) buffer: Buffer,
    place: Place,
    /// The number of bytes to skip.
    skip: usize,
    meta: Option<wire::ListMeta>,
    /// The item that was returned last, in an envelope of its own.
    item: Vec<u8>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    /// Before the magic.
    #[default]
    Start,
    /// Between fields of `runtime.Unknown`, before the list.
    Envelope,
    /// Between fields of the list, which has this many bytes left.
    List(usize),
    /// Between fields of `runtime.Unknown`, after the list.
    Tail,
}

impl ProtobufList {
    pub(super) fn pop(&mut self) -> Result<Option<&[u8]>, FrameError> {
        loop {
            self.skip -= self.buffer.take(self.skip).len();
            if self.skip > 0 {
                return Ok(None);
            }
            let more = match self.place {
                Place::Start => self.magic()?,
                Place::Envelope | Place::Tail => self.envelope()?,
                Place::List(0) => {
                    self.place = Place::Tail;
                    true
                }
                Place::List(left) => match self.field(left)? {
                    Some(true) => return Ok(Some(&self.item)),
                    Some(false) => true,
                    None => false,
                },
            };
            if !more {
                return Ok(None);
            }
        }
    }

    pub(super) fn finish(self) -> Result<wire::ListMeta, FrameError> {
        if self.place != Place::Tail || self.skip > 0 || !self.buffer.rest().is_empty() {
            return Err(FrameError::Truncated);
        }
        self.meta.ok_or_else(|| FrameError::Malformed("a list without metadata".to_owned()))
    }

    fn magic(&mut self) -> Result<bool, FrameError> {
        let Some(start) = self.buffer.rest().first_chunk::<4>() else { return Ok(false) };
        if start != wire::PROTOBUF_MAGIC {
            return Err(FrameError::Malformed("no k8s envelope".to_owned()));
        }
        self.skip = 4;
        self.place = Place::Envelope;
        Ok(true)
    }

    /// Enters the field `raw`, skips the others.
    fn envelope(&mut self) -> Result<bool, FrameError> {
        let Some(header) = header(self.buffer.rest())? else { return Ok(false) };
        self.skip = header.size;
        if header.field == 2 && header.is_bytes && self.place == Place::Envelope {
            self.place = Place::List(header.value);
        } else {
            self.skip = self.skip.saturating_add(header.value);
        }
        Ok(true)
    }

    /// One field of the list; whether it is an item. None: more bytes are needed.
    fn field(&mut self, left: usize) -> Result<Option<bool>, FrameError> {
        let rest = self.buffer.rest();
        let Some(header) = header(rest)? else { return Ok(None) };
        let size = header.size.saturating_add(header.value);
        let left = left.checked_sub(size);
        let left =
            left.ok_or_else(|| FrameError::Malformed("a field beyond its list".to_owned()))?;
        let wanted = header.is_bytes && matches!(header.field, 1 | 2);
        if !wanted {
            self.place = Place::List(left);
            self.skip = size;
            return Ok(Some(false));
        }
        if header.value > OBJECT_BYTES_MAX {
            return Err(FrameError::TooLong(header.value));
        }
        let Some(value) = rest.get(header.size..size) else { return Ok(None) };
        if header.field == 1 {
            let meta = wire::ListMeta::decode(value);
            self.meta = Some(meta.map_err(|error| FrameError::Malformed(error.to_string()))?);
        } else {
            self.item.clear();
            self.item.extend_from_slice(wire::PROTOBUF_MAGIC);
            encode_key(2, WireType::LengthDelimited, &mut self.item);
            encode_varint(value.len() as u64, &mut self.item);
            self.item.extend_from_slice(value);
        }
        self.place = Place::List(left);
        self.skip = size;
        Ok(Some(header.field == 2))
    }
}
