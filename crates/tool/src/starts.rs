//! How many programs are in their first moments at once.
//!
//! A thousand short programs that start together take every core from the server, and whoever asks it something waits
//! for all of them. They start in turn instead. A program that runs on gives its turn to the next one soon, so long
//! programs run side by side in any number.

use std::io;
use std::sync::OnceLock;
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::process::{Group, Pipes, Program};

/// How long a program counts as starting.
const FIRST_MOMENTS: Duration = Duration::from_millis(50);

fn turns() -> &'static Semaphore {
    static TURNS: OnceLock<Semaphore> = OnceLock::new();
    TURNS.get_or_init(|| {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Semaphore::new(cores * 2)
    })
}

impl Program {
    /// [`Program::start`], when it is its turn.
    pub(crate) async fn start_in_turn(&self) -> io::Result<(Group, Pipes)> {
        let turn = turns().acquire().await.map_err(io::Error::other)?;
        let (group, pipes) = self.start()?;
        tokio::spawn(hold(turn, group.over()));
        Ok((group, pipes))
    }
}

/// Keeps the turn until the program has ended or its first moments are over.
async fn hold(turn: SemaphorePermit<'static>, over: impl Future<Output = ()>) {
    let _ = tokio::time::timeout(FIRST_MOMENTS, over).await;
    drop(turn);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn long_programs_run_side_by_side() {
        let program = Program { argv: vec!["sleep".into(), "60".into()], ..Program::default() };
        let mut running = Vec::new();
        while running.len() <= turns().available_permits() * 2 || running.len() < 12 {
            // A turn that lasted as long as its program would never come back here.
            let started = tokio::time::timeout(Duration::from_secs(30), program.start_in_turn()).await;
            running.push(started.expect("its turn comes").expect("it starts"));
        }
    }

    #[tokio::test]
    async fn no_more_programs_begin_at_once_than_there_are_turns() {
        let all = u32::try_from(turns().available_permits()).expect("few");
        let taken = turns().acquire_many(all).await.expect("never closed");
        let program = Program { argv: vec!["true".into()], ..Program::default() };
        let waiting = tokio::time::timeout(Duration::from_millis(50), program.start_in_turn()).await;
        assert!(waiting.is_err(), "it waits for its turn");
        drop(taken);
        assert!(program.start_in_turn().await.is_ok());
    }
}
