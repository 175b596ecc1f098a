//! What the commands on jobs take.

use std::collections::HashSet;

use riverrun_event::{BlobRef, ErrorCode, JobId, JobItemId, JobItemInfo, RawJson, TaskId, ThreadId};
use riverrun_fold::MAX_JOB_ITEMS;
use serde::Deserialize;

use crate::edge::{Problem, decode_text};

/// The longest title, in characters.
const MAX_TITLE: usize = 500;
/// The most bytes that the metadata of a job or of one item has.
const MAX_METADATA: usize = 16 * 1024;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct NewJob {
    pub job_id: Option<JobId>,
    pub title: Option<String>,
    #[serde(default)]
    pub items: Vec<NewItem>,
    pub metadata: Option<RawJson>,
    pub instruction_ref: Option<BlobRef>,
    /// The task that the job works for.
    pub task_id: Option<TaskId>,
    pub thread_id: Option<ThreadId>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct NewItem {
    pub item_id: JobItemId,
    pub title: Option<String>,
    pub input_ref: Option<BlobRef>,
    pub metadata: Option<RawJson>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Retry {
    pub reason: Option<String>,
    /// Also an item whose worker reported that another attempt cannot succeed.
    pub force: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Cancel {
    pub reason: Option<String>,
}

pub(super) fn new_job(text: &str) -> Result<NewJob, Problem> {
    let job: NewJob = decode_text(text)?;
    if job.items.len() > MAX_JOB_ITEMS {
        let detail = format!("`items` has {} entries; a job may have {MAX_JOB_ITEMS}", job.items.len());
        return Err(bad("items".to_owned(), detail).limit(MAX_JOB_ITEMS as u64));
    }
    check("", job.title.as_deref(), job.metadata.as_ref())?;
    let mut seen = HashSet::new();
    for (at, item) in job.items.iter().enumerate() {
        check(&format!("items[{at}]."), item.title.as_deref(), item.metadata.as_ref())?;
        if !seen.insert(&item.item_id) {
            let detail = format!("`items[{at}].itemId`: `{}` names an earlier item too", item.item_id);
            return Err(bad(format!("items[{at}].itemId"), detail));
        }
    }
    Ok(job)
}

fn check(path: &str, title: Option<&str>, metadata: Option<&RawJson>) -> Result<(), Problem> {
    if title.is_some_and(|title| title.chars().count() > MAX_TITLE) {
        let detail = format!("`{path}title` may have {MAX_TITLE} characters");
        return Err(bad(format!("{path}title"), detail).limit(MAX_TITLE as u64));
    }
    if metadata.is_some_and(|metadata| metadata.get().len() > MAX_METADATA) {
        let detail =
            format!("`{path}metadata` may have {MAX_METADATA} bytes; store more with `PUT /v1/blobs`");
        return Err(bad(format!("{path}metadata"), detail).limit(MAX_METADATA as u64));
    }
    Ok(())
}

fn bad(field: String, detail: String) -> Problem {
    Problem::new(ErrorCode::InvalidField, detail).field(field)
}

impl NewItem {
    pub fn info(self) -> JobItemInfo {
        let Self { item_id, title, input_ref, metadata } = self;
        JobItemInfo { item_id: item_id.to_string(), title, input_ref, metadata }
    }
}
