//! What each method takes, by name. Unknown names are refused.

use std::fmt;

use riverrun_dialect::{Dialect, ReaderOptions};
use riverrun_event::{Cursor, ErrorCode, ProducerId, Sequence, SessionId, TaskId, Timestamp, TurnId};
use riverrun_log::{AppendStamp, PageRequest};
use serde::de::{DeserializeOwned, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::deliver::{catch_up, index_unit, one_of, read_cursor};
use crate::edge::{Problem, decode_text, invalid};
use crate::route::ListQuery;
use riverrun_session::{Follow, Request, TypePattern};

/// Reads the parameters of a method; an error names the path.
pub fn read<T: DeserializeOwned>(params: &str) -> Result<T, Problem> {
    if !params.starts_with('{') {
        let detail = "`params` must be an object: parameters go by name, not by place";
        return Err(Problem::new(ErrorCode::InvalidField, detail).field("params"));
    }
    decode_text(params)
}

/// A method without parameters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Auth {
    pub key: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OfSession {
    pub session_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct List {
    status: Option<String>,
    tag: Option<String>,
    since: Option<String>,
    limit: Option<usize>,
    cursor: Option<String>,
}

impl List {
    pub fn query(self) -> Result<ListQuery, Problem> {
        let since = self.since.as_deref().map(Timestamp::parse).transpose();
        Ok(ListQuery {
            status: self.status,
            tag: self.tag,
            since: since.map_err(|error| invalid("since", &error))?,
            page: page(self.limit, self.cursor)?,
        })
    }
}

fn page(limit: Option<usize>, cursor: Option<String>) -> Result<PageRequest, Problem> {
    const MOST: usize = 1000;
    match limit.unwrap_or(50) {
        limit @ 1..=MOST => Ok(PageRequest { cursor, limit }),
        _ => Err(invalid("limit", &format!("it must be 1 to {MOST}")).limit(MOST as u64)),
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct State {
    pub session_id: String,
    at: Option<Place>,
}

impl State {
    pub fn at(&self) -> Result<Option<Sequence>, Problem> {
        let at = self.at.as_ref().map(|at| at.cursor("at")).transpose()?;
        Ok(at.map(|cursor| cursor.sequence))
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Append {
    pub session_id: String,
    /// One event or an array of them, as they came.
    pub events: Box<RawValue>,
    producer: Option<Producer>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Producer {
    id: ProducerId,
    #[serde(default)]
    epoch: u64,
    sequence: u64,
}

impl Append {
    pub fn producer(&self) -> Result<Option<AppendStamp>, Problem> {
        let Some(Producer { id, epoch, sequence }) = self.producer.clone() else { return Ok(None) };
        for (field, number) in [("producer.epoch", epoch), ("producer.sequence", sequence)] {
            if number > Sequence::MAX.get() {
                let detail = format!("`{field}` is {number}; it may be at most {}", Sequence::MAX);
                return Err(Problem::new(ErrorCode::NumberOutOfRange, detail).field(field));
            }
        }
        Ok(Some(AppendStamp { id, epoch, sequence }))
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FollowParams {
    pub session_id: String,
    after: Option<Place>,
    dialect: Option<String>,
    turn: Option<TurnId>,
    task: Option<TaskId>,
    types: Option<Vec<String>>,
    catchup: Option<String>,
    follow: Option<bool>,
    index_unit: Option<String>,
}

impl FollowParams {
    pub fn request(&self) -> Result<Request, Problem> {
        let types = self.types.iter().flatten().map(|text| TypePattern::new(text));
        let unit = index_unit(self.index_unit.as_deref()).map_err(|problem| problem.field("indexUnit"))?;
        Ok(Request {
            after: self.after.as_ref().map(|after| after.cursor("after")).transpose()?,
            dialect: dialect(self.dialect.as_deref())?,
            options: ReaderOptions { index_unit: unit, ..ReaderOptions::default() },
            turn: self.turn.clone(),
            task: self.task.clone(),
            types: types.collect::<Result<_, _>>()?,
            catch_up: catch_up(self.catchup.as_deref())?,
            follow: if self.follow == Some(false) { Follow::UntilCaughtUp } else { Follow::Live },
            frames_seen: None,
            limit: 0,
        })
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Export {
    pub session_id: String,
    after: Option<Place>,
    dialect: Option<String>,
    limit: Option<usize>,
}

impl Export {
    pub fn request(&self) -> Result<Request, Problem> {
        let page = page(self.limit.or(Some(500)), None)?;
        Ok(Request {
            after: self.after.as_ref().map(|after| after.cursor("after")).transpose()?,
            dialect: dialect(self.dialect.as_deref())?,
            limit: page.limit,
            ..Request::default()
        })
    }
}

fn dialect(name: Option<&str>) -> Result<Dialect, Problem> {
    let found = name
        .map(Dialect::parse)
        .transpose()
        .map_err(|error| Problem::new(ErrorCode::UnknownDialect, error.to_string()).field("dialect"))?;
    Ok(found.unwrap_or_default())
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unfollow {
    pub subscription: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Ack {
    pub session_id: SessionId,
    pub sequence: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Task {
    pub task_id: String,
    pub session_id: Option<String>,
    pub index_unit: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Actions {
    pub session_id: Option<String>,
    status: Option<String>,
    limit: Option<usize>,
    cursor: Option<String>,
}

impl Actions {
    pub fn page(&self) -> Result<PageRequest, Problem> {
        match self.status.as_deref() {
            None | Some("pending") => page(self.limit, self.cursor.clone()),
            Some(other) => Err(one_of("status", other, "pending")),
        }
    }
}

/// A cursor as text, or a sequence as a number.
#[derive(Debug, Clone)]
struct Place(String);

impl Place {
    fn cursor(&self, field: &str) -> Result<Cursor, Problem> {
        read_cursor(&self.0, field)
    }
}

impl<'de> Deserialize<'de> for Place {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl Visitor<'_> for Read {
            type Value = Place;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a cursor or a sequence")
            }
            fn visit_str<E>(self, text: &str) -> Result<Place, E> {
                Ok(Place(text.to_owned()))
            }
            fn visit_u64<E>(self, number: u64) -> Result<Place, E> {
                Ok(Place(number.to_string()))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Place, E> {
                Ok(Place(number.to_string()))
            }
            fn visit_f64<E>(self, number: f64) -> Result<Place, E> {
                Ok(Place(number.to_string()))
            }
        }
        deserializer.deserialize_any(Read)
    }
}
