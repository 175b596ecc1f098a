//! The dialects there are. A new one is one line here.

use riverrun_event::{Composer, Origin, Sequence, SessionId};
use riverrun_fold::State;

use crate::request::Failure;
use crate::{
    Options, Projector, Rules, a2a, ag_ui, agents_sdk, ai_sdk, blocks, langgraph, native, simple_run, task,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Dialect {
    /// The Agent Runtime envelope.
    #[default]
    Native,
    /// The same in the standard's closed vocabulary.
    NativeStrict,
    /// AgentLin's `task.*` events.
    Task,
    /// AG-UI 1.0.
    AgUi,
    /// The UI message stream v1 of Vercel's AI SDK.
    AiSdk,
    /// The stream events of the OpenAI Agents SDK.
    AgentsSdk,
    /// `run.start` … `run.done`.
    SimpleRun,
    /// Content blocks over a WebSocket.
    Blocks,
    /// LangGraph's classic run stream.
    LangGraph,
    /// A2A 1.0 streaming.
    A2a,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no dialect `{0}`; there are: {names}", names = names())]
pub struct UnknownDialect(pub String);

impl Dialect {
    pub const ALL: [Dialect; 10] = [
        Dialect::Native,
        Dialect::NativeStrict,
        Dialect::Task,
        Dialect::AgUi,
        Dialect::AiSdk,
        Dialect::AgentsSdk,
        Dialect::SimpleRun,
        Dialect::Blocks,
        Dialect::LangGraph,
        Dialect::A2a,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Dialect::Native => "native",
            Dialect::NativeStrict => "native-strict",
            Dialect::Task => "task",
            Dialect::AgUi => "ag-ui",
            Dialect::AiSdk => "ai-sdk",
            Dialect::AgentsSdk => "agents-sdk",
            Dialect::SimpleRun => "simple-run",
            Dialect::Blocks => "blocks",
            Dialect::LangGraph => "langgraph",
            Dialect::A2a => "a2a",
        }
    }

    pub fn parse(name: &str) -> Result<Self, UnknownDialect> {
        let found = Self::ALL.into_iter().find(|dialect| dialect.name() == name);
        found.ok_or_else(|| UnknownDialect(name.chars().take(40).collect()))
    }

    /// True if frames follow from single events: then any part of a log can be projected alone.
    pub fn is_stateless(self) -> bool {
        match self {
            Dialect::Native | Dialect::NativeStrict => true,
            Dialect::Task | Dialect::AgUi | Dialect::AiSdk => false,
            Dialect::AgentsSdk | Dialect::SimpleRun | Dialect::Blocks | Dialect::LangGraph | Dialect::A2a => {
                false
            }
        }
    }

    /// What its clients take on an SSE stream.
    pub fn rules(self) -> Rules {
        match self {
            Dialect::Native | Dialect::NativeStrict | Dialect::Task => Rules::OURS,
            Dialect::AgUi => Rules::FOREIGN,
            Dialect::AgentsSdk | Dialect::SimpleRun | Dialect::Blocks | Dialect::LangGraph | Dialect::A2a => {
                Rules::FOREIGN
            }
            Dialect::AiSdk => Rules { headers: ai_sdk::HEADERS, ..Rules::FOREIGN },
        }
    }

    /// The body of an error answer, in the shape that its clients read. None where problem+json is right.
    pub fn error_body(self, _failure: &Failure, _request_id: Option<&str>) -> Option<String> {
        match self {
            Dialect::Native | Dialect::NativeStrict | Dialect::Task => None,
            Dialect::AgUi | Dialect::AiSdk => None,
            Dialect::AgentsSdk | Dialect::SimpleRun | Dialect::Blocks | Dialect::LangGraph | Dialect::A2a => {
                None
            }
        }
    }

    /// A projector that stands where `state` stands.
    pub fn projector(self, session: &Session<'_>, state: State, options: Options) -> Box<dyn Projector> {
        match self {
            Dialect::Native => Box::new(native::Native::new(session, state.sequence)),
            Dialect::NativeStrict => Box::new(native::Strict::new(session, state.sequence)),
            Dialect::Task => Box::new(task::Task::new(state, options)),
            Dialect::AgUi => Box::new(ag_ui::AgUi::new(state, options)),
            Dialect::AiSdk => Box::new(ai_sdk::AiSdk::new(state, options)),
            Dialect::AgentsSdk => Box::new(agents_sdk::projector(state, options)),
            Dialect::SimpleRun => Box::new(simple_run::projector(state, options)),
            Dialect::Blocks => Box::new(blocks::projector(state, options)),
            Dialect::LangGraph => Box::new(langgraph::projector(state, options)),
            Dialect::A2a => Box::new(a2a::projector(state, options)),
        }
    }
}

/// Whose log is projected.
#[derive(Debug, Clone, Copy)]
pub struct Session<'a> {
    pub id: &'a SessionId,
    pub incarnation: u32,
}

impl Session<'_> {
    pub fn origin(&self) -> Origin {
        Origin::new(self.id, self.incarnation)
    }

    pub fn composer(&self) -> Composer {
        Composer::new(self.id, self.incarnation)
    }

    pub fn start(&self) -> Sequence {
        Sequence::ZERO
    }
}

fn names() -> String {
    Dialect::ALL.map(|dialect| format!("`{}`", dialect.name())).join(", ")
}
