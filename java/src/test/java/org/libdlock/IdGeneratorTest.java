package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** Ids in blocks: each is given out once, among threads, clients and futures. */
class IdGeneratorTest extends WithServer {
    @Test
    void clientsTakeBlocksOfTheSizeOfWhoeverCameFirst() {
        Client client = connect();
        IdGenerator ids = client.idGenerator(name, 10);
        IdGenerator theirs = connect().idGenerator(name, 7, 100);
        assertThat(ids.name()).isEqualTo(name);
        assertThat(ids).hasToString("IdGenerator[" + name + "]");
        assertThat(List.of(ids.blockSize(), theirs.blockSize())).containsExactly(10L, 7L);
        assertThat(ids.nextId()).isEqualTo(1);
        assertThat(theirs.nextId()).isEqualTo(11);
        assertThat(theirs.blockSize()).isEqualTo(10);
        assertThat(ids.nextIds(3)).containsExactly(2, 3, 4);
        assertThat(client.idGenerator(name).nextId())
                .as("one client, one block")
                .isEqualTo(5);
        assertThat(server.command("GET", name)).isEqualTo("21");
        assertThat(server.command("GET", "{" + name + "}:allocation")).isEqualTo("10");
    }

    @Test
    void threadsShareAGeneratorAndNoId() throws Exception {
        IdGenerator ids = connect().idGenerator(name, 50);
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try {
            List<Future<long[]>> taken = IntStream.range(0, 4)
                    .mapToObj(n -> threads.submit(
                            () -> LongStream.generate(ids::nextId).limit(500).toArray()))
                    .toList();
            long[] all = new long[0];
            for (Future<long[]> each : taken) {
                all = LongStream.concat(Arrays.stream(all), Arrays.stream(each.get()))
                        .toArray();
            }
            Arrays.sort(all);
            assertThat(all).isEqualTo(LongStream.rangeClosed(1, 2_000).toArray());
        } finally {
            threads.shutdownNow();
        }
    }

    @Test
    void eachVerbHasAFuture() {
        IdGenerator ids = connect().idGenerator(name, 1);
        assertThat(ids.nextIdAsync()).succeedsWithin(Duration.ofSeconds(5)).isEqualTo(1L);
        assertThat(ids.nextIdsAsync(1_000))
                .succeedsWithin(Duration.ofSeconds(5))
                .satisfies(made -> {
                    assertThat(made).hasSize(1_000).isSorted();
                    assertThat(made[0]).isEqualTo(2);
                });
    }

    @Test
    void theLastIdsOfAllAreGivenAndThenAnError() {
        IdGenerator ids = connect().idGenerator(name, 2, Long.MAX_VALUE - 2);
        assertThat(ids.nextIds(2)).containsExactly(Long.MAX_VALUE - 2, Long.MAX_VALUE - 1);
        assertThatThrownBy(ids::nextId).isInstanceOf(UnsupportedException.class).hasMessageContaining("used up");
        assertThat(connect().idGenerator(name + "-low", 5, Long.MIN_VALUE).nextId())
                .isEqualTo(Long.MIN_VALUE);
    }

    @Test
    void whatNoGeneratorCanBeIsRefused() {
        Client client = connect();
        for (long block : new long[] {0, -1, 1L << 53}) {
            assertThatThrownBy(() -> client.idGenerator(name, block))
                    .isInstanceOfSatisfying(InvalidArgumentException.class, refused -> assertThat(refused.allowed())
                            .isEqualTo("1 to 9007199254740991"));
        }
        IdGenerator ids = client.idGenerator(name);
        for (int count : new int[] {0, -1, 1_000_001}) {
            assertThatThrownBy(() -> ids.nextIds(count)).isInstanceOf(InvalidArgumentException.class);
        }
        client.lock(name).lock();
        assertThatThrownBy(ids::nextId).isInstanceOf(WrongTypeException.class).hasMessageContaining(name);
        client.lock(name).unlock();
        client.close();
        assertThatThrownBy(ids::nextId).isInstanceOf(ClosedException.class);
        assertThatThrownBy(() -> client.idGenerator(name)).isInstanceOf(ClosedException.class);
    }
}
