//! The partition of a key.

use murmur2::{KAFKA_SEED, murmur2};

/// Returns the partition in which a topic with so many partitions has the records of this key. Java clients and our publisher choose it
/// in the same way.
pub fn partition_of(key: &[u8], partitions: u32) -> u32 {
    let hash = murmur2(key, KAFKA_SEED) & i32::MAX.cast_unsigned();
    hash % partitions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_in_the_partition_that_java_clients_choose() {
        // From the tests of Kafka's own murmur2: the hashes 0xd0e47bbe and 0x1c94221b.
        for (key, partition) in [("foobar", 0), ("abc", 3)] {
            assert_eq!(partition_of(key.as_bytes(), 6), partition, "{key}");
        }
    }
}
