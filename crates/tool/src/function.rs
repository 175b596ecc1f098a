//! Tools that are Rust functions.

use std::future::Future;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::run::caught;
use crate::{
    Flags, Runs, Tool, ToolDefinition, ToolError, ToolErrorKind, ToolFuture, ToolOutput, ToolRequest,
};

const TIMEOUT: Duration = Duration::from_secs(60);

/// A function with typed arguments. The schema is made from the type.
///
/// ```
/// # use riverrun_tool::FunctionTool;
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Add {
///     /// The first number.
///     a: i64,
///     b: i64,
/// }
/// let add = FunctionTool::new("add", "Adds two numbers.", |add: Add| async move {
///     add.a.checked_add(add.b).map(|sum| sum.to_string()).ok_or("the sum is too large")
/// })
/// .read_only();
/// ```
pub struct FunctionTool {
    definition: ToolDefinition,
    function: Function,
}

type Function = Box<dyn Fn(ToolRequest) -> ToolFuture<'static> + Send + Sync>;

impl FunctionTool {
    pub fn new<T, F, R>(
        name: impl Into<String>,
        description: impl Into<String>,
        function: impl Fn(T) -> F + Send + Sync + 'static,
    ) -> Self
    where
        T: JsonSchema + DeserializeOwned + Send,
        F: Future<Output = R> + Send + 'static,
        R: IntoOutput,
    {
        Self::with_call(name, description, move |arguments, _| function(arguments))
    }

    /// For a function that tells its progress, watches for cancellation, or passes the idempotency key on.
    pub fn with_call<T, F, R>(
        name: impl Into<String>,
        description: impl Into<String>,
        function: impl Fn(T, ToolRequest) -> F + Send + Sync + 'static,
    ) -> Self
    where
        T: JsonSchema + DeserializeOwned + Send,
        F: Future<Output = R> + Send + 'static,
        R: IntoOutput,
    {
        let definition = ToolDefinition {
            name: name.into(),
            description: description.into(),
            parameters: schema_of::<T>(),
            flags: Flags::default(),
            timeout: TIMEOUT,
            source: "function".to_owned(),
            runs: Runs::default(),
        };
        let function: Function = Box::new(move |call| match T::deserialize(&call.arguments) {
            Ok(arguments) => {
                let work = function(arguments, call);
                Box::pin(async move { work.await.into_output() })
            }
            Err(error) => {
                let error = ToolError::new(ToolErrorKind::BadArguments, format!("the arguments: {error}"));
                Box::pin(std::future::ready(Err(error)))
            }
        });
        Self { definition, function }
    }

    /// It only looks: it may run again, and beside others.
    pub fn read_only(mut self) -> Self {
        self.definition.flags =
            Flags { read_only: true, destructive: false, idempotent: true, ..self.definition.flags };
        self
    }

    /// The same call twice does what one does.
    pub fn idempotent(mut self) -> Self {
        self.definition.flags.idempotent = true;
        self
    }

    /// It adds or changes, but what it does can be undone.
    pub fn not_destructive(mut self) -> Self {
        self.definition.flags.destructive = false;
        self
    }

    /// It touches nothing outside this system.
    pub fn closed_world(mut self) -> Self {
        self.definition.flags.open_world = false;
        self
    }

    pub fn flags(mut self, flags: Flags) -> Self {
        self.definition.flags = flags;
        self
    }

    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.definition.timeout = timeout;
        self
    }
}

impl Tool for FunctionTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn call(&self, call: ToolRequest) -> ToolFuture<'_> {
        // The function itself may panic before it gives a future, hence the block around both.
        Box::pin(caught(&self.definition.name, async move { (self.function)(call).await }))
    }
}

fn schema_of<T: JsonSchema>() -> Value {
    let mut schema = schemars::schema_for!(T).to_value();
    if let Some(members) = schema.as_object_mut() {
        // The type's Rust name and the dialect of the schema tell the model nothing.
        members.remove("title");
        members.remove("$schema");
    }
    schema
}

/// What a function may return.
pub trait IntoOutput {
    fn into_output(self) -> Result<ToolOutput, ToolError>;
}

/// A value that the model and the user read as JSON.
pub struct Json<T>(pub T);

impl IntoOutput for ToolOutput {
    fn into_output(self) -> Result<ToolOutput, ToolError> {
        Ok(self)
    }
}

impl IntoOutput for String {
    fn into_output(self) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(self))
    }
}

impl IntoOutput for &'static str {
    fn into_output(self) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(self))
    }
}

impl IntoOutput for () {
    fn into_output(self) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text("done"))
    }
}

impl IntoOutput for Value {
    fn into_output(self) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput { structured: Some(self.clone()), ..ToolOutput::text(self.to_string()) })
    }
}

impl<T: Serialize> IntoOutput for Json<T> {
    fn into_output(self) -> Result<ToolOutput, ToolError> {
        let value = serde_json::to_value(self.0).map_err(|error| {
            ToolError::new(ToolErrorKind::Failed, format!("the result has no JSON form: {error}"))
        })?;
        value.into_output()
    }
}

impl<T: IntoOutput, E: Into<FunctionError>> IntoOutput for Result<T, E> {
    fn into_output(self) -> Result<ToolOutput, ToolError> {
        match self {
            Ok(output) => output.into_output(),
            Err(error) => Err(error.into().0),
        }
    }
}

/// What a function may return as an error: a [`ToolError`], or anything that can be shown.
pub struct FunctionError(ToolError);

impl<E: Into<Box<dyn std::error::Error>>> From<E> for FunctionError {
    fn from(error: E) -> Self {
        match error.into().downcast::<ToolError>() {
            Ok(error) => FunctionError(*error),
            Err(error) => FunctionError(ToolError::new(ToolErrorKind::Failed, error.to_string())),
        }
    }
}
