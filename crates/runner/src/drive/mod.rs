//! Effects: what is done in the world, each as a task of its own that reports back.

mod check;
mod model;
mod process;
mod summary;
mod tool;

use riverrun_event::TaskId;
use riverrun_provider::ModelEvent;
use riverrun_tool::{Progress, ToolError, ToolOutput};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

pub(crate) use check::{CallCheck, OutputCheck, check_call, check_output};
pub(crate) use model::{ModelCall, call_model};
pub(crate) use process::{Handle, Host, ProcessReport, failed as failed_process};
pub(crate) use summary::{Said, Summarised, SummaryCall, summarise};
pub(crate) use tool::{ToolRun, run_tool};

/// Names an effect; there is at most one of a name at a time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum EffectKey {
    Model(TaskId),
    Tool(TaskId, String),
    Delay(TaskId),
    /// The guardrails of the final output.
    Check(TaskId),
    /// The guardrails of a call that somebody will be asked about.
    Vet(TaskId, String),
    /// A summary of older history.
    Summary(TaskId),
}

impl EffectKey {
    /// The task that the effect serves.
    pub fn task(&self) -> &TaskId {
        match self {
            EffectKey::Model(task)
            | EffectKey::Tool(task, _)
            | EffectKey::Vet(task, _)
            | EffectKey::Delay(task)
            | EffectKey::Check(task)
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
    Check(OutputCheck),
    Vet(CallCheck),
    Summary(Box<SummaryCall>),
}

/// What an effect tells.
#[derive(Debug)]
pub(crate) enum Report {
    Model(ModelEvent),
    Progress(Progress),
    /// Of the process of a tool call, by its name.
    Process(String, Box<ProcessReport>),
    Tool(Result<ToolOutput, ToolError>),
    Delayed,
    Checked(Result<(), Tripped>),
    Vetted(Result<(), Tripped>),
    /// A guardrail stopped the input before the model's answer.
    Guarded(Tripped),
    Summary(Box<Summarised>),
}

/// A guardrail said no.
#[derive(Debug, Clone)]
pub(crate) struct Tripped {
    pub guardrail: String,
    pub reason: String,
}

impl Tripped {
    /// What the model reads of a call that was refused.
    pub fn refusal(&self, what: &str) -> String {
        format!("{what} was refused by guardrail `{}`: {}", self.guardrail, self.reason)
    }
}

#[derive(Debug)]
pub(crate) struct Reported {
    pub key: EffectKey,
    pub generation: u64,
    pub report: Report,
}

/// An effect at work.
pub(crate) struct Running {
    pub generation: u64,
    pub cancel: CancellationToken,
    pub abort: AbortHandle,
    pub since: tokio::time::Instant,
}

impl Running {
    pub fn stop(&self) {
        self.cancel.cancel();
        self.abort.abort();
    }
}

/// Where an effect reports to.
#[derive(Clone)]
pub(crate) struct Line {
    pub key: EffectKey,
    pub generation: u64,
    pub reports: mpsc::Sender<Reported>,
}

impl Line {
    /// False if nobody listens any more.
    pub async fn tell(&self, report: Report) -> bool {
        let reported = Reported { key: self.key.clone(), generation: self.generation, report };
        self.reports.send(reported).await.is_ok()
    }

    /// Tells if there is room; progress that nobody can take is dropped.
    pub fn try_tell(&self, report: Report) {
        let _ =
            self.reports.try_send(Reported { key: self.key.clone(), generation: self.generation, report });
    }
}
