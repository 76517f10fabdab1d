//! Changing a project.

use serde_json::{Value, json};

use crate::contract::{NOBODY, Operation, applies_as_promised, conflicts, refused};
use crate::world::{ids, named, world};

const TOOL: &str = "app_projects";

#[tokio::test]
async fn a_project_is_changed_where_something_is_given() {
    let world = world().await;
    let (beta, alpha) = (world.project("Beta").await, world.project("Alpha").await);
    let update = json!({
        "operation": "Update", "projectId": alpha, "name": "Gamma", "directories": ["/srv"],
        "defaultConnectionId": "builtin:demo", "expectedRevision": 1,
    });
    let operation = Operation {
        tool: TOOL,
        arguments: update.clone(),
        other: json!({ "name": "Delta" }),
        foreign: ("text", json!("T")),
    };
    let updated = applies_as_promised(&world, operation).await;
    insta::assert_json_snapshot!("project_updated", named(&updated));
    let conflict = conflicts(&world, TOOL, update).await;
    assert_eq!(conflict["document"], updated["document"]);

    // The listing is by name, and follows it.
    let page = world.read(json!({ "resource": "Projects" })).await;
    assert_eq!(ids(&page), [beta, alpha.clone()]);
    let one = world.read(json!({ "resource": "Project", "projectId": alpha })).await;
    for field in ["name", "directories", "defaultConnectionId", "revision"] {
        assert_eq!(one["items"][0][field], updated["document"][field]);
    }

    let change = |more: Value, revision: u64| {
        let mut change = json!({
            "operation": "Update", "projectId": alpha, "expectedRevision": revision,
        });
        let entries = more.as_object().unwrap().iter();
        entries.for_each(|(name, value)| change[name] = value.clone());
        change
    };
    let same = world.ok(TOOL, change(json!({ "name": "Gamma" }), 2)).await;
    assert_eq!(
        (&same["phrase"], &same["revision"]),
        (&json!("Project 'Gamma' was so already"), &json!(2))
    );
    let without = world.ok(TOOL, change(json!({ "defaultConnectionId": "" }), 2)).await;
    assert_eq!(without["document"].get("defaultConnectionId"), None);
    assert_eq!(without["document"]["name"], "Gamma");

    let mut unknown = change(json!({ "name": "N" }), 3);
    unknown["projectId"] = json!(NOBODY);
    let mut told = Vec::new();
    for arguments in [
        unknown,
        change(json!({}), 3),
        change(json!({ "name": " " }), 3),
        change(json!({ "directories": ["srv"] }), 3),
        change(json!({ "defaultConnectionId": "no-such" }), 3),
        json!({ "operation": "Update", "projectId": alpha, "name": "N" }),
    ] {
        told.push(refused(&world, TOOL, arguments).await);
    }
    insta::assert_snapshot!(told.join("\n"));
}
