//! The processes of tool calls: what they tell, and what is told of them when their call ends before they do.

pub(super) mod control;

use std::collections::HashMap;

use riverrun_event::{
    BlobRef, EventScope, EventType, ProcessEnded, ProcessStarted, RawJson, SessionId, TaskId,
};
use riverrun_fold::Status;
use riverrun_tool::{HowEnded, ProcessPlan, end_marked, end_of_call};
use serde_json::json;
use tokio::sync::oneshot;

use crate::actor::Actor;
use crate::actor::session::HostedSession;
use crate::drive::{Handle, ProcessReport, failed_process};
use crate::event_batch::EventBatch;
use crate::mailbox::Reply;
use crate::view::{CallView, TaskView, TurnView};
use crate::{ProcessOver, RequestKey};

/// ProcessTable that this actor's effects run, and those of a former owner.
#[derive(Default)]
pub(crate) struct ProcessTable {
    pub held: HashMap<String, Held>,
    /// Those of a former owner, with how many of each were still there and were ended.
    pub lost: HashMap<String, Option<usize>>,
}

/// A process that an effect of this actor runs.
pub(crate) struct Held {
    pub task: TaskId,
    pub call: String,
    pub handle: Handle,
    /// Nothing more can be written to it.
    pub is_closed: bool,
    pub is_over: bool,
    pub refs: Vec<BlobRef>,
    /// Who asked for its end.
    pub waiting: Vec<(Option<RequestKey>, Reply<ProcessOver>)>,
}

/// What is said once what is being written is durable, and never if it is not written.
pub(crate) enum DurableAction {
    /// To a process that may start now.
    Begin(oneshot::Sender<()>),
    /// To who asked for the end of one.
    Over(Reply<ProcessOver>, ProcessOver),
}

impl DurableAction {
    /// Who waited may have gone.
    pub fn run(self) {
        match self {
            DurableAction::Begin(durable) => drop(durable.send(())),
            DurableAction::Over(reply, over) => drop(reply.send(Ok(over))),
        }
    }
}

impl HostedSession {
    fn process_scope(&self, task: &TaskId, call: &str) -> Option<(EventScope, String)> {
        let (_, view) = self.view.task(task)?;
        let known = view.call(call)?;
        Some((view.call_scope(known), known.name.clone()))
    }
}

impl Actor {
    pub(crate) fn process_report(
        &mut self,
        task: &TaskId,
        call: &str,
        process: &str,
        report: ProcessReport,
        batch: &mut EventBatch,
    ) {
        let Some((scope, name)) = self.session.process_scope(task, call) else { return };
        match report {
            ProcessReport::Begun { plan, handle, durable } => {
                batch.push_process(EventType::ProcessStarted, &scope, process, &started(name, &plan));
                let held = Held {
                    task: task.clone(),
                    call: call.to_owned(),
                    handle,
                    is_closed: false,
                    is_over: false,
                    refs: Vec::new(),
                    waiting: Vec::new(),
                };
                self.processes.held.insert(process.to_owned(), held);
                self.effects.when_durable.push(DurableAction::Begin(durable));
            }
            ProcessReport::Output(output) => {
                batch.push_process(EventType::ProcessOutput, &scope, process, &output);
            }
            ProcessReport::Ended(how, ended) => {
                let kind = match how {
                    HowEnded::Exited(0) => EventType::ProcessCompleted,
                    HowEnded::Exited(_) | HowEnded::Signalled(_) | HowEnded::Failed(_) => {
                        EventType::ProcessFailed
                    }
                    HowEnded::Terminated(_) => EventType::ProcessTerminated,
                };
                self.process_over(process, kind, &scope, &ended, batch);
            }
        }
    }

    /// The last word about a process; who asked for its end is answered when it is durable.
    fn process_over(
        &mut self,
        process: &str,
        kind: EventType,
        scope: &EventScope,
        ended: &ProcessEnded,
        batch: &mut EventBatch,
    ) {
        let status = match kind {
            EventType::ProcessCompleted => Status::Completed,
            EventType::ProcessTerminated => Status::Cancelled,
            _ => Status::Failed,
        };
        batch.push_process(kind, scope, process, ended);
        let Some(held) = self.processes.held.get_mut(process) else { return };
        held.is_over = true;
        held.refs = ended.output_refs.clone().unwrap_or_default();
        let (task, waiting) = (held.task.clone(), std::mem::take(&mut held.waiting));
        let mut remembered = Vec::new();
        for (request, reply) in waiting {
            if let Some(request) = request.filter(|request| !remembered.contains(&request.id)) {
                remembered.push(request.id);
                self.session.remember_process_request(&task, request, batch);
            }
            let over = ProcessOver {
                process_id: process.to_owned(),
                status: status.as_str().to_owned(),
                exit_code: ended.exit_code,
            };
            self.effects.when_durable.push(DurableAction::Over(reply, over));
        }
    }

