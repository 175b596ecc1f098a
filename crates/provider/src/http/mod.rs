//! The way to a service and back: one connection for one call.
//!
//! No redirect is followed, so a key goes only where the configuration says. Every wait has a limit, and so has the
//! size of everything that is read. Dropping the stream or cancelling its token closes the socket.

mod ask;
mod call;
mod header;
mod probe;
mod service;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, header as names};
use riverrun_net::{RequestBody, full};
use tokio_util::sync::CancellationToken;

use crate::api::Api;
use crate::fnv::fnv;
use crate::price::Price;
use crate::secret::{ProviderKey, Secrets};
use crate::{Category, Counting, ModelError, ModelEvent, ModelRequest, ModelStream, Probe, Provider};
use call::{Call, Watch};
use service::Service;

/// What the configuration says about one provider.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub name: String,
    pub base_url: Option<String>,
    pub key: Option<ProviderKey>,
    pub headers: BTreeMap<String, String>,
    /// Names of headers whose values nobody may read.
    pub secret_headers: Vec<String>,
    pub prices: BTreeMap<String, Price>,
    pub limits: Limits,
    pub ca_file: Option<PathBuf>,
    /// The service holds conversations itself.
    pub threads: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub connect: Duration,
    pub first_byte: Duration,
    /// Between two pieces of the answer.
    pub idle: Duration,
    pub total: Duration,
    pub stream_bytes: usize,
    pub error_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(60),
            idle: Duration::from_secs(60),
            total: Duration::from_secs(30 * 60),
            stream_bytes: 64 << 20,
            error_bytes: 64 << 10,
        }
    }
}

pub(crate) struct HttpProvider<A> {
    name: String,
    service: Arc<Service>,
    key: Option<ProviderKey>,
    secrets: Secrets,
    headers: HeaderMap,
    prices: BTreeMap<String, Price>,
    threads: bool,
    api: PhantomData<fn() -> A>,
}

impl<A: Api> HttpProvider<A> {
    pub fn new(settings: Settings) -> Result<Self, String> {
        let base_url = settings.base_url.as_deref().unwrap_or(A::BASE_URL);
        let service = Arc::new(Service::new(base_url, settings.ca_file.as_deref(), settings.limits)?);
        let mut headers = HeaderMap::new();
        for (name, value) in &settings.headers {
            let key = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| format!("header `{name}` is not a name"))?;
            let value = HeaderValue::from_str(value)
                .map_err(|_| format!("the value of header `{name}` is not text"))?;
            if matches!(
                key,
                names::HOST | names::CONTENT_LENGTH | names::TRANSFER_ENCODING | names::CONNECTION
            ) {
                return Err(format!("header `{name}` is set by the connection; remove it"));
            }
            headers.insert(key, value);
        }
        settings.headers.iter().for_each(|(name, value)| riverrun_secret::learn_named(name, value));
        settings.base_url.iter().for_each(|url| riverrun_secret::learn_url(url));
        let secret = |(name, _): &(&String, &String)| settings.secret_headers.contains(name);
        let secret = settings.headers.iter().filter(secret).map(|(_, value)| value.as_str());
        let secrets = Secrets::new(settings.key.as_ref(), secret);
        let Settings { name, key, prices, threads, .. } = settings;
        Ok(Self { name, service, key, secrets, headers, prices, threads, api: PhantomData })
    }

    fn limits(&self) -> Limits {
        self.service.limits
    }

    /// The message to send, and the seed of the ids in its answer.
    fn request(&self, request: &ModelRequest) -> Result<(Request<RequestBody>, String), ModelError> {
        let body = serde_json::to_vec(&A::encode(request, &self.name))
            .map_err(|error| invalid(format!("the request cannot be written as JSON: {error}")))?;
        // Every call of a conversation has another history, so its bytes name it.
        let seed = format!("{:012x}", fnv(&body) & 0xffff_ffff_ffff);
        let message = self.message(&A::path(request)?, body, "text/event-stream", request)?;
        Ok((message, seed))
    }

    /// What is posted to a path of the service.
    fn message(
        &self,
        path: &str,
        body: Vec<u8>,
        accept: &'static str,
        request: &ModelRequest,
    ) -> Result<Request<RequestBody>, ModelError> {
        let target = self.service.base.target(path);
        let mut message = Request::new(full(body));
        *message.method_mut() = Method::POST;
        *message.uri_mut() = target.parse().map_err(|_| invalid(format!("`{target}` is not a path")))?;
        let headers = message.headers_mut();
        headers.extend(self.headers.clone());
        headers.insert(names::HOST, self.service.base.address().host_header());
        headers.insert(names::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(names::ACCEPT, HeaderValue::from_static(accept));
        headers.insert(names::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        A::headers(request, headers);
        self.put_key(headers)?;
        Ok(message)
    }

    fn put_key(&self, headers: &mut HeaderMap) -> Result<(), ModelError> {
        let Some(key) = &self.key else { return Ok(()) };
        let (name, value) = A::key_header(key);
        let mut value =
            HeaderValue::from_str(&value).map_err(|_| invalid("the key cannot be sent".to_owned()))?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok(())
    }
}

impl<A: Api> Provider for HttpProvider<A> {
    fn name(&self) -> &str {
        &self.name
    }

    fn speaks(&self) -> Option<&'static str> {
        Some(A::DIALECT)
    }

    fn has_threads(&self) -> bool {
        self.threads
    }

    fn price(&self, model: &str) -> Option<Price> {
        let by_prefix = |(name, price): (&String, &Price)| {
            let prefix = name.strip_suffix('*')?;
            model.starts_with(prefix).then_some((prefix.len(), *price))
        };
        let longest = || self.prices.iter().filter_map(by_prefix).max_by_key(|(length, _)| *length);
        self.prices.get(model).copied().or_else(|| longest().map(|(_, price)| price))
    }

    fn body(&self, request: &ModelRequest) -> Bytes {
        Bytes::from(self.secrets.scrub_bytes(A::encode(request, &self.name).to_string().into_bytes()))
    }

    fn probe(&self) -> Probe<'_> {
        Box::pin(self.ask_for_models())
    }

    fn count_tokens(&self, request: ModelRequest) -> Option<Counting<'_>> {
        let (path, body) = A::count(&request)?;
        Some(Box::pin(async move { self.ask(&path, &body, &request).await }))
    }

    fn call(&self, request: ModelRequest, cancel: CancellationToken) -> ModelStream {
        let (message, seed) = match self.request(&request) {
            Ok(made) => made,
            Err(error) => return stream::iter([ModelEvent::Failed(error)]).boxed(),
        };
        let mut decoder = A::decoder(&self.name, &seed);
        if request.keep_events {
            decoder.keep_events();
        }
        let call = Call::new(self.service.clone(), message, decoder, self.secrets.clone(), request.keep_raw);
        let watch = Watch::new(cancel, &self.service.limits);
        // In a box: the stream moves its state with every event.
        stream::unfold(Box::new((call, watch)), |mut state| async move {
            let (call, watch) = &mut *state;
            let event = call.next(watch).await?;
            Some((event, state))
        })
        .boxed()
    }
}

fn invalid(message: String) -> ModelError {
    ModelError::new(Category::InvalidRequest, message)
}
