//! A decision before it names its action.

use riverrun_client::operations::DecideActionRequest;
use serde::Serialize;
use serde_json::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DecisionKind {
    Approve,
    Edit,
    Reject,
    Respond,
}

impl DecisionKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Edit => "edit",
            Self::Reject => "reject",
            Self::Respond => "respond",
        }
    }
}

/// A decision names the digest of exactly what will run.
#[derive(Debug, Clone, Serialize)]
pub struct Decision {
    pub decision: DecisionKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    #[serde(rename = "arguments", skip_serializing_if = "Option::is_none")]
    pub raw_arguments: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub always: Option<bool>,
}

impl Decision {
    pub fn request(self, session: &str, action: &str) -> DecideActionRequest {
        DecideActionRequest {
            digest: self.digest,
            arguments: self.raw_arguments,
            message: self.message,
            always: self.always,
            ..DecideActionRequest::new(action, self.decision.as_str().to_owned(), session)
        }
    }
}

pub fn plain(kind: DecisionKind) -> Decision {
    Decision { decision: kind, digest: None, raw_arguments: None, message: None, always: None }
}
