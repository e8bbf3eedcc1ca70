//! The page in a real browser.

mod report;

#[test]
fn dump() {
    let mut to = Vec::new();
    whimbrel_report::html(&report::report(), &mut to).expect("a page");
    std::fs::write("/tmp/pg/report.html", to).expect("written");
}
