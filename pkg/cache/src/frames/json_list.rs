//! The items of a list in JSON.

use std::borrow::Cow;
use std::ops::Range;

use api::wire;

use super::{Buffer, FrameError, OBJECT_BYTES_MAX, mended};

/// Parses the list object incrementally. Only its frame is read here; the decoder of an item checks
/// what is inside.
#[derive(Default)]
pub(super) struct JsonList {
    pub(super) buffer: Buffer,
    place: Place,
    scan: Scan,
    meta: Option<wire::ListMeta>,
    /// The item that was returned last, if its bytes had to be mended.
    mended: Vec<u8>,
}

#[derive(Clone, Copy, Default)]
enum Place {
    /// Before the list's opening brace.
    #[default]
    Start,
    /// Before the name of a field, or the closing brace.
    Name,
    /// Before the colon.
    Colon(Field),
    /// Before the value of a field, or within.
    Value(Field),
    /// After the value of a field.
    Comma,
    /// Before an item, or within, or before the closing bracket.
    Item,
    /// After an item.
    ItemComma,
    /// After the closing brace.
    End,
}

#[derive(Clone, Copy)]
enum Field {
    Metadata,
    Items,
    Other,
}

/// Finds the end of a value that may be incomplete so far.
#[derive(Default)]
struct Scan {
    offset: usize,
    depth: usize,
    in_string: bool,
    escaped: bool,
}

// === impl JsonList ===

impl JsonList {
    pub(super) fn pop(&mut self) -> Result<Option<&[u8]>, FrameError> {
        while let Some(byte) = self.token() {
            self.place = match (self.place, byte) {
                (Place::Start, b'{') | (Place::Comma, b',') => self.pass(Place::Name),
                (Place::Name | Place::Comma, b'}') => self.pass(Place::End),
                (Place::Colon(field), b':') => self.pass(Place::Value(field)),
                (Place::Value(Field::Items), b'[') | (Place::ItemComma, b',') => {
                    self.pass(Place::Item)
                }
                (Place::Item | Place::ItemComma, b']') => self.pass(Place::Comma),
                (Place::Name, b'"') | (Place::Value(_) | Place::Item, _) => {
                    let Some(value) = self.value()? else { return Ok(None) };
                    match self.place {
                        Place::Name => Place::Colon(Field::parse(self.buffer.at(value))?),
                        Place::Item => {
                            self.place = Place::ItemComma;
                            return Ok(Some(mended(self.buffer.at(value), &mut self.mended)));
                        }
                        Place::Value(Field::Metadata) => {
                            let meta = wire::decode_json(self.buffer.at(value));
                            let meta = meta.map_err(|e| FrameError::Malformed(e.to_string()))?;
                            self.meta = Some(meta);
                            Place::Comma
                        }
                        _ => Place::Comma,
                    }
                }
                (
                    Place::Start
                    | Place::Name
                    | Place::Colon(_)
                    | Place::Comma
                    | Place::ItemComma
                    | Place::End,
                    _,
                ) => {
                    let text = format!("unexpected {:?} in a list", char::from(byte));
                    return Err(FrameError::Malformed(text));
                }
            };
        }
        Ok(None)
    }

    pub(super) fn finish(self) -> Result<wire::ListMeta, FrameError> {
        match (self.place, self.meta) {
            (Place::End, Some(meta)) => Ok(meta),
            (Place::End, None) => Err(FrameError::Malformed("a list without metadata".to_owned())),
            _ => Err(FrameError::Truncated),
        }
    }

    /// The next byte that is not blank, or the first byte of the value being scanned.
    fn token(&mut self) -> Option<u8> {
        let blank = self.buffer.rest().iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.buffer.take(blank);
        self.buffer.rest().first().copied()
    }

    fn pass(&mut self, place: Place) -> Place {
        self.buffer.take(1);
        place
    }

    /// The next value; none: more bytes are needed.
    fn value(&mut self) -> Result<Option<Range<usize>>, FrameError> {
        match self.scan.end(self.buffer.rest()) {
            Some(end) => {
                self.scan = Scan::default();
                Ok(Some(self.buffer.take(end)))
            }
            None if self.scan.offset > OBJECT_BYTES_MAX => {
                Err(FrameError::TooLong(self.scan.offset))
            }
            None => Ok(None),
        }
    }
}

// === impl Field ===

impl Field {
    fn parse(name: &[u8]) -> Result<Self, FrameError> {
        let name: Cow<'_, str> = serde_json::from_slice(name)
            .map_err(|error| FrameError::Malformed(format!("the name of a field: {error}")))?;
        Ok(match &*name {
            "metadata" => Self::Metadata,
            "items" => Self::Items,
            _ => Self::Other,
        })
    }
}

// === impl Scan ===

impl Scan {
    /// Where the value at the start of `bytes` ends. May be called again with more bytes.
    fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        while let Some(&byte) = bytes.get(self.offset) {
            self.offset += 1;
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' if self.depth == 0 => return Some(self.offset),
                    b'"' => self.in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' if self.depth > 0 => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return Some(self.offset);
                    }
                }
                // A number or a word ends where another token begins.
                b'}' | b']' | b',' if self.depth == 0 => return Some(self.offset - 1),
                _ if self.depth == 0 && byte.is_ascii_whitespace() => return Some(self.offset - 1),
                _ => {}
            }
        }
        None
    }
}
