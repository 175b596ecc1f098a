//! Asks a service whether it is there and takes the key. No model is called, so it costs nothing.

use bytes::Bytes;
use http::{HeaderValue, Method, Request, header as names};
use http_body_util::Full;

use super::call::{connect, within};
use super::{HttpProvider, invalid};
use crate::api::Api;
use crate::{Category, ModelError, ModelRequest};

impl<A: Api> HttpProvider<A> {
    /// The status of its list of models, which every one of these APIs has.
    pub(super) async fn ask_for_models(&self) -> Result<u16, ModelError> {
        let mut message = Request::new(Full::<Bytes>::default());
        let target = self.endpoint.target("/models");
        *message.method_mut() = Method::GET;
        *message.uri_mut() = target.parse().map_err(|_| invalid(format!("`{target}` is not a path")))?;
        let headers = message.headers_mut();
        headers.extend(self.headers.clone());
        A::headers(&ModelRequest::default(), headers);
        headers.insert(names::HOST, self.endpoint.host_header());
        headers.insert(names::ACCEPT, HeaderValue::from_static("application/json"));
        self.put_key(headers)?;
        let connecting = connect(&self.endpoint, self.tls.clone());
        let (mut sender, mut connection) =
            within(self.limits.connect, "no connection came about", connecting).await??;
        let waiting = connection.during(sender.send_request(message));
        let answer = within(self.limits.connect, "it did not begin to answer", waiting);
        let broken = |_| ModelError::new(Category::Connection, "it closed the connection without an answer");
        Ok(answer.await?.map_err(broken)?.status().as_u16())
    }
}
