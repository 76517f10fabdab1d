//! One data folder, one address: a second server is told who has it.

use scripta_tests::server::{DataFolder, Server};

#[tokio::test]
async fn a_data_folder_in_use_is_refused_with_the_process_id() {
    let data = DataFolder::new();
    let server = Server::start(&data).await;
    let pid = server.pid().to_string();
    data.run(&["serve", "--listen", "127.0.0.1:0"]).expect_refusal(3, &[&pid]);
    server.stop().await;
    Server::start(&data).await.stop().await;
}

#[tokio::test]
async fn a_server_that_was_killed_leaves_no_lock() {
    let data = DataFolder::new();
    Server::start(&data).await.kill().await;
    Server::start(&data).await.stop().await;
}

#[tokio::test]
async fn an_address_that_is_taken_is_refused() {
    let data = DataFolder::new();
    let server = Server::start(&data).await;
    let address = server.url.strip_prefix("http://").unwrap();
    let other = DataFolder::new();
    let ended = other.run(&["serve", "--listen", address]);
    assert!(matches!(ended.code, Some(1 | 3)), "{ended:?}");
    let code = ended.code.unwrap();
    ended.expect_refusal(code, &[address, "--listen"]);
    server.stop().await;
}

#[tokio::test]
async fn a_wrong_start_is_a_usage_error() {
    let data = DataFolder::new();
    data.run(&["serve", "--listen", "nonsense"]).expect_refusal(2, &["nonsense"]);
    data.run(&["serve", "--listen", "0.0.0.0:0", "--open"]).expect_refusal(2, &["--open"]);
    data.configure("lisen = \"127.0.0.1:1\"\n");
    data.run(&["serve"]).expect_refusal(2, &["lisen", "scripta.toml"]);
    let ended = data.run(&["frobnicate"]).expect_code(2);
    assert!(ended.stderr.contains("frobnicate"), "{}", ended.stderr);
}
