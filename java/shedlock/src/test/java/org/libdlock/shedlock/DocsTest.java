package org.libdlock.shedlock;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Compiles the program of docs/java/frameworks.md that is of ShedLock. */
class DocsTest {
    private static final Pattern PROGRAM = Pattern.compile("^```java\n(.*?)^```$", Pattern.DOTALL | Pattern.MULTILINE);

    @Test
    void theProgramCompiles(@TempDir Path folder) throws IOException {
        String page = Files.readString(Path.of(System.getProperty("root"), "docs/java/frameworks.md"));
        List<String> programs = PROGRAM.matcher(page)
                .results()
                .map(found -> found.group(1))
                .filter(program -> program.contains("import org.libdlock.shedlock."))
                .toList();
        assertThat(programs).hasSize(1);
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        try (var files = compiler.getStandardFileManager(null, null, null)) {
            Path file = Files.writeString(folder.resolve("Page.java"), programs.get(0));
            StringWriter said = new StringWriter();
            List<String> options = List.of("-d", folder.toString(), "-proc:none");
            boolean isGood = compiler.getTask(said, files, null, options, null, files.getJavaFileObjects(file))
                    .call();
            assertThat(isGood).as(said.toString()).isTrue();
        }
    }
}
