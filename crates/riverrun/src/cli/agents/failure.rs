//! What cannot be built, said as the configuration's mistake that it is.

use std::fmt;

use crate::cli::exit::{Exit, Failure};

pub fn wrong(section: &str, name: &str, what: impl fmt::Display) -> Failure {
    Failure::new(Exit::Config, format_args!("[{section}.{name}] {what}"))
        .hint("`riverrun config check` checks the file; `riverrun config schema` describes it")
}
