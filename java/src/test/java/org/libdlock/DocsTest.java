package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.libdlock.support.Jvm;

/** Runs the programs on the pages of docs/java. */
class DocsTest extends WithServer {
    private static final Pattern PROGRAM = Pattern.compile("^```java\n(.*?)^```$", Pattern.DOTALL | Pattern.MULTILINE);
    private static final List<String> IMPORTS = List.of(
            "java.time.Duration",
            "java.util.concurrent.CompletableFuture",
            "java.util.concurrent.TimeUnit",
            "org.libdlock.*");

    private static List<String> programs(String page) throws IOException {
        String text = Files.readString(Path.of(System.getProperty("root"), "docs/java", page));
        return PROGRAM.matcher(text).results().map(found -> found.group(1)).collect(Collectors.toList());
    }

    private String run(Path folder, String name, String program) throws IOException {
        Path file = Files.writeString(folder.resolve(name + ".java"), program);
        try (Jvm jvm = Jvm.with().environment("REDIS_URL", server.url()).start(file.toString())) {
            return jvm.end();
        }
    }

    @Test
    void theFirstProgramRunsAsShown(@TempDir Path folder) throws IOException {
        String first = programs("README.md").get(0);
        assertThat(run(folder, "First", first)).matches("held, fencing token \\d{16}\nfree again: true\n");
        assertThat(server.command("EXISTS", "report")).isEqualTo(0L);
    }

    @Test
    void theOthersOfTheCommonPageRunInOrder(@TempDir Path folder) throws IOException {
        List<String> programs = programs("README.md");
        assertThat(runInOrder(folder, programs.subList(1, programs.size())))
                .containsPattern("held by .+, at most \\d+ s\n")
                .contains("1 acquired, 0 waited, 99 of 100 within PT0.")
                .contains("theirs: false\ntheirs: true");
    }

    @Test
    void theProgramsOfTheLocksPageRunInOrder(@TempDir Path folder) throws IOException {
        assertThat(runInOrder(folder, programs("lock.md")))
                .contains("stop everything: EXPIRED")
                .contains("processes in the queue: 0");
    }

    @Test
    void theProgramsOfTheRateLimitersPageRunInOrder(@TempDir Path folder) throws IOException {
        assertThat(runInOrder(folder, programs("rate-limiter.md"))).contains("5 granted, ");
    }

    @Test
    void theProgramsOfTheIdsPageRunInOrder(@TempDir Path folder) throws IOException {
        assertThat(runInOrder(folder, programs("ids.md")))
                .contains("made by worker 7")
                .contains("fits a double: true");
    }

    private String runInOrder(Path folder, List<String> programs) throws IOException {
        String imports = IMPORTS.stream().map(name -> "import " + name + ";\n").collect(Collectors.joining());
        String program = imports + "public class Page {\npublic static void main(String[] args) throws Exception {\n"
                + "String url = System.getenv(\"REDIS_URL\");\n" + String.join("\n", programs) + "\n}\n}\n";
        return run(folder, "Page", program);
    }
}
