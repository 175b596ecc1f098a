//! Bytes beside the log. A reference is a hash, never a path.

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG};
use http::{HeaderValue, StatusCode};
use riverrun_event::ErrorCode;
use riverrun_log::BlobId;
use serde::Serialize;

use super::{json, upload};
use crate::app::App;
use crate::edge::{Caller, PathId, Problem, Scope, StrictQuery, not_found, refuse_encoding};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct BlobView {
    r#ref: String,
    media_type: String,
    size: u64,
    digest: String,
}

pub async fn put(
    State(app): State<App>,
    caller: Caller,
    StrictQuery(()): StrictQuery<()>,
    request: Request,
) -> Result<Response, Problem> {
    caller.require(Scope::Write)?;
    let (parts, body) = request.into_parts();
    refuse_encoding(&parts.headers)?;
    let given = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media_type = given.filter(|text| text.len() <= 200).unwrap_or("application/octet-stream").to_owned();
    let info = upload::receive(&app, caller.tenant(), &parts, body, media_type).await?;
    let reference = info.reference.to_string();
    let digest = format!("sha256:{}", reference.trim_start_matches("blob_"));
    Ok(json(
        StatusCode::CREATED,
        &BlobView { r#ref: reference, media_type: info.media_type, size: info.size, digest },
    ))
}

pub async fn get(
    State(app): State<App>,
    caller: Caller,
    PathId(reference): PathId,
    StrictQuery(()): StrictQuery<()>,
) -> Result<Response, Problem> {
    caller.require(Scope::Read)?;
    let reference = BlobId::parse(&reference).ok_or_else(|| {
        Problem::new(ErrorCode::BadRef, "a blob reference is `blob_` and 64 hexadecimal digits").field("ref")
    })?;
    let blob = app.log().blob(caller.tenant(), &reference).await?.ok_or_else(not_found)?;
    let picture = picture_type(&blob.bytes);
    let mut response = blob.bytes.clone().into_response();
    let headers = response.headers_mut();
    // Only what is a picture by its own bytes is shown in a browser; anything else is saved, as plain data.
    let media_type = picture.unwrap_or("application/octet-stream");
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    if let Ok(stored) = HeaderValue::from_str(&blob.info.media_type) {
        headers.insert("riverrun-media-type", stored);
    }
    let disposition = if picture.is_some() { "inline" } else { "attachment" };
    headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static(disposition));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox; default-src 'none'"));
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{reference}\"")) {
        headers.insert(ETAG, tag);
    }
    Ok(response)
}

/// The media type of a picture that browsers show without running anything, by its first bytes.
fn picture_type(bytes: &Bytes) -> Option<&'static str> {
    match bytes.as_ref() {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}
