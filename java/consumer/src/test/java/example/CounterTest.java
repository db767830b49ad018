package example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.libdlock.Client;
import org.libdlock.Dlock;

class CounterTest {
    @Test
    void libdlockIsAModuleOfThisJvm() {
        assertTrue(Dlock.class.getModule().isNamed());
        assertEquals("org.libdlock", Dlock.class.getModule().getName());
    }

    @Test
    void fourThreadsCountTogether() throws Exception {
        String url = System.getenv().getOrDefault("REDIS_URL", "memory://consumer");
        try (Client client = Dlock.connect(url)) {
            Counter counter = new Counter(client.lock("counter"));
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                Thread thread = new Thread(() -> {
                    for (int round = 0; round < 50; round++) {
                        counter.increment();
                    }
                });
                thread.start();
                threads.add(thread);
            }
            for (Thread thread : threads) {
                thread.join();
            }
            assertEquals(201, counter.increment());
        }
    }
}
