//! Where the generator sends its load: an address, a key, and the paths of one kind of server.

use std::net::SocketAddr;

/// One running server; the same generator drives every kind.
#[derive(Clone, Debug)]
pub struct Target {
    pub address: SocketAddr,
    /// Sent as a bearer key when present.
    pub key: Option<String>,
    pub routes: RouteTemplates,
    /// The server's process, where it is on this machine: CPU and memory are read from `/proc`.
    pub process: Option<u32>,
}

/// Path templates; `{session}` and `{after}` are filled in.
#[derive(Clone, Debug)]
pub struct RouteTemplates {
    /// Path and JSON body of the request that creates a session, where the server asks for one.
    pub create: Option<(String, String)>,
    pub append: String,
    pub replay: String,
    /// Catch-up with adjacent deltas joined, where the server offers it.
    pub coalesce: Option<String>,
    /// Catch-up from a folded state, where the server offers it.
    pub snapshot: Option<String>,
}

impl Target {
    pub fn riverrun(address: SocketAddr, key: Option<String>) -> Self {
        Self { address, key, routes: RouteTemplates::riverrun(), process: None }
    }

    pub fn ceiling(address: SocketAddr) -> Self {
        Self { address, key: None, routes: RouteTemplates::ceiling(), process: None }
    }

    pub fn with_process(self, process: Option<u32>) -> Self {
        Self { process, ..self }
    }
}

impl RouteTemplates {
    pub fn riverrun() -> Self {
        let events =
            |catchup: &str| format!("/v1/sessions/{{session}}/events?after={{after}}&catchup={catchup}");
        Self {
            create: Some(("/v1/sessions".into(), r#"{"sessionId":"{session}"}"#.into())),
            append: "/v1/sessions/{session}/events".into(),
            replay: events("replay"),
            coalesce: Some(events("coalesce")),
            snapshot: Some(events("snapshot")),
        }
    }

    pub fn ceiling() -> Self {
        Self {
            create: None,
            append: "/s/{session}".into(),
            replay: "/s/{session}?after={after}".into(),
            coalesce: None,
            snapshot: None,
        }
    }
}
