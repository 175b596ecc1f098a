//! Who asks, and what the credential allows.

use riverrun_event::{CredentialId, ErrorCode, KeyId, SessionId, TenantId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ApiError, not_found};

/// What a key may do. Scopes do not imply each other, except that `admin` implies all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Scope")]
pub enum KeyScope {
    Read,
    Write,
    Approve,
    Admin,
}

impl KeyScope {
    pub const ALL: [KeyScope; 4] = [KeyScope::Read, KeyScope::Write, KeyScope::Approve, KeyScope::Admin];

    pub const fn as_str(self) -> &'static str {
        match self {
            KeyScope::Read => "read",
            KeyScope::Write => "write",
            KeyScope::Approve => "approve",
            KeyScope::Admin => "admin",
        }
    }

    /// The scope of that name. A stored name that this version does not know gives nothing.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == name)
    }
}

/// Which sessions a caller may know of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reach {
    Tenant,
    Session(SessionId),
    Prefix(String),
}

impl Reach {
    pub fn covers(&self, session: &SessionId) -> bool {
        match self {
            Self::Tenant => true,
            Self::Session(mine) => mine == session,
            Self::Prefix(prefix) => session.as_str().starts_with(prefix.as_str()),
        }
    }
}

/// A web page that came with a browser credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageIdentity {
    pub credential: CredentialId,
    /// Agents that a turn may name. A turn that names none runs the session's own.
    pub agents: Vec<String>,
}

/// Who asks. It is fixed when a request or a connection is authenticated; whether the key is still valid is for the
/// transport to watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub tenant: TenantId,
    pub key: KeyId,
    pub scopes: Vec<KeyScope>,
    /// A ticket or a browser credential may be for some sessions only.
    pub reach: Reach,
    pub page: Option<PageIdentity>,
}

impl Identity {
    pub fn tenant(&self) -> &TenantId {
        &self.tenant
    }

    pub fn key_id(&self) -> &KeyId {
        &self.key
    }

    pub fn has(&self, scope: KeyScope) -> bool {
        self.scopes.iter().any(|mine| *mine == scope || *mine == KeyScope::Admin)
    }

    /// 403 unless the key has the scope.
    pub fn require(&self, scope: KeyScope) -> Result<(), ApiError> {
        if self.has(scope) {
            return Ok(());
        }
        let detail = format!("this needs a key with scope `{}`", scope.as_str());
        Err(ApiError::new(ErrorCode::Forbidden, detail).with("scope", scope.as_str()))
    }

    /// 404 if this caller came with a ticket or a credential for other sessions.
    pub fn require_session(&self, session: &SessionId) -> Result<(), ApiError> {
        if self.reach.covers(session) { Ok(()) } else { Err(not_found()) }
    }

    /// 403 if this caller came with a ticket or a credential for some sessions and asks about all of them.
    pub fn require_all_sessions(&self) -> Result<(), ApiError> {
        let which = match &self.reach {
            Reach::Tenant => return Ok(()),
            Reach::Session(mine) => format!("session `{mine}`"),
            Reach::Prefix(prefix) => format!("sessions whose ids begin with `{prefix}`"),
        };
        let what = if self.is_page() { "credential" } else { "ticket" };
        Err(ApiError::new(ErrorCode::Forbidden, format!("this {what} is for {which} alone")))
    }

    /// The one session that a ticket or a credential was made for.
    pub fn bound_session(&self) -> Option<&SessionId> {
        match &self.reach {
            Reach::Session(mine) => Some(mine),
            Reach::Tenant | Reach::Prefix(_) => None,
        }
    }

    /// Whether this caller is a web page with a browser credential.
    pub fn is_page(&self) -> bool {
        self.page.is_some()
    }

    /// The id of the browser credential that this caller came with.
    pub fn page_id(&self) -> Option<&CredentialId> {
        self.page.as_ref().map(|page| &page.credential)
    }

    /// 403 if this caller is a page: what is asked takes a key.
    pub fn require_key(&self) -> Result<(), ApiError> {
        if self.is_page() { Err(needs_key()) } else { Ok(()) }
    }

    /// 403 if this caller is a page and names an agent that its credential does not list.
    pub fn require_agent(&self, agent: Option<&str>) -> Result<(), ApiError> {
        match (&self.page, agent) {
            (Some(page), Some(agent)) if !page.agents.iter().any(|known| known == agent) => {
                let detail = "this credential does not let a page choose that agent; leave `agent` out, or list \
                              it in `agents` when the credential is made";
                Err(ApiError::new(ErrorCode::Forbidden, detail).field("agent"))
            }
            _ => Ok(()),
        }
    }
}

/// The error for a page that asks for what takes a key.
pub fn needs_key() -> ApiError {
    let detail = "a browser credential does not open this; ask your own backend, which has a key";
    ApiError::new(ErrorCode::Forbidden, detail)
}
