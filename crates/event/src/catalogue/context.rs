//! Payloads of context, artifacts, evidence, limits, snapshots, the runtime itself, outputs and history.

use crate::catalogue::macros::payload;
use crate::catalogue::{BlobRef, ErrorInfo, RawJson};

payload! {
    /// What the model will read.
    ContextResolved optional {
        /// Memories.
        memory_refs "memory_refs": Vec<BlobRef>,
        /// Knowledge.
        knowledge_refs "knowledge_refs": Vec<BlobRef>,
        /// Parts of the workspace.
        workspace_refs "workspace_refs": Vec<BlobRef>,
        /// Pages of a browser.
        browser_refs "browser_refs": Vec<BlobRef>,
        /// Policies.
        policy_refs "policy_refs": Vec<BlobRef>,
        /// Instructions.
        instruction_refs "instruction_refs": Vec<BlobRef>,
        /// What was left out and why, opaque to us.
        omissions: Vec<RawJson>,
    };

    /// Older context is replaced by a summary.
    Compaction optional {
        /// What made it necessary.
        trigger: String,
        /// The turns that the summary stands for.
        affected_turns "affected_turns": Vec<String>,
        /// Where the summary is.
        summary_ref "summary_ref": BlobRef,
        /// Where the context that goes on is.
        continuation_ref "continuation_ref": BlobRef,
        /// The tokens before.
        tokens_before "tokens_before": u64,
        /// The tokens after.
        tokens_after "tokens_after": u64,
        /// Why it failed.
        error: ErrorInfo,
    };

    /// An artifact came or changed.
    ArtifactChanged optional {
        /// `created`, `updated`, `deleted`.
        change: String,
        /// A name for people.
        title: String,
        /// The media type.
        media_type "media_type": String,
        /// Where the artifact is.
        read_ref "read_ref": BlobRef,
        /// Which version this is.
        version_id "version_id": String,
        /// Where a preview is.
        preview_ref "preview_ref": BlobRef,
        /// Where the difference to the last version is.
        diff_ref "diff_ref": BlobRef,
    };

    /// Evidence came or changed.
    EvidenceChanged optional {
        /// Where the pack is.
        pack_ref "pack_ref": BlobRef,
        /// Where the trace is.
        trace_ref "trace_ref": BlobRef,
        /// Where the replay is.
        replay_ref "replay_ref": BlobRef,
        /// Where the review is.
        review_ref "review_ref": BlobRef,
        /// `exported`, `not_applicable`, `unsupported`, `missing_correlation`.
        signal: String,
        /// What the evidence lacks though it should have it.
        known_gaps "known_gaps": Vec<String>,
        /// What was checked.
        verification_outcomes "verification_outcomes": Vec<VerificationOutcome>,
    };

    /// One check and how it went.
    VerificationOutcome optional {
        /// The check.
        name: String,
        /// How it went.
        status: String,
        /// More for people.
        detail: String,
    };

    /// How a limit or a quota stands.
    LimitState optional {
        /// What is limited: `tokens`, `cost`, `turns`, `depth`, `time`, …
        kind: String,
        /// What the limit holds for.
        scope: String,
        /// How much there is.
        limit: f64,
        /// How much is used.
        used: f64,
        /// How much is left.
        remaining: f64,
        /// When it is full again, RFC 3339.
        reset_at "reset_at": String,
        /// `ok`, `low`, `blocked`.
        status: String,
        /// Why it changed.
        reason: String,
    };

    /// A read model was made anew.
    SnapshotInfo optional {
        /// The last event that it holds.
        sequence: u64,
        /// Where it is.
        snapshot_ref "snapshot_ref": BlobRef,
        /// Why it was made.
        reason: String,
        /// How the reader comes back: `replayed`, `coalesced`, `snapshot`.
        recovery_mode "recovery_mode": String,
        /// What may be out of date.
        stale: Vec<String>,
        /// What cannot be had.
        unavailable: Vec<String>,
        /// The read model itself, opaque to us.
        snapshot: RawJson,
    };

    /// Something that the operator should know.
    RuntimeNotice optional {
        /// A stable name.
        code: String,
        /// What happened, for a person.
        message: String,
        /// The kind of trouble.
        category: String,
        /// True if the same work may succeed later.
        retryable: bool,
        /// More, opaque to us.
        detail: RawJson,
    };

    /// A large output was moved, cut, cleaned or dropped.
    OutputChanged optional {
        /// Where the output is.
        output_ref "output_ref": BlobRef,
        /// Whose output it is.
        owner: String,
        /// The media type.
        media_type "media_type": String,
        /// The content encoding.
        encoding: String,
        /// The size in bytes.
        size: u64,
        /// The beginning.
        preview: String,
        /// How many bytes were cut.
        truncated_bytes "truncated_bytes": u64,
        /// When it goes away, RFC 3339.
        expires_at "expires_at": String,
        /// Why.
        reason: String,
    };

    /// A stretch of history was loaded.
    HistoryWindow optional {
        /// The first event.
        from_sequence "from_sequence": u64,
        /// The last event.
        to_sequence "to_sequence": u64,
        /// Where the next older stretch begins.
        cursor: String,
        /// True if there is more.
        has_more "has_more": bool,
        /// `event_log`, `rollout_log`, `session_snapshot`, `thread_read_model`, `context_boundary`, `evidence_export`.
        layer: String,
    };

    /// History was put together from what was left.
    HistoryReconstructed optional {
        /// The layers that it was made from.
        layers: Vec<String>,
        /// The last event that it holds.
        sequence: u64,
        /// True if something is missing.
        degraded: bool,
        /// What is missing.
        gaps: Vec<String>,
        /// Why it was necessary.
        reason: String,
    };

    /// History is taken back to an earlier place.
    HistoryRollback optional {
        /// Where it goes back to.
        target: String,
        /// The turns that are taken out.
        removed_turns "removed_turns": Vec<String>,
        /// What is left.
        surviving_baseline "surviving_baseline": String,
        /// The tool calls that it touches.
        affected_tools "affected_tools": Vec<String>,
        /// The artifacts that it touches.
        affected_artifacts "affected_artifacts": Vec<String>,
        /// The sub-agents that it touches.
        affected_subagents "affected_subagents": Vec<String>,
        /// The jobs that it touches.
        affected_jobs "affected_jobs": Vec<String>,
        /// What has to be done by hand.
        repair: String,
        /// True if something is missing.
        degraded: bool,
        /// Why.
        reason: String,
    };
}
