package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.libdlock.support.Background;

/** Ids; their clocks are tested in the core. */
class SnowflakeTest {
    private static Layout layout(JsonElement given) {
        if (given.isJsonPrimitive()) {
            return Layout.named(given.getAsString());
        }
        JsonObject row = given.getAsJsonObject();
        return new Layout(
                row.get("epoch_ms").getAsLong(),
                row.get("time_bits").getAsInt(),
                row.get("datacenter_bits").getAsInt(),
                row.get("worker_bits").getAsInt(),
                row.get("sequence_bits").getAsInt());
    }

    @Test
    void layoutsHaveTheirNamesAndBits() throws Exception {
        for (JsonObject row : Vectors.rows("snowflake", "layouts")) {
            assertThat(Layout.named(row.get("name").getAsString())).isEqualTo(layout(row));
        }
        assertThatThrownBy(() -> Layout.named("no such")).isInstanceOf(InvalidArgumentException.class);
        for (JsonObject row : Vectors.rows("snowflake", "layouts_refused")) {
            Layout refused = layout(row.get("layout"));
            String why = row.get("why").getAsString();
            assertThatThrownBy(() -> refused.decode(1)).as(why).isInstanceOf(InvalidArgumentException.class);
            assertThatThrownBy(() -> Snowflake.builder(0, 0).layout(refused).build())
                    .as(why)
                    .isInstanceOf(InvalidArgumentException.class);
        }
    }

    @Test
    void idsAreTakenApartAsInEveryLanguage() throws Exception {
        for (JsonObject row : Vectors.rows("snowflake", "decode")) {
            Snowflake.Parts expected = new Snowflake.Parts(
                    row.get("time_ms").getAsLong(),
                    row.get("datacenter").getAsInt(),
                    row.get("worker").getAsInt(),
                    row.get("sequence").getAsInt());
            assertThat(layout(row.get("layout")).decode(row.get("id").getAsLong()))
                    .isEqualTo(expected);
        }
        for (JsonObject row : Vectors.rows("snowflake", "decode_refused")) {
            String text = row.get("id").getAsString();
            Layout layout = layout(row.get("layout"));
            assertThatThrownBy(() -> layout.decode(Long.parseLong(text))).isInstanceOf(InvalidArgumentException.class);
        }
    }

    @Test
    void idsAreWrittenAndReadAsInEveryLanguage() throws Exception {
        for (JsonObject row : Vectors.rows("snowflake", "text")) {
            long id = row.get("id").getAsLong();
            for (int base : new int[] {10, 32, 36, 58, 62}) {
                String text = row.get("base" + base).getAsString();
                assertThat(Snowflake.encode(id, base)).isEqualTo(text);
                assertThat(Snowflake.parse(text, base)).isEqualTo(id);
            }
        }
        for (JsonObject row : Vectors.rows("snowflake", "parse")) {
            assertThat(Snowflake.parse(
                            row.get("text").getAsString(), row.get("base").getAsInt()))
                    .isEqualTo(row.get("id").getAsLong());
        }
        for (JsonObject row : Vectors.rows("snowflake", "parse_refused")) {
            assertThatThrownBy(() -> Snowflake.parse(
                            row.get("text").getAsString(), row.get("base").getAsInt()))
                    .as("%s", row)
                    .isInstanceOf(InvalidArgumentException.class);
        }
        assertThatThrownBy(() -> Snowflake.parse("\ud800", 62)).isInstanceOf(InvalidArgumentException.class);
        assertThatThrownBy(() -> Snowflake.encode(1, 64)).isInstanceOf(InvalidArgumentException.class);
        assertThatThrownBy(() -> Snowflake.encode(-1, 10)).isInstanceOf(InvalidArgumentException.class);
    }

