//! Jobs and their items. An item is tried again alone: the other items keep their results.

use riverrun_event::{JobInfo, JobItem, JobItemInfo, Timestamp};

use super::Step;
use crate::job::{JobItemState, JobState, JobStatus};
use crate::problem::ProblemCode;

impl Step<'_> {
    pub(super) fn job_created(&mut self, info: &JobInfo) {
        let Some(at) = self.open_job(JobStatus::Pending) else { return };
        let now = self.event.timestamp;
        let job = &mut self.state.jobs.entries[at];
        job.created_at = job.created_at.or(Some(now));
        update(job, info);
        for item in info.items.iter().flatten() {
            // A job that is full is not searched again for each of them.
            if job.is_full() || job.item(&item.item_id).is_none() {
                job.push(new_item(item));
            }
        }
        self.ledger();
    }

    /// Begins a job, or goes on with one that had ended, so that its failed items can be tried again.
    pub(super) fn job_started(&mut self, info: &JobInfo) {
        let now = self.event.timestamp;
        let known = self.known_job();
        if let Some(at) = known
            && matches!(self.state.jobs.entries[at].status, JobStatus::Completed | JobStatus::Failed)
        {
            let job = &mut self.state.jobs.entries[at];
            (job.status, job.ended_at, job.error) = (JobStatus::Running, None, None);
        }
        let Some(at) = self.open_job(JobStatus::Running) else { return };
        start(&mut self.state.jobs.entries[at], now);
        update(&mut self.state.jobs.entries[at], info);
        self.ledger();
    }

    pub(super) fn job_progress(&mut self, info: &JobInfo) {
        let now = self.event.timestamp;
        let Some(at) = self.open_job(JobStatus::Running) else { return };
        start(&mut self.state.jobs.entries[at], now);
        update(&mut self.state.jobs.entries[at], info);
        self.ledger();
    }

    pub(super) fn job_ended(&mut self, status: JobStatus, info: &JobInfo) {
        let now = self.event.timestamp;
        let Some(at) = self.open_job(JobStatus::Running) else { return };
        let job = &mut self.state.jobs.entries[at];
        (job.status, job.ended_at) = (status, Some(now));
        update(job, info);
        job.error.clone_from(&info.error);
        // Nobody works on these any more.
        for item in job.items.iter_mut().filter(|item| !item.status.is_terminal()) {
            match (status, item.status) {
                (JobStatus::Cancelled, _) => (item.status, item.ended_at) = (JobStatus::Cancelled, Some(now)),
                (_, JobStatus::Running) => {
                    (item.status, item.ended_at) = (JobStatus::Failed, Some(now));
                    item.last_error = info.error.clone().or(item.last_error.take());
                }
                (_, _) => {}
            }
        }
        self.ledger();
    }

    pub(super) fn job_item_started(&mut self, report: &JobItem) {
        let now = self.event.timestamp;
        let Some((job, at)) = self.open_item(report, Some(JobStatus::Failed)) else { return };
        start(&mut self.state.jobs.entries[job], now);
        let thread = self.event.scope.thread_id.clone();
        let Some(at) = at else { return self.ledger() };
        let item = &mut self.state.jobs.entries[job].items[at];
        let is_new_attempt = item.status != JobStatus::Running;
        let least = if is_new_attempt { item.attempts.saturating_add(1) } else { item.attempts };
        item.attempts = least.max(report.attempts.unwrap_or(0));
        if is_new_attempt {
            (item.status, item.started_at, item.ended_at) = (JobStatus::Running, Some(now), None);
            (item.retryable, item.output_ref) = (None, None);
        }
        item.input_ref = report.input_ref.clone().or(item.input_ref.take());
        item.thread_id = thread.or(item.thread_id.take());
        self.ledger();
    }

    pub(super) fn job_item_completed(&mut self, report: &JobItem) {
        let now = self.event.timestamp;
        let is_reported = report.status.as_deref() == Some(JobStatus::Reported.as_str());
        let Some((job, at)) = self.open_item(report, is_reported.then_some(JobStatus::Completed)) else {
            return;
        };
        start(&mut self.state.jobs.entries[job], now);
        let Some(at) = at else { return self.ledger() };
        let item = &mut self.state.jobs.entries[job].items[at];
        item.status = if is_reported { JobStatus::Reported } else { JobStatus::Completed };
        item.ended_at = item.ended_at.or(Some(now));
        item.attempts = item.attempts.max(report.attempts.unwrap_or(1));
        item.output_ref = report.output_ref.clone().or(item.output_ref.take());
        self.ledger();
    }

    pub(super) fn job_item_failed(&mut self, report: &JobItem) {
        let now = self.event.timestamp;
        let Some((job, at)) = self.open_item(report, None) else { return };
        start(&mut self.state.jobs.entries[job], now);
        let Some(at) = at else { return self.ledger() };
        let item = &mut self.state.jobs.entries[job].items[at];
        (item.status, item.ended_at) = (JobStatus::Failed, Some(now));
        item.attempts = item.attempts.max(report.attempts.unwrap_or(1));
        item.last_error = report.last_error.clone().or(item.last_error.take());
        item.retryable = report.retryable;
        self.ledger();
    }

    fn known_job(&self) -> Option<usize> {
        let id = self.event.job.as_ref()?.job_id.as_ref()?;
        self.state.jobs.entries.iter().position(|known| known.job_id == *id)
    }

    /// The job that the envelope names, which has not ended; made if this is the first event about it.
    fn open_job(&mut self, first: JobStatus) -> Option<usize> {
        let Some(id) = self.event.job.as_ref().and_then(|job| job.job_id.clone()) else {
            let detail = format!("{} without a jobId", self.event.kind.as_str());
            self.problem(ProblemCode::MissingCorrelation, detail);
            return None;
        };
        let Some(at) = self.known_job() else {
            let scope = &self.event.scope;
            let job = JobState {
                job_id: id,
                status: first,
                sequence: self.event.sequence,
                thread_id: scope.thread_id.clone(),
                task_id: scope.task_id.clone(),
                ..JobState::default()
            };
            return Some(self.state.jobs.push(job));
        };
        let status = self.state.jobs.entries[at].status;
        if status.is_terminal() {
            self.problem(ProblemCode::AlreadyEnded, format!("job `{id}` was {} before", status.as_str()));
            return None;
        }
        Some(at)
    }

    /// The item that the envelope names and its job, unless it has ended in another status than `follows`. No position
    /// for an item that the state has no room for.
    fn open_item(&mut self, report: &JobItem, follows: Option<JobStatus>) -> Option<(usize, Option<usize>)> {
        let Some(id) = self.event.job.as_ref().and_then(|job| job.item_id.clone()) else {
            let detail = format!("{} without a jobItemId", self.event.kind.as_str());
            self.problem(ProblemCode::MissingCorrelation, detail);
            return None;
        };
        let job = self.open_job(JobStatus::Running)?;
        let items = &self.state.jobs.entries[job].items;
        let Some(at) = items.iter().position(|known| known.item_id == id) else {
            let item = JobItemState { item_id: id, ..JobItemState::default() };
            return Some((job, self.state.jobs.entries[job].push(item)));
        };
        let item = &items[at];
        let has_ended = |attempt: u32| {
            attempt < item.attempts || (attempt == item.attempts && item.status == JobStatus::Failed)
        };
        let is_late = report.attempts.is_some_and(has_ended);
        if is_late || (item.status.is_terminal() && Some(item.status) != follows) {
            let detail = format!("item `{id}` was {} in attempt {}", item.status.as_str(), item.attempts);
            self.problem(ProblemCode::AlreadyEnded, detail);
            return None;
        }
        Some((job, Some(at)))
    }
}

/// What an event has on the job; what it leaves out stays.
fn update(job: &mut JobState, info: &JobInfo) {
    job.title = info.title.clone().or(job.title.take());
    job.instruction_ref = info.instruction_ref.clone().or(job.instruction_ref.take());
    job.metadata = info.metadata.clone().or(job.metadata.take());
    job.progress = info.progress.clone().or(job.progress.take());
    job.reason.clone_from(&info.reason);
}

fn start(job: &mut JobState, now: Timestamp) {
    job.status = JobStatus::Running;
    job.started_at = job.started_at.or(Some(now));
}

fn new_item(item: &JobItemInfo) -> JobItemState {
    JobItemState {
        item_id: item.item_id.clone(),
        title: item.title.clone(),
        metadata: item.metadata.clone(),
        input_ref: item.input_ref.clone(),
        ..JobItemState::default()
    }
}
