//! The parts by their names, and the processes that each of them is made of.

use std::fmt;

use audits::Database;

/// A part: a server, or a program with a database of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    Kafka,
    Provider,
    Inventory,
    Payments,
    Orders,
}

impl Part {
    /// Those with an outbox and an inbox.
    pub(crate) const SERVICES: [Self; 3] = [Self::Orders, Self::Inventory, Self::Payments];
    /// Those that answer over HTTP, each with a database of its name.
    pub(crate) const PROGRAMS: [Self; 4] = [Self::Orders, Self::Payments, Self::Inventory, Self::Provider];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Kafka => "kafka",
            Self::Provider => "provider",
            Self::Inventory => "inventory",
            Self::Payments => "payments",
            Self::Orders => "orders",
        }
    }

    /// One of those that serve; the first has the number 1.
    pub(crate) const fn instance(self, number: usize) -> Instance {
        Instance { part: self, role: Role::Serve, number }
    }

    /// One of the relays that run apart.
    pub(crate) const fn relay(self, number: usize) -> Instance {
        Instance { part: self, role: Role::Relay, number }
    }
}

impl From<Database> for Part {
    fn from(database: Database) -> Self {
        match database {
            Database::Orders => Self::Orders,
            Database::Inventory => Self::Inventory,
            Database::Payments => Self::Payments,
            Database::Provider => Self::Provider,
        }
    }
}

/// What a process of a service does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    /// Answers and reacts; with a relay inside, unless relays run apart.
    Serve,
    /// Publishes, and nothing else.
    Relay,
}

/// One process. Its name is `orders`, `orders-2`, `orders-relay` or `orders-relay-2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Instance {
    pub(crate) part: Part,
    pub(crate) role: Role,
    pub(crate) number: usize,
}

impl fmt::Display for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.part.name())?;
        if self.role == Role::Relay {
            f.write_str("-relay")?;
        }
        if self.number > 1 { write!(f, "-{}", self.number) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_process_says_what_it_is() {
        let names = [
            Part::Orders.instance(1),
            Part::Orders.instance(2),
            Part::Orders.relay(1),
            Part::Orders.relay(2),
            Part::Kafka.instance(1),
        ];
        let names = names.map(|instance| instance.to_string());
        assert_eq!(names, ["orders", "orders-2", "orders-relay", "orders-relay-2", "kafka"]);
    }
}
