//! Reads query strings strictly: every parameter is known, given once, and decodes to UTF-8.

use std::borrow::Cow;
use std::fmt::Display;
use std::str::FromStr;

use axum::extract::FromRequestParts;
use http::request::Parts;
use riverrun_event::ErrorCode;

use super::problem::Problem;

/// Names under which people put keys into URLs, where every proxy and history keeps them.
const KEY_NAMES: [&str; 7] =
    ["token", "api_key", "apikey", "api-key", "key", "access_token", "authorization"];

/// The parameters of one request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Params(Vec<(String, String)>);

impl Params {
    /// Parses a query that may hold the `known` names only.
    pub fn parse(query: Option<&str>, known: &[&str]) -> Result<Self, Problem> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for pair in raw_pairs(query) {
            let (name, value) = pair?;
            refuse_key(&name)?;
            if !known.contains(&name.as_str()) {
                return Err(riverrun_api::unknown_field(".", &printable(&name), known).into());
            }
            if pairs.iter().any(|(seen, _)| *seen == name) {
                let detail = format!("`{name}` is given twice; give it once");
                return Err(Problem::new(ErrorCode::InvalidField, detail).field(name));
            }
            pairs.push((name, value));
        }
        Ok(Self(pairs))
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(seen, _)| seen == name).map(|(_, value)| value.as_str())
    }

    /// The value read as a `T`; the error of `T` names what is allowed.
    pub fn parsed<T>(&self, name: &str) -> Result<Option<T>, Problem>
    where
        T: FromStr,
        T::Err: Display,
    {
        self.get(name).map(|value| value.parse().map_err(|error| invalid(name, &error))).transpose()
    }

    /// `true` or `false`, nothing else.
    pub fn flag(&self, name: &str) -> Result<Option<bool>, Problem> {
        match self.get(name) {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(_) => Err(invalid(name, &"it must be `true` or `false`")),
        }
    }

    /// A list with commas; an empty entry is refused.
    pub fn list(&self, name: &str) -> Result<Option<Vec<&str>>, Problem> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let entries: Vec<_> = value.split(',').collect();
        if entries.iter().any(|entry| entry.is_empty()) {
            return Err(invalid(name, &"the list has an empty entry"));
        }
        Ok(Some(entries))
    }

    /// A whole number of at least 1 and at most `max`, `default` when absent.
    pub fn limit(&self, name: &str, default: usize, max: usize) -> Result<usize, Problem> {
        match self.parsed::<usize>(name)? {
            None => Ok(default),
            Some(limit) if (1..=max).contains(&limit) => Ok(limit),
            Some(_) => Err(invalid(name, &format!("it must be 1 to {max}")).limit(max as u64)),
        }
    }
}

/// The answer to a parameter whose value cannot be read.
pub fn invalid(name: &str, reason: &dyn Display) -> Problem {
    riverrun_api::invalid(name, reason).into()
}

/// What a route takes in its query. A stream or WebSocket route lists `ticket` among its names.
pub trait FromParams: Sized {
    const NAMES: &'static [&'static str];
    fn from_params(params: &Params) -> Result<Self, Problem>;
}

/// A route without parameters.
impl FromParams for () {
    const NAMES: &'static [&'static str] = &[];
    fn from_params(_: &Params) -> Result<Self, Problem> {
        Ok(())
    }
}

/// The query of a request, read strictly into `T`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StrictQuery<T>(pub T);

impl<S, T> FromRequestParts<S> for StrictQuery<T>
where
    S: Send + Sync,
    T: FromParams,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        T::from_params(&Params::parse(parts.uri.query(), T::NAMES)?).map(Self)
    }
}

/// 400 if the query carries a key under any usual name. Runs before routing, so that no route logs it.
pub(super) fn refuse_keys(query: Option<&str>) -> Result<(), Problem> {
    raw_pairs(query).filter_map(Result::ok).try_for_each(|(name, _)| refuse_key(&name))
}

