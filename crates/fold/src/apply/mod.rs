//! One event into the state.

mod action;
mod benchmark;
mod block;
mod close;
mod contents;
mod file;
mod halt;
mod hook;
mod item;
mod job;
mod plain;
mod process;
mod reasoning;
mod repair;
mod resolve;
mod seal;
mod task;
mod text;
mod tool;
mod turn;

use riverrun_event::{Event, Payload, Sequence};

use crate::change::Change;
use crate::job::JobStatus;
use crate::problem::{FoldProblem, ProblemCode};
use crate::state::State;
use crate::status::Status;

pub use plain::session_status;

/// The outcome of applying an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a gap or a duplicate leaves the state as it was"]
pub enum ApplyOutcome {
    /// The state is the one after the event.
    Applied,
    /// Its sequence was applied before; nothing changed.
    Duplicate,
    /// Events are missing before it; nothing changed.
    Gap {
        /// The sequence that is next.
        expected: Sequence,
        /// The sequence of the event.
        found: Sequence,
    },
}

/// Whether a missing sequence is a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Density {
    /// The whole log: every sequence must come.
    Dense,
    /// A filtered stream: holes are what the filter left out.
    Filtered,
}

impl State {
    /// Applies one event of the whole log. The changes are appended to `changes`.
    pub fn apply(&mut self, event: &Event, changes: &mut Vec<Change>) -> ApplyOutcome {
        self.apply_as(Density::Dense, event, changes)
    }

    /// Applies one event of the whole log or of a filtered stream. The changes are appended to `changes`.
    pub fn apply_as(&mut self, density: Density, event: &Event, changes: &mut Vec<Change>) -> ApplyOutcome {
        if event.sequence <= self.sequence {
            return ApplyOutcome::Duplicate;
        }
        let expected = self.sequence.next().unwrap_or(Sequence::MAX);
        // Joined deltas stand for all the events that they were made of.
        let first = event.first_sequence.unwrap_or(event.sequence);
        if density == Density::Dense && first != expected {
            return ApplyOutcome::Gap { expected, found: first };
        }
        self.revision += event.sequence.get().saturating_sub(first.max(expected).get());
        self.sequence = event.sequence;
        self.updated_at = Some(event.timestamp);
        let mut step = Step { state: self, event, changes };
        step.run();
        ApplyOutcome::Applied
    }
}

/// An event being applied.
struct Step<'a> {
    state: &'a mut State,
    event: &'a Event,
    changes: &'a mut Vec<Change>,
}

