package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.libdlock.support.Eventually;

/** A thread that lost a lock hears of it once, and may then acquire it anew: threads of a pool outlive their tasks. */
class LossTest extends WithServer {
    private DistributedLock lostLock() throws Exception {
        DistributedLock lock = connect().lock(name);
        assertThat(lock.tryLock(0, 200, TimeUnit.MILLISECONDS)).isTrue();
        lock.onLost().get(2, TimeUnit.SECONDS);
        return lock;
    }

    @Test
    void redissonsIdiomLeavesThePoolsThreadUsable() throws Exception {
        DistributedLock lock = connect().lock(name);
        for (int task = 0; task < 3; task++) {
            assertThat(lock.tryLock(1000, 200, TimeUnit.MILLISECONDS)).isTrue();
            try {
                lock.onLost().get(2, TimeUnit.SECONDS);
                Eventually.holds("its time is over", () -> lock.remaining().isZero());
            } finally {
                if (lock.isHeldByCurrentThread()) {
                    lock.unlock();
                }
            }
        }
        lock.lock();
        assertThat(lock.getHoldCount()).isEqualTo(1);
        lock.unlock();
        assertThat(lock.isLocked()).isFalse();
    }

    @Test
    void theExceptionIsThrownOnce() throws Exception {
        DistributedLock lock = lostLock();
        assertThatThrownBy(lock::lock).isInstanceOf(LockLostException.class).hasMessageContaining("lease ran out");
        lock.lock();
        assertThat(lock.isValid()).isTrue();
        lock.unlock();
        assertThatThrownBy(lock::unlock).as("the scope of the lost hold").isInstanceOf(NotHeldException.class);
        assertThat(lock.getHoldCount()).isZero();
        assertThat(lock.tryLock()).isTrue();
        lock.unlock();
    }

    @Test
    void anInvalidHoldIsNoHold() throws Exception {
        DistributedLock lock = lostLock();
        // It is announced 25 ms before.
        Eventually.holds("the hold is over", () -> !lock.isValid());
        assertThatThrownBy(lock::token).isInstanceOf(NotHeldException.class);
        lock.lock();
        lock.lock();
        assertThat(lock.getHoldCount()).isEqualTo(2);
        lock.unlock();
        assertThat(lock.isValid()).isTrue();
        lock.unlock();
        assertThat(lock.isLocked()).isFalse();
    }
}
