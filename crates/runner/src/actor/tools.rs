//! Tool calls: may they run, do they run, how did they end.

use riverrun_event::{ActionId, TaskId};
use riverrun_tool::{Progress, ToolError, ToolOutput};

use super::Actor;
use crate::page::Page;

impl Actor {
    pub(super) fn judge(&mut self, _task: &TaskId, _call: &str, _page: &mut Page) {}
    pub(super) fn run_call(&mut self, _task: &TaskId, _call: &str, _page: &mut Page) {}
    pub(super) fn decided(&mut self, _task: &TaskId, _call: &str, _page: &mut Page) {}
    pub(super) fn unknown_outcome(&mut self, _task: &TaskId, _call: &str, _page: &mut Page) {}
    pub(super) fn collect(&mut self, _task: &TaskId, _call: &str, _page: &mut Page) {}
    pub(super) fn expire(&mut self, _action: &ActionId, _page: &mut Page) {}
    pub(super) fn close_child(&mut self, _task: &TaskId, _page: &mut Page) {}
    pub(super) fn tool_progress(&mut self, _task: &TaskId, _call: &str, _told: Progress, _page: &mut Page) {}
    pub(super) fn tool_ended(
        &mut self,
        _task: &TaskId,
        _call: &str,
        _ended: Result<ToolOutput, ToolError>,
        _elapsed: std::time::Duration,
        _page: &mut Page,
    ) {
    }
}
