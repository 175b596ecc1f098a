//! Processes that tools run: list, write to, end.

use riverrun_event::{ProcessId, SessionId};
use serde::Serialize;
use serde_json::{Value, json};

use super::session_path;
use crate::client::Client;
use crate::error::Result;
use crate::exchange::encode;

/// Something for a running process to read.
#[derive(Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessInput {
    pub text: String,
    /// The server keeps the text nowhere.
    pub secret: bool,
    /// Nothing comes behind it.
    pub end_of_input: bool,
}

impl Client {
    /// The processes that tools run or ran, as the server tells them.
    pub async fn processes(&self, session: &SessionId) -> Result<Value> {
        self.get(format!("{}/processes", session_path(session))).await
    }

    /// Gives a running process something to read.
    pub async fn write_process(
        &self,
        session: &SessionId,
        process: &ProcessId,
        write: &ProcessInput,
    ) -> Result<Value> {
        self.post(format!("{}/stdin", process_path(session, process)), write).await
    }

    pub async fn terminate_process(
        &self,
        session: &SessionId,
        process: &ProcessId,
        reason: Option<&str>,
    ) -> Result<Value> {
        let body = reason.map_or_else(|| json!({}), |reason| json!({ "reason": reason }));
        self.post(format!("{}/terminate", process_path(session, process)), &body).await
    }
}

fn process_path(session: &SessionId, process: &ProcessId) -> String {
    format!("{}/processes/{}", session_path(session), encode(process.as_str()))
}
