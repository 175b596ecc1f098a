//! What it costs to count. Run alone for nanoseconds, or under callgrind for instructions.
//!
//! `valgrind --tool=callgrind target/release/examples/metrics_cost NAME PASSES`, with two numbers of passes: the
//! difference is the cost.

use std::hint::black_box;
use std::time::Instant;

use prometheus_client::metrics::histogram;
use riverrun_session::metrics::{Counter, Histogram, SECONDS};
use riverrun_session::{ResumeLabels, SessionMetrics};

type Pass<'a> = Box<dyn Fn(u32) + Sync + 'a>;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let wanted = arguments.next();
    let passes: u32 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(2_000_000);
    let counter: Counter = Counter::default();
    let ours = Histogram::new(SECONDS);
    let theirs = histogram::Histogram::new(SECONDS.iter().copied());
    let metrics = SessionMetrics::new();
    let labels = ResumeLabels { dialect: "native", result: "replayed" };
    // Between a tenth of a millisecond and twenty of them, as a commit takes.
    let seconds = |n: u32| black_box(0.000_1 + f64::from(n % 7) * 0.003);
    let all: [(&str, Pass<'_>); 4] = [
        (
            "counter",
            Box::new(|_| {
                black_box(&counter).inc();
            }),
        ),
        (
            "family",
            Box::new(|_| {
                metrics.resumes.get_or_create(black_box(&labels)).inc();
            }),
        ),
        ("histogram", Box::new(|n| black_box(&ours).observe(seconds(n)))),
        ("histogram-of-the-crate", Box::new(|n| black_box(&theirs).observe(seconds(n)))),
    ];
    for (name, pass) in all.iter().filter(|(name, _)| wanted.as_deref().is_none_or(|one| one == *name)) {
        let [one, two] = [1, 2].map(|threads| nanoseconds(threads, passes, pass));
        println!("{name:24} {one:6.1} ns, {two:6.1} ns with two threads at it");
    }
}

/// Of one pass, while so many threads do the same.
fn nanoseconds(threads: usize, passes: u32, pass: &Pass<'_>) -> f64 {
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| (0..passes).for_each(pass));
        }
    });
    start.elapsed().as_nanos() as f64 / f64::from(passes.max(1))
}
