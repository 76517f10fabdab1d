//! What a review may hold.

use std::collections::BTreeSet;

use scripta_events::domain::ReviewComment;

use crate::Refusal;

/// The most files of a review (inclusive): a person looks at each.
pub const MAX_REVIEW_FILES: usize = 1_000;

/// The longest path of a file, in bytes (inclusive): Linux's own limit of a path.
pub const MAX_FILE_PATH_BYTES: usize = 4_096;

/// The most comments of a review (inclusive): a person writes each.
pub const MAX_REVIEW_COMMENTS: usize = 1_000;

/// The longest comment, in bytes (inclusive): a page or two.
pub const MAX_COMMENT_BYTES: usize = 8 * 1024;

/// The most text of a review, files and comments together, in bytes (inclusive): a model reads it
/// with the message that it is attached to.
pub const MAX_REVIEW_BYTES: usize = 256 * 1024;

/// Checks the files and comments of a review together: comments are about files that are in it.
pub(super) fn check(files: &[String], comments: &[ReviewComment]) -> Result<(), Refusal> {
    let known = check_files(files)?;
    check_comments(comments, &known)?;
    let said = comments.iter().map(|comment| comment.file.len() + comment.text.len());
    let size = files.iter().map(String::len).chain(said).sum::<usize>();
    if size > MAX_REVIEW_BYTES {
        return Err(Refusal::Full {
            what: "the review",
            limit: MAX_REVIEW_BYTES as u64,
            unit: "bytes of files and comments",
            instead: "make a second one for the rest",
        });
    }
    Ok(())
}

fn check_files(files: &[String]) -> Result<BTreeSet<&str>, Refusal> {
    let invalid = |problem: String| Err(Refusal::Invalid { field: "files", problem });
    if files.is_empty() {
        return invalid("is empty; give at least one file of the change set".to_owned());
    }
    if files.len() > MAX_REVIEW_FILES {
        let count = files.len();
        return invalid(format!("has {count} entries; at most {MAX_REVIEW_FILES} are allowed"));
    }
    let mut known = BTreeSet::new();
    for file in files {
        if file.is_empty() || file.len() > MAX_FILE_PATH_BYTES {
            let size = file.len();
            return invalid(format!(
                "has a path of {size} bytes; give 1 to {MAX_FILE_PATH_BYTES} each"
            ));
        }
        if file.chars().any(char::is_control) {
            return invalid("has a path with control characters; leave them out".to_owned());
        }
        if !known.insert(file.as_str()) {
            return invalid(format!("has '{file}' twice; give each once"));
        }
    }
    Ok(known)
}

fn check_comments(comments: &[ReviewComment], files: &BTreeSet<&str>) -> Result<(), Refusal> {
    let invalid = |problem: String| Err(Refusal::Invalid { field: "comments", problem });
    if comments.len() > MAX_REVIEW_COMMENTS {
        let count = comments.len();
        return invalid(format!("has {count} entries; at most {MAX_REVIEW_COMMENTS} are allowed"));
    }
    for ReviewComment { file, line, text } in comments {
        if !files.contains(file.as_str()) {
            return invalid(format!(
                "has one about '{file}', which is not among the review's files; add the file or \
                 leave the comment out"
            ));
        }
        if *line == Some(0) {
            return invalid(format!("has one about line 0 of '{file}'; lines begin with 1"));
        }
        if text.trim().is_empty() {
            return invalid(format!("has an empty one about '{file}'; write something"));
        }
        if text.len() > MAX_COMMENT_BYTES {
            let size = text.len();
            return invalid(format!(
                "has one of {size} bytes about '{file}'; at most {MAX_COMMENT_BYTES} are allowed"
            ));
        }
    }
    Ok(())
}
