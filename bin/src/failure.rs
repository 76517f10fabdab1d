//! How a command ends when it does not succeed: one sentence and an exit status.

use std::fmt;
use std::process::ExitCode;

/// Why a command failed, for the person who gave it.
#[derive(Debug)]
pub struct Failure {
    status: Status,
    message: String,
}

/// The exit statuses that scripts may rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It failed.
    Failed = 1,
    /// The command line or the configuration asks for something that doesn't exist.
    Usage = 2,
    /// Something else holds what it needs, or it was refused.
    Refused = 3,
    /// Data on disk is not what was written.
    Corrupt = 4,
}

/// What every command returns.
pub type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// A plain failure (exit status 1).
    pub fn failed(message: impl fmt::Display) -> Failure {
        Failure::new(Status::Failed, message)
    }

    /// A mistake in the command line or the configuration (exit status 2).
    pub fn usage(message: impl fmt::Display) -> Failure {
        Failure::new(Status::Usage, message)
    }

    /// A conflict or a refusal (exit status 3).
    pub fn refused(message: impl fmt::Display) -> Failure {
        Failure::new(Status::Refused, message)
    }

    /// Damaged data (exit status 4).
    pub fn corrupt(message: impl fmt::Display) -> Failure {
        Failure::new(Status::Corrupt, message)
    }

    /// A failure of this status.
    pub fn new(status: Status, message: impl fmt::Display) -> Failure {
        Failure { status, message: message.to_string() }
    }

    /// The exit status.
    pub fn status(&self) -> Status {
        self.status
    }

    /// The process's exit code.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.status as u8)
    }
}

/// An error with all its sources, as one sentence.
pub fn sentence(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
