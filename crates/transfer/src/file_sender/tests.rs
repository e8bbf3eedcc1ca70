//! What several attempts, and several parts of one, do to what they share.

use super::*;
use crate::scratch_directory::ScratchDirectory;
use futures::FutureExt;

const LIMIT: Duration = Duration::from_secs(20);

#[test]
fn what_a_connection_took_counts_once() {
    let account = Account::default();
    account.hand(100);
    assert_eq!((account.settle(70), account.sent()), (70, 70));
    account.hand(10);
    assert_eq!(account.sent(), 80);
    assert_eq!((account.settle(1000), account.sent()), (10, 80));
    assert_eq!((account.settle(1000), account.sent()), (0, 80));
}

/// Others need the turn meanwhile.
#[tokio::test]
async fn who_waits_for_the_comparison_keeps_no_turn() {
    let scratch = ScratchDirectory::new();
    let path = scratch.file("a", 1000);
    let file = FileSource::at_once(open_regular(&path).expect("opened"), &path);
    let source = Arc::new(Source::File(file.expect("inspected")));
    let plan = Arc::new(Plan::new(1000, &RangeSet::of(0..1000)));
    let hashes = Arc::new(Mutex::new(BlockHashes::new(1000)));
    let turns = Turns::default();
    let mut others = Vec::new();
    while let Some(turn) = turns.ahead().now_or_never() {
        others.push(turn);
    }
    others.pop();
    let (to, mut chunks) = mpsc::channel(1);
    let reading = read_chunks(source, Arc::clone(&plan), hashes, turns.clone(), to);
    let mut reader = Task::start(reading);
    // It takes the last turn, and finds nothing to read.
    tokio::task::yield_now().await;
    let turn = timeout(LIMIT, turns.ahead()).await.expect("in time");
    drop(turn);
    plan.add(RangeSet::of(7..9));
    let read = timeout(LIMIT, chunks.recv()).await.expect("in time");
    assert_eq!(read.map(|(at, data, _)| (at, data.len())), Some((7, 2)));
    plan.compared();
    let end = timeout(LIMIT, reader.end()).await.expect("in time");
    assert!(end.expect("no panic").expect("read"));
}
