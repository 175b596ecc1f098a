//! `riverrun config show|schema|check`, and the configuration that `serve` reads.

mod declared;
mod effective;
mod file;
#[cfg(test)]
mod page;
mod schema;
mod settings;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Map, json};

use super::Context;
use super::agents::Checked;
use super::exit::Outcome;
use super::terminal::{Tone, shorten};

pub use declared::{
    Agent, Approval, Declared, Guardrail, Hook, LimitsDeclared, Mcp, Name, Policy, ProcessLimitsDeclared,
    ProviderTable, ReferencesDeclared, SecretText, Source, ToolKind, ToolTable, callable,
};
pub use effective::{Effective, FileRead, FlagValue, find_file};
#[cfg(test)]
pub use file::read as read_text;
pub use schema::schema;

#[derive(Debug, Args)]
pub struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
    /// The file; RIVERRUN_CONFIG or ./riverrun.toml without it.
    #[arg(short, long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Print every setting with its value.
    Show {
        /// Print where each value comes from, too.
        #[arg(long)]
        origin: bool,
    },
    /// Print the JSON Schema of riverrun.toml.
    Schema,
    /// Check the file, the files that it names, and the environment.
    Check,
}

pub fn run(args: ConfigArgs, context: &Context) -> Outcome {
    let path = find_file(args.config.as_deref());
    match args.command {
        ConfigCommand::Schema => context.output.document(&schema::schema()),
        ConfigCommand::Show { origin } => {
            show(&Effective::load(path.as_deref(), riverrun_secret::variables(), &[])?, origin, context)
        }
        ConfigCommand::Check => {
            let effective = Effective::load(path.as_deref(), riverrun_secret::variables(), &[])?;
            let Checked { notes, absent } = super::agents::check(&effective)?;
            for note in notes {
                context.output.note(&format!("warning: {note}"));
            }
            if let Some((last, others)) = absent.split_last() {
                others.iter().for_each(|failure| context.output.failure(failure));
                return Err(last.clone());
            }
            let name = path.map_or_else(
                || "no file; the defaults are".to_owned(),
                |path| format!("{} is", path.display()),
            );
            context.output.note(&format!("{name} good"));
            if context.output.json { context.output.document(&json!({ "good": true })) } else { Ok(()) }
        }
    }
}

fn show(effective: &Effective, origin: bool, context: &Context) -> Outcome {
    if context.output.json {
        return context.output.document(&as_json(effective, origin));
    }
    let style = context.output.style();
    for entry in &effective.entries {
        let value = serde_json::to_string(&entry.value).unwrap_or_default();
        let mut line = format!("{:32} {}", entry.setting.name(), shorten(&value, 60));
        if origin {
            line = format!("{line:60} {}", style.paint(Tone::Dim, &shorten(&entry.origin.to_string(), 60)));
        }
        context.output.line(&line)?;
    }
    Ok(())
}

fn as_json(effective: &Effective, origin: bool) -> Map<String, serde_json::Value> {
    let value = |entry: &effective::Entry| match origin {
        true => json!({ "value": entry.value, "origin": entry.origin.to_string() }),
        false => json!(entry.value),
    };
    effective.entries.iter().map(|entry| (entry.setting.name(), value(entry))).collect()
}