    /// The call ends: a process of it that has not ended is told to have been ended, by `by`. Where the output of
    /// the call is, if it is large.
    pub(crate) fn end_processes(
        &mut self,
        task: &TaskId,
        call: &str,
        by: &str,
        reason: Option<&str>,
        batch: &mut EventBatch,
    ) -> Option<BlobRef> {
        self.processes.lost_process(&self.session, task, call, batch);
        let of_call = self.processes.held.iter().filter(|(_, held)| held.task == *task && held.call == call);
        let ids: Vec<String> = of_call.map(|(id, _)| id.clone()).collect();
        let (scope, _) = self.session.process_scope(task, call)?;
        let mut output = None;
        for id in ids {
            if self.processes.held.get(&id).is_some_and(|held| !held.is_over) {
                let ended = ProcessEnded {
                    signal: Some("SIGTERM".to_owned()),
                    terminated_by: Some(by.to_owned()),
                    reason: reason.map(ToOwned::to_owned),
                    ..ProcessEnded::default()
                };
                self.process_over(&id, EventType::ProcessTerminated, &scope, &ended, batch);
            }
            let held = self.processes.held.remove(&id);
            output = output.or(held.and_then(|held| held.refs.into_iter().next()));
        }
        output
    }
}

impl ProcessTable {
    /// A former owner ran the process of this call; nobody saw its end, and it never counts as done.
    pub(crate) fn lost_process(
        &mut self,
        session: &HostedSession,
        task: &TaskId,
        call: &str,
        batch: &mut EventBatch,
    ) {
        let known = session.view.task(task).and_then(|(_, view)| view.call(call));
        let Some(process) = known.and_then(|known| known.process.clone()) else { return };
        if self.held.contains_key(&process) {
            return;
        }
        let Some(ended) = self.lost.remove(&process) else { return };
        let Some((scope, _)) = session.process_scope(task, call) else { return };
        let stored = session.state.processes.find(&process).map_or(0, |process| process.output_bytes);
        let left = match ended {
            Some(0) => "nothing of it was left on this machine".to_owned(),
            Some(count) => format!("{count} processes of it were still there and were ended"),
            None => "whether it still runs is not known".to_owned(),
        };
        let message = format!(
            "the server stopped while the process ran; {left}; {stored} bytes of its output are kept, what else it wrote is lost"
        );
        let ended_event =
            ProcessEnded { error: Some(failed_process("lost", message)), ..ProcessEnded::default() };
        batch.push_process(EventType::ProcessFailed, &scope, &process, &ended_event);
    }

    /// What a former owner left running is ended, where it can be told from what is not ours.
    pub(crate) async fn sweep_processes(&mut self, session: &HostedSession) {
        let id = &session.key.session;
        let mark = |turn: &TurnView, task: &TaskView, call: &CallView| {
            process_mark(id, turn, &task.task, &call.call)
        };
        let ours = session.view.turns.values().filter(|turn| turn.ours);
        let calls = ours.flat_map(|turn| turn.tasks.iter().map(move |task| (turn, task)));
        let calls = calls.flat_map(|(turn, task)| task.calls.iter().map(move |call| (turn, task, call)));
        let open: Vec<(String, String)> = calls
            .filter_map(|(turn, task, call)| Some((call.process.clone()?, mark(turn, task, call))))
            .collect();
        self.held.clear();
        // A plain command is told by no event of its own; one that was begun and has no end may still run.
        let ours = session.view.turns.values().filter(|turn| turn.ours);
        let begun = ours.flat_map(|turn| turn.tasks.iter().map(move |task| (turn, task)));
        let begun = begun.flat_map(|(turn, task)| task.calls.iter().map(move |call| (turn, task, call)));
        let left: Vec<String> = begun
            .filter(|(_, _, call)| {
                call.is_started && !call.is_ended && !call.is_answered() && call.process.is_none()
            })
            .map(|(turn, task, call)| mark(turn, task, call))
            .collect();
        for mark in left {
            let _ = tokio::task::spawn_blocking(move || end_marked(&mark)).await;
        }
        for (process, mark) in open {
            let ended = tokio::task::spawn_blocking(move || end_of_call(&mark)).await;
            self.lost.insert(process, ended.ok().flatten());
        }
    }
}

/// The name that the program of a call carries. The root task was named by us, so that nobody else's call has it, but
/// for those of a fork, which is another session.
pub(crate) fn process_mark(session: &SessionId, turn: &TurnView, task: &TaskId, call: &str) -> String {
    format!("{session}/{}/{task}/{call}", turn.root)
}

fn started(tool: String, plan: &ProcessPlan) -> ProcessStarted {
    let millis = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let mut limits = json!({"timeoutMs": millis(plan.timeout), "outputBytes": plan.output_limit});
    let of_machine = [
        ("memoryBytes", plan.limits.memory),
        ("cpuMs", plan.limits.cpu.map(millis)),
        ("openFiles", plan.limits.open_files),
        ("processes", plan.limits.processes),
        ("fileBytes", plan.limits.file_size),
    ];
    for (name, limit) in of_machine.into_iter().filter_map(|(name, limit)| Some((name, limit?))) {
        limits[name] = json!(limit);
    }
    ProcessStarted {
        tool_name: Some(tool),
        command_summary: Some(plan.command.clone()),
        destructive: Some(plan.destructive),
        cwd: plan.cwd.as_ref().map(|cwd| cwd.display().to_string()),
        os: Some(std::env::consts::OS.to_owned()),
        arch: Some(std::env::consts::ARCH.to_owned()),
        resource_limits: RawJson::of(&limits).ok(),
        interactive: Some(true),
        ..ProcessStarted::default()
    }
}
