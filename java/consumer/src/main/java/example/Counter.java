package example;

import java.util.concurrent.locks.Lock;

/** Knows nothing but the JDK's interface. */
public final class Counter {
    private final Lock lock;
    private int value;

    public Counter(Lock lock) {
        this.lock = lock;
    }

    public int increment() {
        lock.lock();
        try {
            return ++value;
        } finally {
            lock.unlock();
        }
    }
}
