//! Asks a service whether it is there and takes the key. No model is called, so it costs nothing.

use http::{HeaderValue, Method, Request, header as names};
use riverrun_net::full;

use super::{HttpProvider, invalid};
use crate::api::Api;
use crate::{ModelError, ModelRequest};

impl<A: Api> HttpProvider<A> {
    /// The status of its list of models, which every one of these APIs has.
    pub(super) async fn ask_for_models(&self) -> Result<u16, ModelError> {
        let mut message = Request::new(full(""));
        let target = self.service.base.target("/models");
        *message.method_mut() = Method::GET;
        *message.uri_mut() = target.parse().map_err(|_| invalid(format!("`{target}` is not a path")))?;
        let headers = message.headers_mut();
        headers.extend(self.headers.clone());
        A::headers(&ModelRequest::default(), headers);
        headers.insert(names::HOST, self.service.base.address().host_header());
        headers.insert(names::ACCEPT, HeaderValue::from_static("application/json"));
        self.put_key(headers)?;
        Ok(self.service.send(message, self.limits().connect).await?.status().as_u16())
    }
}
