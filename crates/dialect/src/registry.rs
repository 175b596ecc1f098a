//! The dialects there are. A new one is one line here.

use riverrun_event::{Composer, Origin, Sequence, SessionId};
use riverrun_fold::State;

use crate::request::Failure;
use crate::{Options, Projector, Rules, native, task};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Dialect {
    /// The Agent Runtime envelope.
    #[default]
    Native,
    /// The same in the standard's closed vocabulary.
    NativeStrict,
    /// AgentLin's `task.*` events.
    Task,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no dialect `{0}`; there are: {names}", names = names())]
pub struct UnknownDialect(pub String);

impl Dialect {
    pub const ALL: [Dialect; 3] = [Dialect::Native, Dialect::NativeStrict, Dialect::Task];

    pub fn name(self) -> &'static str {
        match self {
            Dialect::Native => "native",
            Dialect::NativeStrict => "native-strict",
            Dialect::Task => "task",
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
            Dialect::Task => false,
        }
    }

    /// True if a stream of it is one turn, from the turn's first event to a terminal frame of its own.
    pub fn shows_one_turn(self) -> bool {
        match self {
            Dialect::Native | Dialect::NativeStrict | Dialect::Task => false,
        }
    }

    /// What its clients take on an SSE stream.
    pub fn rules(self) -> Rules {
        match self {
            Dialect::Native | Dialect::NativeStrict | Dialect::Task => Rules::OURS,
        }
    }

    /// The body of an error answer, in the shape that its clients read. None where problem+json is right.
    pub fn error_body(self, _failure: &Failure, _request_id: Option<&str>) -> Option<String> {
        match self {
            Dialect::Native | Dialect::NativeStrict | Dialect::Task => None,
        }
    }

    /// A projector that stands where `state` stands.
    pub fn projector(self, session: &Session<'_>, state: State, options: Options) -> Box<dyn Projector> {
        match self {
            Dialect::Native => Box::new(native::Native::new(session, state.sequence)),
            Dialect::NativeStrict => Box::new(native::Strict::new(session, state.sequence)),
            Dialect::Task => Box::new(task::Task::new(state, options)),
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
