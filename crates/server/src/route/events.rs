//! Following a session.

use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};
use riverrun_dialect::Framing;

use crate::app::App;
use crate::deliver::{PARAMETERS, body, open, read_request};
use crate::edge::{KeyScope, Media, Params, PathId, Problem, StreamCaller, negotiate, stream_response};
use riverrun_session::page;

pub async fn follow(
    State(app): State<App>,
    StreamCaller(caller): StreamCaller,
    PathId(session): PathId,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    caller.require(KeyScope::Read)?;
    let media = negotiate(&headers, &[Media::EventStream, Media::Ndjson, Media::Json])?;
    let params = Params::parse(query.as_deref(), PARAMETERS)?;
    let request = read_request(&params, &headers)?;
    let hub = app.hub(&caller, &session).await?;
    let framing = match media {
        Media::EventStream => request.dialect.rules().own_framing(),
        Media::Ndjson => Framing::Ndjson,
        Media::Json => {
            let body = page(app.sessions(), &hub, &request).await?;
            return Ok(([(CONTENT_TYPE, "application/json")], body).into_response());
        }
    };
    let opened = open(&app, &hub, &caller, &request, framing).await?;
    let about = opened.headers();
    let mut response = stream_response(media, body(opened.subscribe(hub, request.follow)));
    let headers = response.headers_mut();
    headers.extend(about);
    for (name, value) in request.dialect.rules().headers {
        headers.insert(*name, HeaderValue::from_static(value));
    }
    Ok(response)
}
