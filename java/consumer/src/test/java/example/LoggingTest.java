package example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.libdlock.Client;
import org.libdlock.Dlock;
import org.libdlock.LockHandle;
import org.libdlock.LossReason;

class LoggingTest {
    /** Looks every 10 ms for what is logged in the background. */
    private static final int LOOKS = 500;

    @Test
    void aLossArrivesAtSlf4j() throws Exception {
        ByteArrayOutputStream logged = new ByteArrayOutputStream();
        PrintStream before = System.err;
        System.setErr(new PrintStream(logged, true, StandardCharsets.UTF_8));
        try (Client client = Dlock.connect("memory://")) {
            LockHandle handle = client.lock("logged").acquire(null, Duration.ofMillis(150));
            assertEquals(LossReason.EXPIRED, handle.onLost().get(5, TimeUnit.SECONDS));
            for (int i = 0;
                    i < LOOKS && !logged.toString(StandardCharsets.UTF_8).contains("lost while held");
                    i++) {
                Thread.sleep(10);
            }
        } finally {
            System.setErr(before);
        }
        String text = logged.toString(StandardCharsets.UTF_8);
        assertTrue(text.contains("WARN org.libdlock - \"logged\": lost while held"), text);
    }
}
