package org.libdlock.spring;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.Test;
import org.libdlock.Client;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.autoconfigure.transaction.TransactionAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.stereotype.Component;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

class ProxiesTest {
    interface Store {
        @Locked("store")
        boolean isHeldByInterface();

        boolean isHeldByClass();
    }

    static class OneStore implements Store {
        @Autowired
        private Client client;

        @Override
        public boolean isHeldByInterface() {
            return client.lock("store").isHeldByCurrentThread();
        }

        @Override
        @Locked("store")
        public boolean isHeldByClass() {
            return client.lock("store").isHeldByCurrentThread();
        }
    }

    @Test
    void proxiesOfClassesAndOfInterfacesLock() {
        for (String isOfClass : List.of("true", "false")) {
            Contexts.withServer()
                    .withPropertyValues("spring.aop.proxy-target-class=" + isOfClass)
                    .withBean(OneStore.class)
                    .run(context -> {
                        Store store = context.getBean(Store.class);
                        assertThat(AopUtils.isCglibProxy(store)).isEqualTo(Boolean.parseBoolean(isOfClass));
                        assertThat(store.isHeldByInterface()).isTrue();
                        assertThat(store.isHeldByClass()).isTrue();
                    });
        }
    }

    @Configuration
    @EnableTransactionManagement
    @EnableAsync
    static class WithTransactions {
        @Bean
        DataSourceTransactionManager transactions() {
            JdbcDataSource source = new JdbcDataSource();
            source.setURL("jdbc:h2:mem:proxies");
            return new DataSourceTransactionManager(source);
        }
    }

    static class Bank {
        @Autowired
        private Client client;

        final List<String> seen = new ArrayList<>();

        private void see(String when) {
            seen.add(when + " " + client.lock("account").isHeldByCurrentThread());
        }

        @Transactional
        @Locked("account")
        public void settle() {
            see("in a transaction: " + TransactionSynchronizationManager.isActualTransactionActive() + ",");
            TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
                @Override
                public void afterCompletion(int status) {
                    see("after the commit: " + (status == STATUS_COMMITTED) + ",");
                }
            });
        }

        @Async
        @Locked("account")
        public CompletableFuture<String> settleLater() {
            return CompletableFuture.completedFuture(Thread.currentThread().getName() + " "
                    + client.lock("account").isLocked());
        }
    }

    @Test
    void theLockIsHeldUntilTheTransactionHasEnded() {
        for (String isOfClass : List.of("true", "false")) {
            Contexts.withServer()
                    .withPropertyValues("spring.aop.proxy-target-class=" + isOfClass)
                    .withConfiguration(
                            AutoConfigurations.of(AopAutoConfiguration.class, TransactionAutoConfiguration.class))
                    .withUserConfiguration(WithTransactions.class)
                    .withBean(Bank.class)
                    .run(context -> {
                        Bank bank = context.getBean(Bank.class);
                        bank.settle();
                        Bank target = (Bank) org.springframework.test.util.AopTestUtils.getTargetObject(bank);
                        assertThat(target.seen)
                                .containsExactly("in a transaction: true, true", "after the commit: true, true");
                    });
        }
    }

    @Test
    void anAsynchronousMethodLocksOnItsOwnThread() {
        Contexts.withServer()
                .withUserConfiguration(WithTransactions.class)
                .withBean(Bank.class)
                .run(context -> {
                    String seen = context.getBean(Bank.class).settleLater().join();
                    assertThat(seen)
                            .endsWith(" true")
                            .doesNotStartWith(Thread.currentThread().getName());
                    assertThat(context.getBean(Client.class).lock("account").isLocked())
                            .isFalse();
                });
    }

    @Component
    static class WithLazyClient {
        final Client client;

        WithLazyClient(@Lazy Client client) {
            this.client = client;
        }
    }

    @Test
    void theClientCanBeProxied() {
        Contexts.withServer().withBean(WithLazyClient.class).run(context -> {
            Client proxy = context.getBean(WithLazyClient.class).client;
            assertThat(AopUtils.isCglibProxy(proxy)).isTrue();
            assertThat(proxy.lock("lazy").tryLock()).isTrue();
            proxy.lock("lazy").unlock();
        });
    }

    /** One object that is a bean under two names. */
    @Configuration
    static class WithAlias {
        @Bean
        Counted counted() {
            return new Counted();
        }

        @Bean
        Object sameAgain(Counted counted) {
            return counted;
        }
    }

    static class Counted {
        @RateLimited("twice")
        public void take() {}

        @Locked("twice")
        public CompletableFuture<String> later() {
            return CompletableFuture.completedFuture("done");
        }
    }

    @Test
    void aBeanOfTwoNamesIsCountedAndLockedOnce() {
        Contexts.withServer()
                .withPropertyValues("libdlock.limiters.twice.tokens=2", "libdlock.limiters.twice.per=1h")
                .withUserConfiguration(WithAlias.class)
                .run(context -> {
                    Counted counted = context.getBean("counted", Counted.class);
                    context.getBean(RateLimiters.class).get("twice").reset();
                    counted.take();
                    counted.take();
                    CompletableFuture<String> done =
                            CompletableFuture.supplyAsync(counted::later).thenCompose(stage -> stage);
                    assertThat(done.get(5, TimeUnit.SECONDS)).isEqualTo("done");
                });
    }
}
