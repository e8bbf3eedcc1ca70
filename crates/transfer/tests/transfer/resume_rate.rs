//! A transfer that starts with what an earlier one found on its path (RFC 9959).

use crate::common::{ScratchDirectory, Service, upload};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use whimbrel_transfer::KnownPaths;

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_begins_with_what_was_saved_of_the_server_and_this_network() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let paths = scratch.path().join("paths");
    let fingerprint = service.identity.fingerprint();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.expect("after 1970").as_secs();
    let lines = [
        (format!("{fingerprint}/127.0.0.1"), true),
        (format!("{fingerprint}/192.0.2.1"), false),
    ];
    for (key, known) in lines {
        std::fs::write(&paths, format!("{key} 1500000 1000 {now}\n")).expect("written");
        std::fs::set_permissions(&paths, Permissions::from_mode(0o600)).expect("set");
        for use_it in [true, false] {
            let file = scratch.file(&format!("{known}-{use_it}"), 3_000_000);
            let mut options = service.options(&file);
            options.client.known_paths = use_it.then(|| KnownPaths::at(&paths));
            let saved = upload(options).await.expect("stored").saved_path;
            assert_eq!(saved.is_some(), known && use_it, "{key} {use_it}");
            if let Some(saved) = saved {
                assert_eq!((saved.cwnd_bytes, saved.rtt_ms), (1_500_000, 1.0));
            }
        }
    }
    service.stop().await;
}
