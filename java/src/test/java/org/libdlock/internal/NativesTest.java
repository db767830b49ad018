package org.libdlock.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** The native library binds its functions by a table, which has to be that of the class. */
class NativesTest {
    @Test
    void everyNativeMethodStandsInTheTable() throws Exception {
        String table = Files.readString(Path.of(System.getProperty("root"), "java/native/src/natives.rs"));
        for (Method method : Native.class.getDeclaredMethods()) {
            if (Modifier.isNative(method.getModifiers())) {
                String signature = MethodType.methodType(method.getReturnType(), method.getParameterTypes())
                        .toMethodDescriptorString();
                assertThat(table).contains("\"" + method.getName() + "\" \"" + signature + "\" ");
            }
        }
    }
}
