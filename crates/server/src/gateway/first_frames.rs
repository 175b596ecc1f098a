//! The headers of a stream wait for its first word: a service that refuses is refused with its status, as without a
//! stream, and clients know what to do with it.

use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use futures_util::{StreamExt, TryStreamExt};
use riverrun_dialect::request::RequestFailure;
use riverrun_dialect::{Dialect, Weight, WholeAnswer};
use riverrun_event::ErrorCode;
use riverrun_session::FrameBatch;
use tokio::time::{Instant, timeout_at};

use super::Refusal;
use super::turn::{Started, name_turn, subscribe_weighed, told};
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
    let framing = dialect.rules().framing;
    let mut stream = subscribe_weighed(app, caller, started, dialect, framing).await?;
    let (mut held, until) = (Vec::new(), Instant::now() + LONGEST);
    while let Ok(next) = timeout_at(until, stream.next()).await {
        match next {
            Some(Ok(batch)) => held.push(Ok(batch)),
            Some(Err(_)) => {
                let detail = "the server goes down; the run goes on, ask for it again";
                return Err(Problem::new(ErrorCode::Draining, detail).into());
            }
            None => break,
        }
        match stream.weight() {
            Some(Weight::Opening) => {}
            Some(Weight::Speech) | None => break,
            Some(Weight::Failure) => return Err(refusal(app, started, dialect).await?),
        }
    }
    let whole = futures_util::stream::iter(held).chain(stream);
    let body = Body::from_stream(whole.map_ok(FrameBatch::into_bytes));
    let mut response = stream_response(Media::EventStream, body);
    name_turn(&mut response, started, dialect, framing);
    Ok(response)
}

/// A response that failed is an object, so Chat Completions say how it is refused.
async fn refusal(app: &App, started: &Started, dialect: Dialect) -> Result<Refusal, Problem> {
    let dialect = if dialect == Dialect::Responses { Dialect::Chat } else { dialect };
    Ok(match told(app, started, dialect).await? {
        WholeAnswer::Failed(failure) => failure.into(),
        WholeAnswer::Whole(_) | WholeAnswer::Open(_) | WholeAnswer::None => {
            RequestFailure::new(500, "internal", "the turn ended without an answer").into()
        }
    })
}
