package org.libdlock;

import java.util.Arrays;

// <api:record> written by `python3 api/write.py` from api/records.json
/**
 * What a client has counted since it was opened: what is its own, and a block for each kind of object.
 *
 * @param retries requests sent again because no answer came
 * @param lock what its locks have counted
 * @param limiter what its rate limiters have counted
 * @param semaphore what its semaphores have counted
 * @param rwLock what its read-write locks have counted
 * @param countingSemaphore what its counting semaphores have counted
 * @param latch what its latches have counted
 * @param worker what its worker numbers have counted
 * @param queue what its queues have counted
 */
public record Stats(
        long retries,
        LockStats lock,
        LimiterStats limiter,
        SemaphoreStats semaphore,
        RwLockStats rwLock,
        CountingSemaphoreStats countingSemaphore,
        LatchStats latch,
        WorkerStats worker,
        QueueStats queue) {
    // </api:record>
    // <api:counters> written by `python3 api/write.py` from api/records.json
    private static final int COUNTERS = 76;
    private static final int HISTOGRAMS = 13;

    private static Stats of(long[] numbers, Histogram[] times) {
        return new Stats(
                numbers[0],
                new LockStats(
                        numbers[1],
                        numbers[2],
                        numbers[3],
                        numbers[4],
                        numbers[5],
                        numbers[6],
                        numbers[7],
                        numbers[8],
                        numbers[9],
                        numbers[10],
                        numbers[11],
                        numbers[12],
                        times[0],
                        times[1]),
                new LimiterStats(numbers[13], numbers[14], numbers[15], numbers[16], numbers[17], times[2]),
                new SemaphoreStats(
                        numbers[18],
                        numbers[19],
                        numbers[20],
                        numbers[21],
                        numbers[22],
                        numbers[23],
                        numbers[24],
                        numbers[25],
                        numbers[26],
                        numbers[27],
                        numbers[28],
                        numbers[29],
                        times[3],
                        times[4]),
                new RwLockStats(
                        numbers[30],
                        numbers[31],
                        numbers[32],
                        numbers[33],
                        numbers[34],
                        numbers[35],
                        numbers[36],
                        numbers[37],
                        numbers[38],
                        numbers[39],
                        numbers[40],
                        numbers[41],
                        times[5],
                        times[6]),
                new CountingSemaphoreStats(
                        numbers[42], numbers[43], numbers[44], numbers[45], numbers[46], numbers[47], times[7]),
                new LatchStats(numbers[48], numbers[49], numbers[50], numbers[51], numbers[52], times[8]),
                new WorkerStats(
                        numbers[53],
                        numbers[54],
                        numbers[55],
                        numbers[56],
                        numbers[57],
                        numbers[58],
                        numbers[59],
                        times[9],
                        times[10]),
                new QueueStats(
                        numbers[60],
                        numbers[61],
                        numbers[62],
                        numbers[63],
                        numbers[64],
                        numbers[65],
                        numbers[66],
                        numbers[67],
                        numbers[68],
                        numbers[69],
                        numbers[70],
                        numbers[71],
                        numbers[72],
                        numbers[73],
                        numbers[74],
                        numbers[75],
                        times[11],
                        times[12]));
    }
    // </api:counters>

    /** Of numbers as {@code client_stats} of the native library has them: all counters, then all histograms. */
    static Stats of(long[] numbers) {
        int each = (numbers.length - COUNTERS) / HISTOGRAMS;
        Histogram[] times = new Histogram[HISTOGRAMS];
        for (int i = 0; i < HISTOGRAMS; i++) {
            int from = COUNTERS + i * each;
            times[i] = Histogram.of(Arrays.copyOfRange(numbers, from, from + each));
        }
        return of(numbers, times);
    }
}
