package org.libdlock.integration;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.libdlock.Client;
import org.libdlock.DistributedLock;
import org.libdlock.support.Eventually;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.integration.aggregator.AggregatingMessageHandler;
import org.springframework.integration.aggregator.DefaultAggregatingMessageGroupProcessor;
import org.springframework.integration.channel.QueueChannel;
import org.springframework.integration.config.EnableIntegration;
import org.springframework.integration.leader.Context;
import org.springframework.integration.leader.DefaultCandidate;
import org.springframework.integration.store.SimpleMessageStore;
import org.springframework.integration.support.MessageBuilder;
import org.springframework.integration.support.leader.LockRegistryLeaderInitiator;
import org.springframework.messaging.Message;

/** Parts of Spring Integration that take a registry, two of each, as in two processes. */
class SharingTest extends WithRegistry {
    @Configuration
    @EnableIntegration
    static class Application {}

    private AggregatingMessageHandler aggregator(BeanFactory beans, SimpleMessageStore store, QueueChannel output) {
        AggregatingMessageHandler aggregator =
                new AggregatingMessageHandler(new DefaultAggregatingMessageGroupProcessor(), store);
        aggregator.setLockRegistry(registry());
        aggregator.setOutputChannel(output);
        aggregator.setBeanFactory(beans);
        aggregator.afterPropertiesSet();
        aggregator.start();
        return aggregator;
    }

    @Test
    void twoAggregatorsReleaseEachGroupOnceAndWhole() throws Exception {
        try (AnnotationConfigApplicationContext beans = new AnnotationConfigApplicationContext(Application.class)) {
            releaseEachGroupOnceAndWhole(beans);
        }
    }

    private void releaseEachGroupOnceAndWhole(BeanFactory beans) throws Exception {
        int groups = 10;
        int size = 8;
        SimpleMessageStore store = new SimpleMessageStore();
        QueueChannel output = new QueueChannel();
        List<AggregatingMessageHandler> aggregators =
                List.of(aggregator(beans, store, output), aggregator(beans, store, output));
        List<CompletableFuture<Boolean>> threads = new ArrayList<>();
        for (int thread = 0; thread < 4; thread++) {
            int first = thread;
            threads.add(elsewhere(() -> {
                for (int group = 0; group < groups; group++) {
                    for (int number = first; number < size; number += 4) {
                        Message<Integer> message = MessageBuilder.withPayload(number)
                                .setCorrelationId("group " + group)
                                .setSequenceSize(size)
                                .setSequenceNumber(number + 1)
                                .build();
                        aggregators.get(number % 2).handleMessage(message);
                    }
                }
                return true;
            }));
        }
        for (CompletableFuture<Boolean> thread : threads) {
            assertThat(soon(thread)).isEqualTo(true);
        }
        for (int group = 0; group < groups; group++) {
            Message<?> whole = Objects.requireNonNull(output.receive(5_000), "no group within 5 s");
            assertThat(new HashSet<Object>((Collection<?>) whole.getPayload()))
                    .isEqualTo(Set.copyOf(IntStream.range(0, size).boxed().toList()));
        }
        assertThat(output.receive(0)).isNull();
        aggregators.forEach(AggregatingMessageHandler::stop);
    }

    /** Writes down who leads. */
    private static final class Candidate extends DefaultCandidate {
        private final Queue<String> leaders;

        Candidate(String id, Queue<String> leaders) {
            super(id, "leader");
            this.leaders = leaders;
        }

        @Override
        public void onGranted(Context context) {
            super.onGranted(context);
            leaders.add(getId());
        }

        @Override
        public void onRevoked(Context context) {
            leaders.remove(getId());
            super.onRevoked(context);
        }
    }

    private LockRegistryLeaderInitiator initiator(Client client, Candidate candidate) {
        LockRegistryLeaderInitiator initiator =
                new LockRegistryLeaderInitiator(new LibdlockLockRegistry(client, key), candidate);
        initiator.setHeartBeatMillis(50);
        initiator.setBusyWaitMillis(50);
        initiator.start();
        return initiator;
    }

    @Test
    void thereIsOneLeaderAndAnotherFollowsIt() {
        Queue<String> leaders = new ConcurrentLinkedQueue<>();
        LockRegistryLeaderInitiator first = initiator(connect(), new Candidate("first", leaders));
        Eventually.holds("the first leads", () -> leaders.contains("first"));
        LockRegistryLeaderInitiator second = initiator(connect(), new Candidate("second", leaders));
        assertThat(second.getContext().isLeader()).isFalse();
        first.stop();
        Eventually.holds("the second follows", () -> List.copyOf(leaders).equals(List.of("second")));
        first.start();
        second.getContext().yield();
        Eventually.holds("the first leads again", () -> List.copyOf(leaders).equals(List.of("first")));
        first.stop();
        second.stop();
    }

    @Test
    void aLeaderWhoseLockIsTakenAwayIsRevoked() {
        Queue<String> leaders = new ConcurrentLinkedQueue<>();
        Client client = connect();
        LockRegistryLeaderInitiator initiator = initiator(client, new Candidate("first", leaders));
        Eventually.holds("it leads", () -> !leaders.isEmpty());
        DistributedLock lock = connect().lock(key + ":leader");
        Eventually.holds("the lock is taken away", () -> {
            lock.forceRelease();
            return lock.tryLock();
        });
        Eventually.holds("it leads no more", leaders::isEmpty);
        lock.unlock();
        Eventually.holds("it leads again", () -> !leaders.isEmpty());
        initiator.stop();
    }
}
