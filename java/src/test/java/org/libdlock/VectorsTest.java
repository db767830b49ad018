package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.gson.JsonObject;
import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.libdlock.internal.Failure;
import org.libdlock.internal.Native;
import org.libdlock.support.RedisServer;

/** What all languages agree on: {@code api} and {@code tests/vectors}. */
class VectorsTest extends WithServer {
    private static List<JsonObject> rows(String what) throws IOException {
        return Vectors.rows(what, what);
    }

    @Test
    void errorsHaveTheirNumbersNamesAndClasses() throws Exception {
        int kinds = 0;
        for (JsonObject row : rows("errors")) {
            if (row.get("java").isJsonNull()) {
                continue;
            }
            int code = row.get("code").getAsInt();
            RuntimeException exception = Errors.of(new Failure(code, "try", "thing", "a message"));
            assertThat(exception.getClass().getSimpleName())
                    .isEqualTo(row.get("java").getAsString());
            DlockError error = (DlockError) exception;
            assertThat(error.code()).isEqualTo(code);
            assertThat(error.kind()).isEqualTo(row.get("name").getAsString());
            assertThat(error.op()).isEqualTo("try");
            assertThat(error.object()).isEqualTo("thing");
            assertThat(exception).hasMessage("a message");
            kinds++;
        }
        assertThat(Kind.values()).hasSize(kinds);
        assertThat(Errors.of(new Failure(-99, "try", null, "from the future"))).isInstanceOf(InternalException.class);
    }

    @Test
    void badUrlsAreRefusedWithoutTheirSecrets() throws IOException {
        for (JsonObject row : Vectors.rows("urls", "bad")) {
            String url = row.get("url").getAsString();
            assertThatThrownBy(() -> Dlock.connect(url))
                    .as(url)
                    .isInstanceOf(row.has("kind") ? UnsupportedException.class : InvalidArgumentException.class)
                    .hasMessageContaining(row.get("says").getAsString())
                    .hasMessageNotContaining("cret");
        }
    }

    @Test
    void eachErrorIsTheJdksExceptionThatFits() {
        assertThat(List.of(
                        IllegalArgumentException.class.isAssignableFrom(InvalidArgumentException.class),
                        IllegalArgumentException.class.isAssignableFrom(InvalidNameException.class),
                        IllegalMonitorStateException.class.isAssignableFrom(NotHeldException.class),
                        IllegalMonitorStateException.class.isAssignableFrom(LockLostException.class),
                        java.util.concurrent.CancellationException.class.isAssignableFrom(CancelledException.class),
                        UnsupportedOperationException.class.isAssignableFrom(UnsupportedException.class),
                        IllegalStateException.class.isAssignableFrom(ClosedException.class),
                        IllegalStateException.class.isAssignableFrom(ForkedException.class)))
                .containsOnly(true);
    }

    @Test
    void everyOptionIsThereUnderItsNameWithItsBounds() throws Exception {
        for (JsonObject row : rows("options")) {
            String option = row.get("name").getAsString();
            Method setter = setter(option);
            if (row.has("group")) {
                setter(LockDefaults.class, option);
            }
            if (row.get("type").getAsString().equals("duration")) {
                for (String bound : List.of("min", "max")) {
                    Duration at = Duration.ofMillis(row.get(bound).getAsLong());
                    Duration beyond = bound.equals("min") ? at.minusMillis(1) : at.plusMillis(1);
                    Options good = (Options) setter.invoke(Options.defaults(), at);
                    assertThatCode(() -> Dlock.connect("memory://", good).close())
                            .doesNotThrowAnyException();
                    Options bad = (Options) setter.invoke(Options.defaults(), beyond);
                    assertThatThrownBy(() -> Dlock.connect("memory://", bad))
                            .isInstanceOf(InvalidArgumentException.class)
                            .hasMessageContaining(option)
                            .hasMessageContaining("; allowed: ");
                }
            }
        }
        assertThatThrownBy(() -> Dlock.connect("memory://", Options.defaults().set("no_such", "1")))
                .isInstanceOf(InvalidArgumentException.class)
                .hasMessageContaining("poll_interval");
        assertThatCode(() -> Dlock.connect("memory://", Options.defaults().tokenTtlNone())
                        .close())
                .doesNotThrowAnyException();
    }

    @Test
    void optionsOfAGroupAreGivenTogether() {
        Options options = Options.defaults()
                .lock(lock -> lock.reentrant(false).tokenTtlNone().cohortAge(Duration.ofSeconds(1)))
                .lease(Duration.ofSeconds(5));
        try (Client client = Dlock.connect("memory://", options)) {
            DistributedLock lock = client.lock("k");
            lock.lock();
            assertThatThrownBy(lock::lock).isInstanceOf(DeadlockException.class);
        }
        Options twice = Options.defaults().cohortMax(2).lock(lock -> lock.cohortMax(3));
        assertThatThrownBy(() -> Dlock.connect("memory://", twice))
                .isInstanceOf(InvalidArgumentException.class)
                .hasMessageContaining("option lock.cohort_max: also given as cohort_max");
    }

