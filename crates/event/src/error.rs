//! Every public error has one stable code. HTTP status and JSON-RPC code are derived here and nowhere else.

use serde::{Deserialize, Serialize};

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $status:literal, $rpc:literal, $title:literal;)*) => {
        /// What went wrong, as a stable name. A code is never renamed or reused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum ErrorCode { $($(#[$doc])* #[doc = $title] #[serde(rename = $text)] $name,)* }

        impl ErrorCode {
            /// Every code, in the order of the table.
            pub const ALL: &[ErrorCode] = &[$(ErrorCode::$name,)*];

            /// The name on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(ErrorCode::$name => $text,)* }
            }
            /// The HTTP status of an answer with this code.
            pub const fn http_status(self) -> u16 {
                match self { $(ErrorCode::$name => $status,)* }
            }
            /// The JSON-RPC error code.
            pub const fn json_rpc(self) -> i32 {
                match self { $(ErrorCode::$name => $rpc,)* }
            }
            /// A short title for people; the same for every error with this code.
            pub const fn title(self) -> &'static str {
                match self { $(ErrorCode::$name => $title,)* }
            }
        }
    };
}

codes! {
    // What the caller sent.
    BodyEmpty = "body_empty", 400, -32600, "the request body is empty";
    JsonSyntax = "json_syntax", 400, -32700, "the body is not JSON";
    JsonTooDeep = "json_too_deep", 400, -32700, "the JSON nests too deep";
    JsonTooLarge = "json_too_large", 400, -32700, "the JSON has too many values";
    JsonDuplicateKey = "json_duplicate_key", 400, -32700, "an object repeats a key";
    JsonInvalidUnicode = "json_invalid_unicode", 400, -32700, "a string holds half a surrogate pair";
    InvalidUtf8 = "invalid_utf8", 400, -32700, "the bytes are not UTF-8";
    NumberOutOfRange = "number_out_of_range", 400, -32602, "a number is out of range";
    InvalidId = "invalid_id", 400, -32602, "an id has a character it may not have";
    UnknownField = "unknown_field", 400, -32602, "a field is not known here";
    InvalidField = "invalid_field", 400, -32602, "a field has the wrong type or value";
    InvalidEvent = "invalid_event", 400, -32602, "an event does not have the form of its type";
    InvalidRequest = "invalid_request", 400, -32600, "the request is not well formed";
    BadCursor = "bad_cursor", 400, -32602, "the cursor is not one of ours";
    CursorWrongSession = "cursor_wrong_run", 400, -32602, "the cursor belongs to another session";
    CursorConflict = "cursor_conflict", 400, -32602, "two cursors were given and differ";
    CursorAhead = "cursor_ahead", 409, -32012, "the cursor is ahead of the log";
    UnknownDialect = "unknown_dialect", 400, -32602, "there is no such dialect";
    BadRef = "bad_ref", 400, -32602, "the blob reference is malformed";
    TokenInUrl = "token_in_url", 400, -32600, "a key must not travel in a URL";
    MethodUnknown = "method_not_found", 404, -32601, "there is no such method";
    MethodNotAllowed = "method_not_allowed", 405, -32601, "this path does not take that method";
    NotAcceptable = "not_acceptable", 406, -32600, "none of the accepted media types is offered";
    UnsupportedMediaType = "unsupported_media_type", 415, -32005, "the body's media type or encoding is not taken";
    BodyTooLarge = "body_too_large", 413, -32600, "the body is over the limit";
    HeadTooLarge = "head_too_large", 431, -32600, "the request head is over the limit";
    EventTooLarge = "event_too_large", 413, -32602, "an event is over the limit";
    BodyTimeout = "body_timeout", 408, -32600, "the body did not arrive in time";
    // Who the caller is.
    Unauthenticated = "unauthenticated", 401, -32010, "a valid key is needed";
    Forbidden = "forbidden", 403, -32011, "the key does not have the scope";
    RunnerOnly = "runner_only", 403, -32011, "only the server's runner writes this event";
    OriginForbidden = "origin_forbidden", 403, -32011, "this web origin is not allowed";
    HostUnknown = "host_unknown", 421, -32011, "this host name is not served here";
    NotFound = "not_found", 404, -32001, "there is no such object";
    // What stands against it now.
    SessionExists = "session_exists", 409, -32013, "the session exists with other contents";
    SessionClosed = "session_closed", 409, -32013, "the session takes no more events";
    IdempotencyMismatch = "idempotency_mismatch", 422, -32013, "the idempotency key was used with another body";
    IdempotencyInFlight = "idempotency_in_flight", 409, -32013, "the first request with this key is still under way";
    ProducerStale = "producer_stale", 403, -32014, "a newer epoch of this producer exists";
    ProducerGap = "producer_gap", 409, -32014, "the producer skipped a sequence";
    SequenceExhausted = "sequence_exhausted", 409, -32013, "the log is full";
    NotOwner = "not_owner", 503, -32015, "another process owns this session";
    // What a turn or an action answers.
    UnknownAgent = "unknown_agent", 400, -32602, "no agent or model has this name";
    ThreadBusy = "thread_busy", 409, -32016, "the thread has a turn already";
    QueueFull = "queue_full", 429, -32029, "the queue of the thread is full";
    TurnExists = "turn_exists", 409, -32013, "the turn was submitted with other contents";
    TurnEnded = "turn_ended", 409, -32002, "the turn has ended";
    TurnRunning = "turn_running", 409, -32016, "the turn has not ended";
    SubagentLimit = "subagent_limit", 409, -32016, "the turn may have no more sub-agents, or none so deep";
    DecidedByOther = "decided_by_other", 409, -32017, "another decision was first";
    ActionExpired = "action_expired", 410, -32017, "nobody decided in time";
    RunTerminal = "run_terminal", 409, -32017, "the run ended before anybody decided";
    DigestMismatch = "digest_mismatch", 409, -32018, "the digest does not name what would run";
    DecisionNotPossible = "decision_not_possible", 422, -32602, "the action does not take this decision";
    ArgumentsInvalid = "arguments_invalid", 422, -32602, "the arguments do not fit the tool";
    UrlBlocked = "url_blocked", 422, -32602, "an address points where nobody may be sent";
    ProcessUnavailable = "process_unavailable", 409, -32002, "the process cannot be reached";
    TaskExists = "task_exists", 409, -32013, "the task was created with other contents";
    TaskStatus = "task_status", 409, -32016, "the task does not stand where this can be done";
    JobExists = "job_exists", 409, -32013, "the job was created with other contents";
    JobStatus = "job_status", 409, -32016, "the job or its item does not take this now";
    NotPausable = "not_pausable", 409, -32009, "the task cannot be paused or resumed";
    UnsupportedOperation = "unsupported_operation", 501, -32004, "this is not done here";
    NotProvided = "not_provided", 501, -32004, "this action of the standard is not provided";
    PushUnsupported = "push_unsupported", 501, -32003, "nothing is pushed from here";
    Expired = "expired", 410, -32001, "this part of the log was retired";
    SessionDeleted = "session_deleted", 410, -32001, "the session was deleted";
    // How the server fares.
    RateLimited = "rate_limited", 429, -32029, "too many requests";
    TooManyStreams = "too_many_streams", 429, -32029, "too many open streams";
    StorageFull = "storage_full", 507, -32050, "the disk is full";
    StorageFailed = "storage_failed", 503, -32051, "the store failed and is being closed";
    LogCorrupt = "log_corrupt", 500, -32052, "stored events fail their checksum";
    Draining = "draining", 503, -32053, "the server is shutting down";
    Overloaded = "overloaded", 503, -32054, "the server is at its limit";
    QuotaExceeded = "quota_exceeded", 429, -32029, "a quota of the tenant is used up";
    Internal = "internal", 500, -32603, "a defect in the server";
}

