//! Whose tokens a request needs, where nothing else says so: those of the client's address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use http::request::Parts;

/// The address of the client of a request, for servers that are not axum's: put it into the request's extensions.
///
/// ```
/// use std::net::SocketAddr;
///
/// use libdlock_tower::PeerAddress;
///
/// let peer = SocketAddr::from(([192, 0, 2, 7], 50_123));
/// let mut request = http::Request::new(());
/// request.extensions_mut().insert(PeerAddress(peer));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerAddress(pub SocketAddr);

/// The key of the client's address; `None` without one.
pub(crate) fn of_address(request: &Parts) -> Option<String> {
    peer(request).map(|address| of_ip(address.ip()))
}

fn peer(request: &Parts) -> Option<SocketAddr> {
    let own = request.extensions.get().map(|PeerAddress(address)| *address);
    #[cfg(feature = "axum")]
    let own = own.or_else(|| request.extensions.get().map(|axum::extract::ConnectInfo(address)| *address));
    own
}

/// Before an IPv4 address that was translated by NAT64 (RFC 6052).
const NAT64: u128 = 0x64_ff9b << 96;

/// An IPv6 client has 64 bits to itself, as a rule.
fn of_ip(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) if address.to_bits() >> 32 == NAT64 >> 32 => {
            Ipv4Addr::from_bits(address.to_bits() as u32).to_string()
        }
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_counts_as_in_every_language() {
        let vectors: serde_json::Value =
            serde_json::from_str(include_str!("../../../tests/vectors/http.json")).expect("JSON");
        let mut checked = 0;
        for vector in vectors["addresses"].as_array().expect("a list") {
            // Rust has addresses and no texts.
            let Ok(address) = vector["address"].as_str().expect("a text").parse() else { continue };
            assert_eq!(of_ip(address), vector["key"].as_str().expect("a text"), "{vector}");
            checked += 1;
        }
        assert!(checked >= 5);
    }
}
