//! Hunts from the request to the find.

use super::*;
use crate::Unobserved;
use whimbrel_rank::Task;
use whimbrel_sim::scenario::document::Document;

/// A short hunt.
fn request(name: &str, against: &[&str], families: &[&str], evaluations: u32) -> Request {
    let spec = |name: &&str| name.parse::<Spec>().expect("an algorithm");
    let against: Vec<Spec> = against.iter().map(spec).collect();
    let target = Target::algorithm(&spec(&name), &against).expect("another algorithm");
    Request {
        families: families.iter().map(|name| (*name).to_owned()).collect(),
        evaluations,
        seeds: 1,
        fresh: 2,
        ..Request::new(target)
    }
}

#[test]
fn the_weakness_of_newreno_to_loss_is_found_and_explained() {
    let request = request("newreno", &["bbr"], &["bottleneck"], 24);
    let found = hunt(&request, &Unobserved).expect("a hunt");
    let [find] = found.finds.as_slice() else {
        panic!("{:?}", found.families)
    };
    // NewReno has half of BBR's score or less, on a path that loses packets.
    let ratio = find.measured.ratio();
    assert!(ratio < 0.5, "{ratio}");
    let lossy = find.case.get("loss").or(find.case.get("bursty loss"));
    let reordered = find.case.get("jitter").and(find.case.get("reordering"));
    assert!(lossy.or(reordered).is_some(), "{}", find.case.words());
    assert!(find.case.features() <= find.from.features());
    let [first, second] = sentences(&found.target, find);
    assert!(first.contains("newreno has the score 0."), "{first}");
    assert!(
        second.contains("most of the difference is goodput"),
        "{second}"
    );
    // The algorithm's own numbers come first.
    let Detail::Scores { subject, best, .. } = &find.measured.detail else {
        panic!("scores")
    };
    let [own, other] = [subject, best].map(|cell| cell.mean.retransmitted * 100.0);
    let resent = format!("{own:.2} % and {other:.2} % are retransmitted");
    assert!(
        own != other && second.contains(&resent),
        "{resent}: {second}"
    );
    // What is saved is read as a point, and `rank` would score it.
    let text = &find.point.text;
    let document = Document::parse(text, std::path::Path::new("p.toml")).expect("a file");
    let point = MatrixPoint::read("p", text, document).expect("a point");
    assert!(Task::new(&point, "newreno", 1).is_ok());
    // The page has a figure of both.
    let figures = found.figures(None, &Unobserved).expect("runs");
    let protocols = figures[0].as_ref().expect("a figure").protocols();
    assert!(protocols.contains(&"newreno") && protocols.contains(&"bbr"));
    assert_eq!(found.page(figures, Vec::new()).sections.len(), 2);
}

#[test]
fn the_seed_decides_and_threads_do_not() {
    let with = |threads: usize, seed: u64| {
        let request = Request {
            threads: NonZeroUsize::new(threads),
            seed,
            ..request("cubic", &["bbr", "newreno"], &["wifi", "bottleneck"], 8)
        };
        hunt(&request, &Unobserved)
            .expect("a hunt")
            .json()
            .to_string()
    };
    let one = with(1, 1);
    assert_eq!(one, with(2, 1));
    assert_ne!(one, with(2, 2));
}

#[test]
fn a_classifier_is_judged_by_its_decisions() {
    let target = Target::classifier("cerl").expect("a classifier");
    let request = Request {
        families: vec!["bottleneck".to_owned()],
        evaluations: 12,
        seeds: 1,
        fresh: 2,
        ..Request::new(target)
    };
    let found = hunt(&request, &Unobserved).expect("a hunt");
    let [family] = found.families.as_slice() else {
        panic!("one family")
    };
    assert!((0.0..=1.0).contains(&family.confirmed.ratio()));
    assert!(matches!(family.confirmed.detail, Detail::Decisions(_)));
    let error = Target::classifier("cerll")
        .expect_err("unknown")
        .to_string();
    assert!(error.contains("did you mean `cerl`?"), "{error}");
    let error = Target::classifier("cubic").expect_err("no classifier");
    assert!(
        error.to_string().contains("classifies no losses"),
        "{error}"
    );
}

/// Runs nothing: how much of the rate a sender has depends on the words of the path.
#[derive(Debug)]
struct ByWords;

