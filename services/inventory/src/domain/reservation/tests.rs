//! The table, pair by pair, and the promise that no history of messages breaks.

use proptest::prelude::*;

use super::*;

fn tenant() -> TenantId {
    "acme".parse().unwrap()
}

fn line(sku: &str, quantity: i64) -> Line {
    let sku: Sku = sku.parse().unwrap();
    Line { item: ItemId::of(&tenant(), &sku), sku, quantity }
}

fn stocks(of: &[(&str, i64, i64)]) -> Stocks {
    of.iter()
        .map(|(sku, on_hand, reserved)| (line(sku, 1).item, Stock { on_hand: *on_hand, reserved: *reserved }))
        .collect()
}

fn order_line(sku: &str, quantity: i64) -> OrderLine {
    OrderLine { sku: sku.parse().unwrap(), quantity }
}

#[test]
fn the_table_is_as_it_stands_in_the_design() {
    let lines = || vec![line("a", 1)];
    let some = |state| Some(Reservation { state, lines: lines() });
    let placed = || Input::Placed(vec![line("a", 1)]);
    let stay = || Ok(Decision::Stay);
    let table = [
        (None, placed(), Ok(Decision::Reserve(lines()))),
        (None, Input::Confirmed, Err(Impossible::NothingHeld)),
        (None, Input::Cancelled, stay()),
        (some(State::Held), placed(), stay()),
        (some(State::Held), Input::Confirmed, Ok(Decision::Ship(lines()))),
        (some(State::Held), Input::Cancelled, Ok(Decision::Release(lines()))),
        (some(State::Shipped), placed(), stay()),
        (some(State::Shipped), Input::Confirmed, stay()),
        (some(State::Shipped), Input::Cancelled, stay()),
        (some(State::Released), placed(), stay()),
        (some(State::Released), Input::Confirmed, Err(Impossible::NothingHeld)),
        (some(State::Released), Input::Cancelled, stay()),
    ];
    for (reservation, input, decision) in table {
        let told = format!("{reservation:?} {input:?}");
        assert_eq!(decide(reservation, input), decision, "{told}");
    }
}

#[test]
fn an_order_is_reserved_as_a_whole() {
    let before = stocks(&[("a", 5, 0), ("b", 5, 3)]);
    assert_eq!(reserve(&[line("a", 2), line("b", 2)], &before), Ok(stocks(&[("a", 5, 2), ("b", 5, 5)])));
}

#[test]
fn a_refusal_names_everything_that_is_missing() {
    let before = stocks(&[("a", 5, 0), ("b", 5, 3)]);
    let missing = reserve(&[line("a", 2), line("b", 3), line("unknown", 1)], &before).unwrap_err();
    assert_eq!(missing, ["b".parse().unwrap(), "unknown".parse().unwrap()]);
}

#[test]
fn an_order_without_sense_is_impossible() {
    for lines in [
        vec![],
        vec![order_line("a", 0)],
        vec![order_line("a", -1)],
        vec![order_line("a", 1), order_line("a", 1)],
    ] {
        assert_eq!(Line::of_order(&tenant(), &lines), Err(Impossible::Lines), "{lines:?}");
    }
    let lines = [order_line("a", 1), order_line("b", 2)];
    assert_eq!(Line::of_order(&tenant(), &lines), Ok(vec![line("a", 1), line("b", 2)]));
}

#[test]
fn a_reservation_that_its_items_do_not_know_is_impossible() {
    let unknown = stocks(&[]);
    let less = stocks(&[("a", 5, 1)]);
    for stocks in [unknown, less] {
        assert_eq!(ship(&[line("a", 2)], &stocks), Err(Impossible::Mismatch));
        assert_eq!(release(&[line("a", 2)], &stocks), Err(Impossible::Mismatch));
    }
}

fn inputs() -> impl Strategy<Value = Vec<(usize, Input)>> {
    let lines = prop_oneof![
        (1..5_i64).prop_map(|n| vec![line("a", n)]),
        (1..5_i64, 1..5_i64).prop_map(|(n, m)| vec![line("b", n), line("a", m)]),
    ];
    let input = prop_oneof![lines.prop_map(Input::Placed), Just(Input::Confirmed), Just(Input::Cancelled)];
    prop::collection::vec((0..4_usize, input), 0..60)
}

proptest! {
    /// Four orders over two items, told anything in any order, any number of times.
    #[test]
    fn stock_is_conserved_whatever_is_told(inputs in inputs()) {
        let mut stock = stocks(&[("a", 10, 0), ("b", 7, 0)]);
        let mut orders: [Option<Reservation>; 4] = [None, None, None, None];
        for (order, input) in inputs {
            let (changed, state, lines) = match decide(orders[order].clone(), input) {
                Ok(Decision::Reserve(lines)) => (reserve(&lines, &stock).ok(), State::Held, lines),
                Ok(Decision::Ship(lines)) => (Some(ship(&lines, &stock).unwrap()), State::Shipped, lines),
                Ok(Decision::Release(lines)) => (Some(release(&lines, &stock).unwrap()), State::Released, lines),
                Ok(Decision::Stay) | Err(_) => continue,
            };
            if let Some(changed) = changed {
                stock.extend(changed);
                orders[order] = Some(Reservation { state, lines });
            }
            for (sku, there) in [("a", 10), ("b", 7)] {
                let item = line(sku, 1).item;
                let sum = |state| -> i64 {
                    let of_state = orders.iter().flatten().filter(|r| r.state == state);
                    of_state.flat_map(|r| &r.lines).filter(|l| l.item == item).map(|l| l.quantity).sum()
                };
                let expected = Stock { on_hand: there - sum(State::Shipped), reserved: sum(State::Held) };
                prop_assert_eq!(stock[&item], expected);
                prop_assert!(expected.available() >= 0);
            }
        }
    }
}
