//! Processes that tools run.

use riverrun_event::{ProcessEnded, ProcessInput, ProcessOutput, ProcessStarted};

use super::Step;
use crate::change::Change;
use crate::problem::ProblemCode;
use crate::process::{MAX_OUTPUT_REFS, Process};
use crate::status::Status;

/// The code of a failure that says that the owner of the process died.
const LOST: &str = "lost";

impl Step<'_> {
    pub(super) fn process_started(&mut self, started: &ProcessStarted) {
        let now = self.event.timestamp;
        let Some(process) = self.open_process() else { return };
        process.started_at = Some(now);
        process.tool_name.clone_from(&started.tool_name);
        process.command_summary.clone_from(&started.command_summary);
        process.cwd.clone_from(&started.cwd);
        process.destructive = started.destructive;
        process.interactive = started.interactive;
        self.change(Change::Ledger);
    }

    pub(super) fn process_output(&mut self, output: &ProcessOutput) {
        let Some(process) = self.open_process() else { return };
        process.outputs += 1;
        process.output_bytes = process.output_bytes.saturating_add(size(output.size, output.text.as_deref()));
        if let Some(output_ref) =
            output.output_ref.clone().filter(|_| process.output_refs.len() < MAX_OUTPUT_REFS)
        {
            process.output_refs.push(output_ref);
        }
        self.change(Change::Ledger);
    }

    pub(super) fn process_input(&mut self, input: &ProcessInput) {
        let Some(process) = self.open_process() else { return };
        process.inputs += 1;
        process.input_bytes = process.input_bytes.saturating_add(size(input.size, input.text.as_deref()));
        self.change(Change::Ledger);
    }

    pub(super) fn process_ended(&mut self, status: Status, ended: &ProcessEnded) {
        let now = self.event.timestamp;
        let Some(process) = self.open_process() else { return };
        let is_lost = ended.error.as_ref().is_some_and(|error| error.code.as_deref() == Some(LOST));
        process.status = if is_lost && status == Status::Failed { Status::Lost } else { status };
        process.ended_at = Some(now);
        process.exit_code = ended.exit_code;
        process.signal.clone_from(&ended.signal);
        process.terminated_by.clone_from(&ended.terminated_by);
        process.reason.clone_from(&ended.reason);
        process.duration_ms = ended.duration_ms;
        process.error.clone_from(&ended.error);
        if let Some(bytes) = ended.output_bytes {
            process.output_bytes = bytes;
        }
        if let Some(refs) = &ended.output_refs {
            process.output_refs.clone_from(refs);
        }
        self.change(Change::Ledger);
    }

    /// The process that the envelope names, which has not ended; made if this is the first word about it.
    fn open_process(&mut self) -> Option<&mut Process> {
        let Some(id) = self.event.subject.clone() else {
            let detail = format!("{} without a processId", self.event.kind.as_str());
            self.problem(ProblemCode::MissingCorrelation, detail);
            return None;
        };
        let known = self.state.processes.entries.iter().position(|known| known.process_id == id);
        let Some(known) = known else {
            let scope = &self.event.scope;
            let process = Process {
                process_id: id,
                status: Status::Running,
                turn_id: scope.turn_id.clone(),
                task_id: scope.task_id.clone(),
                tool_call_id: scope.tool_call_id.clone(),
                ..Process::default()
            };
            return Some(self.state.processes.push(process));
        };
        let status = self.state.processes.entries[known].status;
        if status.is_terminal() {
            self.problem(ProblemCode::AlreadyEnded, format!("process `{id}` was {} before", status.as_str()));
            return None;
        }
        Some(&mut self.state.processes.entries[known])
    }
}

fn size(declared: Option<u64>, text: Option<&str>) -> u64 {
    declared.unwrap_or_else(|| text.map_or(0, |text| text.len() as u64))
}
