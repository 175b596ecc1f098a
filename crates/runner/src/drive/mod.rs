//! Effects: what is done in the world, each reporting back. A model call is read by its actor, the others have tasks of
//! their own.

mod check;
mod file;
mod hook;
mod model;
mod piece;
mod process;
mod redact;
mod report;
mod summary;
mod tool;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use riverrun_event::TaskId;
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio_util::sync::CancellationToken;

pub(crate) use check::{CallCheck, InputCheck, OutputCheck, check_call, check_input, check_output};
pub(crate) use file::{FileEnd, FileReadings, read_files};
pub(crate) use hook::{HookCall, HookFailure, ask_hook};
pub(crate) use model::{ModelCall, call_model};
pub(crate) use process::{Handle, Host, ProcessReport, failed as failed_process};
pub(crate) use report::{Report, Reported, Tripped};
pub(crate) use summary::{CompletedCall, Summarised, SummaryCall, summarise};
pub(crate) use tool::{ToolRun, run_tool};

/// Names an effect; there is at most one of a name at a time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum EffectKey {
    Model(TaskId),
    Tool(TaskId, String),
    Delay(TaskId),
    /// The guardrails of the input.
    Admit(TaskId),
    /// The guardrails of the final output.
    Check(TaskId),
    /// The guardrails of a call that somebody will be asked about.
    Vet(TaskId, String),
    /// A summary of older history.
    Summary(TaskId),
    Hook(TaskId, HookTarget),
    /// The files of the input.
    Files(TaskId),
}

/// What a hook is asked about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum HookTarget {
    /// The turn's input.
    Prompt,
    /// A call that is to run.
    Before(String),
    /// What came of a call.
    After(String),
    /// The turn's end.
    Stop,
}

impl EffectKey {
    /// The task that the effect serves.
    pub fn task(&self) -> &TaskId {
        match self {
            EffectKey::Model(task)
            | EffectKey::Tool(task, _)
            | EffectKey::Vet(task, _)
            | EffectKey::Delay(task)
            | EffectKey::Admit(task)
            | EffectKey::Check(task)
            | EffectKey::Hook(task, _)
            | EffectKey::Files(task)
            | EffectKey::Summary(task) => task,
        }
    }
}

/// An effect that is to begin.
pub(crate) enum Launch {
    /// Without a call it is made when the events before it are in the state.
    Model(Option<Box<ModelCall>>),
    Tool(Box<ToolRun>),
    Delay(std::time::Duration),
    Admit(InputCheck),
    Check(OutputCheck),
    Vet(CallCheck),
    Summary(Box<SummaryCall>),
    Hook(Box<HookCall>),
    Files(Box<FileReadings>),
}

/// An effect at work.
pub(crate) struct Running {
    pub generation: u64,
    pub cancel: CancellationToken,
    pub abort: Abort,
    pub since: tokio::time::Instant,
}

impl Running {
    pub fn stop(&self) {
        self.cancel.cancel();
        match &self.abort {
            Abort::Task(handle) => handle.abort(),
            Abort::Call(handle) => handle.abort(),
        }
    }
}

/// Ends an effect where it stands.
pub(crate) enum Abort {
    /// It has a task of its own.
    Task(tokio::task::AbortHandle),
    /// The actor reads it.
    Call(futures_util::future::AbortHandle),
}

/// Where an effect reports to.
#[derive(Clone)]
pub(crate) struct Reporter {
    pub key: EffectKey,
    pub generation: u64,
    pub reports: ReportSink,
}

#[derive(Clone)]
pub(crate) enum ReportSink {
    /// To the actor in whose own task the effect is.
    Local(Arc<LocalReports>),
    /// To an actor elsewhere.
    Channel(mpsc::Sender<Reported>),
}

/// What calls in the actor's own task told and the actor has not taken yet. Nobody is woken: who fills it is read by
/// who empties it.
#[derive(Default)]
pub(crate) struct LocalReports(Mutex<VecDeque<Reported>>);

impl LocalReports {
    /// As many as may wait before who tells more must wait.
    const MOST: usize = 1024;

    fn queue(&self) -> MutexGuard<'_, VecDeque<Reported>> {
        // Single pushes and pops: a panic elsewhere leaves it whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn take(&self) -> Option<Reported> {
        self.queue().pop_front()
    }

    /// Gives it back if there is no room.
    fn put(&self, reported: Reported) -> Option<Reported> {
        let mut queue = self.queue();
        if queue.len() >= Self::MOST {
            return Some(reported);
        }
        queue.push_back(reported);
        None
    }
}

impl Reporter {
    /// False if nobody listens any more.
    pub async fn report(&self, report: Report) -> bool {
        let report = redact::redact(report);
        let mut reported = Reported { key: self.key.clone(), generation: self.generation, report };
        // There is nearly always room, and then nothing waits.
        match &self.reports {
            ReportSink::Local(local) => {
                while let Some(back) = local.put(reported) {
                    reported = back;
                    // The actor takes what waits before it comes here again.
                    tokio::task::yield_now().await;
                }
                true
            }
            ReportSink::Channel(actor) => match actor.try_send(reported) {
                Ok(()) => true,
                Err(TrySendError::Closed(_)) => false,
                Err(TrySendError::Full(reported)) => actor.send(reported).await.is_ok(),
            },
        }
    }

    /// Tells if there is room; progress that nobody can take is dropped.
    pub fn try_report(&self, report: Report) {
        let report = redact::redact(report);
        let reported = Reported { key: self.key.clone(), generation: self.generation, report };
        match &self.reports {
            ReportSink::Local(local) => drop(local.put(reported)),
            ReportSink::Channel(actor) => drop(actor.try_send(reported)),
        }
    }
}
