//! Tasks, wherever in the tenant they are.

mod get;

pub use get::{GetTask, newest_session_with, task_object};