impl Runner for ByWords {
    fn run(
        &self,
        senders: &[(&MatrixPoint, &str)],
        seeds: &[u64],
        _: Option<NonZeroUsize>,
        _: &(dyn Fn() + Sync),
    ) -> Result<Vec<Vec<whimbrel_rank::Measures>>, Error> {
        let efficiency = |point: &MatrixPoint, name: &str| match name {
            "mine" if point.claim.starts_with("wifi") => 0.32,
            "mine" if point.claim.contains("RTT 50 ms") => 0.38,
            "mine" => 0.28,
            _ => 1.0,
        };
        let of = |&(point, name): &(&MatrixPoint, &str)| {
            let measures = whimbrel_rank::Measures {
                efficiency: efficiency(point, name),
                rate: 1e6,
                ..Default::default()
            };
            vec![measures; seeds.len()]
        };
        Ok(senders.iter().map(of).collect())
    }
}

#[test]
fn the_worst_find_comes_first_even_if_it_was_not_the_worst_before() {
    let request = Request {
        families: ["bottleneck", "wifi"].map(str::to_owned).to_vec(),
        evaluations: 8,
        finds: 2,
        runner: Some(Arc::new(ByWords)),
        ..Request::new(Target::Algorithm {
            name: "mine".to_owned(),
            against: vec!["other".to_owned()],
        })
    };
    let found = hunt(&request, &Unobserved).expect("a hunt");
    let families: Vec<_> = found
        .families
        .iter()
        .map(|one| one.case.family.name)
        .collect();
    assert_eq!(families, ["bottleneck", "wifi"]);
    // A simpler path shows less of the first weakness. A file would get the other one.
    let finds: Vec<_> = found.finds.iter().map(|one| one.case.family.name).collect();
    assert_eq!(finds, ["wifi", "bottleneck"]);
    let ratios = [&found.finds[0], &found.finds[1]].map(|one| one.measured.ratio());
    assert!(ratios[0] < ratios[1], "{ratios:?}");
}

#[test]
fn wrong_requests_name_the_argument() {
    let cubic: Spec = "cubic".parse().expect("an algorithm");
    let error = Target::algorithm(&cubic, std::slice::from_ref(&cubic)).expect_err("only itself");
    assert_eq!(error.argument(), Some("against"));
    let error = hunt(&request("cubic", &["bbr"], &["celular"], 4), &Unobserved);
    let error = error.expect_err("unknown").to_string();
    assert!(error.contains("families: unknown family `celular`, did you mean `cellular`?"));
}

#[test]
fn nothing_is_said_of_paths_that_were_not_run_with_fresh_seeds() {
    // On a path without anything CUBIC is as good as itself with another name.
    let request = request("cubic", &["cubic?C=0.4"], &["bottleneck"], 4);
    let mut found = hunt(&request, &Unobserved).expect("a hunt");
    assert!(found.finds.is_empty(), "{:?}", found.families);
    let says = |found: &Hunt| text::text(found, None).replace('\n', " ");
    let first = says(&found);
    let right = "On the worst path of each family, with fresh seeds, cubic has 0.9 of the score of";
    assert!(first.contains(right), "{first}");
    // Somebody wanted no finds: then there may be weaknesses.
    let Detail::Scores { .. } = &found.families[0].confirmed.detail else {
        panic!("scores")
    };
    found.families[0].confirmed.ratios = vec![0.5, 0.5];
    assert!(!says(&found).contains("On the worst path"));
    found.families[0].confirmed.ratios = vec![1.0, 1.0];
    found.target = Target::classifier("cerl").expect("a classifier");
    assert!(says(&found).contains("balanced accuracy of cerl is 0.9 or more"));
}

#[test]
fn a_path_that_nobody_can_use_is_no_weakness() {
    let text = include_str!("../testing/point.toml");
    let text = text.replace("CLASS", "A").replace("LOSS", "45 %");
    let document = Document::parse(&text, std::path::Path::new("p.toml")).expect("a file");
    let point = MatrixPoint::read("p", &text, document).expect("a point");
    let request = request("cubic", &["newreno"], &[], 1);
    let found = measure(&request, &[point], &[1, 2], &Unobserved).expect("measured");
    let Detail::Scores { subject, best, .. } = &found[0].detail else {
        panic!("scores")
    };
    assert!(best.interval().mean < 0.2, "{best:?}");
    assert_ne!(subject.scores, best.scores);
    assert_eq!(found[0].ratios, [1.0, 1.0]);
}
