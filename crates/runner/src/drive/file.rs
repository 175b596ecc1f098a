//! Files of an input, fetched or taken from where they are, and read.

use std::sync::Arc;
use std::time::Instant;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use bytes::Bytes;
use futures_util::StreamExt;
use riverrun_event::{BlobRef, ErrorInfo, FileProcessing, preview};
use riverrun_log::{Log, NewBlob, SessionKey};
use riverrun_provider::accepts_file;
use riverrun_tool::{ExtractionTask, FileLimits, detect_file, fetch, read_file};
use tokio::sync::Semaphore;

use super::{Report, Reporter, redact};
use crate::call_pool::Permit;
use crate::file::{Attached, FileOptions, Origin, clean, unescaped};

/// Files of one turn that are read at the same time.
const AT_ONCE: usize = 4;
/// What the parts of an archive may unpack to.
const UNPACKED: usize = 64 << 20;
/// Senders differ in how they end it.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The files that are to be read.
pub(crate) struct FileReadings {
    pub files: Vec<Attached>,
    /// The dialects of the services that may be asked.
    pub dialects: Vec<Option<&'static str>>,
    pub options: FileOptions,
    pub log: Arc<dyn Log>,
    pub key: SessionKey,
    /// Files that the server reads at the same time.
    pub slots: Arc<Semaphore>,
}

/// What became of one file.
#[derive(Debug)]
pub(crate) struct FileEnd {
    pub is_read: bool,
    pub facts: FileProcessing,
}

pub(crate) async fn read_files(
    readings: FileReadings,
    reporter: Reporter,
    permit: impl Future<Output = Option<Permit>>,
) {
    let Some(_permit) = permit.await else { return };
    let readings = Arc::new(readings);
    let ends: Vec<_> = (0..readings.files.len()).map(|at| read_one(at, readings.clone())).collect();
    let mut ends = futures_util::stream::iter(ends).buffer_unordered(AT_ONCE);
    while let Some(end) = ends.next().await {
        reporter.report(Report::File(Box::new(end))).await;
    }
    reporter.report(Report::FilesRead).await;
}

async fn read_one(at: usize, readings: Arc<FileReadings>) -> FileEnd {
    let file = &readings.files[at];
    // Closed only when the server ends.
    let _slot = readings.slots.acquire().await;
    let began = Instant::now();
    let mut facts = FileProcessing { file_id: file.id.clone(), ..FileProcessing::default() };
    let error = read_into(file, &readings, &mut facts).await.err();
    facts.duration_ms = u64::try_from(began.elapsed().as_millis()).ok();
    let is_read = error.is_none();
    facts.error = error;
    FileEnd { is_read, facts }
}

fn failure(code: &str, message: impl Into<String>) -> ErrorInfo {
    ErrorInfo {
        message: message.into(),
        code: Some(code.to_owned()),
        category: Some("file".to_owned()),
        ..ErrorInfo::default()
    }
}

/// Writes down what is found out, as far as that goes.
async fn read_into(
    file: &Attached,
    readings: &FileReadings,
    facts: &mut FileProcessing,
) -> Result<(), ErrorInfo> {
    let options = &readings.options;
    let found = content(file, readings).await?;
    let name = file.name.clone().or(found.name);
    let declared = found.content_type.or_else(|| file.declared.clone());
    facts.name = name.clone();
    facts.size = Some(found.bytes.len() as u64);
    if found.bytes.is_empty() {
        return Err(failure("empty", "the file is empty"));
    }
    let file_type = detect_file(&found.bytes, name.as_deref(), declared.as_deref());
    let essence = declared.as_deref().map(|declared| declared.split(';').next().unwrap_or_default().trim());
    facts.declared_media_type = essence.filter(|essence| *essence != file_type.media_type).map(str::to_owned);
    facts.media_type = Some(file_type.media_type.clone());
    let is_native = readings.dialects.iter().all(|dialect| accepts_file(*dialect, &file_type.media_type));
    let charset = declared.as_deref().and_then(charset_of);
    let limits =
        FileLimits { text: options.text, pages: options.pages, unpacked: UNPACKED, time: options.timeout };
    let reading = ExtractionTask { name, declared, charset, with_text: !is_native, limits };
    let read = read_file(reading, found.bytes).await;
    if is_native {
        // The service reads it; how many pages it has is not worth a failure.
        facts.pages = read.ok().and_then(|read| read.pages);
        facts.handling = Some("native".to_owned());
        return Ok(());
    }
    let read = read.map_err(|error| failure(error.code.as_str(), error.message))?;
    facts.pages = read.pages;
    let text = read.text.unwrap_or_default();
    facts.handling = Some("text".to_owned());
    facts.truncated = text.is_cut.then_some(true);
    store(redact::text(text.text), readings, facts).await
}

