//! What an installation consists of: four programs, the second instances, and relays of their own.

/// A process of the installation.
#[derive(Debug, PartialEq, Eq)]
pub struct Part {
    /// What tests call it: `orders`, `orders-2`, `orders-relay`, `orders-relay-2`.
    pub name: &'static str,
    /// The program, and with it the database.
    pub program: &'static str,
    /// What it is told to do.
    pub command: &'static str,
    /// Whether it is the second of its kind.
    pub second: bool,
}

const fn serves(name: &'static str, program: &'static str, second: bool) -> Part {
    Part { name, program, command: "serve", second }
}

const fn relays(name: &'static str, program: &'static str, second: bool) -> Part {
    Part { name, program, command: "relay", second }
}

/// In the order of starting: payments needs the provider's address.
const PARTS: [Part; 13] = [
    serves("provider", "provider", false),
    serves("inventory", "inventory", false),
    serves("payments", "payments", false),
    serves("orders", "orders", false),
    serves("inventory-2", "inventory", true),
    serves("payments-2", "payments", true),
    serves("orders-2", "orders", true),
    relays("inventory-relay", "inventory", false),
    relays("payments-relay", "payments", false),
    relays("orders-relay", "orders", false),
    relays("inventory-relay-2", "inventory", true),
    relays("payments-relay-2", "payments", true),
    relays("orders-relay-2", "orders", true),
];

impl Part {
    /// The one of this name.
    pub fn named(name: &str) -> &'static Self {
        PARTS.iter().find(|part| part.name == name).unwrap_or_else(|| panic!("nothing is called {name}"))
    }

    /// Those of an installation.
    pub fn of(two_of_each: bool, relays_apart: bool) -> impl Iterator<Item = &'static Self> {
        let wanted =
            move |part: &&Self| (two_of_each || !part.second) && (relays_apart || part.command == "serve");
        PARTS.iter().filter(wanted)
    }
}