/// The value of one parameter, without a look at the others.
pub(super) fn single(query: Option<&str>, name: &str) -> Result<Option<String>, Problem> {
    for pair in raw_pairs(query) {
        let (found, value) = pair?;
        if found == name {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

fn refuse_key(name: &str) -> Result<(), Problem> {
    if !KEY_NAMES.iter().any(|key| name.eq_ignore_ascii_case(key)) {
        return Ok(());
    }
    let detail =
        "a key must not travel in a URL; send `Authorization: Bearer`, or a ticket from `POST /v1/tickets`";
    Err(Problem::new(ErrorCode::TokenInUrl, detail).field(name.to_ascii_lowercase()))
}

fn raw_pairs(query: Option<&str>) -> impl Iterator<Item = Result<(String, String), Problem>> {
    query.unwrap_or("").split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = unescape(name).ok_or_else(|| malformed("a parameter's name"))?;
        let value =
            unescape(value).ok_or_else(|| malformed(&format!("the value of `{}`", printable(&name))))?;
        Ok((name, value))
    })
}

fn malformed(what: &str) -> Problem {
    let detail = format!(
        "{what} in the query is not well formed: `%` needs two hex digits, the bytes must be UTF-8 without control \
         characters"
    );
    Problem::new(ErrorCode::InvalidRequest, detail)
}

/// Undoes percent and plus encoding; `None` if it is malformed, not UTF-8 or holds a control character.
fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        bytes.push(match first {
            b'+' => b' ',
            b'%' => {
                let [high, low, tail @ ..] = rest else { return None };
                rest = tail;
                (hex_digit(*high)? << 4) | hex_digit(*low)?
            }
            byte => *byte,
        });
    }
    String::from_utf8(bytes).ok().filter(|text| !text.chars().any(char::is_control))
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

/// A name from outside, fit to be said back: short, and without what a terminal obeys.
fn printable(name: &str) -> Cow<'_, str> {
    const LONGEST: usize = 64;
    if name.len() <= LONGEST && name.bytes().all(|b| b.is_ascii_graphic() && b != b'`') {
        return name.into();
    }
    name.chars().take(LONGEST).flat_map(char::escape_default).collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(query: &str, code: ErrorCode, field: Option<&str>) {
        let problem = Params::parse(Some(query), &["after", "limit", "follow"]).expect_err(query);
        assert_eq!((problem.code(), problem.field_name()), (code, field), "{query}");
        assert!(!problem.detail().contains("SECRET"), "{}", problem.detail());
    }

    #[test]
    fn wrong_queries_have_exact_codes() {
        use ErrorCode::*;
        check("aftr=1", UnknownField, Some("aftr"));
        check("after=1&after=2", InvalidField, Some("after"));
        check("token=SECRET", TokenInUrl, Some("token"));
        check("API_KEY=SECRET", TokenInUrl, Some("api_key"));
        check("%74oken=SECRET", TokenInUrl, Some("token"));
        check("after=%zz", InvalidRequest, None);
        check("after=%4", InvalidRequest, None);
        check("after=%ff", InvalidRequest, None);
        check("after=%00", InvalidRequest, None);
    }

    #[test]
    fn values_are_decoded_once() {
        let params = Params::parse(Some("after=a%2Bb+c%2525&&follow=true"), &["after", "follow"]);
        let params = params.expect("the query is well formed");
        assert_eq!(params.get("after"), Some("a+b c%25"));
        assert_eq!(params.flag("follow"), Ok(Some(true)));
        assert_eq!(params.flag("after").map_err(|p| p.code()), Err(ErrorCode::InvalidField));
    }

    #[test]
    fn limits_are_bounded() {
        let limit = |query| {
            let params = Params::parse(Some(query), &["limit"]).expect("the name is known");
            params.limit("limit", 50, 100).map_err(|problem| problem.code())
        };
        assert_eq!(limit(""), Ok(50));
        assert_eq!(limit("limit=7"), Ok(7));
        for bad in ["limit=0", "limit=101", "limit=-1", "limit=1.5", "limit=99999999999999999999", "limit="] {
            assert_eq!(limit(bad), Err(ErrorCode::InvalidField), "{bad}");
        }
    }
}
