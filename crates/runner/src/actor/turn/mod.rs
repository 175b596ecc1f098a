//! The life of a turn: submitted, queued, started, steered, paused, retried, ended.

pub(super) mod control;
pub(super) mod conversation;
pub(super) mod end;
pub(super) mod open_work;
pub(super) mod pause;
pub(super) mod queue;
pub(super) mod retry;
pub(super) mod start;
pub(super) mod submission;
