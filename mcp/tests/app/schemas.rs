//! What is advertised.

use rmcp::model::{
    CacheScope, CallToolRequest, CallToolRequestParams, ClientRequest, ServerResult,
};
use scripta_mcp::{Caller, Role};
use serde_json::{Value, json};

use crate::world::{Era, connect, world};

#[tokio::test]
async fn the_tools_are_listed_in_a_fixed_order_with_caching_hints() {
    let world = world().await;
    let first = world.client.list_tools(None).await.unwrap();
    let names: Vec<&str> = first.tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(
        names,
        [
            "app_read",
            "app_chats",
            "app_runs",
            "app_projects",
            "app_security",
            "app_resources",
            "app_memory",
            "app_instructions",
            "app_navigate"
        ]
    );
    assert!(first.ttl_ms.unwrap() > 0);
    assert_eq!(first.cache_scope, Some(CacheScope::Private));
    let again = world.client.list_tools(None).await.unwrap();
    assert_eq!(first.tools, again.tools);
}

#[tokio::test]
async fn schemas_are_as_they_were_published() {
    let world = world().await;
    for tool in world.client.list_all_tools().await.unwrap() {
        let name = tool.name.to_string();
        insta::assert_json_snapshot!(name, tool);
    }
}

#[tokio::test]
async fn input_schemas_are_what_model_providers_take() {
    let world = world().await;
    for tool in world.client.list_all_tools().await.unwrap() {
        let schema = Value::Object((*tool.input_schema).clone());
        assert_eq!(schema["type"], "object");
        assert_eq!(schema["additionalProperties"], false);
        let text = schema.to_string();
        for keyword in ["$ref", "$defs", "oneOf", "anyOf", "allOf", "null"] {
            assert!(!text.contains(&format!("\"{keyword}\"")), "{}: {keyword}", tool.name);
        }
        jsonschema::meta::validate(&schema).unwrap();
        let output = Value::Object((**tool.output_schema.as_ref().unwrap()).clone());
        assert_eq!(output["type"], "object");
        jsonschema::meta::validate(&output).unwrap();
    }
}

#[tokio::test]
async fn a_reader_sees_and_calls_only_what_reads() {
    let world = world().await;
    let reader = world.server.with_caller(Caller::key("k1", Role::Reader));
    let client = connect(&reader, Era::Modern).await;
    let tools = client.list_all_tools().await.unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["app_read"]);
    let make = json!({ "operation": "Create", "name": "N" });
    let refused = crate::world::call(&client, "app_projects", make).await;
    assert_eq!(refused.is_error, Some(true));
    insta::assert_snapshot!(crate::world::text(&refused));
    let read = crate::world::call(&client, "app_read", json!({ "resource": "Projects" })).await;
    assert_eq!(read.is_error, Some(false));
}

#[tokio::test]
async fn a_visitor_sees_no_tools_and_is_told_which_header_to_send() {
    let world = world().await;
    // The server looks for a caller in the request's extensions, where nobody put one.
    let client = connect(&world.server, Era::Modern).await;
    assert!(client.list_all_tools().await.unwrap().is_empty());
    let result = crate::world::call(&client, "app_read", json!({ "resource": "Projects" })).await;
    assert_eq!(result.is_error, Some(true));
    insta::assert_snapshot!(crate::world::text(&result));
}

#[tokio::test]
async fn a_caller_travels_in_the_extensions_of_a_request() {
    let world = world().await;
    let client = connect(&world.server, Era::Modern).await;
    let params = CallToolRequestParams::new("app_read")
        .with_arguments(json!({ "resource": "Projects" }).as_object().unwrap().clone());
    let mut request = CallToolRequest::new(params);
    request.extensions.insert(Caller::key("k1", Role::Reader));
    let answer = client.send_request(ClientRequest::CallToolRequest(request)).await.unwrap();
    let ServerResult::CallToolResult(result) = answer else { panic!("{answer:?}") };
    assert_eq!(result.is_error, Some(false));
}

#[tokio::test]
async fn both_eras_are_told_what_the_server_is() {
    let world = world().await;
    for era in [Era::Modern, Era::Legacy] {
        let server = world.server.with_caller(Caller::person());
        let client = connect(&server, era).await;
        let info = client.peer_info().unwrap();
        let server_info = info.server_info.clone().unwrap();
        assert_eq!(server_info.name, "app");
        assert_eq!(server_info.title.as_deref(), Some("Scripta"));
        assert!(info.instructions.as_deref().unwrap().contains("app_read"));
        assert!(info.capabilities.tools.is_some());
        assert!(!client.list_all_tools().await.unwrap().is_empty());
    }
}
