//! Refusals as messages of the socket, which stays open.

use riverrun_api::ApiError;
use riverrun_dialect::blocks::server;
use riverrun_dialect::request::RequestFailure;
use riverrun_event::ErrorCode;
use riverrun_runner::CommandError;

use crate::edge::Problem;

pub struct Fault {
    code: String,
    message: String,
    can_retry: bool,
}

impl Fault {
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into(), can_retry: false }
    }

    pub fn text(&self, request_id: Option<&str>) -> String {
        server::error(request_id, &self.code, &self.message, self.can_retry)
    }

    pub fn auth_text(&self) -> String {
        server::auth_error(&self.code, &self.message)
    }
}

impl From<Problem> for Fault {
    fn from(problem: Problem) -> Self {
        let code = match problem.code() {
            ErrorCode::NotFound => "SESSION_NOT_FOUND".to_owned(),
            other => other.as_str().to_uppercase(),
        };
        let can_retry = problem.code().is_retryable();
        Self { code, message: problem.detail().to_owned(), can_retry }
    }
}

impl From<RequestFailure> for Fault {
    fn from(failure: RequestFailure) -> Self {
        Self { code: failure.code.to_uppercase(), message: failure.message, can_retry: false }
    }
}

impl From<ApiError> for Fault {
    fn from(error: ApiError) -> Self {
        Problem::from(error).into()
    }
}

impl From<riverrun_log::LogError> for Fault {
    fn from(error: riverrun_log::LogError) -> Self {
        Problem::from(error).into()
    }
}

impl From<CommandError> for Fault {
    fn from(error: CommandError) -> Self {
        ApiError::from(&error).into()
    }
}
