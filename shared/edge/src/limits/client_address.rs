//! The address that a request comes from, for the limits of those whom no token names.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use actix_web::HttpRequest;
use actix_web::http::header::HeaderMap;

/// The address of the connection. Behind `proxies` proxies, each of which appends the address that it sees to
/// `X-Forwarded-For`, it is the one that the outermost of them saw: what stands before it may be forged.
pub(super) fn client_address(request: &HttpRequest, proxies: usize) -> IpAddr {
    let forwarded = proxies.checked_sub(1).and_then(|inner| forwarded(request.headers(), inner));
    let connection = || request.peer_addr().map(|peer| peer.ip());
    let address = forwarded.or_else(connection).unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    network(address.to_canonical())
}

/// The address before the last `inner` ones.
fn forwarded(headers: &HeaderMap, inner: usize) -> Option<IpAddr> {
    let lines: Vec<&str> =
        headers.get_all("x-forwarded-for").map(|line| line.to_str()).collect::<Result<_, _>>().ok()?;
    let nth = lines.iter().rev().flat_map(|line| line.rsplit(',')).nth(inner)?;
    nth.trim().parse().ok()
}

/// One customer has a whole /64 of IPv6.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX))),
    }
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    const PEER: &str = "198.51.100.7:443";

    fn address(lines: &[&str], proxies: usize) -> String {
        let request = TestRequest::default().peer_addr(PEER.parse().unwrap());
        let request =
            lines.iter().fold(request, |request, line| request.append_header(("x-forwarded-for", *line)));
        client_address(&request.to_http_request(), proxies).to_string()
    }

    #[test]
    fn without_a_proxy_the_connection_counts_whatever_a_header_says() {
        assert_eq!(address(&["203.0.113.1"], 0), "198.51.100.7");
    }

    #[test]
    fn behind_proxies_the_address_counts_that_the_outermost_saw() {
        assert_eq!(address(&["10.9.9.9, 203.0.113.1"], 1), "203.0.113.1", "the first one is forged");
        assert_eq!(address(&["10.9.9.9, 203.0.113.1, 10.0.0.2"], 2), "203.0.113.1");
        assert_eq!(address(&["10.9.9.9, 203.0.113.1", "10.0.0.2"], 2), "203.0.113.1", "two lines");
    }

    #[test]
    fn a_request_that_came_past_the_proxies_counts_by_its_connection() {
        for lines in [&[][..], &["203.0.113.1"], &["unknown, 10.0.0.2"]] {
            assert_eq!(address(lines, 2), "198.51.100.7", "{lines:?}");
        }
    }

    #[test]
    fn addresses_of_one_ipv6_network_count_together() {
        assert_eq!(address(&["2001:db8:1:2:3:4:5:6"], 1), "2001:db8:1:2::");
        assert_eq!(address(&["::ffff:203.0.113.1"], 1), "203.0.113.1");
    }
}
