//! What a command prints: to a reader that may have gone.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write as _};

/// Prints a line, as `println!` does, but doesn't panic where nobody reads any more.
macro_rules! say {
    ($($text:tt)*) => {
        $crate::output::line(format_args!($($text)*))
    };
}

/// Prints a line. A reader that has gone (`| head`) wants no more, and is told nothing; output
/// that is lost for another reason ends the program.
pub fn line(text: Arguments<'_>) {
    match writeln!(std::io::stdout().lock(), "{text}") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            eprintln!(
                "scripta: the output can't be written: {error}; free some space or name another file"
            );
            std::process::exit(1);
        }
        _ => {}
    }
}
