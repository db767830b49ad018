package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.libdlock.support.Jvm;
import org.libdlock.support.Programs;

/** Runs the programs on the pages of docs/java. */
class DocsTest extends WithServer {
    private static final List<String> IMPORTS = List.of(
            "java.time.Duration",
            "java.util.List",
            "java.util.concurrent.CompletableFuture",
            "java.util.concurrent.TimeUnit",
            "org.libdlock.*");

    /** What the programs of each page say, among other things: patterns. */
    private static final Map<String, List<String>> SAID = Map.ofEntries(
            Map.entry(
                    "README.md",
                    List.of(
                            "held by .+, at most \\d+ s\n",
                            "1 acquired, 0 waited, 99 of 100 within PT0\\.",
                            "theirs: false\ntheirs: true")),
            Map.entry("lock.md", List.of("stop everything: EXPIRED", "processes in the queue: 0")),
            Map.entry(
                    "semaphore.md",
                    List.of("3 permits, valid: true", "2 or 5", "8 of 8 available", "stop everything: EXPIRED")),
            Map.entry(
                    "rw-lock.md",
                    List.of(
                            "readers: 1\n",
                            "refused: .*release the read side first",
                            "still reading: true",
                            "readers: true and true",
                            "stop everything: EXPIRED")),
            Map.entry("counting-semaphore.md", List.of("available: 1\n", "drained: 5\n", "acquired in time: true")),
            Map.entry("latch.md", List.of("left: 0\n", "left then: 0\n", "loaded in time: true", "two rounds")),
            Map.entry(
                    "bloom-filter.md",
                    List.of("new: true true false", "known: true false", "few false positives: true")),
            Map.entry(
                    "queue.md",
                    List.of(
                            "sends to: ada\\n1 waits until it is due\\n",
                            "worked: sends to: grace",
                            "dead: q3 IllegalStateException",
                            "requeued: true")),
            Map.entry("id-generator.md", List.of("in order: true, blocks of 5000", "at least 7000000: true")),
            Map.entry(
                    "lock-all.md",
                    List.of(
                            "account/42: true\naccount/7: true\n",
                            "without a wait: true",
                            "tokens: \\[account/42, account/7\\]",
                            "stop everything: DELETED",
                            "lost: account/42")),
            Map.entry("rate-limiter.md", List.of("5 granted, ", "true OptionalLong\\[0\\]\n", "send it in PT0S\n")),
            Map.entry("worker.md", List.of("as worker 0: true", "all are taken, retry known: true")),
            Map.entry("ids.md", List.of("made by worker 7", "fits a double: true")));

    private String run(Path folder, String name, String program) throws IOException {
        Path file = Files.writeString(folder.resolve(name + ".java"), program);
        try (Jvm jvm = Jvm.with().environment("REDIS_URL", server.url()).start(file.toString())) {
            return jvm.end();
        }
    }

    @Test
    void theFirstProgramRunsAsShown(@TempDir Path folder) throws IOException {
        String first = Programs.of("README.md").get(0);
        assertThat(run(folder, "First", first)).matches("held, fencing token \\d{16}\nfree again: true\n");
        assertThat(server.command("EXISTS", "report")).isEqualTo(0L);
    }

    static Stream<String> pages() throws IOException {
        try (Stream<Path> pages = Files.list(Programs.folder())) {
            // The tests of the integrations compile the programs of frameworks.md.
            return pages
                    .map(page -> page.getFileName().toString())
                    .filter(page -> !page.equals("frameworks.md"))
                    .sorted()
                    .toList()
                    .stream();
        }
    }

    @ParameterizedTest
    @MethodSource("pages")
    void theOtherProgramsOfAPageRunInOrder(String page, @TempDir Path folder) throws IOException {
        assertThat(SAID).as("what the programs say").containsKey(page);
        List<String> programs = Programs.of(page);
        int first = page.equals("README.md") ? 1 : 0;
        String said = runInOrder(folder, programs.subList(first, programs.size()));
        for (String line : SAID.getOrDefault(page, List.of())) {
            assertThat(said).containsPattern(line);
        }
    }

    private String runInOrder(Path folder, List<String> programs) throws IOException {
        String imports = IMPORTS.stream().map(name -> "import " + name + ";\n").collect(Collectors.joining());
        String program = imports + "public class Page {\npublic static void main(String[] args) throws Exception {\n"
                + "String url = System.getenv(\"REDIS_URL\");\n" + String.join("\n", programs) + "\n}\n}\n";
        return run(folder, "Page", program);
    }
}
