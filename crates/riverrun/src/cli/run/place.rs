//! Where a run happens: on a server, or, if none was named and none answers, on one in this process.

use std::path::{Path, PathBuf};

use riverrun_client::{Client, Error};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::cli::Context;
use crate::cli::exit::{Exit, Failure, Outcome};
use crate::cli::{serve, start};

pub struct Place {
    pub client: Client,
    private: Option<Private>,
}

/// A server that lives as long as the command.
struct Private {
    /// The file, if it was named: another server would run something else without it.
    config: Option<PathBuf>,
    data_dir: PathBuf,
    stop: oneshot::Sender<()>,
    served: JoinHandle<Outcome>,
}

impl Place {
    pub async fn find(context: &Context, config: Option<&Path>, data_dir: Option<&Path>) -> Outcome<Self> {
        let client = context.connect.client()?;
        if context.connect.named_url().is_some() {
            return Ok(Self { client, private: None });
        }
        // Whoever says where or what to run does not mean the server that happens to be there.
        if config.is_some() || data_dir.is_some() {
            return Self::start(context, config, data_dir).await;
        }
        match client.livez().await {
            Err(Error::Unreachable { .. }) => {}
            // What else is wrong there shows with the first call.
            Ok(_) | Err(_) => return Ok(Self { client, private: None }),
        }
        Self::start(context, config, data_dir).await
    }

    async fn start(context: &Context, config: Option<&Path>, data_dir: Option<&Path>) -> Outcome<Self> {
        let (options, agents) = serve::private(config, data_dir).await?;
        let data_dir = options.data_dir.clone();
        let key_file = data_dir.join("admin.key");
        context.output.note(&format!("no server: running on {} in this process", options.data_dir.display()));
        let (stop, stopped) = oneshot::channel::<()>();
        let (ready, is_ready) = oneshot::channel();
        let served = tokio::spawn(async move {
            let ready = |options: &serve::ServeOptions, _: &riverrun_server::Ready| {
                // Whoever asked is gone only with the process.
                let _ = ready.send(options.listen);
            };
            start::serve_until(options, agents, ready, async { drop(stopped.await) }).await
        });
        let Ok(address) = is_ready.await else {
            let ended = served.await.map_err(|error| Failure::new(Exit::Failed, error))?;
            return Err(ended
                .err()
                .unwrap_or_else(|| Failure::new(Exit::Failed, "the server ended at once")));
        };
        let key = std::fs::read_to_string(&key_file).map_err(|error| {
            let fix = format!("make one: `riverrun keys recover-admin --data-dir {}`", data_dir.display());
            Failure::file(&key_file, &error).hint(fix)
        })?;
        let client = Client::new(&format!("http://{address}"), Some(key.trim()))?;
        Ok(Self {
            client,
            private: Some(Private { config: config.map(Path::to_path_buf), data_dir, stop, served }),
        })
    }

    /// The server that could go on with what this process leaves; None if one does.
    pub fn needed_server(&self) -> Option<String> {
        let private = self.private.as_ref()?;
        let config = private.config.as_ref().map(|config| format!(" --config {}", config.display()));
        let config = config.unwrap_or_default();
        Some(format!("riverrun serve{config} --data-dir {}", private.data_dir.display()))
    }

    /// Drains the server of this process. What was under way goes on with the next one.
    pub async fn close(self) -> Outcome {
        let Some(Private { stop, served, .. }) = self.private else { return Ok(()) };
        drop(self.client);
        drop(stop);
        served.await.map_err(|error| Failure::new(Exit::Failed, error))?
    }
}
