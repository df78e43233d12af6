//! The stack on a platform on which every action succeeds without any effect.

use futures_util::FutureExt;
use futures_util::future::ready;

use super::*;
use crate::platform::Pending;
use harness::CommandOutput;

struct Fake {
    instances: usize,
}

impl Platform for Fake {
    fn instances(&self) -> usize {
        self.instances
    }

    fn has_crash_points(&self) -> bool {
        false
    }

    fn address(&self, instance: Instance) -> String {
        format!("127.0.0.1:{instance}")
    }

    fn database(&self, _: Part) -> String {
        String::new()
    }

    fn brokers(&self) -> String {
        String::new()
    }

    fn deployment(&self) -> String {
        String::new()
    }

    fn process(&self, _: Instance) -> Pending<'_, Option<u32>> {
        ready(Ok(None)).boxed_local()
    }

    fn token<'a>(&'a self, _: &'a str) -> Pending<'a, String> {
        ready(Ok(String::new())).boxed_local()
    }

    fn command<'a>(&'a self, _: Part, _: &'a [&'a str]) -> Pending<'a, CommandOutput> {
        ready(Ok(CommandOutput { code: Some(0), stdout: String::new(), stderr: String::new() })).boxed_local()
    }

    fn act<'a>(&'a self, _: Action<'a>, _: &'a [Instance]) -> Pending<'a, ()> {
        ready(Ok(())).boxed_local()
    }
}

fn stack(instances: usize) -> Stack {
    Stack::new(Box::new(Fake { instances }))
}

/// The first processes that the next two requests try.
fn first_two(stack: &Stack) -> [Option<Instance>; 2] {
    [stack.in_turn(Part::ORDERS), stack.in_turn(Part::ORDERS)].map(|turn| turn.first().copied())
}

#[tokio::test]
async fn requests_go_to_each_instance_in_turn_and_past_one_that_is_away() {
    let stack = stack(2);
    let [first, second] = [1, 2].map(|number| Part::ORDERS.instance(number));
    assert_eq!(first_two(&stack), [Some(first), Some(second)]);

    stack.pause(&[first]).await.unwrap();
    assert_eq!(first_two(&stack), [Some(second), Some(second)]);
    assert!(!stack.in_turn(Part::ORDERS).contains(&first));

    stack.start(&[first]).await.unwrap();
    assert_eq!(first_two(&stack).iter().flatten().filter(|instance| **instance == first).count(), 1);

    stack.kill(first).await.unwrap();
    assert_eq!(stack.in_turn(Part::ORDERS).len(), 2, "clients do not know of the kill");

    stack.stop(&[first, second]).await.unwrap();
    assert_eq!(stack.in_turn(Part::ORDERS).len(), 2, "without any process, all are tried");

    stack.up_all().await.unwrap();
    assert_eq!(stack.in_turn(Part::ORDERS).len(), 2);
}

#[test]
fn relays_run_apart_where_there_are_two_instances() {
    assert_eq!(stack(1).relays(Part::ORDERS), []);
    assert_eq!(stack(2).relays(Part::ORDERS), [1, 2].map(|number| Part::ORDERS.relay(number)));
    let others = Part::PROGRAMS.len() - Part::SERVICES.len();
    assert_eq!(stack(2).processes().len(), Part::SERVICES.len() * 4 + others);
    assert_eq!(stack(2).addresses(Part::ORDERS), ":orders :orders-2");
}
