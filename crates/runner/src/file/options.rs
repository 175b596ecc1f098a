//! How files of inputs are read.

use std::time::Duration;

use riverrun_tool::AddressGuard;

#[derive(Debug, Clone)]
pub struct FileOptions {
    /// Files are read before the model is called; otherwise they are passed on to its service as they came.
    pub read: bool,
    /// Where they may be fetched from.
    pub outbound: AddressGuard,
    /// Bytes of one file.
    pub bytes: usize,
    /// Files of one turn.
    pub files: usize,
    /// Pages of one file whose text is taken.
    pub pages: u32,
    /// Bytes of text that are taken from one file.
    pub text: usize,
    /// How long fetching a file may take, and how long reading it.
    pub timeout: Duration,
}

impl Default for FileOptions {
    fn default() -> Self {
        Self {
            read: true,
            outbound: AddressGuard::default(),
            bytes: 32 << 20,
            files: 20,
            pages: 500,
            text: 256 << 10,
            timeout: Duration::from_secs(30),
        }
    }
}
