//! The answer to a submit that is the turn's stream, from its first event to its terminal one.

use std::sync::Arc;

use axum::response::Response;
use http::header::ACCEPT_LANGUAGE;
use http::{HeaderMap, HeaderValue};
use riverrun_dialect::Framing;
use riverrun_event::Cursor;

use crate::app::App;
use crate::deliver::{body, open, read_request};
use crate::edge::{Caller, KeyScope, Media, Params, Problem, negotiate, stream_response};
use riverrun_api::operations::turns::SubmittedTurn;
use riverrun_session::Hub;
use riverrun_session::Request;

/// The form in which a submit is answered.
pub(super) enum Wanted {
    Answer,
    Stream(Box<Request>, Media),
}

impl Wanted {
    /// Reads everything that could be refused, before anything is done.
    pub fn read(caller: &Caller, query: Option<&str>, headers: &HeaderMap) -> Result<Self, Problem> {
        match negotiate(headers, &[Media::Json, Media::EventStream, Media::Ndjson])? {
            // What shapes a stream is checked and has no effect on an answer.
            Media::Json => request(query, headers).map(|_| Wanted::Answer),
            media @ (Media::EventStream | Media::Ndjson) => {
                caller.require(KeyScope::Read)?;
                Ok(Wanted::Stream(Box::new(request(query, headers)?), media))
            }
        }
    }
}

/// A cursor in the headers is about a stream that was cut, not about a turn that is not there yet.
fn request(query: Option<&str>, headers: &HeaderMap) -> Result<Request, Problem> {
    let params =
        Params::parse(query, &["dialect", "index_unit", "types", "language", "approvals", "deltas"])?;
    let mut about = HeaderMap::new();
    about.extend(headers.get(ACCEPT_LANGUAGE).map(|languages| (ACCEPT_LANGUAGE, languages.clone())));
    read_request(&params, &about)
}

pub(super) async fn stream(
    app: &App,
    hub: &Arc<Hub>,
    caller: Caller,
    request: Request,
    media: Media,
    turn: &SubmittedTurn,
) -> Result<Response, Problem> {
    let rules = request.dialect.rules();
    let framing = if media == Media::Ndjson { Framing::Ndjson } else { rules.own_framing() };
    let after = Cursor::parse(&turn.cursor).ok();
    let request = Request { after, turn: Some(turn.turn_id.clone()), ..request };
    // The turn is durable now: whoever is refused here must learn its name.
    let opened = open(app, hub, &caller, &request, framing)
        .await
        .map_err(|problem| problem.with("turnId", turn.turn_id.as_str()))?;
    let about = opened.headers();
    let mut response = stream_response(media, body(opened.subscribe(hub.clone(), request.follow)));
    response.headers_mut().extend(about);
    for (name, value) in rules.headers {
        response.headers_mut().insert(*name, HeaderValue::from_static(value));
    }
    Ok(response)
}
