//! Payloads of processes and jobs.

use crate::catalogue::macros::payload;
use crate::catalogue::{BlobRef, ErrorInfo, RawJson};

payload! {
    /// A process begins.
    ProcessStarted optional {
        /// The tool that runs it.
        tool_name "tool_name": String,
        /// What runs, for people and without secrets.
        command_summary "command_summary": String,
        /// The commands inside it.
        subcommands: Vec<String>,
        /// True if something may be destroyed.
        destructive: bool,
        /// What allowed it.
        decision: String,
        /// How its paths were checked.
        path_validation "path_validation": String,
        /// The workspace.
        workspace_id "workspace_id": String,
        /// The working directory.
        cwd: String,
        /// Other directories at hand.
        additional_roots "additional_roots": Vec<String>,
        /// The shell.
        shell: String,
        /// The operating system.
        os: String,
        /// The processor.
        arch: String,
        /// Where the environment is described.
        env_ref "env_ref": BlobRef,
        /// The walls around it, opaque to us.
        sandbox_profile "sandbox_profile": RawJson,
        /// What of the network it may reach, opaque to us.
        network_profile "network_profile": RawJson,
        /// What it may use, opaque to us.
        resource_limits "resource_limits": RawJson,
        /// True if its input stays open, so that it can be written to.
        interactive: bool,
    };

    /// A process wrote something.
    ProcessOutput optional {
        /// `stdout` or `stderr`.
        stream: String,
        /// What it wrote.
        text: String,
        /// The beginning of what it wrote.
        preview: String,
        /// Where all of it is.
        output_ref "output_ref": BlobRef,
        /// Where this part begins in the stream, in bytes.
        offset: u64,
        /// How many bytes this part has.
        size: u64,
    };

    /// A process was given something to read.
    ProcessInput optional {
        /// What it was given.
        text: String,
        /// The beginning of what it was given.
        preview: String,
        /// Where all of it is.
        input_ref "input_ref": BlobRef,
        /// How many bytes it was given.
        size: u64,
        /// Who wrote it.
        written_by "written_by": String,
        /// True if the text is kept nowhere.
        secret: bool,
        /// True if nothing more can be written behind it.
        end_of_input "end_of_input": bool,
    };

    /// A process ended.
    ProcessEnded optional {
        /// The exit code.
        exit_code "exit_code": i64,
        /// The signal that ended it.
        signal: String,
        /// How long it ran, in milliseconds.
        duration_ms "duration_ms": u64,
        /// Where its output is.
        output_refs "output_refs": Vec<BlobRef>,
        /// The bytes that it wrote, those that were not kept included.
        output_bytes "output_bytes": u64,
        /// The beginning and the end of what it wrote.
        preview: String,
        /// Who ended it.
        terminated_by "terminated_by": String,
        /// Why it was ended.
        reason: String,
        /// Why it failed.
        error: ErrorInfo,
    };

    /// What is known of a job.
    JobInfo optional {
        /// How it stands.
        status: String,
        /// A name for people.
        title: String,
        /// Where the instruction is.
        instruction_ref "instruction_ref": BlobRef,
        /// Where the input is.
        input_refs "input_refs": Vec<BlobRef>,
        /// Where the schema of the output is.
        output_schema_ref "output_schema_ref": BlobRef,
        /// How long it may run, in milliseconds.
        max_runtime_ms "max_runtime_ms": u64,
        /// The item that comes next.
        item_cursor "item_cursor": String,
        /// How far it is.
        progress: JobProgress,
        /// The threads that work on it.
        threads: Vec<String>,
        /// Why it is in this status.
        reason: String,
        /// Why it failed.
        error: ErrorInfo,
        /// Its items, when it is created.
        items: Vec<JobItemInfo>,
        /// What its maker keeps with it, opaque to us.
        metadata: RawJson,
    };

    /// One item of a job, as it is created.
    JobItemInfo {
        /// The item's id, unique in its job.
        item_id "item_id": String,
    } optional {
        /// A name for people.
        title: String,
        /// Where the input is.
        input_ref "input_ref": BlobRef,
        /// What the job's maker keeps with it, opaque to us.
        metadata: RawJson,
    };

    /// How far a job is, in items.
    JobProgress optional {
        /// All items.
        total: u64,
        /// Those that wait.
        pending: u64,
        /// Those under way.
        running: u64,
        /// Those that ended well.
        completed: u64,
        /// Those that failed.
        failed: u64,
    };

    /// One item of a job.
    JobItem optional {
        /// `pending`, `running`, `completed`, `failed`, `reported`.
        status: String,
        /// How often it was tried.
        attempts: u32,
        /// Why the last attempt failed.
        last_error "last_error": ErrorInfo,
        /// True if another attempt may succeed.
        retryable: bool,
        /// Why it is in this status.
        reason: String,
        /// Where the input is.
        input_ref "input_ref": BlobRef,
        /// Where the output is.
        output_ref "output_ref": BlobRef,
    };
}
