//! `sched_setattr`, which neither the standard library nor a safe one has. Slices are heard from Linux 6.12 on; before
//! that the request changes nothing.

#![allow(unsafe_code)]

use std::io;
use std::time::Duration;

use libc::{SCHED_BATCH, SCHED_OTHER, SYS_sched_getattr, SYS_sched_setattr, c_long, sched_attr};

pub fn take_slices_of(length: Duration) -> io::Result<()> {
    let mut attributes = current()?;
    let is_fair = [SCHED_OTHER, SCHED_BATCH].iter().any(|known| attributes.sched_policy == *known as u32);
    if !is_fair {
        return Ok(());
    }
    attributes.sched_runtime = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
    // SAFETY: the kernel reads `size` bytes of the structure, which lives on this stack and is as large as it says.
    // 0 is the calling thread.
    let answer = unsafe { libc::syscall(SYS_sched_setattr, 0, &raw const attributes, 0) };
    checked(answer)
}

/// The attributes of the calling thread.
fn current() -> io::Result<sched_attr> {
    let size = size_of::<sched_attr>() as u32;
    let mut attributes = sched_attr {
        size,
        sched_policy: 0,
        sched_flags: 0,
        sched_nice: 0,
        sched_priority: 0,
        sched_runtime: 0,
        sched_deadline: 0,
        sched_period: 0,
    };
    // SAFETY: the kernel writes at most `size` bytes into the structure, which is as large as that.
    let answer = unsafe { libc::syscall(SYS_sched_getattr, 0, &raw mut attributes, size, 0) };
    checked(answer).map(|()| attributes)
}

fn checked(answer: c_long) -> io::Result<()> {
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_the_slice_it_asked_for_and_others_have_theirs() {
        let before = current().expect("the attributes of a thread can be read");
        let changed = std::thread::spawn(|| {
            take_slices_of(crate::SHORTEST).expect("a thread may ask for itself");
            current().expect("the attributes of a thread can be read")
        });
        let changed = changed.join().expect("the thread ends well");
        let after = current().expect("the attributes of a thread can be read");
        assert_eq!(after.sched_runtime, before.sched_runtime);
        assert_eq!((changed.sched_policy, changed.sched_nice), (before.sched_policy, before.sched_nice));
        // A kernel before 6.12 tells of no slices.
        if before.sched_runtime > 0 {
            assert_eq!(changed.sched_runtime, 100_000);
        }
    }
}