    @Test
    void everyOptionOfALockIsThereUnderItsNameWithItsBounds() throws Exception {
        Client client = connect();
        for (JsonObject row : Vectors.rows("options", "lock")) {
            String option = row.get("name").getAsString();
            Method setter = setter(LockOptions.class, option);
            if (row.get("type").getAsString().equals("duration")) {
                for (String bound : List.of("min", "max")) {
                    Duration at = Duration.ofMillis(row.get(bound).getAsLong());
                    Duration beyond = bound.equals("min") ? at.minusMillis(1) : at.plusMillis(1);
                    client.lock("k", (LockOptions) setter.invoke(LockOptions.defaults(), at));
                    LockOptions bad = (LockOptions) setter.invoke(LockOptions.defaults(), beyond);
                    assertThatThrownBy(() -> client.lock("k", bad))
                            .isInstanceOf(InvalidArgumentException.class)
                            .hasMessageContaining(option.replace('_', ' '));
                }
            }
        }
        Duration lease = Duration.ofSeconds(5);
        LockOptions both = LockOptions.defaults().lease(lease).watchdogLease(lease);
        assertThatThrownBy(() -> client.lock("k", both)).isInstanceOf(InvalidArgumentException.class);
    }

    private static Method setter(String option) {
        return setter(Options.class, option);
    }

    private static Method setter(Class<?> options, String option) {
        StringBuilder camel = new StringBuilder();
        for (String word : option.split("_", -1)) {
            camel.append(
                    camel.length() == 0
                            ? word
                            : word.substring(0, 1).toUpperCase(java.util.Locale.ROOT) + word.substring(1));
        }
        for (Method method : options.getMethods()) {
            if (method.getName().equals(camel.toString()) && method.getParameterCount() == 1) {
                return method;
            }
        }
        throw new AssertionError(options + " has no " + camel);
    }

    @Test
    void defaultsAreTheCores() {
        DistributedLock lock = connect().lock(name);
        lock.lock();
        assertThat((Long) server.command("PTTL", name)).isBetween(29_000L, 30_000L);
        assertThat((Long) server.command("PTTL", "redisson_lock_token:{" + name + "}"))
                .isBetween(3_599_000L, 3_600_000L);
        assertThat(server.command("CLIENT", "LIST").toString()).contains("name=libdlock-0.1.0");
        lock.unlock();
    }

    /** A Java string cannot hold bytes that are not UTF-8: those go to the native library as they are. */
    /** On a server that nobody else uses: other tests may have these names, which are not this one's to choose. */
    @Test
    void namesAreAcceptedAsTheSameBytesOrRefusedBeforeAnyIo() throws Exception {
        try (RedisServer own = new RedisServer();
                Client client = Dlock.connect(own.url())) {
            long handle = TestAccess.handle(client);
            for (JsonObject row : rows("names")) {
                byte[] bytes = HexFormat.of().parseHex(row.get("hex").getAsString());
                String text = new String(bytes, StandardCharsets.UTF_8);
                String why = row.get("why").getAsString();
                if (!row.get("ok").getAsBoolean()) {
                    assertThatThrownBy(() -> Native.lockOpen(handle, bytes, 0, 0, -1))
                            .as(why)
                            .isInstanceOf(InvalidNameException.class);
                    if (java.util.Arrays.equals(text.getBytes(StandardCharsets.UTF_8), bytes)) {
                        assertThatThrownBy(() -> client.lock(text)).as(why).isInstanceOf(InvalidNameException.class);
                    }
                    continue;
                }
                DistributedLock lock = client.lock(text);
                lock.lock();
                List<byte[]> exists = List.of("EXISTS".getBytes(StandardCharsets.US_ASCII), bytes);
                assertThat(own.command(exists)).as(why).isEqualTo(1L);
                lock.unlock();
                assertThat(own.command(exists)).as(why).isEqualTo(0L);
            }
        }
    }

    @Test
    void halfASurrogatePairIsNoName() {
        Client client = connect();
        for (String bad : List.of("\ud83d", "a\udd12", "\udd12\ud83d")) {
            assertThatThrownBy(() -> client.lock(bad))
                    .isInstanceOf(InvalidNameException.class)
                    .hasMessageContaining("surrogate");
        }
        DistributedLock emoji = client.lock("\ud83d\udd12" + name);
        emoji.lock();
        assertThat(server.command("EXISTS", "\ud83d\udd12" + name)).isEqualTo(1L);
        emoji.unlock();
    }
}
