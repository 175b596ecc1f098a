//! Tools as the configuration declares them.

use std::path::Path;
use std::sync::Arc;

use riverrun_tool::Tool;

use super::builtin;
use super::failure::wrong;
use crate::cli::config::{Tool as Declaration, ToolKind};
use crate::cli::exit::Outcome;

pub fn build(declaration: &Declaration, _directory: &Path) -> Outcome<Arc<dyn Tool>> {
    let name = &declaration.name.text;
    match &declaration.kind {
        ToolKind::Function(function) => builtin::find(&function.text)
            .ok_or_else(|| wrong("tools", name, format_args!("there is no function `{}`", function.text))),
        ToolKind::Command { .. } => Err(wrong("tools", name, "commands are not run by this build")),
        ToolKind::Http { .. } => Err(wrong("tools", name, "HTTP tools are not called by this build")),
    }
}
