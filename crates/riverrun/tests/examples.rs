//! Every example runs, in this process.

use std::error::Error;
use std::path::Path;

macro_rules! examples {
    ($($name:ident: $file:literal),+ $(,)?) => {
        $(
            // Examples are programs: what one uses, another does not.
            #[allow(dead_code)]
            #[path = $file]
            mod $name;

            #[test]
            fn $name() -> Result<(), Box<dyn Error>> {
                Ok($name::main()?)
            }
        )+

        const COVERED: &[&str] = &[$(stringify!($name)),+];
    };
}

examples! {
    approval: "../examples/approval.rs",
    cancel: "../examples/cancel.rs",
    guardrail: "../examples/guardrail.rs",
    hook: "../examples/hook.rs",
    handoff: "../examples/handoff.rs",
    hello: "../examples/hello.rs",
    history: "../examples/history.rs",
    steer: "../examples/steer.rs",
    structured_output: "../examples/structured_output.rs",
    sub_agent: "../examples/sub_agent.rs",
    tool: "../examples/tool.rs",
}

#[allow(dead_code)]
#[path = "../examples/resume_after_restart.rs"]
mod resume_after_restart;

/// Twice: the first start leaves a run that waits, the second ends it.
#[tokio::test]
async fn resume() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    resume_after_restart::start(directory.path()).await?;
    resume_after_restart::start(directory.path()).await?;
    let riverrun = riverrun::Riverrun::builder().data_dir(directory.path()).start().await?;
    assert!(riverrun.open_runs().await?.is_empty(), "the second start ended the run");
    Ok(())
}

#[test]
fn no_example_is_forgotten() -> Result<(), Box<dyn Error>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
        assert!(
            COVERED.contains(&name.as_str()) || name == "resume_after_restart",
            "add `{name}` to this test"
        );
    }
    Ok(())
}

/// Here the crate `schemars` is there anyway; in the crate of whoever copies an example it is not.
#[test]
fn an_example_brings_what_its_derives_name() -> Result<(), Box<dyn Error>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let text = std::fs::read_to_string(&path)?;
        let is_whole = text.contains("use riverrun::schemars::{self, JsonSchema};");
        assert!(is_whole || !text.contains("JsonSchema"), "{}: import `schemars` itself too", path.display());
    }
    Ok(())
}
