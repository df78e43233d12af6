//! Every pair of the state machine, and random histories of messages that must conserve the stock.

use proptest::prelude::*;

use super::*;

fn tenant() -> TenantId {
    "acme".parse().unwrap()
}

fn line(sku: &str, quantity: i64) -> ReservationLine {
    let sku: Sku = sku.parse().unwrap();
    ReservationLine { item: ItemId::of(&tenant(), &sku), sku, quantity }
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
fn the_transition_table_is_that_of_the_design() {
    let lines = || vec![line("a", 1)];
    let some = |state| Some(Reservation { state, lines: lines() });
    let placed = || Input::OrderPlaced(vec![line("a", 1)]);
    let no_change = || Ok(Decision::NoChange);
    let table = [
        (None, placed(), Ok(Decision::Reserve(lines()))),
        (None, Input::OrderConfirmed, Err(Inconsistency::NothingHeld)),
        (None, Input::OrderCancelled, no_change()),
        (some(State::Held), placed(), no_change()),
        (some(State::Held), Input::OrderConfirmed, Ok(Decision::Ship(lines()))),
        (some(State::Held), Input::OrderCancelled, Ok(Decision::Release(lines()))),
        (some(State::Shipped), placed(), no_change()),
        (some(State::Shipped), Input::OrderConfirmed, no_change()),
        (some(State::Shipped), Input::OrderCancelled, no_change()),
        (some(State::Released), placed(), no_change()),
        (some(State::Released), Input::OrderConfirmed, Err(Inconsistency::NothingHeld)),
        (some(State::Released), Input::OrderCancelled, no_change()),
    ];
    for (reservation, input, decision) in table {
        let pair = format!("{reservation:?} {input:?}");
        assert_eq!(decide(reservation, input), decision, "{pair}");
    }
}

#[test]
fn an_order_is_reserved_as_a_whole() {
    let before = stocks(&[("a", 5, 0), ("b", 5, 3)]);
    assert_eq!(reserve(&[line("a", 2), line("b", 2)], &before), Ok(stocks(&[("a", 5, 2), ("b", 5, 5)])));
}

#[test]
fn a_rejection_names_every_missing_item() {
    let before = stocks(&[("a", 5, 0), ("b", 5, 3)]);
    let missing = reserve(&[line("a", 2), line("b", 3), line("unknown", 1)], &before).unwrap_err();
    assert_eq!(missing, ["b".parse().unwrap(), "unknown".parse().unwrap()]);
}

#[test]
fn an_order_with_invalid_lines_is_an_inconsistency() {
    for lines in [
        vec![],
        vec![order_line("a", 0)],
        vec![order_line("a", -1)],
        vec![order_line("a", 1), order_line("a", 1)],
    ] {
        assert_eq!(
            ReservationLine::from_order(&tenant(), &lines),
            Err(Inconsistency::OrderLines),
            "{lines:?}"
        );
    }
    let lines = [order_line("a", 1), order_line("b", 2)];
    assert_eq!(ReservationLine::from_order(&tenant(), &lines), Ok(vec![line("a", 1), line("b", 2)]));
}

#[test]
fn a_reservation_that_exceeds_its_items_is_an_inconsistency() {
    let unknown = stocks(&[]);
    let less = stocks(&[("a", 5, 1)]);
    for stocks in [unknown, less] {
        assert_eq!(ship(&[line("a", 2)], &stocks), Err(Inconsistency::MoreThanReserved));
        assert_eq!(release(&[line("a", 2)], &stocks), Err(Inconsistency::MoreThanReserved));
    }
}

fn inputs() -> impl Strategy<Value = Vec<(usize, Input)>> {
    let lines = prop_oneof![
        (1..5_i64).prop_map(|n| vec![line("a", n)]),
        (1..5_i64, 1..5_i64).prop_map(|(n, m)| vec![line("b", n), line("a", m)]),
    ];
    let input = prop_oneof![
        lines.prop_map(Input::OrderPlaced),
        Just(Input::OrderConfirmed),
        Just(Input::OrderCancelled)
    ];
    prop::collection::vec((0..4_usize, input), 0..60)
}

proptest! {
    /// Four orders over two items, with any messages in any order, any number of times.
    #[test]
    fn stock_is_conserved_by_every_history(inputs in inputs()) {
        let mut stock = stocks(&[("a", 10, 0), ("b", 7, 0)]);
        let mut orders: [Option<Reservation>; 4] = [None, None, None, None];
        for (order, input) in inputs {
            let (changed, state, lines) = match decide(orders[order].clone(), input) {
                Ok(Decision::Reserve(lines)) => (reserve(&lines, &stock).ok(), State::Held, lines),
                Ok(Decision::Ship(lines)) => (Some(ship(&lines, &stock).unwrap()), State::Shipped, lines),
                Ok(Decision::Release(lines)) => (Some(release(&lines, &stock).unwrap()), State::Released, lines),
                Ok(Decision::NoChange) | Err(_) => continue,
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
