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

/** Runs what docs/java.md shows. */
class DocsTest extends WithServer {
    private static final Pattern PROGRAM = Pattern.compile("^```java\n(.*?)^```$", Pattern.DOTALL | Pattern.MULTILINE);
    private static final List<String> IMPORTS =
            List.of("java.time.Duration", "java.util.concurrent.TimeUnit", "org.libdlock.*");

    private static List<String> programs() throws IOException {
        String page = Files.readString(Path.of(System.getProperty("root"), "docs/java.md"));
        return PROGRAM.matcher(page).results().map(found -> found.group(1)).collect(Collectors.toList());
    }

    private String run(Path folder, String name, String program) throws IOException {
        Path file = Files.writeString(folder.resolve(name + ".java"), program);
        try (Jvm jvm = Jvm.with().environment("REDIS_URL", server.url()).start(file.toString())) {
            return jvm.end();
        }
    }

    @Test
    void theFirstProgramRunsAsShown(@TempDir Path folder) throws IOException {
        String first = programs().get(0);
        assertThat(run(folder, "First", first)).matches("held, fencing token \\d{16}\nfree again: true\n");
        assertThat(server.command("EXISTS", "report")).isEqualTo(0L);
    }

    @Test
    void theOthersRunOneAfterTheOther(@TempDir Path folder) throws IOException {
        List<String> programs = programs();
        String imports = IMPORTS.stream().map(name -> "import " + name + ";\n").collect(Collectors.joining());
        String body = String.join("\n", programs.subList(1, programs.size()));
        String program = imports + "public class Rest {\npublic static void main(String[] args) throws Exception {\n"
                + "String url = System.getenv(\"REDIS_URL\");\n" + body + "\n}\n}\n";
        assertThat(run(folder, "Rest", program))
                .contains("stop everything: EXPIRED")
                .contains("processes in the queue: 0")
                .contains(" waited, 99 of 100 within PT0.")
                .contains("5 granted, ")
                .contains("made by worker 7")
                .contains("fits a double: true")
                .contains("theirs: false\ntheirs: true");
    }
}
