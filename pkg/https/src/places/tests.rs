//! Which connection makes room for a new one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Place, Places};

fn host(number: u8) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, number).into()
}

async fn full(hosts: impl IntoIterator<Item = IpAddr>) -> (Places, Vec<Place>) {
    let hosts: Vec<_> = hosts.into_iter().collect();
    let places = Places::new(hosts.len());
    let mut taken = Vec::new();
    for host in hosts {
        taken.push(places.take(host).await);
    }
    (places, taken)
}

/// Which of them is asked to end for a new one; the first one if there are several.
async fn leaves(places: &Places, taken: &mut Vec<Place>, host: IpAddr) -> usize {
    assert!(!places.has_room());
    let mut newcomer = Box::pin(places.take(host));
    assert!(look_at(&mut newcomer).await.is_none(), "there is no place");
    let evicted: Vec<_> = taken.iter().map(|place| place.evicted().is_cancelled()).collect();
    assert_eq!(evicted.iter().filter(|evicted| **evicted).count(), 1, "{evicted:?}");
    let index = evicted.iter().position(|evicted| *evicted).unwrap();
    drop(taken.remove(index));
    taken.push(newcomer.await);
    index
}

/// Polls a future once.
async fn look_at<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    tokio::select! { biased;
        output = future => Some(output),
        () = std::future::ready(()) => None,
    }
}

#[tokio::test]
async fn of_one_address_the_oldest_connection_ends_first() {
    let (places, mut taken) = full([host(1), host(1), host(1)]).await;
    for _ in 0..5 {
        assert_eq!(leaves(&places, &mut taken, host(1)).await, 0);
    }
}

#[tokio::test]
async fn the_largest_crowd_makes_room_for_others() {
    let hosts = [1, 2, 2, 2, 3, 3].map(host);
    let (places, mut taken) = full(hosts).await;
    // The first of host 2; then 2 and 3 have two each, and the first of 2 is older.
    assert_eq!(leaves(&places, &mut taken, host(4)).await, 1);
    assert_eq!(leaves(&places, &mut taken, host(5)).await, 1);
    assert_eq!(leaves(&places, &mut taken, host(6)).await, 2);
    // Each address has one by now: age decides, not the address.
    assert_eq!(leaves(&places, &mut taken, host(0)).await, 0);
    assert_eq!(leaves(&places, &mut taken, host(9)).await, 0);
}

#[tokio::test]
async fn an_ipv6_network_is_one_crowd() {
    let in_network = |network: u16, host: u16| {
        IpAddr::from(Ipv6Addr::new(0x2001, 0xdb8, 0, network, 0, 0, 0, host))
    };
    let (places, mut taken) =
        full([in_network(1, 1), in_network(2, 1), in_network(2, 2), in_network(2, 3)]).await;
    assert_eq!(leaves(&places, &mut taken, in_network(3, 1)).await, 1);
}

#[tokio::test]
async fn authenticated_clients_stay_but_cannot_take_all_places() {
    let (places, mut taken) = full((0..20).map(|_| host(1))).await;
    for place in &taken {
        place.line().vouch();
        place.line().vouch();
    }
    // Two of the twenty remain unauthenticated.
    for expected in [18, 18, 18] {
        assert_eq!(leaves(&places, &mut taken, host(1)).await, expected);
    }
    let line = taken.remove(0).line().clone();
    line.vouch();
    taken.push(places.take(host(1)).await);
    assert_eq!(leaves(&places, &mut taken, host(2)).await, 17, "a connection that has ended");
    taken.last().unwrap().line().vouch();
    assert_eq!(leaves(&places, &mut taken, host(2)).await, 17, "one more is known");
}

#[tokio::test]
async fn many_newcomers_at_once_tell_one_each_to_leave() {
    let (places, mut taken) = full([host(1), host(1), host(1)]).await;
    let mut newcomers: Vec<_> = (0..2).map(|_| Box::pin(places.take(host(1)))).collect();
    for newcomer in &mut newcomers {
        assert!(look_at(newcomer).await.is_none());
    }
    let evicted: Vec<_> = taken.iter().map(|place| place.evicted().is_cancelled()).collect();
    assert_eq!(evicted, [true, true, false]);
    taken.clear();
    for newcomer in newcomers {
        taken.push(newcomer.await);
    }
    assert!(taken.iter().all(|place| !place.evicted().is_cancelled()));
    drop(taken);
    places.all_left(3).await;
}
