//! Copies of the whole store, made by the server that holds it.

use serde::{Deserialize, Serialize};

use crate::client::Client;
use crate::error::Result;

/// A copy in the server's directory of backups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backup {
    /// Its name there.
    pub file: String,
    pub size: u64,
}

impl Client {
    pub async fn back_up(&self) -> Result<Backup> {
        self.post("/v1/backups".into(), &serde_json::json!({})).await
    }
}
