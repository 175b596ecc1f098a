//! The headers of a stream wait for its first word: a service that refuses is refused with its status, as without a
//! stream, and clients know what to do with it.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::Response;
use futures_util::{StreamExt, stream};
use http_body_util::BodyExt;
use riverrun_dialect::request::Failure;
use riverrun_dialect::{Answer, Dialect, Weight};
use riverrun_event::ErrorCode;
use tokio::time::{Instant, timeout_at};

use super::Refusal;
use super::start::{Place, Started, name_turn, subscribe, told};
use crate::app::App;
use crate::edge::{Caller, Media, Problem, stream_response};

/// A service that thinks for longer is not waited for: proxies and people want to see that somebody works.
const LONGEST: Duration = Duration::from_secs(10);

/// The turn's stream from its start, or the refusal of a turn that failed before it said anything.
pub async fn stream_or_refuse(
    app: &App,
    caller: &Caller,
    started: &Started,
    dialect: Dialect,
) -> Result<Response, Refusal> {
    let rules = dialect.rules();
    let body = subscribe(app, caller, started, dialect, rules.framing, Place::Start).await?;
    let mut body = Body::new(body);
    let (mut held, until) = (Vec::new(), Instant::now() + LONGEST);
    while let Ok(next) = timeout_at(until, body.frame()).await {
        match next {
            Some(Ok(frame)) => held.extend_from_slice(&frame.into_data().unwrap_or_default()),
            Some(Err(_)) => {
                let detail = "the server goes down; the run goes on, ask for it again";
                return Err(Problem::new(ErrorCode::Draining, detail).into());
            }
            None => break,
        }
        match dialect.weigh(&String::from_utf8_lossy(&held)) {
            Weight::Opening => {}
            Weight::Speech => break,
            Weight::Failure => return Err(refusal(app, started, dialect).await?),
        }
    }
    let first = stream::once(std::future::ready(Ok(Bytes::from(held))));
    let body = Body::from_stream(first.chain(body.into_data_stream()));
    let mut response = stream_response(Media::EventStream, body);
    name_turn(&mut response, started, dialect, rules.framing);
    Ok(response)
}

/// A response that failed is an object, so Chat Completions say how it is refused.
async fn refusal(app: &App, started: &Started, dialect: Dialect) -> Result<Refusal, Problem> {
    let dialect = if dialect == Dialect::Responses { Dialect::Chat } else { dialect };
    Ok(match told(app, started, dialect).await? {
        Answer::Failed(failure) => failure.into(),
        Answer::Whole(_) | Answer::Open(_) | Answer::None => {
            Failure::new(500, "internal", "the turn ended without an answer").into()
        }
    })
}
