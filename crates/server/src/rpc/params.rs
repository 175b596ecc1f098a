//! What each method takes, by name. Unknown names are refused.

use riverrun_dialect::{Dialect, Options};
use riverrun_event::{ErrorCode, ProducerId, Sequence, SessionId, TaskId, TurnId};
use riverrun_log::ProducerStamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::deliver::{catch_up, index_unit};
use crate::edge::{Problem, decode_text};
use riverrun_api::{LogPosition, page_request};
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
    pub fn producer(&self) -> Result<Option<ProducerStamp>, Problem> {
        let Some(Producer { id, epoch, sequence }) = self.producer.clone() else { return Ok(None) };
        for (field, number) in [("producer.epoch", epoch), ("producer.sequence", sequence)] {
            if number > Sequence::MAX.get() {
                let detail = format!("`{field}` is {number}; it may be at most {}", Sequence::MAX);
                return Err(Problem::new(ErrorCode::NumberOutOfRange, detail).field(field));
            }
        }
        Ok(Some(ProducerStamp { id, epoch, sequence }))
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FollowParams {
    pub session_id: String,
    after: Option<LogPosition>,
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
            options: Options { index_unit: unit, ..Options::default() },
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
    after: Option<LogPosition>,
    dialect: Option<String>,
    limit: Option<usize>,
}

impl Export {
    pub fn request(&self) -> Result<Request, Problem> {
        let page = page_request(self.limit.or(Some(500)), None)?;
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
