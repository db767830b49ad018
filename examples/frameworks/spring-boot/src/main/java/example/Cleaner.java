package example;

import org.libdlock.spring.Locked;
import org.libdlock.spring.WhenBusy;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;

/** One of all instances cleans at a time; the others skip. */
@Component
class Cleaner {
    @Scheduled(fixedDelay = 1000)
    @Locked(value = "clean", waitTime = "0s", whenBusy = WhenBusy.SKIP)
    void clean() {
        // What only one of them may do.
    }
}
