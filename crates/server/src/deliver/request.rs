//! What a reader asks for, from its query and headers.

use http::HeaderMap;
use http::header::ACCEPT_LANGUAGE;
use riverrun_dialect::{Approvals, Dialect, Language, Languages, OffsetUnit, ReaderOptions, gemini};
use riverrun_event::{Cursor, ErrorCode};
use riverrun_runner::Deltas;
use riverrun_session::{CatchUp, Follow, Request, TypePattern};

use crate::edge::{Params, Problem};

/// What the query of a stream may hold.
pub const PARAMETERS: &[&str] = &[
    "after",
    "dialect",
    "turn",
    "task",
    "types",
    "catchup",
    "follow",
    "index_unit",
    "language",
    "approvals",
    "limit",
    "ticket",
    "credential",
];

pub fn read_request(params: &Params, headers: &HeaderMap) -> Result<Request, Problem> {
    let dialect = params.get("dialect").map(Dialect::parse).transpose();
    let dialect = dialect
        .map_err(|error| Problem::new(ErrorCode::UnknownDialect, error.to_string()).field("dialect"))?;
    let follow = match params.flag("follow")? {
        Some(false) => Follow::UntilCaughtUp,
        Some(true) | None => Follow::Live,
    };
    let types = params.list("types")?.unwrap_or_default();
    let dialect = dialect.unwrap_or_default();
    let mut turn = params.parsed("turn")?;
    // Gemini's chunks have no room for a cursor but the one that its clients know.
    let token = params.get("after").filter(|_| dialect == Dialect::Gemini).and_then(gemini::read_token);
    let after = match token {
        Some((of, cursor)) => {
            turn.get_or_insert(of);
            Some(cursor)
        }
        None => cursor(params, headers)?,
    };
    Ok(Request {
        after,
        dialect,
        options: options(dialect, params, headers)?,
        turn,
        task: params.parsed("task")?,
        types: types.into_iter().map(TypePattern::new).collect::<Result<_, _>>()?,
        catch_up: catch_up(params.get("catchup"))?,
        follow,
        frames_seen: None,
        limit: params.limit("limit", 500, 5000)?,
    })
}

fn options(dialect: Dialect, params: &Params, headers: &HeaderMap) -> Result<ReaderOptions, Problem> {
    let chosen = (languages(params, headers)?, approvals(params)?);
    // Readers of the other dialects get the same bytes whatever they choose here.
    let (languages, approvals) = if dialect == Dialect::Blocks { chosen } else { Default::default() };
    let index_unit = index_unit(params.get("index_unit"))?;
    Ok(ReaderOptions { index_unit, languages, approvals, ..ReaderOptions::default() })
}

/// The languages of a reader: `?language=`, else `Accept-Language`.
pub fn languages(params: &Params, headers: &HeaderMap) -> Result<Languages, Problem> {
    let accepted = || {
        let header = headers.get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
        header.map(Languages::accepted).unwrap_or_default()
    };
    let Some(text) = params.get("language") else { return Ok(accepted()) };
    let language =
        Language::parse(text).ok_or_else(|| one_of("language", text, "a tag such as `en` or `vi`"))?;
    Ok(Languages::one(language))
}

/// Whether approvals that were required at once are one request: `?approvals=`.
pub fn approvals(params: &Params) -> Result<Approvals, Problem> {
    let Some(text) = params.get("approvals") else { return Ok(Approvals::default()) };
    Approvals::parse(text).ok_or_else(|| one_of("approvals", text, "together, separate"))
}

/// The reader's place: `?after=`, or what a browser's EventSource sends by itself. An EventSource keeps its URL when it
/// comes back, so a header that is ahead of the query is where the reader stands; one behind it is a mistake.
fn cursor(params: &Params, headers: &HeaderMap) -> Result<Option<Cursor>, Problem> {
    let query = params.get("after").map(|text| read_cursor(text, "after")).transpose()?;
    let header = headers.get("last-event-id").map(|value| {
        let text = value.to_str().map_err(|_| bad_cursor("Last-Event-ID", "it is not ASCII"))?;
        read_cursor(text, "Last-Event-ID")
    });
    match (query, header.transpose()?) {
        (Some(query), Some(header)) if is_behind(&header, &query) => {
            let detail = format!("`after` is {query} and `Last-Event-ID` is {header}: send one of them");
            Err(Problem::new(ErrorCode::CursorConflict, detail).field("after"))
        }
        (query, header) => Ok(header.or(query)),
    }
}

fn is_behind(header: &Cursor, query: &Cursor) -> bool {
    header.sequence < query.sequence || header.sequence == query.sequence && header.part != query.part
}

pub fn read_cursor(text: &str, field: &str) -> Result<Cursor, Problem> {
    Cursor::parse(text).map_err(|error| bad_cursor(field, &error.to_string()))
}

fn bad_cursor(field: &str, reason: &str) -> Problem {
    Problem::new(ErrorCode::BadCursor, reason.to_owned()).field(field.to_owned())
}

pub fn index_unit(text: Option<&str>) -> Result<OffsetUnit, Problem> {
    let Some(text) = text else { return Ok(OffsetUnit::default()) };
    OffsetUnit::parse(text).ok_or_else(|| one_of("index_unit", text, "code_point, utf16, utf8"))
}

pub fn catch_up(text: Option<&str>) -> Result<CatchUp, Problem> {
    match text {
        None | Some("replay") => Ok(CatchUp::Replay),
        Some("coalesce") => Ok(CatchUp::Coalesce),
        Some("snapshot") => Ok(CatchUp::Snapshot),
        Some(other) => Err(one_of("catchup", other, "replay, coalesce, snapshot")),
    }
}

pub fn one_of(field: &'static str, found: &str, allowed: &str) -> Problem {
    let found: String = found.chars().take(40).collect();
    Problem::new(ErrorCode::InvalidField, format!("`{field}` is {found:?}; it may be one of: {allowed}"))
        .field(field)
}

/// Reads `?deltas=`, which every route that may begin a turn takes.
pub fn deltas(query: Option<&str>) -> Result<Option<Deltas>, Problem> {
    let mut members = query.unwrap_or_default().split('&');
    let Some(word) = members.find_map(|member| member.strip_prefix("deltas=")) else { return Ok(None) };
    match Deltas::parse(word) {
        Some(deltas) => Ok(Some(deltas)),
        None => Err(one_of("deltas", word, "joined, as_sent")),
    }
}
