//! A copy of the whole store while it is in use.

use std::path::Path;

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use riverrun_event::ErrorCode;
use serde::Serialize;

use super::json;
use crate::app::App;
use crate::edge::{Caller, KeyScope, Problem, StrictQuery};
use riverrun_session::{Job, JobFailure};

#[derive(Debug, Serialize)]
struct Backup {
    /// Its name in the server's directory of backups.
    file: String,
    size: u64,
}

/// Writes a backup into the server's own directory. Only its name is told, and only its own tenant's admin asks:
/// the copy holds every tenant.
pub async fn post(
    State(app): State<App>,
    caller: Caller,
    StrictQuery(()): StrictQuery<()>,
) -> Result<Response, Problem> {
    caller.require(KeyScope::Admin)?;
    if caller.tenant().as_str() != crate::edge::DEFAULT_TENANT {
        let detail = "a backup holds every tenant; it needs an admin key of the first one";
        return Err(Problem::new(ErrorCode::Forbidden, detail).with("scope", KeyScope::Admin.as_str()));
    }
    let missing = || Problem::new(ErrorCode::InvalidRequest, "this server was not told where backups go");
    let directory = app.backups().ok_or_else(missing)?;
    let failed = |error: std::io::Error| {
        tracing::warn!(%error, "the directory of backups cannot be used");
        Problem::new(ErrorCode::StorageFailed, "the directory of backups cannot be written")
    };
    make(directory).map_err(failed)?;
    let file = format!("{}.db", app.now().to_string().replace([':', '.'], "-"));
    let path = directory.join(&file);
    let mut job = Job::begin(app.sessions(), caller.tenant(), "backup", Some(1)).await;
    job.begin_item(&file).await;
    if let Err(error) = app.log().backup(&path).await {
        let problem = Problem::from(error);
        job.fail(&JobFailure::from(&problem)).await;
        return Err(problem);
    }
    job.end_item(None).await;
    job.complete().await;
    let size = std::fs::metadata(&path).map_err(failed)?.len();
    Ok(json(StatusCode::CREATED, &Backup { file, size }))
}

fn make(directory: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}
