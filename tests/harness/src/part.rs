//! The parts of an installation, and the processes of each part.

use std::fmt;

use audits::Database;
use envelope::Stream;

/// The number of services, and that of the programs beside them.
const NUMBER: usize = services::ALL.len();
const BESIDE: usize = services::BESIDE.len();

/// A server, or a program with a database of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part(&'static str);

impl Part {
    /// The broker.
    pub const KAFKA: Self = Self("kafka");
    /// The service of the orders.
    pub const ORDERS: Self = Self(Database::ORDERS.name());

    /// The parts with an outbox and an inbox.
    pub const SERVICES: [Self; NUMBER] = {
        let (mut parts, mut at) = ([Self::KAFKA; NUMBER], 0);
        while at < NUMBER {
            parts[at] = Self(services::ALL[at].name);
            at += 1;
        }
        parts
    };
    /// The parts with HTTP and a database, in the order of starting: a service needs the addresses of the programs beside it.
    pub const PROGRAMS: [Self; BESIDE + NUMBER] = {
        let (mut parts, mut at) = ([Self::KAFKA; BESIDE + NUMBER], 0);
        let beside: &[services::Beside] = &services::BESIDE; // may be empty
        while at < parts.len() {
            parts[at] = if at < beside.len() { Self(beside[at].name) } else { Self::SERVICES[at - BESIDE] };
            at += 1;
        }
        parts
    };

    /// The service of this name, such as `orders`, or a program beside one.
    pub const fn of(name: &'static str) -> Self {
        Self(name)
    }

    fn beside(self) -> Option<&'static services::Beside> {
        services::BESIDE.iter().find(|program| program.name == self.name())
    }

    /// The name of the part and of its database.
    pub const fn name(self) -> &'static str {
        self.0
    }

    /// Whether it is a service: with an outbox and an inbox.
    pub fn is_service(self) -> bool {
        Self::SERVICES.contains(&self)
    }

    /// The events that it publishes.
    pub const fn stream(self) -> Stream {
        Stream::of(self.0)
    }

    /// The file name of its program.
    pub fn program(self) -> &'static str {
        self.beside().map_or(self.name(), |program| program.program)
    }

    /// The port of its first process, counted from `IDEM_PORT_BASE`: `./dev help` lists them.
    fn port_offset(self) -> u16 {
        let of_another = self.beside().map_or(41, |program| program.port);
        services::named(self.name()).map_or(of_another, |service| service.port)
    }

    /// A process that serves; the first has the number 1.
    pub const fn instance(self, number: usize) -> Instance {
        Instance { part: self, role: Role::Serve, number }
    }

    /// A relay that runs as a process of its own.
    pub const fn relay(self, number: usize) -> Instance {
        Instance { part: self, role: Role::Relay, number }
    }
}

impl From<Database> for Part {
    fn from(database: Database) -> Self {
        Self(database.name())
    }
}

/// The command of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Answers requests and consumes messages; contains a relay, unless relays run as processes of their own.
    Serve,
    /// Publishes the outbox, and nothing else.
    Relay,
}

impl Role {
    /// The word on the command line.
    pub const fn command(self) -> &'static str {
        match self {
            Self::Serve => "serve",
            Self::Relay => "relay",
        }
    }
}

/// One process. Its name is `orders`, `orders-2`, `orders-relay` or `orders-relay-2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instance {
    /// Whose process it is.
    pub part: Part,
    /// What it does.
    pub role: Role,
    /// 1 or 2.
    pub number: usize,
}

impl Instance {
    /// The processes of an installation with so many instances of each service, in the order of starting.
    pub fn all(instances: usize, separate_relays: bool) -> Vec<Self> {
        let numbers = |most: usize| 1..=most;
        let serving = Part::PROGRAMS.into_iter().flat_map(|part| {
            numbers(if part.is_service() { instances } else { 1 }).map(move |number| part.instance(number))
        });
        let relays = Part::SERVICES.into_iter().filter(|_| separate_relays);
        serving
            .chain(relays.flat_map(|part| numbers(instances).map(move |number| part.relay(number))))
            .collect()
    }

    /// Its port under `./dev`; that of a relay is its admin port. The second process has a port ten higher.
    pub fn port(self, base: u16) -> u16 {
        let relay = if let Role::Relay = self.role { 60 } else { 0 };
        let second = if self.number > 1 { 10 } else { 0 };
        base + self.part.port_offset() + relay + second
    }

    /// The process of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::all(2, true).into_iter().find(|instance| instance.to_string() == name)
    }
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
    fn a_relay_has_a_port_of_its_own_sixty_higher_and_a_second_process_ten_higher() {
        let processes = [1, 2].map(|number| Part::ORDERS.instance(number));
        let relays = [1, 2].map(|number| Part::ORDERS.relay(number));
        assert_eq!(processes.map(|one| one.port(8080)), [8081, 8091]);
        assert_eq!(relays.map(|one| one.port(8080)), [8141, 8151]);
    }

    #[test]
    fn the_name_of_a_process_says_what_it_is() {
        let names = ["orders", "orders-2", "orders-relay", "orders-relay-2"];
        let [one, two] = [1, 2].map(|number| Part::ORDERS.instance(number));
        let expected = [one, two, Part::ORDERS.relay(1), Part::ORDERS.relay(2)];
        assert_eq!(names.map(Instance::named), expected.map(Some));
        assert_eq!(expected.map(|instance| instance.to_string()), names);
        assert_eq!(Instance::all(2, true).len(), 4 * Part::SERVICES.len() + BESIDE);
        for program in &services::BESIDE {
            assert_eq!(Instance::named(&format!("{}-2", program.name)), None);
        }
    }
}
