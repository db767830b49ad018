package org.libdlock.spring.boot;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import org.libdlock.Client;
import org.libdlock.DlockError;

/** Whether the server answers, as both generations of Spring Boot's health want to know it. */
record LibdlockHealth(boolean isUp, Map<String, Object> details) {
    /** A name that nobody uses: what is asked about it is read, and never written. */
    private static final String ASKED = "libdlock:health";

    static LibdlockHealth of(Client client) {
        Map<String, Object> details = new LinkedHashMap<>();
        long began = System.nanoTime();
        try {
            client.lock(ASKED).isLocked();
        } catch (RuntimeException failed) {
            details.put(
                    "error",
                    failed instanceof DlockError error
                            ? error.kind()
                            : failed.getClass().getName());
            details.put("message", String.valueOf(failed.getMessage()));
            return new LibdlockHealth(false, details);
        }
        details.put("roundTrip", Duration.ofNanos(System.nanoTime() - began).toNanos() / 1000 + " us");
        return new LibdlockHealth(true, details);
    }
}
