package org.libdlock.support;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Another JVM, that runs a class of these tests, with every JNI call checked. */
public final class Jvm implements AutoCloseable {
    /** Ends one that hangs; what is asserted about it then fails. */
    private static final long END_WITHIN_SECONDS = 60;

    private final Process process;
    private final BufferedReader out;
    private final Path err;
    private final StringBuilder said = new StringBuilder();

    private Jvm(Process process, Path err) {
        this.process = process;
        this.err = err;
        process.onExit()
                .orTimeout(END_WITHIN_SECONDS, TimeUnit.SECONDS)
                .exceptionally(late -> process.destroyForcibly());
        this.out = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    }

    /** How a JVM is started. */
    public static final class Builder {
        private String java =
                Path.of(System.getProperty("java.home"), "bin", "java").toString();
        private String classPath = System.getProperty("java.class.path");
        private final Map<String, String> environment = new HashMap<>();
        private final List<String> options = new ArrayList<>(
                // It lives for a second or two: the first compiler does, and takes a third of the time.
                List.of("-Xcheck:jni", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"));

        public Builder java(Path home) {
            java = home.resolve("bin/java").toString();
            return this;
        }

        public Builder classPath(String path) {
            classPath = path;
            return this;
        }

        public Builder environment(String name, String value) {
            environment.put(name, value);
            return this;
        }

        public Builder option(String... more) {
            options.addAll(List.of(more));
            return this;
        }

        public Jvm start(Class<?> main, String... arguments) {
            return start(main.getName(), arguments);
        }

        /** Runs a class, a source file, or, after {@code -jar}, a jar. */
        public Jvm start(String main, String... arguments) {
            List<String> command = new ArrayList<>(List.of(java));
            command.addAll(options);
            if (!main.equals("-jar")) {
                command.addAll(List.of("-cp", classPath));
            }
            command.add(main);
            command.addAll(List.of(arguments));
            try {
                Path err = Files.createTempFile("libdlock-java-", ".err");
                err.toFile().deleteOnExit();
                ProcessBuilder builder = new ProcessBuilder(command).redirectError(err.toFile());
                builder.environment().putAll(environment);
                return new Jvm(builder.start(), err);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    public static Builder with() {
        return new Builder();
    }

    public static Jvm start(Class<?> main, String... arguments) {
        return with().start(main, arguments);
    }

    /** Its next line on standard output. */
    public String line() {
        try {
            String line = out.readLine();
            if (line == null) {
                throw new AssertionError("no more lines; on standard error: " + err());
            }
            said.append(line).append('\n');
            return line;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Waits for its end by itself, with 0, and checks that the JVM had nothing to complain about. The rest of its output. */
    public String end() {
        return end(0);
    }

    public String end(int status) {
        try {
            StringBuilder rest = new StringBuilder();
            for (String line = out.readLine(); line != null; line = out.readLine()) {
                rest.append(line).append('\n');
            }
            said.append(rest);
            assertThat(process.waitFor())
                    .as("exit status; it said: %s%s", said, err())
                    .isEqualTo(status);
            assertThat(said + err()).doesNotContain("in native method").doesNotContain("SIGSEGV");
            return rest.toString();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** What it said on standard error. */
    public String err() {
        try {
            return Files.readString(err);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public void signal(String signal) {
        signal(process, signal);
    }

    static void signal(Process process, String signal) {
        try {
            new ProcessBuilder("kill", "-" + signal, Long.toString(process.pid()))
                    .inheritIO()
                    .start()
                    .waitFor();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }
}
