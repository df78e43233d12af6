//! A thousand payments at a processor that fails three of ten calls. At the end, our ledger agrees with the processor's
//! records to the cent. A second run with the same seed gives the same end for each payment.
//!
//! The fault of call n of payment p is a function of (seed, p, n). The ends do not depend on the speed of the machine:
//! each deadline is far above or far below the duration of a call, an order is cancelled before its first attempt or
//! after its capture, and a key lives long enough for every call that gets a response.

mod books;
mod plan;
mod processor;
mod run;

use std::collections::BTreeMap;
use std::time::Instant;

use audits::Database;
use harness::payments::{AmountOwed, BooksAgree};

use run::Run;

/// The seed: `IDEM_SEED`, or random.
fn seed() -> u64 {
    std::env::var("IDEM_SEED")
        .map_or_else(|_| uuid::Uuid::new_v4().as_u64_pair().0 >> 1, |seed| seed.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_payments_with_three_in_ten_calls_hit_end_as_the_processors_books_say_and_twice_the_same()
{
    let (seed, began) = (seed(), Instant::now());
    println!("seed {seed}; to repeat it: IDEM_SEED={seed} cargo test -p payments --test payments a_thousand");
    let (first, second) = tokio::join!(Run::of(seed), Run::of(seed));
    let ends = (first.ends().await, second.ends().await);
    println!("{}", table(&ends.0, &ends.1));
    let asked = [first.attempts().await, second.attempts().await];
    let alike = asked[0].iter().filter(|(number, times)| asked[1][number] == **times).count();
    println!("{alike} of {} were asked for and looked up equally often both times", asked[0].len());
    for (run, asked) in [&first, &second].into_iter().zip(asked) {
        let bites = run.stand_in.heals().await;
        println!("{} attempts and lookups; this fault bit so often: {bites}", asked.values().sum::<i64>());
        for kind in plan::kinds() {
            assert!(bites[kind].as_u64().unwrap() > 0, "no call has met {kind}");
        }
        agree(run, &ends.0).await;
    }
    println!("two runs took {:.1} s", began.elapsed().as_secs_f64());
    let differences: Vec<_> = ends.0.iter().filter(|(number, end)| ends.1[number] != **end).collect();
    assert!(differences.is_empty(), "these ended otherwise the second time: {differences:?}");
}

/// Runs all SQL audits, and compares the ledger with the processor's balance.
async fn agree(run: &Run, ends: &BTreeMap<u128, String>) {
    let (ours, theirs) = (run.ledger().await, run.balance().await);
    println!("owed by the processor, and its fees: {:?} here, {:?} there", total(&ours), total(&theirs));
    let captured = ends.values().filter(|end| end.starts_with("captured")).count();
    assert_eq!([ours.len(), theirs.len()], [captured, captured], "captured by one book alone");
    let mut found = BooksAgree::of(ours, theirs).violations();
    for question in audits::all() {
        for (of, database) in [("payments", &run.stage.database), ("provider", &run.stand_in.books)] {
            // No relay runs here, and payments under review are not settled.
            let asked = question.of == Some(Database::of(of))
                && question.file != "services/payments/audits/money_is_settled.sql";
            if asked {
                found.extend(question.ask(&mut database.owner().await).await.unwrap());
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
    reconciled(run, ends).await;
}

fn total(book: &[AmountOwed]) -> (i64, i64) {
    book.iter().fold((0, 0), |sum, row| (sum.0 + row.owed, sum.1 + row.fees))
}

/// `payments reconcile` finds only the differences that have a review.
async fn reconciled(run: &Run, ends: &BTreeMap<u128, String>) {
    let report = run.reconciled().await;
    println!("reconciled: {}", report["counts"]);
    let number = |of: &str, verdict: &str| report["counts"][of][verdict].as_u64().unwrap();
    for (of, verdict) in ["charges", "refunds"]
        .into_iter()
        .flat_map(|of| ["missing_here", "amount_differs", "denied", "foreign"].map(|verdict| (of, verdict)))
    {
        assert_eq!(number(of, verdict), 0, "{of} {verdict}: {report}");
    }
    let captured = ends.values().filter(|end| end.starts_with("captured")).count();
    assert!(number("charges", "matched") >= captured as u64, "{report}");
}

/// Counts the payments by their end, in both runs. Amounts are left out.
fn table(first: &BTreeMap<u128, String>, second: &BTreeMap<u128, String>) -> String {
    let mut rows = BTreeMap::<String, [usize; 2]>::new();
    for (run, ends) in [first, second].into_iter().enumerate() {
        for end in ends.values() {
            let words = end.split(' ').filter(|word| word.parse::<i64>().is_err());
            rows.entry(words.collect::<Vec<_>>().join(" ")).or_default()[run] += 1;
        }
    }
    let lines = rows.iter().map(|(end, [first, second])| format!("{first:>6} {second:>6}  {end}"));
    format!(" first second\n{}", lines.collect::<Vec<_>>().join("\n"))
}
