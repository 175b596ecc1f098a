//! Commands to running processes: write to them, end them.

use riverrun_event::{EventType, ProcessInput, Sequence, TaskId};
use riverrun_tool::Terminate;

use crate::actor::Actor;
use crate::actor::commands::Refusal;
use crate::actor::processes::Held;
use crate::actor::processes::ProcessTable;
use crate::actor::session::HostedSession;
use crate::event_batch::EventBatch;
use crate::mailbox::Reply;
use crate::{CommandError, ProcessOver, ProcessWrite, RequestKey, Submitted};

impl Actor {
    /// The write is durable before the process gets it, and the process gets it once.
    pub(crate) async fn write_process(
        &mut self,
        write: ProcessWrite,
        request: Option<RequestKey>,
    ) -> Result<(), Refusal> {
        if self.session.done_before(request).await?.is_some() {
            return Ok(());
        }
        let process = write.process.as_str();
        let Some(held) = self.processes.running_process(process) else {
            return Err(self.unreachable(process).await);
        };
        let unavailable = |why: &str| CommandError::ProcessUnavailable {
            process: process.to_owned(),
            status: "running".to_owned(),
            why: why.to_owned(),
        };
        if held.is_closed || held.handle.input.is_closed() {
            return Err(unavailable("its input is closed").into());
        }
        if held.handle.input.capacity() == 0 {
            return Err(unavailable("it does not read what it was given; try again later").into());
        }
        let (task, call) = (held.task.clone(), held.call.clone());
        let mut batch = self.session.new_batch();
        let input_event = ProcessInput {
            size: Some(write.text.len() as u64),
            text: (!write.secret).then(|| write.text.clone()),
            written_by: write.written_by.clone(),
            secret: write.secret.then_some(true),
            end_of_input: write.end_of_input.then_some(true),
            ..ProcessInput::default()
        };
        let scope =
            self.session.view.task(&task).and_then(|(_, view)| Some(view.call_scope(view.call(&call)?)));
        let scope = scope.ok_or_else(|| CommandError::NoProcess(process.to_owned()))?;
        batch.push_process(EventType::ProcessInput, &scope, process, &input_event);
        if let Some(request) = request {
            self.session.remember_process_request(&task, request, &mut batch);
        }
        self.append_once(&mut batch).await?;
        if let Some(held) = self.processes.held.get_mut(process) {
            held.is_closed |= write.end_of_input;
            let input =
                riverrun_tool::StdinChunk { bytes: write.text.into_bytes(), is_last: write.end_of_input };
            // A process that has just ended reads nothing more.
            let _ = held.handle.input.try_send(input);
        }
        Ok(())
    }

    /// Answered when the end is durable.
    pub(crate) async fn terminate_process(
        &mut self,
        process: &str,
        terminate: Terminate,
        request: Option<RequestKey>,
        reply: Reply<ProcessOver>,
    ) -> Result<(), (Refusal, Reply<ProcessOver>)> {
        match self.session.done_before(request).await {
            Err(refusal) => return Err((refusal, reply)),
            Ok(Some(_)) => {
                let _ = reply.send(self.session.over_before(process));
                return Ok(());
            }
            Ok(None) => {}
        }
        if self.processes.running_process(process).is_none() {
            return Err((self.unreachable(process).await, reply));
        }
        if let Some(held) = self.processes.held.get_mut(process) {
            if let Some(order) = held.handle.terminate.take() {
                // An effect that has just ended says how it did.
                let _ = order.send(terminate);
            }
            held.waiting.push((request, reply));
        }
        Ok(())
    }

    /// Why a process cannot be reached: nobody told of it, or it does not run here.
    async fn unreachable(&mut self, process: &str) -> Refusal {
        // Others may have told of it in the meantime.
        if let Err(error) = self.catch_up().await {
            return error.into();
        }
        let process = process.to_owned();
        match self.session.state.processes.find(&process) {
            None => CommandError::NoProcess(process).into(),
            Some(known) => {
                let (status, why) = (known.status.as_str().to_owned(), "it does not run here".to_owned());
                CommandError::ProcessUnavailable { process, status, why }.into()
            }
        }
    }
}

impl HostedSession {
    /// How a process stands that was ended by the same request before.
    fn over_before(&self, process: &str) -> Result<ProcessOver, CommandError> {
        let known = self.state.processes.find(process);
        let known = known.ok_or_else(|| CommandError::NoProcess(process.to_owned()))?;
        Ok(ProcessOver {
            process_id: process.to_owned(),
            status: known.status.as_str().to_owned(),
            exit_code: known.exit_code,
        })
    }

    pub(crate) fn remember_process_request(
        &self,
        task: &TaskId,
        request: RequestKey,
        batch: &mut EventBatch,
    ) {
        let Some((turn, view)) = self.view.task(task) else { return };
        // A command on a process is one on its turn, which goes on.
        let submitted = Submitted {
            turn_id: turn.turn.clone(),
            task_id: task.clone(),
            run_id: view.run.clone(),
            status: "steered".to_owned(),
            first: Sequence::ZERO,
            duplicate: false,
        };
        self.remember_request(Some(request), &submitted, batch);
    }
}

impl ProcessTable {
    fn running_process(&self, process: &str) -> Option<&Held> {
        self.held.get(process).filter(|held| !held.is_over)
    }
}
