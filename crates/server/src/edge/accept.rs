//! The accept loop: sockets in, requests to the router.
//!
//! It is our own because the head of a request must have a deadline from the moment of accept, connections must be
//! counted, and long answers leave hyper (see `stream.rs`).

use std::collections::HashMap;
use std::convert::Infallible;
use std::fs::File;
use std::future::{Future, pending, poll_fn};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::{CONNECTION, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Version};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use riverrun_event::ErrorCode;
use riverrun_log::seeded::{self, Bug};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tower::ServiceExt;

use super::Edge;
use super::fault::ResetWhenCut;
use super::io::{CloseOnDrop, SharedIo};
use super::problem::Problem;
use super::stream::{self, Handover};
use crate::metrics::{GaugeGuard, RefusalLabels};

/// The remote end of a connection, as an extension of each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer(pub SocketAddr);

/// Serves until the drain has started and every connection has ended, at most `drain_time` later.
pub async fn serve(listener: TcpListener, router: Router, edge: Edge) -> io::Result<()> {
    let mut connections = JoinSet::new();
    let places = Places::new(&edge);
    let mut spare = Spare::open();
    let mut drained = pin!(edge.drain().started());
    loop {
        tokio::select! {
            () = &mut drained => break,
            Some(ended) = connections.join_next() => note_end(ended, &edge),
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => admit(stream, peer, &places, &router, &edge, &mut connections),
                Err(error) => accept_failed(&error, &listener, &edge, &mut spare).await,
            },
        }
    }
    drop(listener);
    let last = tokio::time::sleep(edge.drain().time().unwrap_or(edge.limits().drain_time));
    tokio::pin!(last);
    loop {
        tokio::select! {
            ended = connections.join_next() => match ended {
                Some(ended) => note_end(ended, &edge),
                None => return Ok(()),
            },
            () = &mut last => {
                tracing::warn!(connections = connections.len(), "cut at the end of the drain");
                connections.shutdown().await;
                return Ok(());
            }
        }
    }
}

fn note_end(ended: Result<(), tokio::task::JoinError>, edge: &Edge) {
    if ended.is_err_and(|error| error.is_panic()) {
        edge.metrics().panics.inc();
        tracing::error!("the task of a connection panicked");
    }
}

fn admit(
    stream: TcpStream,
    peer: SocketAddr,
    places: &Arc<Places>,
    router: &Router,
    edge: &Edge,
    connections: &mut JoinSet<()>,
) {
    match places.take(peer.ip()) {
        Ok(place) => {
            let connection = Box::pin(connection(stream, Peer(peer), router.clone(), edge.clone()));
            connections.spawn(async move {
                connection.await;
                drop(place);
            });
        }
        Err(reason) => {
            edge.metrics().connections_refused.get_or_create(&RefusalLabels { reason }).inc();
            turn_away(&stream, reason);
        }
    }
}

/// One connection from accept to close.
async fn connection(stream: TcpStream, peer: Peer, router: Router, edge: Edge) {
    let _open = GaugeGuard::new(&edge.metrics().connections);
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let mut stream = stream;
    loop {
        let (shared, released) = SharedIo::new(stream);
        // Boxed, so that its memory is given back before a long answer begins.
        let long_answer = Box::pin(converse(shared.clone(), peer, router.clone(), edge.clone())).await;
        if shared.is_upgraded() {
            let _cut = CloseOnDrop(shared.downgrade());
            drop(shared);
            // The sender is never used, only dropped.
            let _ = released.await;
            return;
        }
        let Some(socket) = shared.take() else { return };
        let Some(LongAnswer { version, response, may_stay_open }) = long_answer else {
            return stream::linger(socket).await;
        };
        // What hyper read of a next request is lost with hyper.
        let is_kept = may_stay_open && shared.is_between_requests();
        drop((shared, released));
        // A lost reader is no event of note: it comes back with its cursor.
        let Ok(Some(socket)) = stream::write(socket, version, response, &edge.limits()).await else { return };
        if !is_kept {
            return drop(stream::close(socket).await);
        }
        stream = socket;
    }
}

/// An answer that takes the socket away from hyper.
struct LongAnswer {
    version: Version,
    response: Response,
    /// The client did not ask for the connection to be closed.
    may_stay_open: bool,
}

fn asks_for_close(headers: &HeaderMap) -> bool {
    headers.get_all(CONNECTION).iter().any(|value| {
        let options = value.to_str().unwrap_or("close");
        options.split(',').any(|option| option.trim().eq_ignore_ascii_case("close"))
    })
}

/// Lets hyper serve requests until the connection ends or one of them has a long answer.
async fn converse(io: SharedIo, peer: Peer, router: Router, edge: Edge) -> Option<LongAnswer> {
    let slot: Arc<Mutex<Option<LongAnswer>>> = Arc::default();
    let service = {
        let (io, slot) = (io.clone(), slot.clone());
        service_fn(move |request| respond(request, peer, router.clone(), io.clone(), slot.clone()))
    };
    let limits = edge.limits();
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_time)
        .max_buf_size(limits.head_bytes)
        .serve_connection(TokioIo::new(io.clone()), service)
        .with_upgrades();
    let mut connection = pin!(connection);
    let mut drain = pin!(edge.drain().started());
    let mut draining = false;
    poll_fn(|context| {
        if !draining && drain.as_mut().poll(context).is_ready() {
            draining = true;
            connection.as_mut().graceful_shutdown();
        }
        if connection.as_mut().poll(context).is_ready() {
            return Poll::Ready(None);
        }
        let mut slot = slot.lock().unwrap_or_else(|poison| poison.into_inner());
        if slot.is_some() && io.is_flushed() { Poll::Ready(slot.take()) } else { Poll::Pending }
    })
    .await
}

