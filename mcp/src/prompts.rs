//! Prompts of MCP: what a person picks from a client's menu, for the model to carry out by the tools.

use rmcp::model::{
    ErrorData, GetPromptResult, JsonObject, ListPromptsResult, Prompt, PromptArgument,
    PromptMessage, Role,
};

use crate::resources::Of;

/// The longest value of an argument, in bytes (inclusive): a path, or a sentence or two.
const MAX_VALUE_BYTES: usize = 16 * 1024;

struct Argument {
    name: &'static str,
    description: &'static str,
    required: bool,
    /// What its value is the id of.
    of: Option<Of>,
}

struct Definition {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    arguments: &'static [Argument],
    /// What the model is told; an argument's name in braces stands for its value.
    text: &'static str,
    /// What is told beside it where an optional argument is given, or where it is not.
    given: &'static [(&'static str, &'static str, &'static str)],
}

const CHAT: Argument =
    Argument { name: "chatId", description: "The chat", required: true, of: Some(Of::Chat) };

const DEFINITIONS: [Definition; 3] = [
    Definition {
        name: "chat-compact",
        title: "Carry a long chat on in short",
        description: "Carries a long chat on in a fork that begins with a summary",
        arguments: &[
            CHAT,
            Argument {
                name: "branchId",
                description: "The branch to carry on; the chat's first branch unless given",
                required: false,
                of: Some(Of::Branch),
            },
        ],
        text: "\
Carry the chat {chatId} on in a fork that begins with a summary of it, so that it needs less of a model's \
context. Nothing is lost: the long branch stays as it is.

1. Read the whole history by app_read Messages with order OldestFirst, page by page. {branchId}
2. Write a summary that somebody could go on from without the history: what it is about, what was decided \
and why, what is open, and every name, number, path and id that matters. Don't add what was not said.
3. Open a fork after the history's first message: app_runs Submit with mode Fork, fromMessageId (the id of \
the first message), a title that ends in \"(compact)\", wait: true, and as text the summary, which says \
that it stands for the history before it. Give an operationId.
4. Show the new branch by app_navigate with the projectId, chatId and branchId of the answer, and say in \
one sentence what was kept.",
        given: &[(
            "branchId",
            "Its branch is {branchId}.",
            "Its branch is the chat's first one, whose id is the chat's.",
        )],
    },
    Definition {
        name: "chat-fork",
        title: "Try something else from here",
        description: "Goes on from a message of a chat in a branch of its own",
        arguments: &[
            CHAT,
            Argument {
                name: "messageId",
                description: "The message to go on from; the newest one unless given",
                required: false,
                of: None,
            },
            Argument {
                name: "text",
                description: "What to say there",
                required: false,
                of: None,
            },
        ],
        text: "\
Open a branch of the chat {chatId} to try something else in. The branch shares the history up to the \
message that it goes on from; the branch it comes from stays as it is.

1. {messageId}
2. {text}
3. Open the branch: app_runs Submit with mode Fork, that message as fromMessageId, a short title, that text, \
and wait: true. Give an operationId. If the answer says that the fork would separate tool calls from their \
results, take the message that it names instead.
4. Show the new branch by app_navigate with the projectId, chatId and branchId of the answer.",
        given: &[
            (
                "messageId",
                "It goes on from the message {messageId}.",
                "Find the message to go on from by app_read Messages; it is the newest one unless I say \
                 otherwise.",
            ),
            (
                "text",
                "What I want to say there: {text}",
                "Ask me what to say there, unless it is clear from our conversation.",
            ),
        ],
    },
    Definition {
        name: "project-create",
        title: "Set a project up for a folder",
        description: "Makes a project for a folder, with instructions and a first chat",
        arguments: &[
            Argument {
                name: "folder",
                description: "The folder, as an absolute path",
                required: true,
                of: None,
            },
            Argument {
                name: "name",
                description: "The project's name; the folder's unless given",
                required: false,
                of: None,
            },
        ],
        text: "\
Set a project up for the folder {folder}.

1. Look by app_read Projects whether there is one with this directory already; if there is, use it and say \
so.
2. Make it by app_projects Create with this directory. {name} Give an operationId.
3. If you can read files there, look at its README and the like, and write instructions by app_instructions \
Replace: what the project is, how it is built and tested, what to keep in mind; short, and nothing that you \
did not see. If you can't, leave the instructions alone and say so.
4. Make a first chat by app_chats Create.
5. Show it by app_navigate with the projectId and chatId.",
        given: &[("name", "Name it {name}.", "Name it as the folder.")],
    },
];

/// All prompts, in a fixed order.
pub(crate) fn list() -> ListPromptsResult {
    let prompt = |definition: &Definition| {
        let arguments = definition.arguments.iter().map(|argument| {
            PromptArgument::new(argument.name)
                .with_description(argument.description)
                .with_required(argument.required)
        });
        Prompt::new(definition.name, Some(definition.description), Some(arguments.collect()))
            .with_title(definition.title)
    };
    ListPromptsResult::with_all_items(DEFINITIONS.iter().map(prompt).collect())
}

