//! Blobs on their way in. What has arrived is in a nameless file of the data directory, so that a slow or abandoned
//! upload costs no memory, and nothing of it is left after a crash.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::Path;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http::request::Parts;
use http_body_util::BodyExt;
use riverrun_event::{ErrorCode, TenantId};
use riverrun_log::seeded::{self, Bug};
use riverrun_log::{BlobInfo, NewBlob};
use tokio::time::{Instant, timeout_at};

use crate::app::App;
use crate::edge::{Problem, broken, check_announced, too_large, too_slow};

/// Bytes that are collected before they are written.
const BUFFER: usize = 128 * 1024;

/// The part of an upload that has arrived.
struct Arrived {
    /// None until there is more than fits the buffer.
    file: Option<File>,
    buffer: BytesMut,
    length: usize,
}

/// Takes in a body as a blob.
pub async fn receive(
    app: &App,
    tenant: &TenantId,
    parts: &Parts,
    body: Body,
    media_type: String,
) -> Result<BlobInfo, Problem> {
    let limits = app.edge().limits();
    check_announced(&parts.headers, limits.blob_bytes)?;
    let deadline = Instant::now() + limits.body_time;
    let mut reservation = app.edge().upload_bytes().open(Some(tenant.clone()));
    let mut arrived = Arrived { file: None, buffer: BytesMut::new(), length: 0 };
    let mut body = std::pin::pin!(body);
    loop {
        let frame = timeout_at(deadline, body.frame()).await.map_err(|_| too_slow(limits.body_time))?;
        let Some(frame) = frame else { break };
        let Ok(data) = frame.map_err(|_| broken())?.into_data() else { continue };
        if arrived.length + data.len() > limits.blob_bytes {
            return Err(too_large(limits.blob_bytes));
        }
        reservation.set(arrived.length + data.len())?;
        app.edge().take_upload(tenant, data.len(), arrived.length == 0)?;
        arrived.length += data.len();
        arrived.buffer.extend_from_slice(&data);
        if arrived.buffer.len() >= BUFFER && !seeded::is_on(Bug::BufferUploads) {
            arrived = write(app, arrived).await?;
        }
    }
    if arrived.length == 0 {
        return Err(Problem::new(ErrorCode::BodyEmpty, "the blob is empty; send its bytes as the body"));
    }
    store(app, tenant.clone(), arrived, media_type).await
}

/// Moves the buffer to the file, if there is a directory for files.
async fn write(app: &App, mut arrived: Arrived) -> Result<Arrived, Problem> {
    let Some(directory) = app.uploads_directory().map(Path::to_path_buf) else { return Ok(arrived) };
    blocking(move || {
        if arrived.file.is_none() {
            arrived.file = Some(tempfile::tempfile_in(directory)?);
        }
        if let Some(file) = &mut arrived.file {
            file.write_all(&arrived.buffer)?;
            arrived.buffer.clear();
        }
        Ok(arrived)
    })
    .await
}

/// Hashes and stores what arrived, away from the threads that serve requests. The thread that takes the memory also
/// gives it back: the allocator returns so large a block to the system at once only there.
async fn store(
    app: &App,
    tenant: TenantId,
    arrived: Arrived,
    media_type: String,
) -> Result<BlobInfo, Problem> {
    let _permit = app.upload_permits().clone().acquire_owned().await;
    let log = app.log().clone();
    let stored = blocking(move || {
        let bytes = whole(arrived)?;
        let blob = NewBlob { session: None, media_type, bytes: bytes.clone() };
        let stored = log.put_blob(&tenant, blob).wait();
        drop(bytes);
        Ok(stored)
    });
    Ok(stored.await??)
}

fn whole(arrived: Arrived) -> std::io::Result<Bytes> {
    let Some(mut file) = arrived.file else { return Ok(arrived.buffer.freeze()) };
    let mut bytes = Vec::with_capacity(arrived.length);
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    bytes.extend_from_slice(&arrived.buffer);
    Ok(bytes.into())
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(std::io::Error::other).flatten().map_err(|error| match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
            Problem::new(ErrorCode::StorageFull, "the disk has no room for the upload; free some space")
        }
        _ => {
            tracing::error!(%error, "an upload could not be written to its file");
            Problem::new(ErrorCode::StorageFailed, "the upload could not be written to its file")
        }
    })
}
