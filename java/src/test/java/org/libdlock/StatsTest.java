package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.libdlock.support.Background;
import org.libdlock.support.Eventually;

/** What a client counts, under the names that every language has. */
class StatsTest extends WithServer {
    private static List<String> camel(JsonObject vectors, String... tables) {
        List<String> names = new ArrayList<>();
        for (String table : tables) {
            JsonArray rows = vectors.getAsJsonArray(table);
            for (JsonElement row : rows) {
                names.add(camel(row.getAsString()));
            }
        }
        return names;
    }

    private static String camel(String name) {
        StringBuilder camel = new StringBuilder();
        for (String word : name.split("_", -1)) {
            camel.append(camel.isEmpty() ? word : word.substring(0, 1).toUpperCase(Locale.ROOT) + word.substring(1));
        }
        return camel.toString();
    }

    private static List<String> components(Class<?> type) {
        return Arrays.stream(type.getRecordComponents())
                .map(RecordComponent::getName)
                .toList();
    }

    @Test
    void theNamesAreThoseOfEveryLanguage() throws IOException {
        JsonObject vectors = Vectors.tables("stats");
        JsonObject blocks = vectors.getAsJsonObject("blocks");
        List<String> own = camel(vectors, "counters", "histograms");
        Map<String, JsonObject> inCamel = new LinkedHashMap<>();
        blocks.keySet().forEach(block -> inCamel.put(camel(block), blocks.getAsJsonObject(block)));
        own.addAll(inCamel.keySet());
        assertThat(components(Stats.class)).isEqualTo(own);
        for (RecordComponent block : Stats.class.getRecordComponents()) {
            if (block.getType().isRecord()) {
                assertThat(components(block.getType()))
                        .isEqualTo(
                                camel(Objects.requireNonNull(inCamel.get(block.getName())), "counters", "histograms"));
            }
        }
        assertThat(components(Histogram.class)).isEqualTo(camel(vectors, "histogram"));
        assertThat(connect().stats().lock().waitTime().buckets())
                .hasSize(vectors.get("buckets").getAsInt());
    }

    @Test
    void aClientCountsWhatItsLocksDo() throws Exception {
        Client client = connect();
        DistributedLock lock = client.lock(name);
        lock.lock();
        lock.lock(); // a re-entry is no acquire
        Background<Boolean> waiter = Background.run(() -> {
            boolean taken = lock.tryLock();
            lock.lock();
            lock.unlock();
            return taken;
        });
        Eventually.holds("one waits", () -> client.stats().lock().waiting() == 1);
        assertThat(client.stats().lock().held()).isEqualTo(1);
        lock.unlock();
        lock.unlock();
        assertThat(waiter.get()).isFalse();
        LockStats stats = client.stats().lock();
        assertThat(List.of(stats.acquired(), stats.contended(), stats.handedOverLocal() + stats.handedOverRemote()))
                .containsExactly(2L, 1L, 1L);
        assertThat(List.of(stats.released(), stats.held(), stats.waiting(), stats.waitTimeouts(), stats.lost()))
                .containsExactly(2L, 0L, 0L, 1L, 0L);
        Histogram waits = stats.waitTime();
        assertThat(waits.count()).isEqualTo(2);
        assertThat(waits.p50()).isLessThanOrEqualTo(waits.p99());
        assertThat(waits.p99()).isLessThanOrEqualTo(waits.max());
        assertThat(stats.holdTime().buckets().stream()
                        .mapToLong(Long::longValue)
                        .sum())
                .isEqualTo(2);
        client.close();
        assertThat(client.stats().lock().acquired()).isEqualTo(2);
    }
}
