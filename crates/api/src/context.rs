//! Everything around one request: who asks, of what, and how often.

use std::sync::Arc;

use riverrun_event::{Cursor, Sequence};
use riverrun_runner::RequestKey;
use riverrun_session::Hub;

use crate::{ApiError, Identity, Once, Services};

/// What an operation gets besides its request.
pub struct RequestContext {
    services: Services,
    identity: Arc<Identity>,
    once: Once,
    /// The session, if the transport has looked for it already.
    hub: Option<Arc<Hub>>,
    /// `scheme://host[:port]` under which the caller knows this server.
    base_url: String,
}

impl RequestContext {
    pub fn new(services: Services, identity: Arc<Identity>, once: Once, base_url: String) -> Self {
        Self { services, identity, once, hub: None, base_url }
    }

    /// With the session that the request names.
    pub fn in_session(self, hub: Arc<Hub>) -> Self {
        Self { hub: Some(hub), ..self }
    }

    pub fn services(&self) -> &Services {
        &self.services
    }

    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    pub fn once(&self) -> &Once {
        &self.once
    }

    /// The name by which the runner knows this request.
    pub fn request_key(&self) -> Option<RequestKey> {
        self.once.request()
    }

    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// The session of this name, if the caller may know of it.
    pub async fn hub(&self, session: &str) -> Result<Arc<Hub>, ApiError> {
        match &self.hub {
            Some(hub) if hub.session().as_str() == session => Ok(hub.clone()),
            _ => self.services.hub(&self.identity, session).await,
        }
    }
}

/// The cursor behind an event of a session.
pub fn cursor_after(hub: &Hub, sequence: Sequence) -> Cursor {
    Cursor::after(sequence, hub.origin())
}