impl Step<'_> {
    fn change(&mut self, change: Change) {
        self.state.revision += 1;
        self.changes.push(change);
    }

    fn problem(&mut self, code: ProblemCode, detail: impl Into<String>) {
        self.state.problems.push(FoldProblem { sequence: self.event.sequence, code, detail: detail.into() });
        self.change(Change::Problem);
    }

    fn run(&mut self) {
        let payload = match &self.event.payload {
            Ok(payload) => payload,
            Err(error) => return self.problem(ProblemCode::Malformed, error.to_string()),
        };
        let problems = self.state.problems.count;
        self.touch_turn();
        self.dispatch(payload);
        if self.state.problems.count == problems {
            self.session_status();
        }
    }

    fn dispatch(&mut self, payload: &Payload) {
        use Payload as P;
        match payload {
            P::ModelDelta(delta) => self.model_delta(delta),
            P::ReasoningDelta(delta) => self.reasoning_delta(delta),
            P::ReasoningSummary(summary) => self.reasoning_summary(summary),
            P::ToolArgs(args) => self.tool_args(args),
            P::ItemStarted(started) => self.item_started(started),
            P::ItemUpdated(updated) => self.item_updated(updated),
            P::ItemCompleted(completed) => self.item_completed(completed),
            P::ItemRetracted(retracted) => self.item_retracted(retracted),

            P::SessionCreated(info) | P::SessionUpdated(info) => self.session(info),
            P::ThreadStarted(info) | P::ThreadUpdated(info) => self.thread(info),
            P::TurnSubmitted(submitted) => self.turn_submitted(submitted),
            P::TurnStarted(started) => self.turn_started(started),
            P::TurnCompleted(completed) => self.turn_completed(completed),
            P::TurnFailed(failed) => self.turn_failed(failed),
            P::TurnCancelled(cancelled) => self.turn_cancelled(cancelled),

            P::TaskCreated(info) => self.task_created(info),
            P::TaskUpdated(info) => self.task_updated(info),
            P::TaskAccepted(change) => self.task_status(Status::Accepted, change),
            P::TaskQueued(change) => self.task_status(Status::Queued, change),
            P::TaskStarted(change) => self.task_status(Status::Running, change),
            P::TaskWaiting(change) => self.task_status(Status::WaitingInput, change),
            P::TaskBlocked(change) => self.task_status(Status::Blocked, change),
            P::TaskPaused(change) => self.task_status(Status::Paused, change),
            P::TaskResumed(change) => self.task_status(Status::Running, change),
            P::TaskRetrying(change) => self.task_status(Status::Retrying, change),
            P::TaskCancelRequested(change) => self.task_status(Status::Cancelling, change),
            P::TaskCancelled(change) => self.task_status(Status::Cancelled, change),
            P::TaskTimedOut(change) => self.task_status(Status::TimedOut, change),
            P::TaskLost(change) => self.task_status(Status::Lost, change),
            P::TaskArchived(change) => self.task_status(Status::Archived, change),
            P::TaskFailed(failed) => self.task_failed(failed),
            P::TaskCompleted(completed) => self.task_completed(completed),
            P::TaskAttemptStarted(attempt) => self.attempt(Status::Running, attempt),
            P::TaskAttemptCompleted(attempt) => self.attempt(Status::Completed, attempt),
            P::TaskAttemptFailed(attempt) => self.attempt(Status::Failed, attempt),

            P::ModelCompleted(completed) => self.model_completed(completed),
            P::ModelFailed(failed) => self.model_failed(failed),
            P::ToolStarted(started) => self.tool_started(started),
            P::ToolProgress(progress) => self.tool_progress(progress),
            P::ToolResult(result) => self.tool_result(result),
            P::ToolFailed(failed) => self.tool_failed(failed),
            P::ToolCancelled(cancelled) => self.tool_ended(Status::Cancelled, &cancelled.tool_name),
            P::ToolOutcomeUnknown(unknown) => self.tool_ended(Status::Unknown, &unknown.tool_name),
            P::ActionRequired(_) => self.action_required(),
            P::ActionResolved(_) => self.action_resolved(),
            P::QueueChanged(changed) => self.queue_changed(changed),
            P::AgentChanged(changed) => self.agent_changed(&changed.agent),
            P::HandoffCompleted(completed) => self.agent_changed(&completed.to),
            P::HookStarted(run) => self.hook(Status::Running, run),
            P::HookCompleted(run) => self.hook(Status::Completed, run),
            P::HookFailed(run) => self.hook(Status::Failed, run),
            P::FileProcessingStarted(file) => self.file(Status::Running, file),
            P::FileProcessingCompleted(file) => self.file(Status::Completed, file),
            P::FileProcessingFailed(file) => self.file(Status::Failed, file),
            P::CostRecorded(cost) => self.cost_recorded(cost),
            P::ProcessStarted(started) => self.process_started(started),
            P::ProcessOutput(output) => self.process_output(output),
            P::ProcessInput(input) => self.process_input(input),
            P::ProcessCompleted(ended) => self.process_ended(Status::Completed, ended),
            P::ProcessFailed(ended) => self.process_ended(Status::Failed, ended),
            P::ProcessTerminated(ended) => self.process_ended(Status::Cancelled, ended),
            P::JobCreated(info) => self.job_created(info),
            P::JobStarted(info) => self.job_started(info),
            P::JobProgress(info) => self.job_progress(info),
            P::JobItemStarted(item) => self.job_item_started(item),
            P::JobItemCompleted(item) => self.job_item_completed(item),
            P::JobItemFailed(item) => self.job_item_failed(item),
            P::JobCompleted(info) => self.job_ended(JobStatus::Completed, info),
            P::JobFailed(info) => self.job_ended(JobStatus::Failed, info),
            P::JobCancelled(info) => self.job_ended(JobStatus::Cancelled, info),
            P::BenchmarkDatasetResolved(info) => self.benchmark_dataset(info),
            P::BenchmarkConfigurationResolved(info) => self.benchmark_configuration(info),
            P::BenchmarkTrialStarted(info) => self.benchmark_trial(Status::Running, info),
            P::BenchmarkTrialCompleted(info) => self.benchmark_trial(Status::Completed, info),
            P::BenchmarkTrialFailed(info) => self.benchmark_trial(Status::Failed, info),
            P::BenchmarkRewardRecorded(info) => self.benchmark_trial(Status::Unknown, info),
            P::BenchmarkComparisonCompleted(info) => self.benchmark_comparison(info),
            P::HistoryRollbackCompleted(rollback) => self.history_rolled_back(rollback),
            P::SnapshotUpdated(info) | P::SnapshotRepaired(info) => self.snapshot(info),

            // It repeats what the other events say.
            P::ModelRaw(_) => {}

            // Told and kept; the read models show them.
            P::TaskProgress(_)
            | P::TaskProfileResolved(_)
            | P::TaskDelegated(_)
            | P::TaskDependencyUpdated(_)
            | P::RunStatus(_)
            | P::ModelRequested(_)
            | P::ToolCatalogResolved(_)
            | P::HandoffRequested(_)
            | P::InputSteered(_)
            | P::ContextResolved(_)
            | P::ContextCompactionStarted(_)
            | P::ContextCompactionCompleted(_)
            | P::ContextCompactionFailed(_)
            | P::ArtifactChanged(_)
            | P::EvidenceChanged(_)
            | P::SubagentSpawned(_)
            | P::SubagentStatus(_)
            | P::SubagentInput(_)
            | P::SubagentOutput(_)
            | P::SubagentCompleted(_)
            | P::SubagentFailed(_)
            | P::SubagentClosed(_)
            | P::LimitChanged(_)
            | P::RuntimeWarning(_)
            | P::RuntimeError(_)
            | P::PermissionEvaluated(_)
            | P::PermissionRequested(_)
            | P::PermissionResolved(_)
            | P::SandboxApplied(_)
            | P::SandboxViolation(_)
            | P::PolicyChanged(_)
            | P::RoutingCandidatesResolved(_)
            | P::RoutingDecided(_)
            | P::RoutingFallbackApplied(_)
            | P::RoutingNotPossible(_)
            | P::RoutingSingleCandidate(_)
            | P::CostEstimated(_)
            | P::RateLimitHit(_)
            | P::QuotaLow(_)
            | P::QuotaBlocked(_)
            | P::ChannelConnected(_)
            | P::ChannelDisconnected(_)
            | P::ChannelResumed(_)
            | P::ChannelMessage(_)
            | P::ChannelPermissionForwarded(_)
            | P::ChannelPermissionReturned(_)
            | P::ChannelPeerTaskLinked(_)
            | P::ChannelPeerTaskUpdated(_)
            | P::OutputSpilled(_)
            | P::OutputTruncated(_)
            | P::OutputRedacted(_)
            | P::OutputExpired(_)
            | P::HistoryWindowLoaded(_)
            | P::HistoryReconstructed(_)
            | P::HistoryRollbackStarted(_)
            | P::Other(_) => self.ledger(),
        }
    }
}
