//! Payloads of tasks and their attempts.

use crate::catalogue::macros::payload;
use crate::catalogue::{BlobRef, ErrorInfo, RawJson, Usage};

payload! {
    /// What is known of a task; in an update, what changed.
    TaskInfo optional {
        /// A name for people.
        title: String,
        /// What is to be reached.
        objective: String,
        /// The agent that works on it.
        agent: String,
        /// The kind of task.
        kind: String,
        /// The call by which a parent's model asked for it.
        parent_tool_call_id "parent_tool_call_id": String,
        /// The family of the task's kind.
        task_family "task_family": String,
        /// `foreground`, `background`, `internal`, `hidden`, `unknown`.
        visibility: String,
        /// A task status of the standard.
        status: String,
        /// How urgent it is.
        priority: String,
        /// Who asked for it, opaque to us.
        requested_by "requested_by": RawJson,
        /// Whose it is, opaque to us.
        owner: RawJson,
        /// Who works on it, opaque to us.
        assignee: RawJson,
        /// What it may touch, opaque to us.
        scope: RawJson,
        /// What it must keep to, opaque to us.
        constraints: RawJson,
        /// What it must fulfil, opaque to us.
        acceptance: Vec<RawJson>,
        /// Why it is in this status.
        reason: String,
    };

    /// A task is in another status.
    TaskChange optional {
        /// The status, where the type alone does not say it: `waiting_input`, `waiting_permission`, …
        status: String,
        /// Why.
        reason: String,
        /// The status in the words of the system that the task came from.
        native_status "native_status": String,
    };

    /// How far a task is.
    TaskProgress optional {
        /// `planning`, `working`, `verifying`, `delivering`, `waiting`.
        phase: String,
        /// What happens now.
        message: String,
        /// How far it is, from 0 to 1.
        fraction: f64,
        /// Named counts, opaque to us.
        counters: RawJson,
        /// Where the output so far is.
        output_refs "output_refs": Vec<BlobRef>,
        /// `pending`, `delivered`, `queued`, `failed`, `parent_missing`, `not_applicable`.
        delivery_state "delivery_state": String,
        /// What of the acceptance is covered, opaque to us.
        acceptance: RawJson,
    };

    /// A task reached its objective.
    TaskCompleted optional {
        /// The status, where the type alone does not say it.
        status: String,
        /// Why it is done.
        reason: String,
        /// What it came to: a text or a value.
        final_output "final_output": RawJson,
        /// What it came to, for people.
        completion_summary "completion_summary": String,
        /// Where the output is.
        output_refs "output_refs": Vec<BlobRef>,
        /// The tokens of all its model calls.
        usage: Usage,
    };

    /// A task failed.
    TaskFailed {
        /// Why.
        error: ErrorInfo,
    } optional {
        /// The status, where the type alone does not say it.
        status: String,
        /// Why, in a word.
        reason: String,
    };

    /// What a task needs from a model.
    TaskProfile optional {
        /// The kind of task.
        kind: String,
        /// Where the profile comes from.
        source: String,
        /// What the model must be able to do.
        required_capabilities "required_capabilities": Vec<String>,
        /// How fast the answer must come.
        latency_target "latency_target": String,
        /// What the answer may cost.
        budget_class "budget_class": String,
        /// What to do when no model fits.
        fallback_policy "fallback_policy": String,
        /// Where the settings come from.
        settings_source "settings_source": String,
    };

    /// A task gave work to another task.
    TaskDelegated {
        /// The task that does the work.
        to_task_id "to_task_id": String,
    } optional {
        /// The agent that does the work.
        agent: String,
    };

    /// An edge of the task graph.
    TaskRelationship optional {
        /// `parent`, `blocks`, `blocked_by`, `source_task`, `spawned_subagent`, `produced_artifact`, …
        kind: String,
        /// What the edge leads to.
        target_id "target_id": String,
        /// How the edge stands.
        status: String,
        /// Why.
        reason: String,
        /// When the edge came, RFC 3339.
        created_at "created_at": String,
        /// When the edge changed, RFC 3339.
        updated_at "updated_at": String,
    };

    /// One attempt at a task.
    TaskAttempt optional {
        /// Which attempt this is, from 1.
        attempt: u32,
        /// How the attempt stands.
        status: String,
        /// True if another attempt may succeed.
        retryable: bool,
        /// The kind of failure.
        failure_category "failure_category": String,
        /// Who may begin the next attempt.
        next_attempt_policy "next_attempt_policy": String,
        /// Why it failed.
        error: ErrorInfo,
        /// Why it began or ended.
        reason: String,
        /// Who works on it, opaque to us.
        worker: RawJson,
        /// Where the input is.
        input_refs "input_refs": Vec<BlobRef>,
        /// Where the output is.
        output_refs "output_refs": Vec<BlobRef>,
        /// Points to which the attempt can go back.
        checkpoint_refs "checkpoint_refs": Vec<BlobRef>,
        /// When it began, RFC 3339.
        started_at "started_at": String,
        /// When it ended, RFC 3339.
        ended_at "ended_at": String,
        /// What it came to, for people.
        completion_summary "completion_summary": String,
    };
}