impl ErrorCode {
    /// True if the same request may succeed later, unchanged.
    pub const fn is_retryable(self) -> bool {
        use ErrorCode::*;
        match self {
            BodyTimeout | IdempotencyInFlight | NotOwner | RateLimited | TooManyStreams | QueueFull
            | StorageFull | StorageFailed | Draining | Overloaded => true,
            BodyEmpty | JsonSyntax | JsonTooDeep | JsonTooLarge | JsonDuplicateKey | JsonInvalidUnicode
            | InvalidUtf8 | NumberOutOfRange | InvalidId | UnknownField | InvalidField | InvalidEvent
            | InvalidRequest | BadCursor | CursorWrongSession | CursorConflict | CursorAhead
            | UnknownDialect | BadRef | TokenInUrl | MethodUnknown | MethodNotAllowed | NotAcceptable
            | UnsupportedMediaType | BodyTooLarge | HeadTooLarge | EventTooLarge | Unauthenticated
            | Forbidden | RunnerOnly | OriginForbidden | HostUnknown | NotFound | SessionExists
            | SessionClosed | IdempotencyMismatch | ProducerStale | ProducerGap | SequenceExhausted
            | Expired | SessionDeleted | LogCorrupt | UnknownAgent | ThreadBusy | TurnExists | TurnEnded
            | TurnRunning | SubagentLimit | DecidedByOther | ActionExpired | RunTerminal | DigestMismatch
            | DecisionNotPossible | ArgumentsInvalid | UrlBlocked | ProcessUnavailable | TaskExists
            | TaskStatus | JobExists | JobStatus | NotPausable | UnsupportedOperation | NotProvided
            | PushUnsupported | QuotaExceeded | Internal => false,
        }
    }

    /// True if nothing was stored. After the others the outcome is unknown: retry with the same idempotency key.
    pub const fn has_no_side_effects(self) -> bool {
        use ErrorCode::*;
        match self {
            StorageFailed | Internal | BodyTimeout => false,
            BodyEmpty | JsonSyntax | JsonTooDeep | JsonTooLarge | JsonDuplicateKey | JsonInvalidUnicode
            | InvalidUtf8 | NumberOutOfRange | InvalidId | UnknownField | InvalidField | InvalidEvent
            | InvalidRequest | BadCursor | CursorWrongSession | CursorConflict | CursorAhead
            | UnknownDialect | BadRef | TokenInUrl | MethodUnknown | MethodNotAllowed | NotAcceptable
            | UnsupportedMediaType | BodyTooLarge | HeadTooLarge | EventTooLarge | Unauthenticated
            | Forbidden | RunnerOnly | OriginForbidden | HostUnknown | NotFound | SessionExists
            | SessionClosed | IdempotencyMismatch | IdempotencyInFlight | ProducerStale | ProducerGap
            | SequenceExhausted | NotOwner | Expired | SessionDeleted | RateLimited | TooManyStreams
            | StorageFull | LogCorrupt | Draining | Overloaded | UnknownAgent | ThreadBusy | QueueFull
            | TurnExists | TurnEnded | TurnRunning | SubagentLimit | DecidedByOther | ActionExpired
            | RunTerminal | DigestMismatch | DecisionNotPossible | ArgumentsInvalid | UrlBlocked
            | ProcessUnavailable | TaskExists | TaskStatus | JobExists | JobStatus | NotPausable
            | UnsupportedOperation | NotProvided | PushUnsupported | QuotaExceeded => true,
        }
    }
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