/// Answers one request. A long answer goes into the slot, and hyper waits until it is dropped.
async fn respond(
    mut request: Request<Incoming>,
    peer: Peer,
    router: Router,
    io: SharedIo,
    slot: Arc<Mutex<Option<LongAnswer>>>,
) -> Result<Response, Infallible> {
    let version = request.version();
    let is_head = request.method() == Method::HEAD;
    let may_stay_open = !asks_for_close(request.headers());
    if let Some(detail) = malformed(&request, &io) {
        return Ok(refuse(detail));
    }
    request.extensions_mut().insert(peer);
    let response = router.oneshot(request.map(Body::new)).await?;
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        io.stop_scan();
    }
    if response.status() == StatusCode::SWITCHING_PROTOCOLS
        && response.extensions().get::<ResetWhenCut>().is_some()
        && let Err(error) = io.reset_when_closed()
    {
        tracing::warn!(error = %error.kind(), "a connection that asked for a reset will be closed instead");
    }
    if is_head || response.extensions().get::<Handover>().is_none() {
        return Ok(response);
    }
    let answer = LongAnswer { version, response, may_stay_open };
    *slot.lock().unwrap_or_else(|poison| poison.into_inner()) = Some(answer);
    pending().await
}

/// What is wrong with the framing of a request that hyper accepted: a request that two readers of the same bytes can
/// understand differently is how one request is hidden in another.
fn malformed(request: &Request<Incoming>, io: &SharedIo) -> Option<&'static str> {
    let head = io.next_head().unwrap_or_default();
    let mut encodings = request.headers().get_all(TRANSFER_ENCODING).iter();
    let is_chunked = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"chunked");
    if seeded::is_on(Bug::LooseFraming) {
        None
    } else if head.bare_line_feed {
        Some("each line of a request's head ends with CR LF")
    } else if head.lengths > 0 && head.encodings > 0 {
        Some("a request has `Content-Length` or `Transfer-Encoding`, not both")
    } else if head.lengths > 1 || head.encodings > 1 {
        Some("a request has one `Content-Length` or one `Transfer-Encoding`")
    } else if !encodings.all(is_chunked) {
        Some("the only `Transfer-Encoding` that is taken is `chunked`")
    } else {
        None
    }
}

/// Answers 400 and ends the connection: where the next request begins is not certain.
fn refuse(detail: &str) -> Response {
    let mut response = Problem::new(ErrorCode::InvalidRequest, detail).into_response();
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// How many connections each address has.
struct Places {
    counts: Mutex<HashMap<IpAddr, usize>>,
    total: usize,
    per_ip: usize,
    per_loopback: usize,
}

struct Place {
    ip: IpAddr,
    places: Arc<Places>,
}

impl Places {
    fn new(edge: &Edge) -> Arc<Self> {
        let limits = edge.limits();
        Arc::new(Self {
            counts: Mutex::default(),
            total: descriptors().map_or(limits.connections, |most| limits.connections.min(most)),
            per_ip: limits.connections_per_ip,
            per_loopback: limits.connections_per_loopback,
        })
    }

    fn take(self: &Arc<Self>, ip: IpAddr) -> Result<Place, &'static str> {
        let ip = ip.to_canonical();
        let max = if ip.is_loopback() { self.per_loopback } else { self.per_ip };
        let mut counts = self.counts.lock().unwrap_or_else(|poison| poison.into_inner());
        if counts.values().sum::<usize>() >= self.total {
            return Err("total");
        }
        let count = counts.entry(ip).or_insert(0);
        if *count >= max {
            return Err("address");
        }
        *count += 1;
        Ok(Place { ip, places: self.clone() })
    }
}

/// How many connections leave enough file descriptors for the log and the operator; `None` if it cannot be told.
fn descriptors() -> Option<usize> {
    const KEPT_BACK: usize = 32;
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    let most: usize = line.split_whitespace().next()?.parse().ok()?;
    Some(most.saturating_sub(KEPT_BACK).max(1))
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut counts = self.places.counts.lock().unwrap_or_else(|poison| poison.into_inner());
        if let Some(count) = counts.get_mut(&self.ip) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.ip);
            }
        }
    }
}

/// Says 503 without waiting for a request; whether it arrives is up to the peer.
fn turn_away(stream: &TcpStream, reason: &str) {
    let detail = format!("too many connections ({reason}); try again");
    let body = Problem::new(ErrorCode::Overloaded, detail).to_json(None).to_string();
    let answer = format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\ncontent-length: {}\r\n\
         retry-after: 1\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let _ = stream.try_write(answer.as_bytes());
}

/// A file descriptor kept back, so that there is one left to turn a caller away with.
struct Spare(Option<File>);

impl Spare {
    fn open() -> Self {
        Self(File::open("/dev/null").ok())
    }
}

/// Without descriptors `accept` fails at once and for ever, so the loop must rest between tries.
async fn accept_failed(error: &io::Error, listener: &TcpListener, edge: &Edge, spare: &mut Spare) {
    const REST: Duration = Duration::from_millis(50);
    let of_the_peer = matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::Interrupted
    );
    if of_the_peer {
        return;
    }
    let labels = RefusalLabels { reason: "descriptors" };
    edge.metrics().connections_refused.get_or_create(&labels).inc();
    tracing::warn!(error = %error.kind(), "accept failed");
    if spare.0.take().is_some()
        && let Ok(Ok((stream, _))) = tokio::time::timeout(Duration::ZERO, listener.accept()).await
    {
        turn_away(&stream, "descriptors");
    }
    *spare = Spare::open();
    tokio::time::sleep(REST).await;
}
