//! The edge: everything between a socket and a route. It knows who calls, from where, how large and how fast;
//! it knows nothing of sessions, events or dialects.

mod accept;
mod auth;
mod body;
mod browser;
mod byte_budget;
mod credentials;
mod decode;
mod fault;
mod health;
mod host;
mod io;
mod keys;
mod limits;
mod lines;
mod negotiate;
mod page;
mod per_minute;
mod problem;
mod query;
mod quota;
mod rate;
mod request;
mod routes;
mod scan;
mod secret_file;
mod services;
mod stream;
mod ticket;

#[cfg(test)]
mod tests;

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, RwLock, RwLockReadGuard};

use axum::Router;
use riverrun_event::{ShareId, TenantId};
use riverrun_log::Clock;
use riverrun_log::seeded::{self, Bug};

pub use accept::{Peer, serve};
pub use auth::{Caller, PathId, PathIds, StreamCaller, not_found, unauthenticated};
pub use body::{
    BodyKind, CompactJson, OptionalJson, OptionalText, StrictJson, body_kind, read_all, refuse_encoding,
};
pub(crate) use body::{broken, check_announced, too_large, too_slow};
pub(crate) use byte_budget::Reservation;
pub use decode::{compact, decode, decode_text};
pub use fault::{Fault, FaultKind};
pub use health::{NotReady, Readiness};
pub use host::Hosts;
pub use keys::{DEFAULT_TENANT, Keys};
pub use limits::{DEFAULT_PORT, Limits, Quota, TenantQuotas};
pub use lines::Lines;
pub use negotiate::{Media, answers_json, negotiate};
pub use page::PageOrigin;
pub use problem::Problem;
pub use query::{FromParams, Params, StrictQuery, invalid};
pub use quota::StreamPermit;
pub use request::RequestId;
pub(crate) use request::no_route;
use riverrun_api::{ApiError, TenantRates};
pub use riverrun_api::{IssuedKey, KeyRequest, KeyScope, TenantKeys};
pub(crate) use riverrun_event::nearest;
pub use routes::routes;
pub use stream::stream_response;
pub use ticket::Tickets;

use crate::metrics::Metrics;
use byte_budget::ByteBudget;
use per_minute::PerMinute;
use riverrun_session::Drain;

/// What the edge is told at start.
#[derive(Debug, Clone)]
pub struct Config {
    /// The address that is listened on.
    pub bound: SocketAddr,
    /// Further host names under which the server is reached.
    pub hosts: Vec<String>,
    /// Web origins, `https://app.example.com`, whose pages may call.
    pub origins: Vec<String>,
    /// A proxy stands in front: its words about the caller's connection are believed.
    pub behind_proxy: bool,
    /// `/metrics` needs no key, wherever the server is reached.
    pub open_metrics: bool,
    pub limits: Limits,
    /// Faults on request, and no key for the routes of dialects. Loopback only.
    pub dev: bool,
}

impl Config {
    pub fn new(bound: SocketAddr) -> Self {
        Self {
            bound,
            hosts: Vec::new(),
            origins: Vec::new(),
            behind_proxy: false,
            open_metrics: false,
            limits: Limits::default(),
            dev: false,
        }
    }
}

/// The shared state of the edge. A server's own state gives it out by `FromRef`.
#[derive(Clone)]
pub struct Edge(Arc<Inner>);

struct Inner {
    config: Config,
    /// What a reload may change.
    reloadable: RwLock<Reloadable>,
    keys: Keys,
    tickets: Tickets,
    /// Wrong keys by address.
    failures: PerMinute<IpAddr>,
    /// Reads of shared sessions by address and by link.
    share_reads: (PerMinute<IpAddr>, PerMinute<ShareId>),
    quotas: quota::Quotas,
    /// Bodies in memory, and uploads in files.
    body_bytes: Arc<ByteBudget>,
    upload_bytes: Arc<ByteBudget>,
    metrics: Arc<Metrics>,
    drain: Drain,
    readiness: Readiness,
    clock: Arc<dyn Clock>,
}

#[derive(Clone)]
struct Reloadable {
    limits: Arc<Limits>,
    hosts: Arc<Hosts>,
}

