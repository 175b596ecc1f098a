//! A question that is answered with one object: no stream, no model call.

use std::time::SystemTime;

use riverrun_event::RawJson;
use serde_json::Value;

use super::HttpProvider;
use super::call::{scrub, start_of};
use super::header::retry_after;
use super::invalid;
use crate::api::Api;
use crate::failure::failure;
use crate::stream::protocol_error;
use crate::{ModelError, ModelRequest};

impl<A: Api> HttpProvider<A> {
    /// The answer as it is; what the service refuses is told as the refusal of a model call is.
    pub(super) async fn ask(
        &self,
        path: &str,
        body: &Value,
        request: &ModelRequest,
    ) -> Result<RawJson, ModelError> {
        self.asked(path, body, request).await.map_err(|error| scrub(error, &self.secrets))
    }

    async fn asked(&self, path: &str, body: &Value, request: &ModelRequest) -> Result<RawJson, ModelError> {
        let body = serde_json::to_vec(body).map_err(|error| invalid(error.to_string()))?;
        let message = self.message(path, body, "application/json", request)?;
        let (parts, body) = self.service.send(message, self.limits().first_byte).await?.into_parts();
        let text = start_of(body, self.limits()).await;
        let body: Option<Value> = serde_json::from_slice(&text).ok();
        if parts.status.is_success() {
            let body = body.filter(Value::is_object).and_then(|body| RawJson::of(&body).ok());
            return body
                .ok_or_else(|| protocol_error("the service answered with something that is no object"));
        }
        let error = failure(Some(parts.status.as_u16()), &body.unwrap_or_default());
        let wait = retry_after(&parts.headers, SystemTime::now());
        Err(ModelError { retry_after: wait.or(error.retry_after), ..error })
    }
}
