//! Why a WebSocket ends. The numbers are a promise to clients (docs/json-rpc.md).

/// What the server says when it closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Close {
    /// The peer closed first; its code comes back.
    Echo(u16),
    GoingAway,
    ProtocolError,
    Binary,
    InvalidText,
    /// More control, empty or tiny frames than any client needs.
    FrameFlood,
    TooBig,
    /// Messages that are under way take more memory than there is for them.
    NoRoom,
    /// The peer is there and takes nothing.
    Stalled,
    /// No key in time, a wrong one, or one that was revoked.
    Unauthenticated,
    /// A caller asked for the end, to see what its client makes of it.
    Asked,
    /// A protocol's own code and reason.
    Own(u16, &'static str),
}

impl Close {
    pub fn code(self) -> u16 {
        match self {
            Close::Echo(code) | Close::Own(code, _) => code,
            Close::Asked => 1000,
            Close::GoingAway => 1001,
            Close::ProtocolError => 1002,
            Close::Binary => 1003,
            Close::InvalidText => 1007,
            Close::FrameFlood => 1008,
            Close::TooBig => 1009,
            Close::NoRoom => 1013,
            Close::Stalled => 4008,
            Close::Unauthenticated => 4401,
        }
    }

    /// At most 123 bytes, as a control frame demands.
    pub fn reason(self) -> &'static str {
        match self {
            Close::Echo(_) => "",
            Close::Own(_, reason) => reason,
            Close::Asked => "the fault that was asked for",
            Close::GoingAway => "the server is shutting down; connect again and resume",
            Close::ProtocolError => "a frame is not well formed",
            Close::Binary => "only text frames are taken",
            Close::InvalidText => "a text message is not UTF-8",
            Close::FrameFlood => "too many pings, pongs, empty or tiny frames in a second",
            Close::TooBig => "a message, a frame or the number of fragments is over the limit",
            Close::NoRoom => "large messages of others are under way; connect again in a moment",
            Close::Stalled => "nothing was taken for too long; connect again and resume",
            Close::Unauthenticated => "a valid key is needed",
        }
    }
}
