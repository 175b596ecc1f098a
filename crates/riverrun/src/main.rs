//! The `riverrun` binary: reads its arguments, runs one command, answers with an exit code.

mod cli;

/// Many small buffers of many sessions, freed from other threads: what this allocator is good at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = riverrun_tool::supervise() {
        return code;
    }
    small_pages();
    cli::main()
}

/// Memory here is many small things that come and go. In pages of 2 MiB the kernel spends more time on clearing them
/// than they save, and an idle server keeps more.
fn small_pages() {
    #[cfg(target_os = "linux")]
    // A kernel that does not know of it is as well as it was.
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}
