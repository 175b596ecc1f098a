//! That the suite reaches a real server at all.

use anyhow::{Result, ensure};

use super::Case;
use crate::crash::runner::world::World;
use crate::crash::{Program, Server};

pub const CASES: &[Case] = &[Case { name: "smoke/an-approved-call-runs-once", run: approved_call }];

/// The control of every approval case: with a decision the tool runs, so a case that sees no call proves something.
fn approved_call(program: &Program) -> Result<()> {
    let world = World::new(program, "attack-smoke")?;
    let (_server, _) = Server::start(&world.program, &world.place)?;
    world.place.create_session("s")?;
    world.submit("s", "t", "asker")?;
    let actions = world.wait_actions("s", 1)?;
    let before = world.counter.all().len();
    ensure!(before == 0, "{before} calls before the decision");
    let told = world.decide("s", &actions[0], "approve")?;
    ensure!(told.status == 200, "approving: {told:?}");
    world.finish("s", &["t"])?;
    let after = world.counter.all().len();
    ensure!(after == 1, "{after} calls after one approval");
    Ok(())
}
