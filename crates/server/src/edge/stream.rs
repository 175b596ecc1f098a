//! Long answers: streams of frames that outlive the request that asked for them.

use axum::body::Body;
use axum::response::Response;
use http::HeaderValue;
use http::header::CONTENT_TYPE;

use super::negotiate::Media;

/// An answer that streams `body`. An error in the body cuts the connection without the last chunk, which is how
/// a reader learns that the stream is not complete. The request's own body must have been read by now.
pub fn stream_response(media: Media, body: Body) -> Response {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media.as_str()));
    response
}
