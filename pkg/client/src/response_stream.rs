//! A response whose body is read piece by piece.

use std::time::Duration;

use api::Codec;
use bytes::Bytes;
use http_body_util::BodyExt;
use runtime::Clock;

use crate::ApiError;
use crate::transport::AnyBody;

/// A successful response to [`crate::Client::stream`].
pub struct ResponseStream {
    /// The encoding of the body, by its content type.
    pub codec: Codec,
    body: AnyBody,
    clock: Clock,
}

impl ResponseStream {
    pub(crate) fn new(codec: Codec, body: AnyBody, clock: Clock) -> Self {
        Self { codec, body, clock }
    }

    /// The next piece of the body, none at its end. Waits at most for `limit`.
    pub async fn chunk(&mut self, limit: Duration) -> Result<Option<Bytes>, ApiError> {
        loop {
            let frame = self.clock.timeout(limit, self.body.frame()).await;
            let frame = frame.map_err(|_| ApiError::Timeout(format!("silent for {limit:?}")))?;
            match frame {
                None => return Ok(None),
                Some(Err(error)) => return Err(ApiError::from_transport(&*error)),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
            }
        }
    }
}