async fn store(text: String, readings: &FileReadings, facts: &mut FileProcessing) -> Result<(), ErrorInfo> {
    facts.text_size = Some(text.len() as u64);
    facts.preview = Some(preview(&text).to_owned());
    let blob = NewBlob {
        session: Some(readings.key.session.clone()),
        media_type: "text/plain; charset=utf-8".to_owned(),
        bytes: text.into(),
    };
    let stored = readings.log.put_blob(&readings.key.tenant, blob).await;
    let stored =
        stored.map_err(|error| failure("not_stored", format!("its text was not stored: {error}")))?;
    facts.output_ref = Some(BlobRef::Bare(stored.reference.to_string()));
    Ok(())
}

/// The bytes of a file, and what their server says of them.
struct Content {
    bytes: Bytes,
    content_type: Option<String>,
    name: Option<String>,
}

async fn content(file: &Attached, readings: &FileReadings) -> Result<Content, ErrorInfo> {
    let limit = readings.options.bytes;
    let too_large = || failure("too_large", format!("it has more than {limit} bytes"));
    let own = |bytes: Bytes, content_type: Option<String>| match bytes.len() <= limit {
        true => Ok(Content { bytes, content_type, name: None }),
        false => Err(too_large()),
    };
    match &file.origin {
        Origin::Url(url) => {
            let options = &readings.options;
            let fetched = fetch(&options.outbound, url, limit, options.timeout).await;
            let fetched = fetched.map_err(|error| {
                let retryable = Some(error.is_retryable());
                ErrorInfo { retryable, ..failure(error.code(), redact::text(error.to_string())) }
            })?;
            let name = fetched.name.map(|name| clean(&name));
            Ok(Content { bytes: fetched.bytes, content_type: fetched.content_type, name })
        }
        Origin::Blob(name) => {
            let missing = || failure("not_stored", "it is no longer stored");
            let reference = riverrun_log::BlobId::parse(name).ok_or_else(missing)?;
            let (log, tenant) = (&readings.log, &readings.key.tenant);
            let unread =
                |error: riverrun_log::LogError| failure("not_stored", format!("it cannot be read: {error}"));
            let info = log.blob_info(tenant, &reference).await.map_err(unread)?.ok_or_else(missing)?;
            if info.size > limit as u64 {
                return Err(too_large());
            }
            let blob = log.blob(tenant, &reference).await.map_err(unread)?.ok_or_else(missing)?;
            own(blob.bytes, Some(blob.info.media_type))
        }
        Origin::Inline { media_type, data } => {
            let data: String = data.chars().filter(|c| !c.is_ascii_whitespace()).collect();
            let bytes = BASE64.decode(data).map_err(|_| failure("damaged", "its content is not base 64"))?;
            own(bytes.into(), media_type.clone())
        }
        Origin::Escaped { media_type, data } => own(unescaped(data).into(), media_type.clone()),
    }
}

fn charset_of(content_type: &str) -> Option<String> {
    let parameters = content_type.split(';').skip(1).filter_map(|parameter| parameter.split_once('='));
    let mut named = parameters.filter(|(name, _)| name.trim().eq_ignore_ascii_case("charset"));
    named.next().map(|(_, charset)| charset.trim().trim_matches('"').to_owned())
}
