//! The dialects there are. A new one is one line here.

use riverrun_event::{Composer, CursorOrigin, IdOrigin, Sequence, SessionId};
use riverrun_fold::State;

use crate::request::RequestFailure;
use crate::{Framing, Heartbeat, Projector, ReaderOptions, ResumeMethod, Rules};
use crate::{a2a, ag_ui, agents_sdk, ai_sdk, blocks, langgraph, simple_run};
use crate::{anthropic, chat, gemini, native, responses, task};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Dialect {
    /// The Agent Runtime envelope.
    #[default]
    Native,
    /// The same in the standard's closed vocabulary.
    NativeStrict,
    /// The same with what the standard's Lime profile demands of every event.
    NativeLime,
    /// AgentLin's `task.*` events.
    Task,
    /// OpenAI's Responses: one turn.
    Responses,
    /// OpenAI's Chat Completions: one turn.
    Chat,
    /// Anthropic's Messages: one turn.
    Anthropic,
    /// Gemini's generateContent: one turn.
    Gemini,
    /// AG-UI 1.0: one turn.
    AgUi,
    /// The UI message stream v1 of Vercel's AI SDK: one turn.
    AiSdk,
    /// The stream events of the OpenAI Agents SDK: one turn.
    AgentsSdk,
    /// `run.start` … `run.done`: one turn.
    SimpleRun,
    /// LangGraph's classic run stream: one turn.
    LangGraph,
    /// A2A 1.0 streaming: one turn.
    A2a,
    /// Content blocks over a WebSocket: one turn after the other.
    Blocks,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no dialect `{0}`; there are: {names}", names = names())]
pub struct UnknownDialect(pub String);

impl Dialect {
    pub const ALL: &[Dialect] = &[
        Dialect::Native,
        Dialect::NativeStrict,
        Dialect::NativeLime,
        Dialect::Task,
        Dialect::Responses,
        Dialect::Chat,
        Dialect::Anthropic,
        Dialect::Gemini,
        Dialect::AgUi,
        Dialect::AiSdk,
        Dialect::AgentsSdk,
        Dialect::SimpleRun,
        Dialect::LangGraph,
        Dialect::A2a,
        Dialect::Blocks,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Dialect::Native => "native",
            Dialect::NativeStrict => "native-strict",
            Dialect::NativeLime => "native-lime",
            Dialect::Task => "task",
            Dialect::Responses => "responses",
            Dialect::Chat => "chat",
            Dialect::Anthropic => "anthropic",
            Dialect::Gemini => "gemini",
            Dialect::AgUi => "ag-ui",
            Dialect::AiSdk => "ai-sdk",
            Dialect::AgentsSdk => "agents-sdk",
            Dialect::SimpleRun => "simple-run",
            Dialect::LangGraph => "langgraph",
            Dialect::A2a => "a2a",
            Dialect::Blocks => "blocks",
        }
    }

    pub fn parse(name: &str) -> Result<Self, UnknownDialect> {
        let found = Self::ALL.iter().copied().find(|dialect| dialect.name() == name);
        found.ok_or_else(|| UnknownDialect(name.chars().take(40).collect()))
    }

    /// True if frames follow from single events: then any part of a log can be projected alone.
    pub fn is_stateless(self) -> bool {
        match self {
            Dialect::Native | Dialect::NativeStrict | Dialect::NativeLime => true,
            Dialect::Task => false,
            Dialect::Responses => false,
            Dialect::Chat => false,
            Dialect::Anthropic => false,
            Dialect::Gemini => false,
            Dialect::AgUi
            | Dialect::AiSdk
            | Dialect::AgentsSdk
            | Dialect::SimpleRun
            | Dialect::LangGraph
            | Dialect::A2a
            | Dialect::Blocks => false,
        }
    }

    /// True if its frames are the stored events themselves: any part of a log is encoded without a projector.
    pub fn is_verbatim(self) -> bool {
        matches!(self, Dialect::Native)
    }

    /// True if a session's stream numbers what it shows from the beginning of each turn: a reader that comes back in
    /// the middle of one has it projected again from there.
    pub fn numbers_within_turns(self) -> bool {
        matches!(self, Dialect::Blocks)
    }

    /// True if a stream of it is one turn, from the turn's first event to a terminal frame of its own.
    pub fn shows_one_turn(self) -> bool {
        match self {
            Dialect::Native | Dialect::NativeStrict | Dialect::NativeLime => false,
            Dialect::Task | Dialect::Blocks => false,
            Dialect::Responses | Dialect::Chat | Dialect::Anthropic | Dialect::Gemini => true,
            Dialect::AgUi
            | Dialect::AiSdk
            | Dialect::AgentsSdk
            | Dialect::SimpleRun
            | Dialect::LangGraph
            | Dialect::A2a => true,
        }
    }

    /// What its clients take on an SSE stream.
    pub fn rules(self) -> Rules {
        match self {
            Dialect::Native | Dialect::NativeStrict | Dialect::NativeLime | Dialect::Task => Rules::OURS,
            Dialect::Responses => Rules { joins_deltas: false, ..Rules::FOREIGN },
            Dialect::Chat => Rules::FOREIGN,
            Dialect::AiSdk => Rules { headers: ai_sdk::HEADERS, ..Rules::FOREIGN },
            Dialect::AgUi => Rules { shows_past_turns: true, ..Rules::FOREIGN },
            Dialect::AgentsSdk => Rules { joins_deltas: false, ..Rules::FOREIGN },
            Dialect::SimpleRun | Dialect::A2a | Dialect::Blocks => Rules::FOREIGN,
            Dialect::LangGraph => {
                Rules { framing: Framing::ForeignSseWithIds, shows_past_turns: true, ..Rules::FOREIGN }
            }
            Dialect::Gemini => Rules { heartbeat: Heartbeat::Never, takes_ids: false, ..Rules::FOREIGN },
            Dialect::Anthropic => Rules { heartbeat: Heartbeat::Bytes(anthropic::PING), ..Rules::FOREIGN },
        }
    }

    /// How a reader of this dialect goes on after a cut.
    pub fn resume(self, framing: Framing) -> ResumeMethod {
        match (self, framing) {
            (_, Framing::Sse | Framing::ForeignSseWithIds | Framing::Messages) => ResumeMethod::Cursor,
            // `continuationToken`.
            (Dialect::Gemini, _) => ResumeMethod::Cursor,
            // `sequence`.
            (Dialect::Native | Dialect::NativeStrict | Dialect::NativeLime, Framing::Ndjson) => {
                ResumeMethod::Cursor
            }
            // `sequence_number`, which the vendor's route takes as `starting_after`.
            (Dialect::Responses, Framing::ForeignSse) => ResumeMethod::Cursor,
            (_, Framing::ForeignSse | Framing::Ndjson) => ResumeMethod::Start,
        }
    }

    /// The body of an error answer, in the shape that its clients read. None where problem+json is right.
    pub fn error_body(self, failure: &RequestFailure, request_id: Option<&str>) -> Option<String> {
        match self {
            Dialect::Native | Dialect::NativeStrict | Dialect::NativeLime | Dialect::Task => None,
            Dialect::A2a => None,
            Dialect::AgUi | Dialect::AiSdk | Dialect::AgentsSdk | Dialect::SimpleRun | Dialect::Blocks => {
                Some(crate::follow::error::body(failure, request_id))
            }
            Dialect::LangGraph => Some(langgraph::error_body(failure)),
            Dialect::Responses | Dialect::Chat => Some(responses::error::body(failure)),
            Dialect::Gemini => Some(gemini::error::body(failure)),
            Dialect::Anthropic => Some(anthropic::error::body(failure, request_id)),
        }
    }

    /// A projector at the position of `state`.
    pub fn projector(
        self,
        session: &ProjectedSession<'_>,
        state: State,
        options: ReaderOptions,
    ) -> Box<dyn Projector> {
        match self {
            Dialect::Native => Box::new(native::Native::new(session, state.sequence)),
            Dialect::NativeStrict => Box::new(native::Strict::new(session, state.sequence)),
            Dialect::NativeLime => Box::new(native::Strict::lime(session, state.sequence)),
            Dialect::Task => Box::new(task::TaskProjector::new(state, options)),
            Dialect::Responses => Box::new(responses::projector(state, options)),
            Dialect::Chat => Box::new(chat::projector(state, options)),
            Dialect::Anthropic => Box::new(anthropic::projector(state, options)),
            Dialect::Gemini => Box::new(gemini::projector(session, state, options)),
            Dialect::AgUi => Box::new(ag_ui::AgUi::new(state, options)),
            Dialect::AiSdk => Box::new(ai_sdk::AiSdk::new(state, options)),
            Dialect::AgentsSdk => Box::new(agents_sdk::projector(state, options)),
            Dialect::SimpleRun => Box::new(simple_run::projector(state, options)),
            Dialect::LangGraph => Box::new(langgraph::projector(state, options)),
            Dialect::A2a => Box::new(a2a::projector(state, options)),
            Dialect::Blocks => Box::new(blocks::projector(state, options)),
        }
    }
}

/// The session whose log is projected.
#[derive(Debug, Clone, Copy)]
pub struct ProjectedSession<'a> {
    pub id: &'a SessionId,
    pub incarnation: u32,
    /// How events from before a restore got their ids.
    pub origins: &'a [IdOrigin],
}

impl ProjectedSession<'_> {
    pub fn origin(&self) -> CursorOrigin {
        CursorOrigin::new(self.id, self.incarnation)
    }

    pub fn composer(&self) -> Composer {
        Composer::with_origins(self.id, self.incarnation, self.origins)
    }

    pub fn start(&self) -> Sequence {
        Sequence::ZERO
    }
}

fn names() -> String {
    Dialect::ALL.iter().map(|dialect| format!("`{}`", dialect.name())).collect::<Vec<_>>().join(", ")
}