impl Edge {
    pub fn new(config: Config, keys: Keys, metrics: Arc<Metrics>, clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Inner {
            reloadable: RwLock::new(Reloadable {
                limits: Arc::new(config.limits.clone()),
                hosts: Arc::new(Hosts::new(config.bound, &config.hosts, &config.origins)),
            }),
            tickets: Tickets::new(&config.limits),
            failures: PerMinute::new(config.limits.failed_auth_per_minute),
            share_reads: (
                PerMinute::new(config.limits.share_reads_per_ip),
                PerMinute::new(config.limits.share_reads_per_share),
            ),
            quotas: quota::Quotas::new(&config.limits),
            body_bytes: ByteBudget::new("body_bytes_in_flight", config.limits.body_bytes_in_flight),
            upload_bytes: ByteBudget::new("upload_bytes_in_flight", config.limits.upload_bytes_in_flight),
            readiness: Readiness::default(),
            drain: Drain::new(),
            config,
            keys,
            metrics,
            clock,
        }))
    }

    /// Puts the edge around a complete router. Call it last, after every route and fallback.
    pub fn wrap(&self, router: Router) -> Router {
        router
            .method_not_allowed_fallback(async || request::method_not_allowed())
            .layer(axum::middleware::from_fn_with_state(self.clone(), request::observe))
    }

    /// Keeps the keys true to the store until the drain. Run it beside the server.
    pub async fn keep_keys(&self) {
        let every = self.limits().revoke_time / 2;
        loop {
            tokio::select! {
                () = self.drain().started() => return,
                () = tokio::time::sleep(every) => {}
            }
            if let Err(problem) = self.keys().refresh().await {
                tracing::warn!(code = %problem.code(), "keys could not be read again");
            }
        }
    }

    /// Takes one of the tenant's places for open streams; 429 if none is left.
    pub fn open_stream(&self, caller: &Caller) -> Result<StreamPermit, Problem> {
        self.0.quotas.open_stream(caller.tenant())
    }

    /// Counts appended events against the tenant's rate; 429 if it is used up.
    pub fn take_events(&self, caller: &Caller, count: usize) -> Result<(), Problem> {
        self.0.quotas.take_events(caller.tenant(), count)
    }

    /// Counts events that are stored already, such as those of an import: later ones wait until they are paid off.
    pub fn charge_events(&self, caller: &Caller, count: u64) {
        self.0.quotas.charge_events(caller.tenant(), count);
    }

    /// Counts bytes of a blob as they arrive; 429 if the tenant's rate is used up. `is_first`: nothing came before.
    pub(crate) fn take_upload(&self, tenant: &TenantId, bytes: usize, is_first: bool) -> Result<(), Problem> {
        self.0.quotas.take_upload(tenant, bytes, is_first)
    }

    /// Bounds the bodies that are held in memory.
    pub(crate) fn body_bytes(&self) -> &Arc<ByteBudget> {
        &self.0.body_bytes
    }

    /// Bounds the uploads that are held in files.
    pub(crate) fn upload_bytes(&self) -> &Arc<ByteBudget> {
        &self.0.upload_bytes
    }

    pub fn limits(&self) -> Arc<Limits> {
        self.reloadable().limits.clone()
    }

    /// Takes other hosts, origins and limits, for what is asked from now on. The limits of connections, tickets, wrong
    /// keys, streams and rates stay as they were at the start.
    pub fn reload(&self, hosts: &[String], origins: &[String], limits: Limits) {
        let hosts = Arc::new(Hosts::new(self.0.config.bound, hosts, origins));
        let mut reloadable = self.0.reloadable.write().unwrap_or_else(|poison| poison.into_inner());
        *reloadable = Reloadable { limits: Arc::new(limits), hosts };
    }

    fn reloadable(&self) -> RwLockReadGuard<'_, Reloadable> {
        self.0.reloadable.read().unwrap_or_else(|poison| poison.into_inner())
    }

    pub fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    pub fn drain(&self) -> &Drain {
        &self.0.drain
    }

    pub fn readiness(&self) -> &Readiness {
        &self.0.readiness
    }

    pub fn keys(&self) -> &Keys {
        &self.0.keys
    }

    pub fn tickets(&self) -> &Tickets {
        &self.0.tickets
    }

    pub fn clock(&self) -> Arc<dyn Clock> {
        self.0.clock.clone()
    }

    /// `scheme://host[:port]` under which the caller came here. A proxy's word is taken only if one is known to be
    /// there, and only for a host that is served.
    pub(crate) fn base_url(&self, headers: &http::HeaderMap) -> String {
        self.hosts().base_url(headers, self.0.config.behind_proxy)
    }

    fn hosts(&self) -> Arc<Hosts> {
        self.reloadable().hosts.clone()
    }

    fn failures(&self) -> &PerMinute<IpAddr> {
        &self.0.failures
    }

    fn share_reads(&self) -> (&PerMinute<IpAddr>, &PerMinute<ShareId>) {
        (&self.0.share_reads.0, &self.0.share_reads.1)
    }

    pub fn is_dev(&self) -> bool {
        self.0.config.dev
    }

    /// True where only users of this machine reach the server, or where the configuration says so: a proxy or another
    /// host name means that requests come from elsewhere.
    fn has_open_metrics(&self) -> bool {
        let config = &self.0.config;
        let is_local = config.bound.ip().is_loopback() && !config.behind_proxy && config.hosts.is_empty();
        config.open_metrics || is_local || seeded::is_on(Bug::OpenMetrics)
    }
}

impl TenantRates for Edge {
    fn take_session(&self, tenant: &TenantId) -> Result<(), ApiError> {
        self.0.quotas.take_session(tenant)
    }

    fn return_session(&self, tenant: &TenantId) {
        self.0.quotas.return_session(tenant);
    }
}
