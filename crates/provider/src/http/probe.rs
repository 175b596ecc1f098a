//! Short questions to a service, beside its model calls: whether it is there, and how many tokens a request has. No
//! model is called.

use std::time::SystemTime;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header as names};
use http_body_util::Full;
use serde_json::Value;

use super::call::{Body, connect, scrub, whole_body, within};
use super::header::retry_after;
use super::{HttpProvider, invalid};
use crate::api::Api;
use crate::failure::failure;
use crate::stream::protocol_error;
use crate::{Category, ModelError, ModelRequest};

impl<A: Api> HttpProvider<A> {
    /// The status of its list of models, which every one of these APIs has.
    pub(super) async fn ask_for_models(&self) -> Result<u16, ModelError> {
        let answer = self.ask(Method::GET, "/models", Bytes::new()).await?;
        Ok(answer.status().as_u16())
    }

    /// What the service says of the tokens of a request in its own words; None if it counts none.
    pub(super) async fn ask_for_count(&self, model: &str, body: Bytes) -> Result<Option<Value>, ModelError> {
        let Some(path) = A::count_path(model)? else { return Ok(None) };
        let counted = async {
            let answer = self.ask(Method::POST, &path, body).await?;
            let (status, wait) = (answer.status(), retry_after(answer.headers(), SystemTime::now()));
            let text = whole_body(answer.into_body(), self.limits).await;
            let said: Value = serde_json::from_slice(&text).unwrap_or_default();
            match status {
                StatusCode::OK if said.is_object() => Ok(Some(said)),
                StatusCode::OK => Err(protocol_error("the service answered with something that is no count")),
                refused => {
                    let error = failure(Some(refused.as_u16()), &said);
                    Err(ModelError { retry_after: wait.or(error.retry_after), ..error })
                }
            }
        };
        counted.await.map_err(|error| scrub(error, &self.secrets))
    }

    async fn ask(&self, method: Method, path: &str, body: Bytes) -> Result<Response<Body>, ModelError> {
        let target = self.endpoint.target(path);
        let mut message = Request::new(Full::new(body));
        *message.uri_mut() = target.parse().map_err(|_| invalid(format!("`{target}` is not a path")))?;
        let headers = message.headers_mut();
        headers.extend(self.headers.clone());
        A::headers(&ModelRequest::default(), headers);
        headers.insert(names::HOST, self.endpoint.host_header());
        headers.insert(names::ACCEPT, HeaderValue::from_static("application/json"));
        if method == Method::POST {
            headers.insert(names::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            headers.insert(names::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
        self.put_key(headers)?;
        *message.method_mut() = method;
        let connecting = connect(&self.endpoint, self.tls.clone());
        let (mut sender, mut connection) =
            within(self.limits.connect, "no connection came about", connecting).await??;
        let waiting = connection.during(sender.send_request(message));
        let answer = within(self.limits.connect, "it did not begin to answer", waiting);
        let broken = |_| ModelError::new(Category::Connection, "it closed the connection without an answer");
        Ok(answer.await?.map_err(broken)?.map(|incoming| Body { incoming, connection }))
    }
}
