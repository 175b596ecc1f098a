//! The process of a tool call: told to the session's actor, its large output stored on the way.

use std::sync::Arc;

use riverrun_event::{BlobDescription, BlobRef, ErrorInfo, ProcessEnded, ProcessOutput};
use riverrun_log::{Log, NewBlob, SessionKey};
use riverrun_tool::{
    HostFuture, HowEnded, LargeOutput, Orders, OutputPart, ProcessEnd, ProcessHost, ProcessPlan, StdinChunk,
    Terminate,
};
use tokio::sync::{mpsc, oneshot};

use super::{Report, Reporter};

/// Writes that may wait for a process to read them.
const WRITES: usize = 64;
const PREVIEW: usize = 200;

/// What an effect tells of its process.
#[derive(Debug)]
pub(crate) enum ProcessReport {
    Begun { plan: ProcessPlan, handle: Handle, durable: oneshot::Sender<()> },
    Output(ProcessOutput),
    Ended(HowEnded, ProcessEnded),
}

/// The way to a running process.
#[derive(Debug)]
pub(crate) struct Handle {
    pub input: mpsc::Sender<StdinChunk>,
    pub terminate: Option<oneshot::Sender<Terminate>>,
}

pub(crate) struct Host {
    pub process: String,
    pub reporter: Reporter,
    pub log: Arc<dyn Log>,
    pub key: SessionKey,
}

impl Host {
    async fn report(&self, report: ProcessReport) -> bool {
        self.reporter.report(Report::Process(self.process.clone(), Box::new(report))).await
    }

    async fn put(&self, bytes: Vec<u8>, total: u64) -> Option<BlobRef> {
        let is_text = std::str::from_utf8(&bytes).is_ok();
        let media_type = if is_text { "text/plain; charset=utf-8" } else { "application/octet-stream" };
        let size = bytes.len() as u64;
        let session = Some(self.key.session.clone());
        let blob = NewBlob { session, media_type: media_type.to_owned(), bytes: bytes.into() };
        match self.log.put_blob(&self.key.tenant, blob).await {
            Ok(info) => Some(BlobRef::Described(Box::new(BlobDescription {
                r#ref: info.reference.to_string(),
                media_type: Some(media_type.to_owned()),
                size: Some(size),
                owner: Some(self.process.clone()),
                truncated: Some(size < total),
                ..BlobDescription::default()
            }))),
            Err(error) => {
                tracing::warn!(%error, process = self.process, "output of a process was not kept");
                None
            }
        }
    }

    async fn part(&self, part: OutputPart) -> ProcessOutput {
        let OutputPart { stream, offset, bytes, is_inline } = part;
        let size = bytes.len() as u64;
        let base = ProcessOutput {
            stream: Some(stream.as_str().to_owned()),
            offset: Some(offset),
            size: Some(size),
            ..ProcessOutput::default()
        };
        let text = String::from_utf8_lossy(&bytes);
        if is_inline {
            return ProcessOutput { text: Some(text.into_owned()), ..base };
        }
        let preview = Some(text.chars().take(PREVIEW).collect());
        ProcessOutput { preview, output_ref: self.put(bytes, size).await, ..base }
    }

    async fn ended(&self, end: ProcessEnd) -> ProcessReport {
        let ProcessEnd { how, duration, output_bytes, preview, large } = end;
        let mut refs = Vec::new();
        for LargeOutput { bytes, total, .. } in large {
            refs.extend(self.put(bytes, total).await);
        }
        let base = ProcessEnded {
            duration_ms: u64::try_from(duration.as_millis()).ok(),
            output_bytes: Some(output_bytes),
            preview: (!preview.is_empty()).then_some(preview),
            output_refs: (!refs.is_empty()).then_some(refs),
            ..ProcessEnded::default()
        };
        let base = match &how {
            HowEnded::Exited(0) => ProcessEnded { exit_code: Some(0), ..base },
            HowEnded::Exited(code) => {
                let error = failed("exit_code", format!("it ended with exit code {code}"));
                ProcessEnded { exit_code: Some(i64::from(*code)), error: Some(error), ..base }
            }
            HowEnded::Signalled(signal) => {
                let error = failed("signal", format!("it was killed by {signal}"));
                ProcessEnded { signal: Some(signal.clone()), error: Some(error), ..base }
            }
            HowEnded::Failed(why) => ProcessEnded { error: Some(failed("crashed", why.clone())), ..base },
            HowEnded::Terminated(Terminate { by, reason }) => ProcessEnded {
                signal: Some("SIGTERM".to_owned()),
                terminated_by: Some(by.clone()),
                reason: reason.clone(),
                ..base
            },
        };
        ProcessReport::Ended(how, base)
    }
}

pub(crate) fn failed(code: &str, message: String) -> ErrorInfo {
    let (code, category) = (Some(code.to_owned()), Some("process".to_owned()));
    ErrorInfo { message, code, category, ..ErrorInfo::default() }
}

impl ProcessHost for Host {
    fn id(&self) -> &str {
        &self.process
    }

    fn begin(&self, plan: ProcessPlan) -> HostFuture<'_, Option<Orders>> {
        Box::pin(async move {
            let ((input, writes), (terminate, end)) = (mpsc::channel(WRITES), oneshot::channel());
            let (durable, is_durable) = oneshot::channel();
            let handle = Handle { input, terminate: Some(terminate) };
            self.report(ProcessReport::Begun { plan, handle, durable }).await;
            is_durable.await.ok()?;
            Some(Orders { input: writes, terminate: end })
        })
    }

    fn output(&self, part: OutputPart) -> HostFuture<'_, ()> {
        Box::pin(async move {
            let output = self.part(part).await;
            self.report(ProcessReport::Output(output)).await;
        })
    }

    fn end(&self, end: ProcessEnd) -> HostFuture<'_, ()> {
        Box::pin(async move {
            let ended = self.ended(end).await;
            self.report(ended).await;
        })
    }
}
