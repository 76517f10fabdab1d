//! What names and titles may be.

use crate::Refusal;

/// The longest name of a project, in characters (inclusive): it stands in lists.
pub const MAX_NAME_CHARS: usize = 200;

/// The longest title of a chat or branch, in characters (inclusive): it stands in lists, and
/// titles that other products made fit.
pub const MAX_TITLE_CHARS: usize = 500;

/// Checks that a name has something in it and is within its limit (characters, inclusive).
pub(crate) fn check(field: &'static str, text: &str, limit: usize) -> Result<(), Refusal> {
    if text.trim().is_empty() {
        let problem = format!("is empty; give 1 to {limit} characters");
        return Err(Refusal::Invalid { field, problem });
    }
    let length = text.chars().count();
    if length > limit {
        let problem = format!("has {length} characters; at most {limit} are allowed");
        return Err(Refusal::Invalid { field, problem });
    }
    if text.chars().any(char::is_control) {
        let problem = "has control characters such as line breaks; leave them out".to_owned();
        return Err(Refusal::Invalid { field, problem });
    }
    Ok(())
}
