package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarInputStream;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.libdlock.support.Jvm;
import org.springframework.boot.loader.launch.JarLauncher;

/** Spring Boot's way to ship an application: our jar lies in the application's jar, and the native library in ours. */
class NestedJarTest extends WithServer {
    /** The application. */
    public static final class Application {
        public static void main(String[] args) {
            try (Client client = Dlock.connect(args[0])) {
                DistributedLock lock = client.lock(args[1]);
                lock.lock();
                System.out.println(
                        Dlock.class.getProtectionDomain().getCodeSource().getLocation());
                lock.unlock();
            }
        }
    }

    @Test
    void aJarInAJarWillDo(@TempDir Path folder) throws Exception {
        Path jar = folder.resolve("application.jar");
        try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar))) {
            Manifest manifest = new Manifest();
            manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
            manifest.getMainAttributes().put(Attributes.Name.MAIN_CLASS, JarLauncher.class.getName());
            manifest.getMainAttributes().putValue("Start-Class", Application.class.getName());
            manifest.getMainAttributes().putValue("Spring-Boot-Classes", "BOOT-INF/classes/");
            manifest.getMainAttributes().putValue("Spring-Boot-Lib", "BOOT-INF/lib/");
            out.putNextEntry(new JarEntry("META-INF/MANIFEST.MF"));
            manifest.write(out);
            copyLoader(out);
            for (String directory : List.of("BOOT-INF/", "BOOT-INF/classes/", "BOOT-INF/lib/")) {
                out.putNextEntry(new JarEntry(directory));
            }
            String application = Application.class.getName().replace('.', '/') + ".class";
            try (InputStream in = Application.class.getResourceAsStream("/" + application)) {
                add(out, "BOOT-INF/classes/" + application, in.readAllBytes());
            }
            stored(out, "BOOT-INF/lib/libdlock.jar", ourJar());
        }
        try (Jvm jvm = Jvm.with().start("-jar", jar.toString(), server.url(), name)) {
            assertThat(jvm.end()).contains("application.jar").contains("BOOT-INF/lib/libdlock.jar");
        }
    }

    /** As Spring Boot's build plugins do: its loader, unpacked. */
    private static void copyLoader(JarOutputStream out) throws IOException {
        try (JarInputStream loader = new JarInputStream(JarLauncher.class
                .getProtectionDomain()
                .getCodeSource()
                .getLocation()
                .openStream())) {
            for (JarEntry entry = loader.getNextJarEntry(); entry != null; entry = loader.getNextJarEntry()) {
                if (entry.getName().endsWith(".class")) {
                    add(out, entry.getName(), loader.readAllBytes());
                }
            }
        }
    }

    /** What the tests run with, as a jar. */
    private static byte[] ourJar() throws Exception {
        Path classes = Path.of(
                Dlock.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (JarOutputStream out = new JarOutputStream(bytes);
                Stream<Path> walk = Files.walk(classes)) {
            List<Path> files = walk.filter(Files::isRegularFile).toList();
            for (Path file : files) {
                add(out, classes.relativize(file).toString(), Files.readAllBytes(file));
            }
        }
        return bytes.toByteArray();
    }

    private static void add(JarOutputStream out, String name, byte[] bytes) throws IOException {
        out.putNextEntry(new JarEntry(name));
        // In small arrays: under -Xcheck:jni the whole of an array is copied each time that 512 bytes are compressed.
        ByteArrayInputStream in = new ByteArrayInputStream(bytes);
        byte[] some = new byte[8 * 1024];
        for (int length = in.read(some); length > 0; length = in.read(some)) {
            out.write(some, 0, length);
        }
        out.closeEntry();
    }

    /** A jar in a jar lies there as it is. */
    private static void stored(JarOutputStream out, String name, byte[] bytes) throws IOException {
        CRC32 crc = new CRC32();
        crc.update(bytes);
        JarEntry entry = new JarEntry(name);
        entry.setMethod(JarEntry.STORED);
        entry.setSize(bytes.length);
        entry.setCrc(crc.getValue());
        out.putNextEntry(entry);
        out.write(bytes);
        out.closeEntry();
    }
}
