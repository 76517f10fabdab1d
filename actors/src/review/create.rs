//! Making a review.

use scripta_events::domain::{MessageId, ReviewComment, ReviewCreated, Role};

use super::{ReviewFacts, ReviewKey, ReviewState, bounds};
use crate::names::{self, MAX_NAME_CHARS};
use crate::{Decision, Refusal, Review};

pub(super) struct Wanted<'a> {
    pub(super) message: MessageId,
    pub(super) name: &'a str,
    pub(super) files: &'a [String],
    pub(super) comments: &'a [ReviewComment],
}

pub(super) fn decide(
    key: ReviewKey,
    state: Option<&ReviewState>,
    wanted: Wanted<'_>,
    facts: &ReviewFacts,
) -> Result<Decision<Review>, Refusal> {
    if state.is_some() {
        return Err(Refusal::AlreadyExists { what: "review", id: key.review.0 });
    }
    match facts.speaker {
        Some(Role::Assistant) => {}
        None => {
            return Err(Refusal::NotFound { what: "message in this chat", id: wanted.message.0 });
        }
        Some(_) => {
            let problem =
                "is not one of the model's; give an assistant message with a change set".to_owned();
            return Err(Refusal::Invalid { field: "messageId", problem });
        }
    }
    names::check("name", wanted.name, MAX_NAME_CHARS)?;
    bounds::check(wanted.files, wanted.comments)?;
    let made = ReviewCreated {
        review: key.review,
        chat: key.chat,
        message: wanted.message,
        name: wanted.name.to_owned(),
        files: wanted.files.to_vec(),
        comments: wanted.comments.to_vec(),
    };
    Ok(Decision::events(vec![made.into()]))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::bounds::{MAX_COMMENT_BYTES, MAX_REVIEW_COMMENTS, MAX_REVIEW_FILES};
    use super::super::testing::{comment, create, when};
    use super::*;

    const MODEL: Option<Role> = Some(Role::Assistant);

    #[test]
    fn a_review_is_about_a_message_of_the_model() {
        let mut state = None;
        let about = create(&["a.rs"], vec![comment("a.rs", "Why?")]);
        assert_eq!(when(&mut state, about.clone(), MODEL), Ok(1));
        assert_eq!(state.as_ref().unwrap().revision, 1);
        let again = when(&mut state, about.clone(), MODEL);
        assert!(matches!(again, Err(Refusal::AlreadyExists { .. })));
        let user = when(&mut None, about.clone(), Some(Role::User));
        assert!(matches!(user, Err(Refusal::Invalid { field: "messageId", .. })));
        assert!(matches!(when(&mut None, about, None), Err(Refusal::NotFound { .. })));
    }

    #[test]
    fn files_and_comments_have_bounds() {
        let refused = |files: &[&str], comments| {
            when(&mut None, create(files, comments), MODEL).unwrap_err().to_string()
        };
        assert!(refused(&[], vec![]).starts_with("files is empty"));
        assert!(refused(&["a", "a"], vec![]).contains("twice"));
        assert!(refused(&["a\nb"], vec![]).contains("control"));
        assert!(refused(&["a"], vec![comment("b", "x")]).contains("not among"));
        assert!(refused(&["a"], vec![comment("a", " ")]).contains("empty one"));
        let zero = ReviewComment { line: Some(0), ..comment("a", "x") };
        assert!(refused(&["a"], vec![zero]).contains("line 0"));
        let long = "x".repeat(MAX_COMMENT_BYTES + 1);
        assert!(refused(&["a"], vec![comment("a", &long)]).contains("at most"));
        let long = "x".repeat(MAX_COMMENT_BYTES);
        assert!(refused(&["a"], vec![comment("a", &long); 33]).contains("full"));
        let many = vec![comment("a", "x"); MAX_REVIEW_COMMENTS + 1];
        assert!(refused(&["a"], many).contains("entries"));
        let names: Vec<String> = (0..=MAX_REVIEW_FILES).map(|n| n.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert!(refused(&names, vec![]).contains("entries"));
    }
}