    @Test
    void anIdSaysWhenWhereAndByWhom() {
        Snowflake ids = new Snowflake(3, 17);
        long before = System.currentTimeMillis();
        Snowflake.Parts parts = ids.decode(ids.nextId());
        assertThat(parts.timeMs()).isBetween(before - 1, System.currentTimeMillis() + 1);
        assertThat(parts.datacenter()).isEqualTo(3);
        assertThat(parts.worker()).isEqualTo(17);
        assertThat(ids.layout()).isEqualTo(Layout.named("default"));
        Snowflake small = Snowflake.builder(0, 9).layout(Layout.named("js53")).build();
        assertThat(small.nextId()).isLessThan(1L << 53);
    }

    @Test
    void valuesOutOfRangeAreRefusedAndNamed() {
        assertThatThrownBy(() -> new Snowflake(32, 0))
                .isInstanceOf(InvalidArgumentException.class)
                .hasMessageContaining("31");
        assertThatThrownBy(() -> new Snowflake(0, 32)).isInstanceOf(InvalidArgumentException.class);
        assertThatThrownBy(() -> new Snowflake(-1, 0)).isInstanceOf(InvalidArgumentException.class);
        assertThatThrownBy(() -> new Snowflake(0, Long.MAX_VALUE)).isInstanceOf(InvalidArgumentException.class);
        for (Duration ahead :
                List.of(Duration.ofMillis(11), Duration.ofNanos(-1), Duration.ofSeconds(Long.MAX_VALUE))) {
            assertThatThrownBy(() -> Snowflake.builder(0, 1).borrowAhead(ahead).build())
                    .isInstanceOf(InvalidArgumentException.class);
        }
        for (Duration wait : List.of(Duration.ofSeconds(61), Duration.ofNanos(-1))) {
            assertThatThrownBy(() -> Snowflake.builder(0, 1).startWait(wait).build())
                    .isInstanceOf(InvalidArgumentException.class);
        }
        Snowflake ids = new Snowflake(0, 1);
        for (int count : new int[] {0, -1, 1_000_001, Integer.MIN_VALUE}) {
            assertThatThrownBy(() -> ids.nextIds(count))
                    .isInstanceOf(InvalidArgumentException.class)
                    .hasMessageContaining("1000000");
        }
    }

    @Test
    void generatorsOfOneIdentityShareTheirState() {
        Snowflake one = new Snowflake(0, 2);
        Snowflake other = new Snowflake(0, 2);
        long last = 0;
        for (int i = 0; i < 10_000; i++) {
            long id = (i % 2 == 0 ? one : other).nextId();
            assertThat(id).isGreaterThan(last);
            last = id;
        }
    }

    /** Each thread's ids increase, and no two of all are the same. */
    private static void unique(int each) {
        Snowflake ids = new Snowflake(0, 3);
        List<Background<long[]>> threads = new ArrayList<>();
        threads.add(Background.run(() -> {
            long[] mine = new long[each];
            for (int i = 0; i < each; i++) {
                mine[i] = ids.nextId();
            }
            return mine;
        }));
        threads.add(Background.run(() -> {
            long[] mine = new long[each];
            for (int i = 0; i < each; i += 1000) {
                System.arraycopy(ids.nextIds(1000), 0, mine, i, 1000);
            }
            return mine;
        }));
        long[] all = new long[2 * each];
        int at = 0;
        for (Background<long[]> thread : threads) {
            long[] mine = thread.get();
            for (int i = 1; i < each; i++) {
                if (mine[i] <= mine[i - 1]) {
                    throw new AssertionError(mine[i] + " after " + mine[i - 1]);
                }
            }
            System.arraycopy(mine, 0, all, at, each);
            at += each;
        }
        Arrays.sort(all);
        for (int i = 1; i < all.length; i++) {
            if (all[i] == all[i - 1]) {
                throw new AssertionError("twice: " + all[i]);
            }
        }
    }

    @Test
    void twoThreadsNeverMakeTheSame() {
        unique(500_000);
    }

    @Test
    @Tag("long")
    @Timeout(value = 10, unit = TimeUnit.MINUTES)
    void twoThreadsMakeTenMillionEach() {
        unique(10_000_000);
    }
}
