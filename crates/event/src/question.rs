//! What the server's own runner asks people. A dialect that knows these words can say the same in another language.

/// Asks whether a call of this tool may run; the reason comes behind it.
pub fn may_run(tool: &str) -> String {
    format!("May `{tool}` run?")
}

/// Asks the caller to run a call of this tool.
pub fn run_and_answer(tool: &str) -> String {
    format!("Run `{tool}` and answer with its result.")
}
