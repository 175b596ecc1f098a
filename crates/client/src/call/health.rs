//! Is the server up, and what does it say of itself.

use http::header::{DATE, HeaderValue};
use http::{Method, Response};

use crate::client::Client;
use crate::error::{Error, Result};
use crate::exchange::Call;

/// What a health check answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    pub status: u16,
    pub body: String,
    /// The server's clock, as its `Date` header gives it.
    pub date: Option<String>,
}

impl Client {
    /// Does the process answer?
    pub async fn livez(&self) -> Result<Health> {
        self.health("/livez").await
    }

    /// Does it take work?
    pub async fn readyz(&self) -> Result<Health> {
        self.health("/readyz").await
    }

    async fn health(&self, path: &str) -> Result<Health> {
        match self.http().fetch(Call::new(Method::GET, path).accept("*/*")).await {
            Ok(response) => Ok(health(&response)),
            // Not ready is an answer, not a failure to ask.
            Err(Error::Problem(problem)) => {
                Ok(Health { status: problem.status, body: problem.detail, date: None })
            }
            Err(error) => Err(error),
        }
    }
}

fn health(response: &Response<bytes::Bytes>) -> Health {
    let date = response.headers().get(DATE).and_then(|value: &HeaderValue| value.to_str().ok());
    Health {
        status: response.status().as_u16(),
        body: String::from_utf8_lossy(response.body()).trim().to_owned(),
        date: date.map(str::to_owned),
    }
}
