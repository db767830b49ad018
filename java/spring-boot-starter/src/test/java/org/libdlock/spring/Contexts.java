package org.libdlock.spring;

import org.libdlock.spring.boot.LibdlockActuatorHealthAutoConfiguration;
import org.libdlock.spring.boot.LibdlockAutoConfiguration;
import org.libdlock.spring.boot.LibdlockMetricsAutoConfiguration;
import org.libdlock.support.RedisServer;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

/** Applications without a web server. */
public final class Contexts {
    private Contexts() {}

    /** With a real server. */
    public static ApplicationContextRunner withServer() {
        return withoutUrl()
                .withPropertyValues("libdlock.url=" + RedisServer.shared().url());
    }

    /** With nothing set, but that what a test still holds does not delay its end. */
    public static ApplicationContextRunner withoutUrl() {
        return new ApplicationContextRunner()
                .withPropertyValues("libdlock.shutdown-grace=0")
                .withConfiguration(AutoConfigurations.of(
                        LibdlockAutoConfiguration.class,
                        LibdlockActuatorHealthAutoConfiguration.class,
                        LibdlockMetricsAutoConfiguration.class));
    }
}
