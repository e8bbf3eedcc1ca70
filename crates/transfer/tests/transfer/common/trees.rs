//! Sends and gets several files.

use super::{Service, TEST_TIMEOUT};
use std::path::Path;
use tokio::time::timeout;
use whimbrel_transfer::users::Rights;
use whimbrel_transfer::{
    GetOptions, GetReport, TreeOptions, TreeReport, Update, Wanted, get, send_tree,
};

/// All of these sources, to the top of the server.
pub fn everything(service: &Service, sources: &[&Path]) -> TreeOptions {
    let sources = sources.iter().map(|path| (*path).to_owned()).collect();
    TreeOptions::new(service.client(), sources)
}

/// Sends a tree and ignores its progress.
pub async fn sent(tree: TreeOptions) -> TreeReport {
    let sending = send_tree(tree, |_| (), std::future::pending());
    timeout(TEST_TIMEOUT, sending).await.expect("in time")
}

/// Sends a tree. Also returns the files that were reported as stored.
pub async fn sent_with_news(tree: TreeOptions) -> (TreeReport, Vec<String>) {
    let mut stored = Vec::new();
    let on_update = |update| {
        if let Update::Stored(name) = update {
            stored.push(name);
        }
    };
    let sending = send_tree(tree, on_update, std::future::pending());
    let report = timeout(TEST_TIMEOUT, sending).await.expect("in time");
    (report, stored)
}

/// All rights.
pub fn may_read() -> Rights {
    Rights {
        read: true,
        write: true,
        remove: true,
    }
}

/// Paths of the server as a user writes them, into a directory here.
pub fn to_get(service: &Service, paths: &[&str], to: &Path) -> GetOptions {
    let wanted = |text: &&str| {
        let path = text.trim_end_matches('/');
        let path = (!path.is_empty()).then(|| path.parse().expect("a path"));
        let content = path.is_none() || text.ends_with('/');
        Wanted { path, content }
    };
    let paths: Vec<Wanted> = paths.iter().map(wanted).collect();
    GetOptions::new(service.client(), paths, to.to_owned())
}

/// Gets files and ignores the progress.
pub async fn got(options: GetOptions) -> GetReport {
    let getting = get(options, |_| (), std::future::pending());
    timeout(TEST_TIMEOUT, getting).await.expect("in time")
}

/// Gets paths of the server into a directory here.
pub async fn fetched(service: &Service, paths: &[&str], to: &Path, overwrite: bool) -> GetReport {
    let options = to_get(service, paths, to);
    got(GetOptions {
        overwrite,
        ..options
    })
    .await
}
