//! The status in an ERROR event.

use api::{Codec, DecodeError};
use client::{ApiError, Status};

/// The error that the object of an ERROR event describes.
pub fn error_of(codec: Codec, object: &[u8]) -> ApiError {
    match Status::decode(codec, object) {
        Ok(mut status) => {
            if status.message.is_empty() {
                status.message = format!("an ERROR event with code {}", status.code);
            }
            ApiError::Status(Box::new(status))
        }
        Err(DecodeError(text)) => ApiError::Decode(format!("an ERROR event: {text}")),
    }
}
