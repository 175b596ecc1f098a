//! The machine's own ceiling: append, group commit, fan out, and nothing else.
//!
//! Riverrun is measured against this server in one run, because machines differ and ratios last.
//! It is *not* a product: no keys, no limits, no recovery; a restart begins with an empty log.

mod journal;
mod routes;
mod session;
mod writer;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use clap::Parser;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A bare append and stream server that shows what this machine can do at most.
#[derive(Parser)]
struct Arguments {
    /// Address to listen on; port 0 takes a free one, and the bound address is printed.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// The write-ahead file; one that is already there is reused without another preallocation.
    #[arg(long, default_value = "ceiling.wal")]
    file: PathBuf,
    /// Size to preallocate, in MiB.
    #[arg(long, default_value_t = 1024)]
    preallocate_mib: u64,
    /// Keep everything in memory and answer without a sync.
    #[arg(long)]
    no_disk: bool,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let journal = match arguments.no_disk {
        true => journal::CeilingJournal::memory(),
        false => journal::CeilingJournal::open(&arguments.file, arguments.preallocate_mib << 20)
            .with_context(|| format!("write-ahead file `{}`", arguments.file.display()))?,
    };
    let hub = Arc::new(routes::CeilingHub::start(journal)?);
    let listener = TcpListener::bind(arguments.listen)
        .await
        .with_context(|| format!("cannot listen on {}", arguments.listen))?;
    println!("listening on http://{}", listener.local_addr()?);
    accept(listener, routes::router(hub)).await
}

/// Serves every connection without `axum::serve`, whose per-connection state is larger.
async fn accept(listener: TcpListener, router: axum::Router) -> anyhow::Result<()> {
    loop {
        let Ok((socket, _)) = listener.accept().await else {
            // Out of descriptors: give the open connections a moment to end.
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            continue;
        };
        socket.set_nodelay(true)?;
        let service = TowerToHyperService::new(router.clone());
        tokio::spawn(async move {
            // A connection that breaks is the client's business; there is nobody to tell.
            http1::Builder::new().serve_connection(TokioIo::new(socket), service).await.ok();
        });
    }
}
