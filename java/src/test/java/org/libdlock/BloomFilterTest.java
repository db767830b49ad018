package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Bloom filters: what was added is found, what cannot be is refused. */
class BloomFilterTest extends WithServer {
    private BloomFilter filter(long expected, double rate) {
        return connect().bloomFilter(name, expected, rate);
    }

    @Test
    void whatWasAddedIsFoundByEveryClient() {
        BloomFilter seen = filter(1_000, 0.01);
        BloomFilter theirs = filter(1_000, 0.01);
        assertThat(seen.name()).isEqualTo(name);
        assertThat(seen).hasToString("BloomFilter[" + name + "]");
        assertThat(seen.size()).isEqualTo(9_585);
        assertThat(seen.hashes()).isEqualTo(7);
        assertThat(seen.addEach(List.of("é", "b", "é", ""))).containsExactly(true, true, false, true);
        assertThat(seen.add("b")).isFalse();
        assertThat(theirs.contains("é".getBytes(StandardCharsets.UTF_8))).isTrue();
        assertThat(theirs.containsEach(List.of("c", "b"))).containsExactly(false, true);
        assertThat(theirs.add(new byte[] {-1, 0})).isTrue();
        assertThat(seen.containsEachBytes(List.of(new byte[] {-1, 0}, new byte[] {-1})))
                .containsExactly(true, false);
        assertThat(seen.addEachBytes(List.of(new byte[] {-1, 0}))).containsExactly(false);
        assertThat(seen.contains("c")).isFalse();
        assertThat(seen.count()).isEqualTo(4);
        assertThat(seen.falsePositiveRate()).isBetween(1e-20, 1e-10);
        assertThat(seen.addEach(List.of())).isEmpty();
        assertThat(server.command("EXISTS", name, "{" + name + "}:config")).isEqualTo(2L);
        assertThat(seen.clear()).isTrue();
        assertThat(theirs.clear()).isFalse();
    }

    @Test
    void eachVerbHasAFuture() {
        BloomFilter seen = filter(10_000, 0.01);
        List<String> many = IntStream.range(0, 5_000).mapToObj(String::valueOf).toList();
        Duration soon = Duration.ofSeconds(5);
        assertThat(seen.addEachAsync(many)).succeedsWithin(soon).satisfies(each -> assertThat(each)
                .hasSize(5_000));
        assertThat(seen.containsEachAsync(many)).succeedsWithin(soon).satisfies(each -> assertThat(each)
                .doesNotContain(false));
        List<byte[]> bytes = List.of(new byte[] {7});
        assertThat(seen.addEachBytesAsync(bytes)).succeedsWithin(soon).isEqualTo(new boolean[] {true});
        assertThat(seen.containsEachBytesAsync(bytes)).succeedsWithin(soon).isEqualTo(new boolean[] {true});
        assertThat(seen.countAsync()).succeedsWithin(soon).satisfies(count -> assertThat(count)
                .isBetween(4_950L, 5_050L));
        assertThat(seen.falsePositiveRateAsync()).succeedsWithin(soon).satisfies(rate -> assertThat(rate)
                .isBetween(1e-6, 0.01));
        assertThat(seen.clearAsync()).succeedsWithin(soon).isEqualTo(true);
    }

    @Test
    void anotherConfigurationIsRefusedUntilItIsCleared() {
        filter(1_000, 0.01).add("a");
        BloomFilter other = filter(2_000, 0.01);
        assertThatThrownBy(() -> other.contains("a"))
                .isInstanceOf(WrongTypeException.class)
                .hasMessageContaining("9585 bits and 7 hashes")
                .hasMessageContaining("19170 bits and 7 hashes");
        assertThat(other.clear()).isTrue();
        assertThat(other.add("a")).isTrue();
    }

    @Test
    void aFilterWithATimeToLiveEnds() {
        BloomFilter seen = connect().bloomFilter(name, 10, 0.1, Duration.ofMillis(1));
        seen.add("a");
        while (seen.contains("a")) {
            Thread.onSpinWait();
        }
        assertThat(seen.count()).isZero();
    }

    @Test
    void whatNoFilterCanBeIsRefused() {
        assertThatThrownBy(() -> filter(0, 0.1)).hasMessageContaining("1 to 9007199254740991");
        assertThatThrownBy(() -> filter(1L << 32, 0.1)).hasMessageContaining("4294967294 bits");
        for (double rate : new double[] {0, 1, -0.5, Double.NaN, Double.POSITIVE_INFINITY}) {
            assertThatThrownBy(() -> filter(10, rate))
                    .isInstanceOf(InvalidArgumentException.class)
                    .hasMessageContaining("above 0 and below 1");
        }
        Client client = connect();
        for (Duration ttl : List.of(Duration.ZERO, Duration.ofMillis(-1), Duration.ofDays(40_000))) {
            assertThatThrownBy(() -> client.bloomFilter(name, 10, 0.1, ttl)).hasMessageContaining("1 ms to 100 years");
        }
        assertThatThrownBy(() -> client.bloomFilter("a{", 10, 0.1)).isInstanceOf(InvalidNameException.class);
        BloomFilter seen = client.bloomFilter(name, 10, 0.1);
        assertThatThrownBy(() -> seen.add("\ud800")).hasMessageContaining("lone surrogate");
        assertThatThrownBy(() -> seen.addEach(Collections.singletonList(null)))
                .isInstanceOf(NullPointerException.class)
                .hasMessage("item is null");
        assertThatThrownBy(() -> seen.addEach(Collections.nCopies(1_000_001, "a")))
                .hasMessageContaining("0 to 1000000");
        // More than an array has room for, and so much more that an int counts to a little.
        for (int items : new int[] {2_100, 4_097}) {
            assertThatThrownBy(() -> seen.addEachBytes(Collections.nCopies(items, new byte[1 << 20])))
                    .isInstanceOf(InvalidArgumentException.class)
                    .hasMessageContaining("up to 2147483639 bytes");
        }
        server.command("LPUSH", name, "1");
        assertThatThrownBy(() -> seen.add("a")).isInstanceOf(WrongTypeException.class);
        client.close();
        assertThatThrownBy(() -> seen.contains("a")).isInstanceOf(ClosedException.class);
    }
}
