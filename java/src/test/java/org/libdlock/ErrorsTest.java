package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.google.gson.JsonObject;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.libdlock.internal.Failure;

/** What an error tells besides its text. */
class ErrorsTest extends WithServer {
    @Test
    void kindsHaveTheFamilyOfTheVectors() throws IOException {
        for (JsonObject row : Vectors.rows("errors", "errors")) {
            if (row.get("java").isJsonNull()) {
                continue;
            }
            RuntimeException exception = Errors.of(new Failure(row.get("code").getAsInt(), "try", null, "a message"));
            DlockError error = (DlockError) exception;
            String family = row.has("family") ? row.get("family").getAsString() : null;
            assertThat(error.family()).isEqualTo(family);
            assertThat(exception instanceof UnavailableException).isEqualTo("UNAVAILABLE".equals(family));
            assertThat(exception instanceof HoldEndedException).isEqualTo("HOLD_ENDED".equals(family));
        }
    }

    @Test
    void busyCarriesTheHolderAndTheRestOfItsLease() throws Exception {
        LockHandle held = connect().lock(name).lockAsync().get();
        DistributedLock ours = connect().lock(name);
        AcquireTimeoutException direct =
                catchThrowableOfType(AcquireTimeoutException.class, () -> ours.acquire(Duration.ZERO, null));
        Throwable later = catchThrowableOfType(
                        java.util.concurrent.ExecutionException.class,
                        () -> ours.lockAsync(Duration.ZERO, null).get())
                .getCause();
        for (Throwable each : new Throwable[] {direct, later}) {
            DlockError error = (DlockError) each;
            assertThat(error.holder()).isEqualTo(held.owner());
            assertThat(error.remaining()).isBetween(Duration.ofSeconds(20), Duration.ofSeconds(30));
            assertThat(error.retryable()).isTrue();
            assertThat(error.retryAfter()).isNull();
            assertThat(error.allowed()).isNull();
        }
        held.close();
    }

    @Test
    void aRefusedValueCarriesWhatIsAllowed() {
        Client client = connect();
        InvalidArgumentException lease = catchThrowableOfType(
                InvalidArgumentException.class,
                () -> client.lock(name, LockOptions.defaults().lease(Duration.ofMillis(5))));
        assertThat(lease.allowed()).isEqualTo("100 ms to 24 h");
        assertThat(lease).hasMessageEndingWith("; allowed: 100 ms to 24 h");
        assertThat(lease.retryable()).isFalse();
        assertThat(lease.remaining()).isNull();
        InvalidNameException surrogate = catchThrowableOfType(InvalidNameException.class, () -> client.lock("\ud800"));
        assertThat(surrogate.allowed()).startsWith("1 to 512 bytes of UTF-8");
        assertThat(surrogate).hasMessageEndingWith("; allowed: " + surrogate.allowed());
    }

    @Test
    void familiesCatchTheirKinds() {
        DistributedLock lock = connect().lock(name);
        assertThatThrownBy(lock::unlock).isInstanceOf(HoldEndedException.class);
        Options hasty = Options.defaults().connectTimeout(Duration.ofMillis(300));
        assertThatThrownBy(() -> Dlock.connect("redis://127.0.0.1:1", hasty)).isInstanceOf(UnavailableException.class);
    }

    @Test
    void whetherARetryCanHelpIsAFactOfTheOneError() {
        ConnectionException away =
                catchThrowableOfType(ConnectionException.class, () -> Dlock.connect("redis://127.0.0.1:1"));
        Options wrong = Options.defaults().user("nobody").password("wrong");
        ConnectionException refused =
                catchThrowableOfType(ConnectionException.class, () -> Dlock.connect(server.url(), wrong));
        assertThat(away.retryable()).isTrue();
        assertThat(refused.retryable()).isFalse();
    }

    @Test
    void aClockErrorSaysWhenARetryCanSucceed() {
        Layout soon =
                new Layout(System.currentTimeMillis() + Duration.ofHours(1).toMillis(), 41, 5, 5, 12);
        Snowflake.Builder builder = Snowflake.builder(1, 1).layout(soon);
        ClockException early = catchThrowableOfType(ClockException.class, builder::build);
        assertThat(early.retryAfter()).isBetween(Duration.ofMinutes(59), Duration.ofHours(1));
        assertThat(early.retryable()).isTrue();
    }

    @Test
    void serializationKeepsTheFacts() throws Exception {
        for (Kind kind : Kind.values()) {
            Failure failure =
                    new Failure(kind.code(), "acquire", "k", "what happened", "a:1", 2500, 250, "1 to 5", true);
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
                out.writeObject(Errors.of(failure));
            }
            DlockError read;
            try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
                read = (DlockError) in.readObject();
            }
            assertThat(read.kind()).isEqualTo(kind.name());
            assertThat(read.holder()).isEqualTo("a:1");
            assertThat(read.remaining()).isEqualTo(Duration.ofMillis(2500));
            assertThat(read.retryAfter()).isEqualTo(Duration.ofNanos(250_000));
            assertThat(read.allowed()).isEqualTo("1 to 5");
            assertThat(read.retryable()).isTrue();
            assertThat((Throwable) read).hasMessage("what happened");
        }
    }
}
