//! `POST /s/{id}` appends, `GET /s/{id}?after=` streams, `GET /stats` tells what was written.

use std::collections::HashMap;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, PoisonError, RwLock};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::stream;
use tokio::sync::{oneshot, watch};

use crate::journal::CeilingJournal;
use crate::session::CeilingSession;
use crate::writer::{self, QueuedAppend};

pub struct CeilingHub {
    sessions: RwLock<HashMap<String, Arc<CeilingSession>>>,
    journal: Arc<CeilingJournal>,
    queue: Sender<QueuedAppend>,
}

impl CeilingHub {
    /// Starts the writer thread over `journal`.
    pub fn start(journal: CeilingJournal) -> std::io::Result<Self> {
        let (queue, appends) = channel();
        let journal = Arc::new(journal);
        let written = journal.clone();
        let thread = std::thread::Builder::new().name("writer".into());
        thread.spawn(move || writer::write(&written, &appends))?;
        Ok(Self { sessions: RwLock::default(), journal, queue })
    }

    fn session(&self, id: &str) -> Arc<CeilingSession> {
        if let Some(session) = self.sessions.read().unwrap_or_else(PoisonError::into_inner).get(id) {
            return session.clone();
        }
        let mut sessions = self.sessions.write().unwrap_or_else(PoisonError::into_inner);
        sessions.entry(id.to_owned()).or_insert_with(|| Arc::new(CeilingSession::new())).clone()
    }
}

pub fn router(hub: Arc<CeilingHub>) -> Router {
    Router::new()
        .route("/s/{id}", post(append).get(subscribe))
        .route("/stats", get(stats))
        .layer(axum::extract::DefaultBodyLimit::max(16 << 20))
        .with_state(hub)
}

async fn append(State(hub): State<Arc<CeilingHub>>, Path(id): Path<String>, body: Bytes) -> Response {
    let (done, durable) = oneshot::channel();
    let queued = hub.queue.send(QueuedAppend { session: hub.session(&id), body, done });
    match (queued, durable.await) {
        (Ok(()), Ok((first, last))) => {
            let json = format!("{{\"first\":{first},\"last\":{last}}}");
            ([(header::CONTENT_TYPE, "application/json")], json).into_response()
        }
        (Ok(()), Err(_)) | (Err(_), _) => StatusCode::INSUFFICIENT_STORAGE.into_response(),
    }
}

/// A subscriber: a cursor over a session, never a queue of its own.
struct Subscriber {
    hub: Arc<CeilingHub>,
    session: Arc<CeilingSession>,
    head: watch::Receiver<u64>,
    after: u64,
}

async fn subscribe(
    State(hub): State<Arc<CeilingHub>>,
    Path(id): Path<String>,
    Query(query): Query<HashMap<String, String>>,
) -> Response {
    let after = query.get("after").and_then(|after| after.parse().ok()).unwrap_or(0);
    let session = hub.session(&id);
    let subscriber = Subscriber { head: session.follow(), session, hub, after };
    let frames = stream::unfold(subscriber, |mut subscriber| async move {
        let frames = subscriber.next().await?;
        Some((Ok::<_, std::convert::Infallible>(frames), subscriber))
    });
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(frames)).into_response()
}

impl Subscriber {
    /// The next frames: whatever lies between the cursor and the head, or a wait for more.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            self.head.borrow_and_update();
            if let Some((last, frames)) = self.session.read(self.after, &self.hub.journal) {
                self.after = last;
                return Some(frames);
            }
            self.head.changed().await.ok()?;
        }
    }
}

async fn stats(State(hub): State<Arc<CeilingHub>>) -> String {
    let (bytes, events) = hub.journal.size();
    format!("{{\"bytes\":{bytes},\"events\":{events}}}")
}
