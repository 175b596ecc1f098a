//! `riverrun import FILE`.

use std::io::Read;
use std::path::PathBuf;

use clap::Args;
use riverrun_client::Error;
use riverrun_event::SessionId;

use super::Context;
use super::exit::{Failure, Outcome};
use super::progress::Progress;

#[derive(Debug, Args)]
pub struct ImportArgs {
    /// An export; `-` reads stdin.
    file: PathBuf,
    /// The id of the session that is made; the file's without it.
    #[arg(long, value_name = "ID")]
    session: Option<SessionId>,
}

pub async fn run(args: ImportArgs, context: &Context) -> Outcome {
    let bytes = read(&args.file)?;
    let (client, size) = (context.connect.client()?, bytes.len() as u64);
    let import = client.import_as(bytes.into(), args.session.as_ref());
    let progress = Progress::new(context.output, format!("importing {}", args.file.display()));
    let imported = progress.during(import, || (size, None)).await.map_err(hinted)?;
    if context.output.json {
        return context.output.document(&imported);
    }
    context.output.line(imported.session_id.as_str())?;
    let session = &imported.session_id;
    for turn in &imported.ended_turns {
        context.output.note(&format!(
            "turn {turn} was open and has ended here; go on with it with `riverrun retry {session} {turn}`"
        ));
    }
    context.output.note(&format!("read it with `riverrun tail {session}`"));
    Ok(())
}

fn hinted(error: Error) -> Failure {
    let exists = matches!(&error, Error::Problem(problem) if problem.code == "session_exists");
    let failure = Failure::from(error);
    if exists { failure.hint("import it beside that one with --session ID") } else { failure }
}

pub fn read(path: &PathBuf) -> Outcome<Vec<u8>> {
    if path.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    std::fs::read(path).map_err(|e| Failure::file(path, &e).hint("give a file written by `riverrun export`"))
}