/// One prompt, with these arguments in it.
pub(crate) fn get(name: &str, given: Option<JsonObject>) -> Result<GetPromptResult, ErrorData> {
    let invalid = |text: String| ErrorData::invalid_params(text, None);
    let definition = DEFINITIONS.iter().find(|it| it.name == name).ok_or_else(|| {
        let names: Vec<_> = DEFINITIONS.iter().map(|it| it.name).collect();
        invalid(format!("there is no prompt {name}; there are {}", names.join(", ")))
    })?;
    let given = given.unwrap_or_default();
    if let Some(odd) =
        given.keys().find(|key| !definition.arguments.iter().any(|it| it.name == **key))
    {
        return Err(invalid(format!(
            "{odd} is not an argument of the prompt {name}; leave it out"
        )));
    }
    let mut text = definition.text.to_owned();
    // The optional ones first: what stands for them names their value.
    for (argument, with, without) in definition.given {
        let told = if given.contains_key(*argument) { with } else { without };
        text = text.replace(&format!("{{{argument}}}"), told);
    }
    // Put in all at once, so that a value's own braces stay as they are.
    let mut values = Vec::new();
    for argument in definition.arguments {
        match given.get(argument.name).map(|value| value.as_str().map(str::trim)) {
            Some(Some(value)) if !value.is_empty() && value.len() <= MAX_VALUE_BYTES => {
                values.push((format!("{{{}}}", argument.name), value));
            }
            Some(_) => {
                let problem = format!("is not a text of 1 to {MAX_VALUE_BYTES} bytes");
                return Err(invalid(format!("the argument {} {problem}", argument.name)));
            }
            None if argument.required => {
                return Err(invalid(format!(
                    "the prompt {name} needs the argument {}",
                    argument.name
                )));
            }
            None => {}
        }
    }
    let message = PromptMessage::new_text(Role::User, fill(&text, &values));
    Ok(GetPromptResult::new(vec![message]).with_description(definition.description))
}

/// What the id in this argument of a prompt is of.
pub(crate) fn id_of(prompt: &str, argument: &str) -> Option<Of> {
    let definition = DEFINITIONS.iter().find(|it| it.name == prompt)?;
    definition.arguments.iter().find(|it| it.name == argument)?.of
}

fn fill(text: &str, values: &[(String, &str)]) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        filled.push_str(before);
        match values.iter().find_map(|(mark, value)| Some((from.strip_prefix(&**mark)?, value))) {
            Some((after, value)) => {
                filled.push_str(value);
                rest = after;
            }
            None => {
                filled.push('{');
                rest = from.strip_prefix('{').unwrap_or_default();
            }
        }
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use serde_json::json;

    use super::*;

    fn text_of(name: &str, arguments: &serde_json::Value) -> Result<String, String> {
        let got =
            get(name, arguments.as_object().cloned()).map_err(|error| error.message.to_string())?;
        Ok(got.messages[0].content.as_text().unwrap().text.clone())
    }

    #[test]
    fn each_argument_stands_where_it_belongs_and_nothing_is_left_open() {
        for definition in &DEFINITIONS {
            for all in [true, false] {
                let arguments = definition.arguments.iter().filter(|it| all || it.required);
                let values: JsonObject = arguments
                    .map(|it| (it.name.to_owned(), json!(format!("<{}>", it.name))))
                    .collect();
                let text = text_of(definition.name, &json!(values)).unwrap();
                assert!(!text.contains('{'), "{text}");
                for name in values.keys() {
                    assert!(text.contains(&format!("<{name}>")), "{name}: {text}");
                }
                assert!(text.contains("app_navigate"));
            }
        }
    }

    #[test]
    fn what_is_given_is_text_and_stays_as_it_is() {
        let text = text_of("chat-fork", &json!({ "chatId": "{text}", "text": "{chatId} {x" }));
        let text = text.unwrap();
        assert!(text.contains("the chat {text} to try"), "{text}");
        assert!(text.contains("What I want to say there: {chatId} {x"), "{text}");
        for (name, arguments, word) in [
            ("chat-fork", json!({}), "needs the argument chatId"),
            ("chat-fork", json!({ "chatId": 7 }), "is not a text"),
            ("chat-fork", json!({ "chatId": " " }), "is not a text"),
            ("chat-fork", json!({ "chatId": "c", "branchId": "b" }), "branchId is not an argument"),
            ("chat-merge", json!({}), "there are chat-compact, chat-fork, project-create"),
        ] {
            let refused = text_of(name, &arguments).unwrap_err();
            assert!(refused.contains(word), "{refused}");
        }
    }
}
