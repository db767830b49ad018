import { type DynamicModule, type FactoryProvider, Module, type ModuleMetadata, type Type } from "@nestjs/common";

import { type Client, connect } from "../client.js";
import { urlText, wrongType } from "../convert.js";
import type { ConnectOptions } from "../options.js";
import type { RateLimiterOptions } from "../rate-limiter.js";
import { Libdlock, getClientToken, getLibdlockToken } from "./libdlock.js";

/** What the module connects to, and which limiters it makes. */
export interface ModuleOptions {
  /** The server, as for `connect`; or give a `client`. */
  url?: string | URL | undefined;
  /** Options of `connect`. With `lazyConnect` the application starts while the server is away. */
  connect?: ConnectOptions | undefined;
  /** A client that is connected already, and is not closed with the application. */
  client?: Client | undefined;
  /** The rate limiters that `@RateLimited` names. */
  limiters?: Readonly<Record<string, RateLimiterOptions>> | undefined;
}

interface Registration {
  /** Tells several modules of an application apart: `@InjectClient(name)`. */
  name?: string | undefined;
  /** Whether other modules see it without importing it: true by default. */
  isGlobal?: boolean | undefined;
}

/** Options of `LibdlockModule.forRoot`. */
export interface RootOptions extends ModuleOptions, Registration {}

/** What makes options, as the provider that `useClass` or `useExisting` names. */
export interface OptionsFactory {
  createLibdlockOptions(): ModuleOptions | Promise<ModuleOptions>;
}

/** Options of `LibdlockModule.forRootAsync`: one of `useFactory`, `useClass` and `useExisting`. */
export interface AsyncModuleOptions extends Registration, Pick<ModuleMetadata, "imports"> {
  inject?: FactoryProvider["inject"];
  useFactory?: ((...injected: never[]) => ModuleOptions | Promise<ModuleOptions>) | undefined;
  useClass?: Type<OptionsFactory> | undefined;
  useExisting?: Type<OptionsFactory> | undefined;
}

/** One client for the application, closed when the application is. */
// Nest's modules are classes.
// eslint-disable-next-line @typescript-eslint/no-extraneous-class
export class LibdlockModule {
  /** A module with these options. */
  static forRoot({ name, isGlobal, ...options }: RootOptions): DynamicModule {
    urlOf(options, "LibdlockModule.forRoot(options)");
    return moduleOf({ name, isGlobal }, [], { inject: [], useFactory: () => options });
  }

  /** A module with options that other providers make. */
  static forRootAsync({ name, isGlobal, imports, ...given }: AsyncModuleOptions): DynamicModule {
    const { useFactory, inject = [], useClass, useExisting } = given;
    const registration = { name, isGlobal };
    if (useFactory) return moduleOf(registration, imports, { inject, useFactory });
    const maker = useClass ?? useExisting;
    if (!maker) {
      const call = "LibdlockModule.forRootAsync(options)";
      throw wrongType(`${call}: useFactory, useClass or useExisting`, "a function or a class", maker);
    }
    const factory = { inject: [maker], useFactory: (made: OptionsFactory) => made.createLibdlockOptions() };
    return moduleOf(registration, imports, factory, useClass && [useClass]);
  }
}

Module({})(LibdlockModule);

interface Made {
  inject: NonNullable<FactoryProvider["inject"]>;
  useFactory: (...injected: never[]) => ModuleOptions | Promise<ModuleOptions>;
}

function moduleOf(
  { name, isGlobal = true }: Registration,
  imports: ModuleMetadata["imports"],
  { inject, useFactory }: Made,
  makers: Type[] = [],
): DynamicModule {
  const [clientToken, token] = [getClientToken(name), getLibdlockToken(name)];
  const open = async (...injected: never[]): Promise<Libdlock> => opened(await useFactory(...injected));
  return {
    module: LibdlockModule,
    global: isGlobal,
    imports: imports ?? [],
    providers: [
      ...makers,
      { provide: token, inject, useFactory: open },
      { provide: clientToken, inject: [token], useFactory: ({ client }: Libdlock) => client },
    ],
    exports: [token, clientToken],
  };
}

async function opened(options: ModuleOptions): Promise<Libdlock> {
  const { connect: how, client, limiters = {} } = options;
  const url = urlOf(options, "the options of LibdlockModule");
  const used = client ?? (await connect(url, how));
  try {
    return new Libdlock(used, limiters, client === undefined);
  } catch (error) {
    if (client === undefined) await used.close();
    throw error;
  }
}

/** Empty where a client is given. */
function urlOf({ url, client }: ModuleOptions, what: string): string {
  return client === undefined ? urlText(url, `${what}: url`, "connect") : "";
}
